//! Modules and their kernels: the names of kernels that were looked up, and details of a failed call, such as the
//! compiler log of rejected PTX or the kernels of a module that lacks the requested one.

#![expect(unsafe_code, reason = "reads the arguments of C functions")]

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::sync::{LazyLock, Mutex};

use crate::calls::{DriverCall, add_if_successful, lock};
use crate::library::unrecorded;
use crate::memory::{add_variable, remove_module_variables};
use crate::result::set_detail;
use crate::types::{CUDA_ERROR_NOT_FOUND, CUdeviceptr, CUfunction, CUkernel, CUmodule};

/// The modules that this process loaded, and the kernels that it looked up, by their handles.
#[derive(Default)]
struct Modules {
    /// The names of the kernels of each module that was loaded from PTX.
    kernels: HashMap<usize, Vec<String>>,
    /// The handle of the module and the name of each kernel that was looked up, by the kernel's handle.
    found: HashMap<usize, (usize, String)>,
}

/// The modules of this process.
static MODULES: LazyLock<Mutex<Modules>> = LazyLock::new(Mutex::default);

/// Returns the name by which a kernel was looked up; `None` if it was not looked up.
pub(crate) fn kernel_name(function: CUfunction) -> Option<String> {
    lock(&MODULES).found.get(&(function as usize)).map(|(_, name)| name.clone())
}

/// Returns a hash of the name by which a kernel was looked up; the kernel's handle if it was not looked up.
/// Unlike a handle, the hash stays the same if the module is loaded again.
pub(crate) fn kernel_number(function: CUfunction) -> u64 {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let modules = lock(&MODULES);
    modules.found.get(&(function as usize)).map_or(function as u64, |(_, name)| hasher.hash_one(name))
}

/// Reports the loading of a module to the watch. For a module from PTX, also stores the names of its kernels
/// and lists its variables as memory. If PTX failed to load, sets the log of the driver's compiler as the
/// detail of the failed call.
///
/// # Safety
/// The arguments are the first ones of `cuModuleLoadData` or `cuModuleLoadDataEx`, which has returned `code`.
pub(crate) unsafe fn list_module(code: u32, module: *mut CUmodule, image: *const c_void) {
    add_if_successful(code, DriverCall::Loaded);
    // SAFETY: the driver has just read the image under the same contract.
    let Some(ptx) = (unsafe { as_ptx(image) }) else { return };
    if code == 0 {
        // SAFETY: the driver has just written the handle there.
        let module = unsafe { *module };
        lock(&MODULES).kernels.insert(module as usize, kernel_names(ptx));
        variable_names(ptx).iter().for_each(|name| list_variable(module, name));
    } else {
        set_detail(compiler_log(ptx));
    }
}

/// Reports the unloading of a module to the watch, and removes the module with its kernels and variables.
/// Does nothing if `code` is not 0.
pub(crate) unsafe fn unlist_module(code: u32, module: CUmodule) {
    add_if_successful(code, DriverCall::Loaded);
    if code == 0 {
        remove_module_variables(module);
        let mut modules = lock(&MODULES);
        modules.kernels.remove(&(module as usize));
        modules.found.retain(|_, (of, _)| *of != module as usize);
    }
}

/// Stores the name and the module of a kernel that was looked up. If the module lacks the kernel, sets a
/// sentence with the kernels that the module has as the detail of the failed call. For `cuLibraryGetKernel`,
/// the library is stored as the module and the kernel's handle as the function: that handle can be launched
/// too.
///
/// # Safety
/// The arguments are those of `cuModuleGetFunction` or `cuLibraryGetKernel`, which has returned `code`.
pub(crate) unsafe fn keep_kernel_name(
    code: u32,
    function: *mut CUfunction,
    module: CUmodule,
    name: *const c_char,
) {
    if code != 0 && code != CUDA_ERROR_NOT_FOUND {
        return;
    }
    // SAFETY: the driver has just read the name under the same contract.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    if code == 0 {
        // SAFETY: the driver has just written the handle there.
        let function = unsafe { *function };
        let mut modules = lock(&MODULES);
        // Launches look their kernel up again and again.
        let known = modules.found.get(&(function as usize));
        if known.is_none_or(|(of, known)| (*of, &**known) != (module as usize, &*name)) {
            modules.found.insert(function as usize, (module as usize, name.into_owned()));
        }
        return;
    }
    let there = lock(&MODULES).kernels.get(&(module as usize)).map(|names| names.join("`, `"));
    let there = there.map_or_else(String::new, |names| format!("; it has `{names}`"));
    set_detail(Some(format!("the module has no kernel `{name}`{there}")));
}

/// Stores the name of a library's kernel also for the function of that kernel, which `cuKernelGetFunction`
/// stored at `function`.
///
/// # Safety
/// The arguments are those of `cuKernelGetFunction`, which has returned `code`.
pub(crate) unsafe fn copy_kernel_name(code: u32, function: *mut CUfunction, kernel: CUkernel) {
    if code != 0 {
        return;
    }
    // SAFETY: the driver has just written the handle there.
    let function = unsafe { *function };
    let mut modules = lock(&MODULES);
    if let Some(found) = modules.found.get(&(kernel as usize)).cloned() {
        modules.found.insert(function as usize, found);
    }
}

