//! The kernels that a measurement itself needs. In: this device's capability; out: functions to launch. Their sources
//! and PTX lie in `kernels/`; `scripts/ptx` builds the PTX from the sources.

use std::ffi::{CString, c_void};
use std::time::Duration;

use gpubench_driver::sys::{self, CUfunction, CUmodule, CUstream};

use crate::device::DeviceError;
use crate::devices::cuda::driver::{CallError, check, check_for};

const MEASURE: &str = include_str!("measure.ptx");
const DISCARD: &str = include_str!("discard.ptx");
const EMPTY: &str = include_str!("empty.ptx");
/// The name of the kernel of that.
const DOES_NOTHING: &str = "gpubench_empty";

/// A kernel of gpubench and its place in a module.
#[derive(Clone, Copy)]
pub(crate) struct LoadedKernel(CUfunction);

/// The kernels, loaded.
pub(crate) struct Kernels {
    /// `(const uint4* buffer, u64 vectors, u32* sink)`: reads all of `buffer`.
    pub(crate) read_sweep: LoadedKernel,
    /// `(void* buffer, u64 lines)`: discards lines of 128 bytes; from compute capability 8.0.
    pub(crate) discard: Option<LoadedKernel>,
    /// `(u64 nanoseconds)`: one thread waits for that time, 2 ms at most.
    delay: LoadedKernel,
    /// `(u64 nanoseconds, u64* read)`: one thread counts cycles for that time, 2 ms at most.
    pub(crate) clock: LoadedKernel,
    /// `()`: does nothing.
    pub(crate) empty: LoadedKernel,
    // The functions belong to these modules.
    _modules: Vec<Module>,
}

impl Kernels {
    pub(crate) fn load(can_discard: bool) -> Result<Self, DeviceError> {
        let measure = Module::load(MEASURE)?;
        let empty = Module::load(EMPTY)?;
        let discard = if can_discard { Some(Module::load(DISCARD)?) } else { None };
        Ok(Self {
            read_sweep: measure.find("gpubench_read_sweep")?,
            delay: measure.find("gpubench_delay")?,
            clock: measure.find("gpubench_clock")?,
            empty: empty.find(DOES_NOTHING)?,
            discard: discard.as_ref().map(|module| module.find("gpubench_discard")).transpose()?,
            _modules: [measure, empty].into_iter().chain(discard).collect(),
        })
    }
}

/// A copy of the empty kernel, whose code lies elsewhere than that of other copies.
pub(crate) struct EmptyCopy {
    pub(crate) kernel: LoadedKernel,
    // The kernel belongs to this module.
    _module: Module,
}

impl EmptyCopy {
    pub(crate) fn load() -> Result<Self, DeviceError> {
        let module = Module::load(EMPTY)?;
        Ok(Self { kernel: module.find(DOES_NOTHING)?, _module: module })
    }
}

impl Kernels {
    /// Keeps `stream` busy for `duration`, 2 ms at most.
    pub(crate) fn delay(&self, duration: Duration, stream: CUstream) -> Result<(), CallError> {
        let mut nanoseconds = duration.as_nanos() as u64;
        // SAFETY: the kernel takes a number, and ends by itself.
        unsafe { self.delay.launch((1, 1), stream, &mut [(&raw mut nanoseconds).cast()]) }
    }
}

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
