//! Kernels that are launched by cuda-core.

mod stream;
#[cfg(feature = "cutile")]
pub mod tiles;

use std::error::Error;

use cuda_core::{DeviceBuffer, DriverError, Function, launch_kernel_on_stream};
use gpubench::gpu_bench;

pub use crate::stream::Stream;

/// The kernels of gpubench's own suite, so that both can be compared.
const PTX: &str = include_str!("../../../gpubench-kernels/ptx/elementwise.ptx");

/// The inputs of [`saxpy`]: the kernel, `a`, `x` and `y`, which cuda-core fills through a stream.
///
/// # Errors
/// Returns the driver's error.
pub fn inputs(
    n: usize,
    stream: &cuda_core::Stream,
) -> Result<(Function, f32, DeviceBuffer<f32>, DeviceBuffer<f32>), DriverError> {
    let kernel = stream.context().load_module_from_ptx_src(PTX)?.load_function("saxpy")?;
    let x: Vec<f32> = (0..n).map(element).collect();
    Ok((kernel, 2.5, DeviceBuffer::from_host(stream, &x)?, DeviceBuffer::from_host(stream, &vec![1.0; n])?))
}

fn element(index: usize) -> f32 {
    (index % 1021) as f32
}

fn check(a: f32, found: &[f32]) -> Result<(), Box<dyn Error + Send + Sync>> {
    let wrong = found.iter().enumerate().find(|(index, y)| **y != a * element(*index) + 1.0);
    wrong.map_or(Ok(()), |(index, y)| Err(format!("element {index} is {y}").into()))
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
        let stream = y.context().new_stream()?;
        check(a, &y.to_host_vec(&stream)?)
    },
)]
pub fn saxpy(
    kernel: &Function,
    a: f32,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> Result<(), DriverError> {
    let (mut a, mut x, mut y, mut n) = (a, x.cu_deviceptr(), y.cu_deviceptr(), x.len() as u64);
    // A thread takes four elements.
    let blocks = n.div_ceil(4 * 256) as u32;
    let mut arguments = [(&raw mut a).cast(), (&raw mut x).cast(), (&raw mut y).cast(), (&raw mut n).cast()];
    // SAFETY: the kernel takes these four, and reads and writes n elements, which both buffers have.
    unsafe { launch_kernel_on_stream(kernel, (blocks, 1, 1), (256, 1, 1), 0, stream, &mut arguments) }
}
