//! Kernels over a square of `n` × `n` elements of `f32`, row by row: two transposes and a stencil. One launch reads 4 n² bytes
//! and writes as many. The listed square has 1 GiB.

use cust::error::CudaResult;
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::gpu_bench;

use super::check::expect;
use super::inputs::{Inputs, Refusal};
use super::{Stencil, Transpose, X};
use crate::inputs::element;
use crate::reference::plane::{relaxed, transposed};

/// y ← the transpose of x, as one writes it first: what neighbouring threads write lies far apart.
///
/// # Errors
/// What the launch returned.
///
/// # Panics
/// Where `x` or `y` is not of n² elements.
#[gpu_bench(
    args(n = [1 << 14]),
    setup = |n| square(Transpose::load()?, n, stream),
    reads = 4 * x.len(),
    writes = 4 * y.len(),
    cold,
    check = |_kernels, _x, y, n| expect(y, |i| element(X, transposed(i, n)) as f32),
)]
pub fn transpose_naive(
    kernels: &Transpose,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    n: usize,
    stream: &Stream,
) -> CudaResult<()> {
    are_squares(x, y, n);
    let (module, tiles) = (&kernels.module, n.div_ceil(32) as u32);
    // SAFETY: the kernel takes these parameters and touches n² elements of each array. Memory is freed only after the device
    // is done with it.
    unsafe {
        launch!(module.transpose_naive<<<(tiles, tiles), (32, 8), 0, stream>>>(
            x.as_device_ptr(), y.as_device_ptr(), n as u64
        ))
    }
}

/// y ← the transpose of x, through tiles in shared memory.
///
/// # Errors
/// What the launch returned.
///
/// # Panics
/// Where `x` or `y` is not of n² elements.
#[gpu_bench(
    args(n = [1 << 14]),
    setup = |n| square(Transpose::load()?, n, stream),
    reads = 4 * x.len(),
    writes = 4 * y.len(),
    cold,
    check = |_kernels, _x, y, n| expect(y, |i| element(X, transposed(i, n)) as f32),
)]
pub fn transpose_tiled(
    kernels: &Transpose,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    n: usize,
    stream: &Stream,
) -> CudaResult<()> {
    are_squares(x, y, n);
    let (module, tiles) = (&kernels.module, n.div_ceil(32) as u32);
    // SAFETY: as for `transpose_naive`.
    unsafe {
        launch!(module.transpose_tiled<<<(tiles, tiles), (32, 8), 0, stream>>>(
            x.as_device_ptr(), y.as_device_ptr(), n as u64
        ))
    }
}

/// y ← one step of Jacobi's method on x: every point the mean of its four neighbours, those on the edge as they are. One
/// launch does 4 (n − 2)² operations.
///
/// # Errors
/// What the launch returned.
///
/// # Panics
/// Where `x` or `y` is not of n² elements.
#[gpu_bench(
    args(n = [1 << 14]),
    setup = |n| square(Stencil::load()?, n, stream),
    reads = 4 * x.len(),
    writes = 4 * y.len(),
    flops = 4 * (n - 2) * (n - 2),
    cold,
    check = |_kernels, _x, y, n| expect(y, |i| relaxed(i, n, |i| element(X, i) as f32)),
)]
pub fn stencil(
    kernels: &Stencil,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    n: usize,
    stream: &Stream,
) -> CudaResult<()> {
    are_squares(x, y, n);
    let (module, across, down) = (&kernels.module, n.div_ceil(64) as u32, n.div_ceil(32) as u32);
    // SAFETY: as for `transpose_naive`.
    unsafe {
        launch!(module.stencil<<<(across, down), (64, 4), 0, stream>>>(
            x.as_device_ptr(), y.as_device_ptr(), n as u64
        ))
    }
}

/// Kernels, a random square, and one to be overwritten.
fn square<K>(
    kernels: K,
    n: usize,
    stream: &Stream,
) -> Result<(K, DeviceBuffer<f32>, DeviceBuffer<f32>), Refusal> {
    let (inputs, elements) = (Inputs::on(stream)?, n.checked_mul(n).ok_or("n² is too much for any memory")?);
    Ok((kernels, inputs.random(X, elements)?, inputs.unwritten(elements)?))
}

fn are_squares(x: &DeviceBuffer<f32>, y: &DeviceBuffer<f32>, n: usize) {
    assert!(n > 0 && x.len() == n * n && y.len() == n * n, "x and y are squares of n × n elements");
}
