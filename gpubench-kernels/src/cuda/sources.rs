//! Launches exactly as in the texts that this suite repeats (`docs/book/five-texts.md`), for comparison with the suite's own. Their
//! inefficiencies are kept.

use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::gpu_bench;

use super::check::expect;
use super::geometry::{Grid, shape};
use super::inputs::{Inputs, with_one_input, with_two_inputs};
use super::modules::{launch_kernel, modules};
use super::{X, Y};
use crate::inputs::element;
use crate::reference::elementwise;

modules! {
    /// The module of kernels as the sources have them, loaded.
    Sources "sources";
}

/// y ← x, for `f32`, by 32 blocks of 1024 threads whatever the GPU. One launch reads 4 n bytes and writes as many.
#[gpu_bench(
    args(n = [4 << 20]),
    setup = |n| with_one_input(Sources::load()?, X, n, stream),
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
    let n = x.len();
    launch_kernel!(kernels.copy(x.as_device_ptr(), y.as_device_ptr(), n as u64), shape(32, 1024), stream)
}

/// y ← a·x + y, for `f32`, one element a thread in blocks of 256, where a, x and y are 2, 1 and 2 everywhere. One launch reads
/// 8 n bytes, writes 4 n bytes and does 2 n operations.
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
    accumulates,
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
    let n = x.len();
    launch_kernel!(
        kernels.saxpy(a, x.as_device_ptr(), y.as_device_ptr(), n as u64),
        Grid::covering(n, 256),
        stream
    )
}

/// c ← a + b, for `f64`, one thread a block. One launch reads 16 n bytes, writes 8 n bytes and does n operations.
#[gpu_bench(
    args(n = [1 << 20]),
    setup = |n| with_two_inputs(Sources::load()?, [X, Y], n, stream),
    reads = 8 * (a.len() + b.len()),
    writes = 8 * c.len(),
    flops = n,
    data_type = "f64",
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
    let n = c.len();
    launch_kernel!(
        kernels.vector_add(a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr(), n as u64),
        Grid::covering(n, 1),
        stream
    )
}
