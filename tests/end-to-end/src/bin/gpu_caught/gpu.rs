//! Driver objects that the launch functions of this program use and free: modules, arrays, streams, events, contexts, graphs.

use std::ffi::{CStr, CString};
use std::ptr::null_mut;

use gpubench_driver::sys::{
    self, CUcontext, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUmodule, CUresult, CUstream,
};

/// Kernels of this program.
pub(crate) const OWN: &CStr = cstr(concat!(include_str!("kernels.ptx"), "\0"));
/// Kernels of the suite: `copy`, `fill` and `rmw`.
pub(crate) const ELEMENTWISE: &CStr =
    cstr(concat!(include_str!("../../../../../gpubench-kernels/ptx/elementwise.ptx"), "\0"));
/// `random_f32` and other inputs.
pub(crate) const INPUTS: &CStr =
    cstr(concat!(include_str!("../../../../../gpubench-kernels/ptx/inputs.ptx"), "\0"));
/// `turn`: fused multiply-adds of `f32`, 32 operations a thread and step.
pub(crate) const POWER: &CStr =
    cstr(concat!(include_str!("../../../../../gpubench-kernels/ptx/power.ptx"), "\0"));
/// `products`, which draws as much power as a GPU can.
pub(crate) const TENSOR: &CStr =
    cstr(concat!(include_str!("../../../../../gpubench-kernels/ptx/tensor.ptx"), "\0"));

const fn cstr(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a module is text with a zero behind it"),
    }
}

/// The default stream, which blocks with streams like the given one.
pub(crate) const DEFAULT: CUstream = null_mut();
/// `CU_STREAM_NON_BLOCKING`.
pub(crate) const NON_BLOCKING: u32 = 1;
/// `CU_EVENT_DISABLE_TIMING`.
const NO_TIMING: u32 = 2;
/// The threads of a block.
pub(crate) const THREADS: u64 = 256;

/// The call that failed.
#[derive(Debug, thiserror::Error)]
#[error("{call} returned {code}")]
pub(crate) struct Failed {
    call: &'static str,
    code: CUresult,
}

pub(crate) type Done<T = ()> = Result<T, Failed>;

/// The result of a call.
pub(crate) fn called(call: &'static str, code: CUresult) -> Done {
    if code == sys::CUDA_SUCCESS { Ok(()) } else { Err(Failed { call, code }) }
}

/// A loaded module.
#[derive(Debug)]
pub(crate) struct Module(CUmodule);

impl Module {
    pub(crate) fn load(ptx: &CStr) -> Done<Self> {
        let mut module = null_mut();
        // SAFETY: `module` is a place for a handle, and the image text with a zero behind it.
        called("cuModuleLoadData", unsafe { sys::cuModuleLoadData(&raw mut module, ptx.as_ptr().cast()) })?;
        Ok(Self(module))
    }

    fn function(&self, kernel: &str) -> Done<CUfunction> {
        let (mut function, name) = (null_mut(), CString::new(kernel).unwrap_or_default());
        // SAFETY: the module is loaded, and `function` a place for a handle.
        let code = unsafe { sys::cuModuleGetFunction(&raw mut function, self.0, name.as_ptr()) };
        called("cuModuleGetFunction", code)?;
        Ok(function)
    }

    /// Launches so many blocks of a kernel, whose arguments are given as the bits of each.
    pub(crate) fn launch(&self, kernel: &str, blocks: u64, arguments: &[u64], stream: CUstream) -> Done {
        self.launch_by(kernel, blocks, THREADS, arguments, stream)
    }

    /// The same, with so many threads a block.
    pub(crate) fn launch_by(
        &self,
        kernel: &str,
        blocks: u64,
        threads: u64,
        arguments: &[u64],
        stream: CUstream,
    ) -> Done {
        let mut places: Vec<_> =
            arguments.iter().map(|argument| std::ptr::from_ref(argument).cast_mut().cast()).collect();
        let (function, blocks, threads) = (self.function(kernel)?, blocks as u32, threads as u32);
        // SAFETY: the kernel takes these arguments, and touches nothing but the arrays that they name, which are alive.
        let code = unsafe {
            let places = places.as_mut_ptr();
            sys::cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, places, null_mut())
        };
        called("cuLaunchKernel", code)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: nobody else has it. A context that is lost has unloaded it already.
        _ = unsafe { sys::cuModuleUnload(self.0) };
    }
}

/// The bits of an `f32`, as an argument.
pub(crate) fn bits(x: f32) -> u64 {
    x.to_bits().into()
}

/// An array of `f32` on the device.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) at: CUdeviceptr,
    pub(crate) n: u64,
}

