//! Three kernels, launched one after the other or as a graph of cudarc's.

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{
    CudaFunction, CudaGraph, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg as _,
};
use cudarc::nvrtc::Ptx;
use gpubench::gpu_bench;

/// The kernels of gpubench's own suite.
const PTX: &str = include_str!("../../../gpubench-kernels/ptx/elementwise.ptx");

/// A kernel, and what it is launched on.
pub struct Saxpy {
    kernel: CudaFunction,
    x: CudaSlice<f32>,
    y: CudaSlice<f32>,
}

impl Saxpy {
    /// Returns `n` elements of each.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn new(n: usize, stream: &Arc<CudaStream>) -> Result<Self, DriverError> {
        let kernel = stream.context().load_module(Ptx::from_src(PTX))?.load_function("saxpy")?;
        Ok(Self { kernel, x: stream.clone_htod(&vec![1.0; n])?, y: stream.alloc_zeros(n)? })
    }

    /// y ← 0.5·x + y, three times
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
        let Self { kernel, x, y } = self;
        let (n, a) = (x.len() as u64, 0.5_f32);
        // A thread takes four elements.
        let blocks = x.len().div_ceil(4 * 256) as u32;
        let config = LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
        for _ in 0..3 {
            let mut launch = stream.launch_builder(kernel);
            launch.arg(&a).arg(&*x).arg(&mut *y).arg(&n);
            // SAFETY: the kernel takes these four, and reads and writes n elements, which both slices have.
            unsafe { launch.launch(config) }?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let found = self.y.stream().clone_dtoh(&self.y)?;
        let wrong = found.iter().position(|y| *y != 1.5);
        wrong.map_or(Ok(()), |index| Err(format!("element {index} is {}", found[index]).into()))
    }
}

/// The three kernels as work on the stream.
///
/// # Errors
/// Returns the driver's error.
#[gpu_bench(
    args(n = [1 << 10, 1 << 18, 1 << 22, 1 << 26]),
    setup = Saxpy::new(n, stream),
    cold,
    accumulates,
    check = |saxpy, _n| saxpy.check(),
)]
pub fn inline(saxpy: &mut Saxpy, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    saxpy.launch(stream)
}

/// Captures the three kernels.
fn captured(n: usize, stream: &Arc<CudaStream>) -> Result<(CudaGraph, Saxpy), Box<dyn Error + Send + Sync>> {
    let mut saxpy = Saxpy::new(n, stream)?;
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    saxpy.launch(stream)?;
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?.ok_or("nothing was captured")?;
    Ok((graph, saxpy))
}

/// The three kernels as one graph.
///
/// # Errors
/// Returns the driver's error.
#[gpu_bench(
    args(n = [1 << 10, 1 << 18, 1 << 22, 1 << 26]),
    setup = captured(n, stream),
    cold,
    accumulates,
    check = |_graph, saxpy, _n| saxpy.check(),
)]
pub fn graph(graph: &CudaGraph, _saxpy: &mut Saxpy, _stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    graph.launch()
}
