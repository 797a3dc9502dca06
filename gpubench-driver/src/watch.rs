//! Calls whose failure deserves more than a code. In: what the driver returned, and the call's arguments. Out: a detail for
//! the failed call: the memory asked for, what the driver's compiler says of PTX that it refuses, the kernels that a module
//! has when it lacks the one that was asked for.

#![expect(unsafe_code, reason = "reads the arguments of C functions")]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::{LazyLock, Mutex, PoisonError};

use cust_raw::{CUdeviceptr, CUfunction, CUjit_option, CUmodule, CUstream};

use crate::entry::Entry;
use crate::library::Function;
use crate::result::set_detail;

const NOT_FOUND: u32 = 500;

pub(crate) unsafe fn allocated<Pointer>(code: u32, _: *mut Pointer, bytes: usize) {
    asked_for(code, bytes);
}

pub(crate) unsafe fn managed_allocated(code: u32, _: *mut CUdeviceptr, bytes: usize, _: c_uint) {
    asked_for(code, bytes);
}

pub(crate) unsafe fn allocated_async(code: u32, _: *mut CUdeviceptr, bytes: usize, _: CUstream) {
    asked_for(code, bytes);
}

pub(crate) unsafe fn host_allocated(code: u32, _: *mut *mut c_void, bytes: usize, _: c_uint) {
    asked_for(code, bytes);
}

fn asked_for(code: u32, bytes: usize) {
    if code != 0 {
        set_detail(Some(match bytes >> 20 {
            0 => format!("{bytes} bytes asked for"),
            mebibytes @ 1..1024 => format!("{mebibytes} MiB asked for"),
            mebibytes => format!("{:.1} GiB asked for", mebibytes as f64 / 1024.0),
        }));
    }
}

/// The kernels of the modules that were loaded from PTX, by the module's handle.
static KERNELS: LazyLock<Mutex<HashMap<usize, Vec<String>>>> = LazyLock::new(Mutex::default);

fn with_kernels<T>(look: impl FnOnce(&mut HashMap<usize, Vec<String>>) -> T) -> T {
    look(&mut KERNELS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// # Safety
/// The arguments are those of `cuModuleLoadData`, which has returned `code`.
pub(crate) unsafe fn module_loaded(code: u32, module: *mut CUmodule, image: *const c_void) {
    // SAFETY: the driver has just read the image under the same contract.
    let Some(ptx) = (unsafe { as_ptx(image) }) else { return };
    if code == 0 {
        // SAFETY: the driver has just written the handle there.
        let module = unsafe { *module };
        with_kernels(|kernels| kernels.insert(module as usize, entries(ptx)));
    } else {
        set_detail(compiler_log(ptx));
    }
}

/// # Safety
/// The arguments are those of `cuModuleLoadDataEx`, which has returned `code`.
pub(crate) unsafe fn module_loaded_with_options(
    code: u32,
    module: *mut CUmodule,
    image: *const c_void,
    _: c_uint,
    _: *mut CUjit_option,
    _: *mut *mut c_void,
) {
    // SAFETY: the first arguments have the same contract.
    unsafe { module_loaded(code, module, image) };
}

pub(crate) unsafe fn module_unloaded(code: u32, module: CUmodule) {
    if code == 0 {
        with_kernels(|kernels| kernels.remove(&(module as usize)));
    }
}

/// # Safety
/// The arguments are those of `cuModuleGetFunction`, which has returned `code`.
pub(crate) unsafe fn function_looked_up(
    code: u32,
    _: *mut CUfunction,
    module: CUmodule,
    name: *const c_char,
) {
    if code != NOT_FOUND {
        return;
    }
    // SAFETY: the driver has just read the name under the same contract.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let there = with_kernels(|kernels| kernels.get(&(module as usize)).map(|names| names.join(", ")));
    let there = there.map_or_else(String::new, |names| format!("; it has: {names}"));
    set_detail(Some(format!("the module has no kernel `{name}`{there}")));
}

/// The image as text, if it is PTX and not machine code.
///
/// # Safety
/// The image is one that the driver takes: text is followed by a zero.
unsafe fn as_ptx<'a>(image: *const c_void) -> Option<&'a CStr> {
    if image.is_null() {
        return None;
    }
    // SAFETY: every image has a first byte.
    let first = unsafe { *image.cast::<u8>() };
    // PTX begins with a comment, white space or a directive; an ELF file or a fat binary with none of these.
    let text = matches!(first, b'/' | b'.' | b'\n' | b'\r' | b'\t' | b' ');
    // SAFETY: text is followed by a zero.
    text.then(|| unsafe { CStr::from_ptr(image.cast()) })
}

/// The names of the kernels in PTX: what follows `.entry`.
fn entries(ptx: &CStr) -> Vec<String> {
    let text = ptx.to_string_lossy();
    let code = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
    let names = code.split(".entry").skip(1).filter_map(|after| {
        after.split(|c: char| c.is_whitespace() || c == '(').find(|word| !word.is_empty())
    });
    names.map(str::to_owned).collect()
}

/// What the driver's compiler says of PTX that it refuses. The load is tried once more, since a log must be asked for.
fn compiler_log(ptx: &CStr) -> Option<String> {
    type LoadDataEx =
        unsafe extern "C" fn(*mut CUmodule, *const c_void, c_uint, *mut c_int, *mut *mut c_void) -> u32;
    type Unload = unsafe extern "C" fn(CUmodule) -> u32;
    /// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
    const OPTIONS: [c_int; 2] = [5, 6];
    static LOAD: Entry = Entry::new("cuModuleLoadDataEx");
    static UNLOAD: Entry = Entry::new("cuModuleUnload");

    let (load, unload) = (LOAD.function()?, UNLOAD.function()?);
    // SAFETY: these are the C types of the functions of these names; enums are ints.
    let (load, unload) = unsafe {
        (std::mem::transmute::<Function, LoadDataEx>(load), std::mem::transmute::<Function, Unload>(unload))
    };
    let mut log = vec![0_u8; 8 << 10];
    let mut options = OPTIONS;
    // An option's value stands in the pointer itself; so does the size.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(log.len())];
    let mut module = std::ptr::null_mut();
    // SAFETY: the image is text with a zero behind it; two options and their two values, a buffer and its size.
    let code =
        unsafe { load(&raw mut module, ptx.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr()) };
    if code == 0 {
        // SAFETY: the module has just been loaded, and nobody else has it. That it loads now says nothing of why it did not.
        _ = unsafe { unload(module) };
        return None;
    }
    let text = CStr::from_bytes_until_nul(&log).ok()?.to_string_lossy();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    (!lines.is_empty()).then(|| format!("the driver's compiler: {}", lines.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_what_follows_entry() {
        let ptx = c".version 7.7\n// .entry not_this\n.visible .entry copy(\n.param .u64 x)\n{ ret; }\n.entry\n fill () {}\n";
        assert_eq!(entries(ptx), ["copy", "fill"]);
        assert_eq!(entries(c".version 7.7"), [""; 0]);
    }

    #[test]
    fn machine_code_is_no_ptx() {
        // SAFETY: both are long enough for their first byte, and the text ends in a zero.
        unsafe {
            assert!(as_ptx(c"\x7fELF".as_ptr().cast()).is_none());
            assert!(as_ptx(c".version 7.7".as_ptr().cast()).is_some());
        }
    }
}
