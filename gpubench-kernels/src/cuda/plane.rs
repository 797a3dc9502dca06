//! Kernels over a square of `n` × `n` elements of `f32`, row by row: two transposes and a stencil. One launch reads 4 n² bytes
//! and writes as many. The listed square has 1 GiB.

use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::gpu_bench;

use super::X;
use super::check::expect;
use super::geometry::shape;
use super::inputs::{Refusal, with_one_input};
use super::modules::{launch_kernel, modules};
use crate::inputs::element;
use crate::reference::plane::{relaxed, transposed};

modules! {
    /// The module of the stencil, loaded.
    Stencil "stencil";
    /// The module of the transposes, loaded.
    Transpose "transpose";
}

/// y ← the transpose of x, in its plainest form: neighbouring threads write far apart.
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
    let tiles = n.div_ceil(32) as u32;
    launch_kernel!(
        kernels.transpose_naive(x.as_device_ptr(), y.as_device_ptr(), n as u64),
        shape((tiles, tiles), (32, 8)),
        stream
    )
}

/// y ← the transpose of x, through tiles in shared memory.
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
    let tiles = n.div_ceil(64) as u32;
    launch_kernel!(
        kernels.transpose_tiled(x.as_device_ptr(), y.as_device_ptr(), n as u64),
        shape((tiles, tiles), 256),
        stream
    )
}

/// y ← one step of Jacobi's method on x: every point becomes the mean of its four neighbours, except on the edge. One launch
/// does 4 (n − 2)² operations.
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
    let (across, down) = (n.div_ceil(64) as u32, n.div_ceil(32) as u32);
    launch_kernel!(
        kernels.stencil(x.as_device_ptr(), y.as_device_ptr(), n as u64),
        shape((across, down), (64, 4)),
        stream
    )
}

/// Kernels, a random square, and one to be overwritten.
fn square<K>(
    kernels: K,
    n: usize,
    stream: &Stream,
) -> Result<(K, DeviceBuffer<f32>, DeviceBuffer<f32>), Refusal> {
    with_one_input(kernels, X, n.checked_mul(n).ok_or("n² is too much for any memory")?, stream)
}

fn are_squares(x: &DeviceBuffer<f32>, y: &DeviceBuffer<f32>, n: usize) {
    assert!(n > 0 && x.len() == n * n && y.len() == n * n, "x and y are squares of n × n elements");
}
