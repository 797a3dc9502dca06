//! Kernels that are launched by cudarc.

#![expect(unsafe_code, reason = "launches kernels")]

use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError, LaunchConfig, PushKernelArg,
    result,
};
use cudarc::nvrtc::Ptx;
use gpubench::gpu_bench;

/// The kernels of gpubench's own suite, so that both can be compared.
const PTX: &str = include_str!("../../../../gpubench-kernels/ptx/elementwise.ptx");

/// The inputs of [`saxpy`]: the kernel, `a`, `x` and `y`, which cudarc allocates through a stream.
///
/// # Errors
/// Returns the driver's error.
pub fn inputs(
    n: usize,
    stream: &Arc<CudaStream>,
) -> Result<(CudaFunction, f32, CudaSlice<f32>, CudaSlice<f32>), DriverError> {
    let kernel = stream.context().load_module(Ptx::from_src(PTX))?.load_function("saxpy")?;
    let x: Vec<f32> = (0..n).map(element).collect();
    Ok((kernel, 2.5, stream.clone_htod(&x)?, stream.clone_htod(&vec![1.0; n])?))
}

fn element(index: usize) -> f32 {
    (index % 1021) as f32
}

/// y ← a·x + y
///
/// # Errors
/// Returns the driver's error.
#[gpu_bench(
    args(n = [1 << 14, 1 << 18, 1 << 22, 10 << 20, 1 << 26]),
    setup = inputs(n, stream),
    reads = 4 * (x.len() + y.len()),
    writes = 4 * y.len(),
    flops = 2 * n,
    cold,
    accumulates,
    check = |_kernel, a, _x, y, _n| {
        let found = y.stream().clone_dtoh(y)?;
        let wrong = found.iter().enumerate().find(|(index, y)| **y != a * element(*index) + 1.0);
        wrong.map_or(Ok(()), |(index, y)| Err(format!("element {index} is {y}").into()))
    },
)]
pub fn saxpy(
    kernel: &CudaFunction,
    a: f32,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
    stream: &Arc<CudaStream>,
) -> Result<(), DriverError> {
    let n = x.len() as u64;
    // A thread takes four elements.
    let blocks = x.len().div_ceil(4 * 256) as u32;
    let mut launch = stream.launch_builder(kernel);
    launch.arg(&a).arg(x).arg(y).arg(&n);
    // SAFETY: the kernel takes these four, and reads and writes n elements, which both slices have.
    unsafe {
        launch.launch(LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 })
    }?;
    Ok(())
}

/// y ← x, by the driver. A function may take the stream without its `Arc`.
///
/// # Errors
/// Returns the driver's error.
#[gpu_bench(
    args(n = [1 << 20, 1 << 26]),
    setup = |n| {
        // What allocates needs the `Arc` of a stream, which a reference to the stream does not lead to.
        let allocator = stream.context().default_stream();
        Ok((allocator.clone_htod(&vec![7_u8; n])?, allocator.alloc_zeros(n)?))
    },
    bytes = 2 * x.len(),
    cold,
)]
pub fn copy(x: &CudaSlice<u8>, y: &mut CudaSlice<u8>, stream: &CudaStream) -> Result<(), DriverError> {
    let ((x, _x), (y, _y), bytes) = (x.device_ptr(stream), y.device_ptr_mut(stream), x.len());
    // SAFETY: both have as many bytes, and live as long as the case.
    unsafe { result::memcpy_dtod_async(y, x, bytes, stream.cu_stream()) }
}
