//! The kernels of gpubench for measurements, loaded from PTX, and launches of the empty ones, which calibrate the timer
//! and are interleaved with the launches of a case. `scripts/ptx` builds the PTX in this folder from the sources next to it.

use std::ffi::{CString, c_void};
use std::{rc::Rc, time::Duration};

use gpubench_driver::sys::{self, CUfunction, CUmodule, CUstream};
use gpubench_records::{Cache, Failure};

use super::driver::{CallError, check, check_for};
use super::graph::Capture;
use crate::device::DeviceError;

/// The kernels that every GPU can run.
const MEASURE_PTX: &str = include_str!("measure.ptx");
/// The kernel that discards lines of the L2; it needs compute capability 8.0.
const DISCARD_PTX: &str = include_str!("discard.ptx");

/// The kernels that are loaded when a GPU is opened. Other kernels are loaded where they are needed.
pub(crate) struct Kernels {
    /// `(const uint4* buffer, u64 vectors, u32* sink)`: reads all of `buffer`.
    pub read_sweep: LoadedKernel,
    /// `(void* buffer, u64 lines)`: discards lines of 128 bytes. `None` before compute capability 8.0.
    pub discard: Option<LoadedKernel>,
    /// `(u64 nanoseconds)`: one thread waits for this time, 2 ms at most.
    delay: LoadedKernel,
    /// `(u64* at)`: one thread stores `%globaltimer` at this address.
    pub stamp: LoadedKernel,
    /// `(u64* step)`: one thread stores the resolution of `%globaltimer` at this address; 0 if it does not
    /// advance.
    pub timer_step: LoadedKernel,
    /// `(u64 nanoseconds, u64* read)`: one thread counts cycles for this time, 2 ms at most. It stores two
    /// words at `read`: the number of cycles, and the nanoseconds that they took, 0 if the timer advances too
    /// slowly.
    pub clock: LoadedKernel,
    /// Kernels that do nothing.
    pub empty: EmptyKernels,
}

impl Kernels {
    /// Loads the kernels. `can_discard` is true if the GPU can discard lines of its L2.
    pub(crate) fn load(can_discard: bool) -> Result<Self, DeviceError> {
        let measure = Module::load(MEASURE_PTX)?;
        Ok(Self {
            read_sweep: measure.find("gpubench_read_sweep")?,
            delay: measure.find("gpubench_delay")?,
            stamp: measure.find("gpubench_stamp")?,
            timer_step: measure.find("gpubench_timer_step")?,
            clock: measure.find("gpubench_clock")?,
            empty: EmptyKernels::load()?,
            discard: can_discard.then(|| Module::load(DISCARD_PTX)?.find("gpubench_discard")).transpose()?,
        })
    }

    /// Enqueues a delay of `duration`, 2 ms at most, on `stream`.
    pub(crate) fn delay(&self, duration: Duration, stream: CUstream) -> Result<(), CallError> {
        let nanoseconds = duration.as_nanos() as u64;
        // SAFETY: the kernel takes a number, and ends by itself.
        unsafe { self.delay.launch((1, 1), stream, [nanoseconds]) }
    }
}

/// A kernel, which keeps its module loaded.
#[derive(Clone)]
pub(crate) struct LoadedKernel {
    function: CUfunction,
    _module: Rc<Module>,
}

/// A loaded module, unloaded when it and all its kernels are dropped.
pub(crate) struct Module(CUmodule);

impl Module {
    /// Loads the module with this PTX into the current context.
    pub(crate) fn load(ptx: &str) -> Result<Rc<Self>, DeviceError> {
        let ptx = CString::new(ptx).map_err(DeviceError::new)?;
        let mut module = std::ptr::null_mut();
        // SAFETY: `module` is valid for writing a handle, and the image is text that ends in a zero.
        let result = unsafe { sys::cuModuleLoadData(&raw mut module, ptx.as_ptr().cast()) };
        check_for("a kernel of the measurement cannot be loaded", result)?;
        Ok(Rc::new(Self(module)))
    }

