//! Launches as they stand in the texts that this suite was written after, to be held against those beside them. What they
//! leave on the table is theirs: `docs/sources.md`.

use cust::error::CudaResult;
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::gpu_bench;

use super::check::expect;
use super::geometry::Grid;
use super::inputs::Inputs;
use super::{Sources, X, Y};
use crate::inputs::element;
use crate::reference::elementwise;

/// y ← x, for `f32`, by 32 blocks of 1024 threads whatever the GPU. One launch reads 4 n bytes and writes as many.
///
/// # Errors
/// What the launch returned.
///
/// # Panics
/// Where the lengths differ.
#[gpu_bench(
    args(n = [4 << 20]),
    setup = |n| {
        let inputs = Inputs::on(stream)?;
        Ok((Sources::load()?, inputs.random(X, n)?, inputs.unwritten(n)?))
    },
    reads = 4 * x.len(),
    writes = 4 * y.len(),
    cold,
    check = |_kernels, _x, y, _n| expect(y, |i| element(X, i) as f32),
)]
pub fn copy(
    kernels: &Sources,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    assert_eq!(x.len(), y.len(), "x and y are of one length");
    let (module, n) = (&kernels.module, x.len());
    // SAFETY: the kernel takes these parameters and touches n elements of each array. Memory is freed only after the device
    // is done with it.
    unsafe { launch!(module.copy<<<32, 1024, 0, stream>>>(x.as_device_ptr(), y.as_device_ptr(), n as u64)) }
}

/// y ← a·x + y, for `f32`, one element a thread in blocks of 256, where a, x and y are 2, 1 and 2 everywhere. One launch reads
/// 8 n bytes, writes 4 n bytes and does 2 n operations.
///
/// # Errors
/// What the launch returned.
///
/// # Panics
/// Where the lengths differ.
#[gpu_bench(
    args(n = [20 << 20]),
    setup = |n| {
        let inputs = Inputs::on(stream)?;
        Ok((Sources::load()?, 2.0, inputs.all(1.0, n)?, inputs.all(2.0, n)?))
    },
    reads = 4 * (x.len() + y.len()),
    writes = 4 * y.len(),
    flops = 2 * n,
    items = n, "elements",
    cold,
    check = |_kernels, a, _x, y, _n| expect(y, |_| elementwise::saxpy(a, 1.0, 2.0)),
)]
pub fn saxpy(
    kernels: &Sources,
    a: f32,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    assert_eq!(x.len(), y.len(), "x and y are of one length");
    let (module, n) = (&kernels.module, x.len());
    let grid = Grid::covering(n, 256);
    // SAFETY: as for `copy`.
    unsafe {
        launch!(module.saxpy<<<grid.blocks, grid.threads, 0, stream>>>(
            a, x.as_device_ptr(), y.as_device_ptr(), n as u64
        ))
    }
}

/// c ← a + b, for `f64`, one thread a block. One launch reads 16 n bytes, writes 8 n bytes and does n operations.
///
/// # Errors
/// What the launch returned.
///
/// # Panics
/// Where the lengths differ.
#[gpu_bench(
    args(n = [1 << 20]),
    setup = |n| {
        let inputs = Inputs::on(stream)?;
        Ok((Sources::load()?, inputs.random(X, n)?, inputs.random(Y, n)?, inputs.unwritten(n)?))
    },
    reads = 8 * (a.len() + b.len()),
    writes = 8 * c.len(),
    flops = n,
    precision = "f64",
    cold,
    check = |_kernels, _a, _b, c, _n| expect(c, |i| elementwise::vector_add(element(X, i), element(Y, i))),
)]
pub fn vector_add(
    kernels: &Sources,
    a: &DeviceBuffer<f64>,
    b: &DeviceBuffer<f64>,
    c: &mut DeviceBuffer<f64>,
    stream: &Stream,
) -> CudaResult<()> {
    assert!(a.len() == c.len() && b.len() == c.len(), "a, b and c are of one length");
    let (module, n) = (&kernels.module, c.len());
    let grid = Grid::covering(n, 1);
    // SAFETY: as for `copy`.
    unsafe {
        launch!(module.vector_add<<<grid.blocks, grid.threads, 0, stream>>>(
            a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr(), n as u64
        ))
    }
}
