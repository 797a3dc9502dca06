//! Named ranges for tools that look on, such as Nsight Systems, by NVTX. In: the name of what begins; out: a range that ends when it is
//! dropped, where a tool listens; otherwise nothing, for the price of looking at a variable.
//!
//! A tool names its library by `NVTX_INJECTION64_PATH` before the program starts. NVTX is C code that each program contains, and this is
//! what that code does (`nvtx3/nvtxDetail/nvtxInit.h` and `nvtxImpl.h` of NVTX 3): it opens the library, and hands it a table of places
//! for functions, in which the library puts its own.

#![expect(unsafe_code, reason = "opens a shared library and exchanges functions with it")]

use std::env;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::mem;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use libloading::Library;

/// The variable by which a tool names its library.
const VARIABLE: &str = "NVTX_INJECTION64_PATH";

/// `NVTX_CBID_CORE_RangePushA` and `NVTX_CBID_CORE_RangePop`, and the number of functions of a module.
const PUSH: usize = 9;
const POP: usize = 11;
const FUNCTIONS: usize = 16;
/// `NVTX_CB_MODULE_CORE` and `NVTX_CB_MODULE_CORE2`, which has as many.
const CORE: c_uint = 1;
const CORE2: c_uint = 5;
/// `NVTX_ETID_CALLBACKS` and `NVTX_ETID_VERSIONINFO`.
const CALLBACKS: u32 = 1;
const VERSION_INFO: u32 = 3;

/// A place for a function.
type Slot = AtomicPtr<c_void>;
/// The places of a module by the functions' numbers, with none at 0 and behind the last.
type Table = [AtomicPtr<Slot>; FUNCTIONS + 1];

/// Places that a tool fills.
struct Module {
    slots: [Slot; FUNCTIONS],
    table: Table,
}

impl Module {
    const fn new() -> Self {
        Self {
            slots: [const { AtomicPtr::new(ptr::null_mut()) }; FUNCTIONS],
            table: [const { AtomicPtr::new(ptr::null_mut()) }; FUNCTIONS + 1],
        }
    }

    /// Has the table name the places.
    fn fill(&'static self) {
        for (entry, slot) in self.table.iter().zip(&self.slots).skip(1) {
            entry.store(ptr::from_ref(slot).cast_mut(), Ordering::Relaxed);
        }
    }

    fn function(&self, number: usize) -> Option<*mut c_void> {
        Some(self.slots[number].load(Ordering::Relaxed)).filter(|function| !function.is_null())
    }
}

static CORE_MODULE: Module = Module::new();
static CORE2_MODULE: Module = Module::new();

/// `NvtxExportTableCallbacks`
#[repr(C)]
struct CallbacksTable {
    size: usize,
    get_module: unsafe extern "C" fn(c_uint, *mut *const AtomicPtr<Slot>, *mut c_uint) -> c_int,
}

static CALLBACKS_TABLE: CallbacksTable = CallbacksTable { size: size_of::<CallbacksTable>(), get_module };

/// `NvtxExportTableVersionInfo`
#[repr(C)]
struct VersionTable {
    size: usize,
    version: u32,
    reserved: u32,
    set_version: extern "C" fn(u32),
}

static VERSION_TABLE: VersionTable =
    VersionTable { size: size_of::<VersionTable>(), version: 3, reserved: 0, set_version };

extern "C" fn set_version(_version: u32) {}

/// Tells a tool the places of a module.
///
/// # Safety
/// The tool gives places for the answers, or null.
unsafe extern "C" fn get_module(
    module: c_uint,
    table: *mut *const AtomicPtr<Slot>,
    size: *mut c_uint,
) -> c_int {
    let module = match module {
        CORE => &CORE_MODULE,
        CORE2 => &CORE2_MODULE,
        _ => return 0,
    };
    if !table.is_null() {
        // SAFETY: a place for the answer.
        unsafe { table.write(module.table.as_ptr()) };
    }
    if !size.is_null() {
        // SAFETY: a place for the answer.
        unsafe { size.write(FUNCTIONS as c_uint) };
    }
    1
}

/// Tells a tool where the tables are.
extern "C" fn get_export_table(number: u32) -> *const c_void {
    match number {
        CALLBACKS => ptr::from_ref(&CALLBACKS_TABLE).cast(),
        VERSION_INFO => ptr::from_ref(&VERSION_TABLE).cast(),
        _ => ptr::null(),
    }
}

