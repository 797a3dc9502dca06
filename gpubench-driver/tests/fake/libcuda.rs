//! A driver with next to nothing in it, built by `fake_driver.rs`.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

#[cfg(not(hollow))]
#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: u32) -> u32 {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut i32) -> u32 {
    let number = if cfg!(old) {
        11040
    } else if cfg!(needed) {
        11070
    } else if cfg!(new) {
        13020
    } else {
        return 34;
    };
    unsafe { *version = number };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut i32) -> u32 {
    unsafe { *count = 3 };
    0
}

/// A code that cust_raw's enum lacks.
#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> u32 {
    912
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamQuery(_stream: *mut u8) -> u32 {
    600
}

/// The newest code is all that this driver has a name for.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(code: u32, name: *mut *const u8) -> u32 {
    let (result, string) =
        if code == 912 { (0, c"CUDA_ERROR_OF_TOMORROW".as_ptr().cast()) } else { (1, ptr::null()) };
    unsafe { *name = string };
    result
}

/// There is memory for one page, always the same.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(pointer: *mut u64, bytes: usize) -> u32 {
    if bytes > 4096 {
        return 2;
    }
    unsafe { *pointer = 0x7000 };
    0
}

/// Launches nothing.
#[unsafe(no_mangle)]
#[rustfmt::skip]
extern "C" fn cuLaunchKernel(
    _function: usize,
    _x: u32, _y: u32, _z: u32, _threads_x: u32, _threads_y: u32, _threads_z: u32,
    _shared: u32,
    _stream: usize,
    _arguments: *const usize,
    _extra: *const usize,
) -> u32 {
    0
}

/// A function has 24 of each; the handle of a kernel, which is 6, is refused.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuFuncGetAttribute(value: *mut i32, _attribute: i32, function: usize) -> u32 {
    if function == 6 {
        return 400;
    }
    unsafe { *value = 24 };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuKernelGetFunction(function: *mut usize, kernel: usize) -> u32 {
    if kernel != 6 {
        return 400;
    }
    unsafe { *function = 5 };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut i32,
    _function: usize,
    _threads: i32,
    _shared: usize,
) -> u32 {
    unsafe { *blocks = 2 };
    0
}

/// The same for a program with per-thread default streams.
#[unsafe(no_mangle)]
#[rustfmt::skip]
extern "C" fn cuLaunchKernel_ptsz(
    _function: usize,
    _x: u32, _y: u32, _z: u32, _threads_x: u32, _threads_y: u32, _threads_z: u32,
    _shared: u32,
    _stream: usize,
    _arguments: *const usize,
    _extra: *const usize,
) -> u32 {
    0
}

/// Returns an empty table, whatever its number.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetExportTable(table: *mut *const c_void, _number: *const [u8; 16]) -> u32 {
    unsafe { *table = ptr::null() };
    0
}

/// No table of forwarders has it.
#[unsafe(no_mangle)]
extern "C" fn cuFunctionOfTomorrow() -> u32 {
    913
}

/// Nor this, which would make memory.
#[unsafe(no_mangle)]
extern "C" fn cuMemAllocOfTomorrow() -> u32 {
    0
}

/// Knows its functions by their first names.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetProcAddress(name: *const c_char, place: *mut *const c_void, _: i32, _: u64) -> u32 {
    let function = match unsafe { CStr::from_ptr(name) }.to_str() {
        Ok("cuMemAlloc") => cuMemAlloc_v2 as *const c_void,
        Ok("cuLaunchKernel") => cuLaunchKernel as *const c_void,
        Ok("cuFunctionOfTomorrow") => cuFunctionOfTomorrow as *const c_void,
        Ok("cuMemAllocOfTomorrow") => cuMemAllocOfTomorrow as *const c_void,
        _ => ptr::null(),
    };
    unsafe { *place = function };
    if function.is_null() { 500 } else { 0 }
}

/// The same with a place for the reason.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetProcAddress_v2(
    name: *const c_char,
    place: *mut *const c_void,
    version: i32,
    flags: u64,
    _reason: *mut i32,
) -> u32 {
    unsafe { cuGetProcAddress(name, place, version, flags) }
}

/// Loads all PTX but that which begins with a comment, of which its compiler complains.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut usize,
    image: *const u8,
    options: u32,
    names: *const i32,
    values: *const *mut u8,
) -> u32 {
    if unsafe { *image } != b'/' {
        unsafe { *module = 7 };
        return 0;
    }
    let log = c"ptxas: line 1\n\nptxas: fatal\n".to_bytes_with_nul();
    for option in 0..options as usize {
        if unsafe { *names.add(option) } == 5 {
            unsafe { (*values.add(option)).copy_from(log.as_ptr(), log.len()) };
        }
    }
    218
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(_module: usize) -> u32 {
    0
}

/// No kernel is ever there.
#[unsafe(no_mangle)]
extern "C" fn cuModuleGetFunction(_function: *mut usize, _module: usize, _name: *const u8) -> u32 {
    500
}