impl Array {
    /// `n` elements of any value.
    pub(crate) fn uninitialized(n: u64) -> Done<Self> {
        let mut at = 0;
        // SAFETY: `at` is a place for an address.
        called("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&raw mut at, 4 * n as usize) })?;
        Ok(Self { at, n })
    }

    /// `n` elements of one value.
    pub(crate) fn of(x: f32, n: u64) -> Done<Self> {
        let array = Self::uninitialized(n)?;
        // SAFETY: the array has n words.
        called("cuMemsetD32", unsafe { sys::cuMemsetD32_v2(array.at, x.to_bits(), n as usize) })?;
        Ok(array)
    }

    /// Elements from the host.
    pub(crate) fn from(x: &[f32]) -> Done<Self> {
        let array = Self::of(0.0, x.len() as u64)?;
        // SAFETY: both have as many elements.
        let code = unsafe { sys::cuMemcpyHtoD_v2(array.at, x.as_ptr().cast(), size_of_val(x)) };
        called("cuMemcpyHtoD", code)?;
        Ok(array)
    }

    pub(crate) fn bytes(&self) -> u64 {
        4 * self.n
    }

    /// Element `index`.
    pub(crate) fn read(&self, index: u64) -> Done<f32> {
        let mut x = 0_f32;
        // SAFETY: the array has this element, and `x` is a place for it.
        let code = unsafe { sys::cuMemcpyDtoH_v2((&raw mut x).cast(), self.at + 4 * index, 4) };
        called("cuMemcpyDtoH", code)?;
        Ok(x)
    }

    /// Tells whether some of its elements, the first and the last among them, have this value.
    pub(crate) fn is(&self, x: f32) -> Result<(), String> {
        for index in (0..8).map(|place| place * (self.n - 1) / 7) {
            let found = self.read(index).map_err(|error| error.to_string())?;
            if found.to_bits() != x.to_bits() {
                return Err(format!("element {index} is {found} and not {x}"));
            }
        }
        Ok(())
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: nobody else frees it.
        _ = unsafe { sys::cuMemFree_v2(self.at) };
    }
}

/// A stream beside the given one.
#[derive(Debug)]
pub(crate) struct Beside(pub(crate) CUstream);

impl Beside {
    pub(crate) fn new(priority: i32) -> Done<Self> {
        let mut stream = null_mut();
        // SAFETY: `stream` is a place for a handle.
        let code = unsafe { sys::cuStreamCreateWithPriority(&raw mut stream, NON_BLOCKING, priority) };
        called("cuStreamCreateWithPriority", code)?;
        Ok(Self(stream))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // SAFETY: nobody else destroys it.
        _ = unsafe { sys::cuStreamDestroy_v2(self.0) };
    }
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event(CUevent);

impl Event {
    pub(crate) fn new() -> Done<Self> {
        let mut event = null_mut();
        // SAFETY: `event` is a place for a handle.
        called("cuEventCreate", unsafe { sys::cuEventCreate(&raw mut event, NO_TIMING) })?;
        Ok(Self(event))
    }

    pub(crate) fn record(&self, stream: CUstream) -> Done {
        // SAFETY: both are alive.
        called("cuEventRecord", unsafe { sys::cuEventRecord(self.0, stream) })
    }

    /// Has a stream wait for it.
    pub(crate) fn holds(&self, stream: CUstream) -> Done {
        // SAFETY: both are alive.
        called("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(stream, self.0, 0) })
    }

    /// Has the host wait for it.
    pub(crate) fn wait(&self) -> Done {
        // SAFETY: it is alive.
        called("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.0) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: nobody else destroys it.
        _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

/// Another context than that of the measurement.
#[derive(Debug)]
pub(crate) struct Context(CUcontext);

impl Context {
    /// Makes one for the current device, and leaves the context that was current.
    pub(crate) fn new() -> Done<Self> {
        let (mut context, mut popped, mut device) = (null_mut(), null_mut(), 0);
        // SAFETY: each has a place for its result.
        unsafe {
            called("cuCtxGetDevice", sys::cuCtxGetDevice(&raw mut device))?;
            called("cuCtxCreate", sys::cuCtxCreate_v2(&raw mut context, 0, device))?;
            called("cuCtxPopCurrent", sys::cuCtxPopCurrent_v2(&raw mut popped))?;
        }
        Ok(Self(context))
    }

    pub(crate) fn push(&self) -> Done {
        // SAFETY: it is alive.
        called("cuCtxPushCurrent", unsafe { sys::cuCtxPushCurrent_v2(self.0) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: nobody else destroys it.
        _ = unsafe { sys::cuCtxDestroy_v2(self.0) };
    }
}

/// A graph of the launch's own.
#[derive(Debug)]
pub(crate) struct Graph {
    graph: CUgraph,
    executable: CUgraphExec,
}

impl Graph {
    /// Captures what `work` puts on a stream.
    pub(crate) fn of(work: impl FnOnce(CUstream) -> Done) -> Done<Self> {
        let stream = Beside::new(0)?;
        let (mut graph, mut executable) = (null_mut(), null_mut());
        let mode = sys::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive.
        called("cuStreamBeginCapture", unsafe { sys::cuStreamBeginCapture_v2(stream.0, mode) })?;
        work(stream.0)?;
        // SAFETY: the handles have places.
        unsafe {
            called("cuStreamEndCapture", sys::cuStreamEndCapture(stream.0, &raw mut graph))?;
            let code = sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0);
            called("cuGraphInstantiateWithFlags", code)?;
        }
        Ok(Self { graph, executable })
    }

    pub(crate) fn launch(&self, stream: CUstream) -> Done {
        // SAFETY: both are alive.
        called("cuGraphLaunch", unsafe { sys::cuGraphLaunch(self.executable, stream) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: nobody else destroys them. A context that is lost has done so already.
        _ = unsafe { (sys::cuGraphExecDestroy(self.executable), sys::cuGraphDestroy(self.graph)) };
    }
}