/// The functions of a tool.
#[derive(Clone, Copy)]
struct Tool {
    push: unsafe extern "C" fn(*const c_char) -> c_int,
    pop: unsafe extern "C" fn() -> c_int,
}

/// The tool that listens, found once.
fn tool() -> Option<Tool> {
    static TOOL: OnceLock<Option<Tool>> = OnceLock::new();
    *TOOL.get_or_init(attach)
}

fn attach() -> Option<Tool> {
    type Initialise = unsafe extern "C" fn(extern "C" fn(u32) -> *const c_void) -> c_int;

    let path = env::var_os(VARIABLE).filter(|path| !path.is_empty() && path != "./.")?;
    // SAFETY: the library is a tool's, which its user has named: its initialisers may run anywhere.
    let library = unsafe { Library::new(path) }.ok()?;
    [&CORE_MODULE, &CORE2_MODULE].into_iter().for_each(Module::fill);
    // SAFETY: the C type of the function of this name.
    let initialise = *unsafe { library.get::<Initialise>("InitializeInjectionNvtx2") }.ok()?;
    // The tool's threads go on: it is never closed.
    mem::forget(library);
    // SAFETY: the tool calls the function for tables, which live as long as the program.
    if unsafe { initialise(get_export_table) } == 0 {
        return None;
    }
    let (push, pop) = (CORE_MODULE.function(PUSH)?, CORE_MODULE.function(POP)?);
    // SAFETY: the tool puts functions of these types there: `nvtxRangePushA` and `nvtxRangePop`.
    Some(unsafe {
        Tool {
            push: mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_char) -> c_int>(push),
            pop: mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(pop),
        }
    })
}

/// A range that ends when it is dropped, on the thread on which it began.
#[must_use = "it ends at once"]
#[derive(Debug)]
pub struct Range {
    is_open: bool,
    // Ranges of a thread end in the order in which they began.
    _thread: PhantomData<*const ()>,
}

/// Begins a range with the name that `name` returns, which is called only if a tool listens.
pub fn range(name: impl FnOnce() -> String) -> Range {
    let is_open = match tool().map(|tool| (tool, CString::new(name().replace('\0', " ")))) {
        Some((tool, Ok(name))) => {
            // SAFETY: the name ends in a zero, and the tool copies it.
            unsafe { (tool.push)(name.as_ptr()) };
            true
        }
        _ => false,
    };
    Range { is_open, _thread: PhantomData }
}

impl Drop for Range {
    fn drop(&mut self) {
        if let Some(tool) = tool().filter(|_| self.is_open) {
            // SAFETY: takes nothing.
            unsafe { (tool.pop)() };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// As in `nvtxTypes.h` of NVTX 3.
    #[test]
    fn tables_are_those_of_the_header() {
        assert_eq!((size_of::<CallbacksTable>(), offset_of!(CallbacksTable, get_module)), (16, 8));
        assert_eq!((size_of::<VersionTable>(), offset_of!(VersionTable, set_version)), (24, 16));
        assert_eq!((size_of::<Slot>(), size_of::<Table>()), (8, 17 * 8));
    }

    #[test]
    fn a_tool_finds_the_places_of_functions() {
        CORE_MODULE.fill();
        let table = get_export_table(CALLBACKS).cast::<CallbacksTable>();
        let (mut places, mut size) = (ptr::null(), 0);
        // SAFETY: the table is ours, and these are places for answers.
        let found = unsafe { ((*table).get_module)(CORE, &raw mut places, &raw mut size) };
        assert_eq!((found, size), (1, 16));
        // SAFETY: the table has so many entries.
        let entries = unsafe { std::slice::from_raw_parts(places, FUNCTIONS + 1) };
        let is_null = |place: usize| entries[place].load(Ordering::Relaxed).is_null();
        assert!(is_null(0) && is_null(16) && (1..16).all(|place| !is_null(place)));
        // SAFETY: as above.
        assert_eq!(unsafe { ((*table).get_module)(2, &raw mut places, &raw mut size) }, 0);
        assert!(get_export_table(2).is_null());
    }

    #[test]
    fn without_a_tool_names_are_not_even_made() {
        drop(range(|| unreachable!("nobody listens")));
    }
}