/// Returns the image as text if it is PTX; `None` for machine code and for a null pointer.
///
/// # Safety
/// The driver accepts the image as an argument; text ends with a zero.
unsafe fn as_ptx<'a>(image: *const c_void) -> Option<&'a CStr> {
    if image.is_null() {
        return None;
    }
    // SAFETY: every image has a first byte.
    let first = unsafe { *image.cast::<u8>() };
    // PTX begins with a comment, white space or a directive. An ELF file or a fat binary begins with none of
    // these.
    let text = matches!(first, b'/' | b'.' | b'\n' | b'\r' | b'\t' | b' ');
    // SAFETY: text ends with a zero.
    text.then(|| unsafe { CStr::from_ptr(image.cast()) })
}

/// Returns PTX without its `//` comments. Comments in `/* */` stay.
fn without_line_comments(ptx: &CStr) -> String {
    let text = ptx.to_string_lossy();
    text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// Returns the names of the kernels in PTX, the words after `.entry`.
fn kernel_names(ptx: &CStr) -> Vec<String> {
    let code = without_line_comments(ptx);
    let names = code.split(".entry").skip(1).filter_map(|after| {
        after.split(|c: char| c.is_whitespace() || c == '(').find(|word| !word.is_empty())
    });
    names.map(str::to_owned).collect()
}

/// Returns the names of the global variables in PTX. In a line such as `.global .align 4 .b8 table[64];` the
/// name is the last word before the size, the value or the end.
fn variable_names(ptx: &CStr) -> Vec<String> {
    let code = without_line_comments(ptx);
    let declared = code.lines().filter_map(|line| {
        let (before, after) = line.split_once(".global")?;
        // The rest are instructions, such as `ld.global.f32`.
        let declares = before.is_empty() || before.ends_with(char::is_whitespace);
        let name = after.split(['[', '=', ';']).next()?.split_whitespace().last()?;
        (declares && after.starts_with(char::is_whitespace)).then(|| name.to_owned())
    });
    declared.collect()
}

/// Looks up a variable of a module, and adds it to the listed memory of this process. Does nothing if the
/// lookup fails.
fn list_variable(module: CUmodule, name: &str) {
    let function = unrecorded!(cuModuleGetGlobal_v2(*mut CUdeviceptr, *mut usize, CUmodule, *const c_char));
    let (Some(function), Ok(name)) = (function, CString::new(name)) else { return };
    let (mut address, mut bytes) = (0, 0);
    // SAFETY: the module has just been loaded, and `address` and `bytes` are places for the results.
    let code = unsafe { function(&raw mut address, &raw mut bytes, module, name.as_ptr()) };
    // SAFETY: these are the arguments of that call.
    unsafe { add_variable(code, &raw mut address, &raw mut bytes, module) };
}

/// Returns the log of the driver's compiler for rejected PTX, on one line after `the driver's compiler: `.
/// Loads the PTX once more for it, since the log must be requested before the load. `None` if the log is
/// empty, or if the load now succeeds.
fn compiler_log(ptx: &CStr) -> Option<String> {
    /// `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
    const OPTIONS: [c_int; 2] = [5, 6];

    let load =
        unrecorded!(cuModuleLoadDataEx(*mut CUmodule, *const c_void, c_uint, *mut c_int, *mut *mut c_void))?;
    let unload = unrecorded!(cuModuleUnload(CUmodule))?;
    let mut log = vec![0_u8; 8 << 10];
    let mut options = OPTIONS;
    // An option's value stands in the pointer itself; so does the size.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(log.len())];
    let mut module = std::ptr::null_mut();
    // SAFETY: the image is text with a zero behind it; two options and their two values, a buffer and its size.
    let code =
        unsafe { load(&raw mut module, ptx.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr()) };
    if code == 0 {
        // SAFETY: the module has just been loaded, and nobody else has it. This success does not explain the
        // first failure.
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
        assert_eq!(kernel_names(ptx), ["copy", "fill"]);
        assert_eq!(kernel_names(c".version 7.7"), [""; 0]);
    }

    #[test]
    fn variables_are_what_is_declared_global() {
        let ptx = c".version 7.7\n.visible .global .align 4 .b8 table[64] = {1, 2};\n// .global .u32 not_this;\n\
                    .global .u32 counter;\n.const .u32 constant;\n.entry f() {\n\tld.global.u32 %r1, [%rd1];\n}";
        assert_eq!(variable_names(ptx), ["table", "counter"]);
    }

    #[test]
    fn machine_code_is_no_ptx() {
        // SAFETY: both have a first byte, and the text ends in a zero.
        unsafe {
            assert!(as_ptx(c"\x7fELF".as_ptr().cast()).is_none());
            assert!(as_ptx(c".version 7.7".as_ptr().cast()).is_some());
        }
    }
}