    /// Returns the kernel of this name in the module.
    pub(crate) fn find(self: &Rc<Self>, name: &str) -> Result<LoadedKernel, DeviceError> {
        let symbol = CString::new(name).map_err(DeviceError::new)?;
        let mut function = std::ptr::null_mut();
        // SAFETY: `function` is valid for writing a handle, and the module is loaded.
        check_for(name, unsafe { sys::cuModuleGetFunction(&raw mut function, self.0, symbol.as_ptr()) })?;
        Ok(LoadedKernel { function, _module: Rc::clone(self) })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: nothing else has the handle, and its kernels have run.
        _ = unsafe { sys::cuModuleUnload(self.0) };
    }
}

impl LoadedKernel {
    /// Launches `blocks` blocks of `threads` threads on `stream` with these arguments.
    ///
    /// # Safety
    /// The kernel has at most `N` parameters, each of 64 bits. Memory whose address is an argument must live
    /// until the kernel has run.
    pub(crate) unsafe fn launch<const N: usize>(
        &self,
        (blocks, threads): (u32, u32),
        stream: CUstream,
        mut arguments: [u64; N],
    ) -> Result<(), CallError> {
        let mut pointers = arguments.each_mut().map(|argument| std::ptr::from_mut(argument).cast::<c_void>());
        let (function, pointers, none) = (self.function, pointers.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: the function is part of a loaded module; the caller vouches for the arguments.
        check(unsafe {
            sys::cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, pointers, none)
        })
    }
}

/// The empty kernels.
const EMPTY_PTX: &str = include_str!("empty.ptx");

/// A kernel that does nothing: `(const void*, const void*, u32*, u64)`.
#[derive(Clone)]
pub(crate) struct EmptyKernel(LoadedKernel);

impl EmptyKernel {
    /// Launches `grid.0` blocks of `grid.1` threads on `stream`.
    pub(crate) fn launch(&self, grid: (u32, u32), stream: CUstream) -> Result<(), CallError> {
        // SAFETY: each parameter has eight bytes, and a kernel that is given zero touches no memory.
        unsafe { self.0.launch(grid, stream, [0; 4]) }
    }

    /// Returns work that launches one block of 32 threads on `stream`.
    pub(crate) fn work(self, stream: CUstream) -> impl FnMut() -> Result<(), Failure> {
        move || Ok(self.launch((1, 32), stream)?)
    }

    /// Captures a launch as in [`Self::work`] in a graph, and returns work that launches this graph: each
    /// launch has the overhead of a graph launch on the stream.
    pub(crate) fn work_in_graph(
        self,
        stream: CUstream,
    ) -> Result<impl FnMut() -> Result<(), Failure>, Failure> {
        let capture = Capture::begin(stream)?;
        self.launch((1, 32), stream)?;
        let graph = capture.end()?.instantiate()?;
        Ok(move || {
            // Keeps the module of the kernel loaded.
            let _kernel = &self;
            Ok(graph.launch(stream)?)
        })
    }
}

/// One loaded copy of the empty kernels. Each copy has its code at other addresses.
pub(crate) struct EmptyKernels {
    /// The kernel that does not even read its parameters.
    pub bare: EmptyKernel,
    /// The kernel that reads a parameter.
    reads_parameter: EmptyKernel,
}

impl EmptyKernels {
    /// Loads a new copy of the empty kernels.
    pub(crate) fn load() -> Result<Self, DeviceError> {
        let module = Module::load(EMPTY_PTX)?;
        Ok(Self {
            bare: EmptyKernel(module.find("gpubench_empty")?),
            reads_parameter: EmptyKernel(module.find("gpubench_empty_reads")?),
        })
    }

    /// Returns the empty kernel to interleave with samples in this state of the cache: for cold samples in a
    /// graph, the kernel that reads a parameter, otherwise [`Self::bare`]. `recorded` is true for samples in
    /// a graph.
    ///
    /// After a flush, launches in a graph wait until their parameters come from memory. On an H200 this takes
    /// 0.06 to 0.09 µs in nearly every kernel, and in the empty kernel that reads a parameter, but not in the
    /// bare one.
    pub(crate) fn matching(&self, recorded: bool, cache: Cache) -> EmptyKernel {
        let waits = recorded && cache == Cache::Cold;
        if waits { self.reads_parameter.clone() } else { self.bare.clone() }
    }
}
