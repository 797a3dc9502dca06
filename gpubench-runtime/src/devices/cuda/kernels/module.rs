//! Kernels from PTX. In: a module's text and a kernel's name; out: a function to launch.

use std::ffi::{CString, c_void};

use gpubench_driver::sys::{self, CUfunction, CUmodule, CUstream};

use crate::device::DeviceError;
use crate::devices::cuda::driver::{CallError, check, check_for};

/// A kernel of gpubench and its place in a module.
#[derive(Clone, Copy)]
pub(crate) struct LoadedKernel(CUfunction);

/// Kernels that were loaded together.
pub(crate) struct Module(CUmodule);

impl Module {
    /// Loads kernels from PTX.
    pub(crate) fn load(ptx: &str) -> Result<Self, DeviceError> {
        let ptx = CString::new(ptx).map_err(DeviceError::new)?;
        let mut module = std::ptr::null_mut();
        // SAFETY: `module` is a place for a handle, and the image is text that ends in a zero.
        let result = unsafe { sys::cuModuleLoadData(&raw mut module, ptx.as_ptr().cast()) };
        check_for("a kernel of the measurement cannot be loaded", result)?;
        Ok(Self(module))
    }

    /// Returns the kernel of this name.
    pub(crate) fn find(&self, name: &str) -> Result<LoadedKernel, DeviceError> {
        let symbol = CString::new(name).map_err(DeviceError::new)?;
        let mut function = std::ptr::null_mut();
        // SAFETY: `function` is a place for a handle, and the module is loaded.
        check_for(name, unsafe { sys::cuModuleGetFunction(&raw mut function, self.0, symbol.as_ptr()) })?;
        Ok(LoadedKernel(function))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: nothing else has the handle, and its kernels have run.
        _ = unsafe { sys::cuModuleUnload(self.0) };
    }
}

impl LoadedKernel {
    /// Launches `blocks` × `threads` on `stream`; `arguments` points at each argument, in order.
    ///
    /// # Safety
    /// The arguments must be of the kernel's types, and the memory they name must live until the kernel has run.
    pub(crate) unsafe fn launch(
        self,
        (blocks, threads): (u32, u32),
        stream: CUstream,
        arguments: &mut [*mut c_void],
    ) -> Result<(), CallError> {
        let none = std::ptr::null_mut();
        // SAFETY: the function is part of a loaded module; the caller vouches for the arguments.
        check(unsafe {
            sys::cuLaunchKernel(self.0, blocks, 1, 1, threads, 1, 1, 0, stream, arguments.as_mut_ptr(), none)
        })
    }
}
