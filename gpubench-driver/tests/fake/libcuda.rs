//! A driver with next to nothing in it, built by `fake_driver.rs`. In: `--cfg` and one of `new`, `needed`
//! and `old` (its version), `stub` (tells none) and `hollow` (no cuInit). Out: a shared library.

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
