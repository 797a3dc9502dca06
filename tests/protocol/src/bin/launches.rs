//! Launches of more than a kernel, of a kernel that the fake knows by its name, `lasts`: it takes as many nanoseconds as it
//! is told. So the truth of each case is known.

#![expect(unsafe_code, reason = "launches kernels, and makes a graph of them")]

use std::ptr::null_mut;

use cust::error::CudaResult;
use cust::launch;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::sys::{
    CUgraph, CUgraphExec, CUresult, CUstreamCaptureMode, cuGraphDestroy, cuGraphExecDestroy,
    cuGraphInstantiateWithFlags, cuGraphLaunch, cuStreamBeginCapture_v2, cuStreamEndCapture,
};
use gpubench::gpu_bench;

const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry lasts(.param .u64 nanoseconds, .param .u64 start, .param .u64 bytes) { ret; }";

/// What each kernel takes, in nanoseconds.
const EACH: u64 = 40_000;

fn load() -> CudaResult<Module> {
    Module::from_ptx(PTX, &[])
}

/// `KERNELS` of them, one after the other.
#[gpu_bench(consts(KERNELS = [1, 2, 5]), setup = load)]
fn kernels<const KERNELS: usize>(module: &Module, stream: &Stream) -> CudaResult<()> {
    for _ in 0..KERNELS {
        // SAFETY: the kernel takes these parameters, and reads nothing.
        unsafe { launch!(module.lasts<<<1, 32, 0, stream>>>(EACH, 0_u64, 0_u64)) }?;
    }
    Ok(())
}

/// A copy over the bus beside a kernel.
#[gpu_bench(
    setup = Ok((load()?, LockedBuffer::new(&7_u8, 1 << 20)?, DeviceBuffer::zeroed(1 << 20)?)),
    bytes = x.len(),
    link = h2d,
    check = |_module, _x, y: &DeviceBuffer<u8>| { assert_eq!(y.as_host_vec()?, [7; 1 << 20]); Ok(()) },
)]
fn copy_and_kernel(
    module: &Module,
    x: &LockedBuffer<u8>,
    y: &mut DeviceBuffer<u8>,
    stream: &Stream,
) -> CudaResult<()> {
    // SAFETY: both outlive the case, and nobody writes them meanwhile.
    unsafe { y.async_copy_from(x, stream) }?;
    kernels::<1>(module, stream)
}

/// Two kernels in a graph of the user's own.
struct Captured {
    executable: CUgraphExec,
    graph: CUgraph,
    // What it launches must stay loaded.
    _module: Module,
}

impl Captured {
    fn two() -> Result<Self, String> {
        let module = load().map_err(|error| error.to_string())?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).map_err(|error| error.to_string())?;
        let (mut graph, mut executable) = (null_mut(), null_mut());
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is alive, and the handles have a place.
        unsafe {
            called(cuStreamBeginCapture_v2(stream.as_inner(), mode))?;
            kernels::<2>(&module, &stream).map_err(|error| error.to_string())?;
            called(cuStreamEndCapture(stream.as_inner(), &mut graph))?;
            called(cuGraphInstantiateWithFlags(&mut executable, graph, 0))?;
        }
        Ok(Self { executable, graph, _module: module })
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: both are ours, and used nowhere else.
        let destroyed = unsafe { (cuGraphExecDestroy(self.executable), cuGraphDestroy(self.graph)) };
        // A context that is lost has destroyed them already.
        _ = destroyed;
    }
}

#[gpu_bench(setup = Captured::two())]
fn graph_of_its_own(captured: &Captured, stream: &Stream) -> Result<(), String> {
    // SAFETY: the graph is ready, and the stream alive.
    called(unsafe { cuGraphLaunch(captured.executable, stream.as_inner()) })
}

fn called(result: CUresult) -> Result<(), String> {
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(format!("{result:?}")) }
}

gpubench::main!();
