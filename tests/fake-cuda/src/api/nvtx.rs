//! A tool that listens to named ranges, as Nsight Systems does, where `NVTX_INJECTION64_PATH` names this library: each range that begins or
//! ends is a line of the log.

#![expect(unsafe_code, reason = "reads tables of C's callers, and puts functions there")]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;

use crate::call::text;
use crate::code::SUCCESS;
use crate::driver::made;

/// `NVTX_ETID_CALLBACKS`, `NVTX_CB_MODULE_CORE`, and the numbers of the two functions.
const CALLBACKS: u32 = 1;
const CORE: c_uint = 1;
const PUSH: usize = 9;
const POP: usize = 11;

type GetExportTable = unsafe extern "C" fn(u32) -> *const c_void;
type GetModule = unsafe extern "C" fn(c_uint, *mut *const *mut *const c_void, *mut c_uint) -> c_int;

/// The beginning of `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    size: usize,
    get_module: GetModule,
}

// SAFETY: nobody else defines this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn InitializeInjectionNvtx2(get_export_table: GetExportTable) -> c_int {
    // SAFETY: a program with ranges returns this table.
    let callbacks = unsafe { get_export_table(CALLBACKS) }.cast::<Callbacks>();
    let (mut table, mut size) = (ptr::null(), 0);
    // SAFETY: the table is the program's, and these are places for answers.
    let found = unsafe { ((*callbacks).get_module)(CORE, &raw mut table, &raw mut size) };
    if found != 1 || size as usize <= POP {
        return 0;
    }
    // SAFETY: the table has so many entries, and these two name places for functions.
    unsafe {
        (*table.add(PUSH)).write(push as *const c_void);
        (*table.add(POP)).write(pop as *const c_void);
    }
    1
}

unsafe extern "C" fn push(name: *const c_char) -> c_int {
    let name = text(name).unwrap_or("?").replace(' ', "_");
    note(&format!("begins {name}"))
}

extern "C" fn pop() -> c_int {
    note("ends")
}

/// Adds a line to the log.
fn note(what: &str) -> c_int {
    let code = made("nvtxRange", |driver| {
        driver.log.add(driver.now, 0.0, None, format_args!("range {what}"));
        Ok(())
    });
    if code == SUCCESS { 0 } else { -1 }
}
