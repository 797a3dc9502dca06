//! Kernels for an NVIDIA GPU, as launch functions. The CUDA C++ lies in `cuda/`, its PTX in `ptx/`; `modules`
//! loads it.
//!
//! `n` is the number of elements of each array. The listed values are arrays of 64 KiB, 1, 16, 40 and 256 MiB and 1 GiB:
//! from what any L2 holds to several times the largest; `triad` and `dot`, which are much like others, have two of them.
//! Kernels that compute more than they move have modules of their own.
//!
//! Every launch function returns the driver's error where the launch fails. It panics where the lengths of its arrays
//! do not fit each other.

#![expect(unsafe_code, reason = "launches kernels, and allocates memory that they fill")]

mod check;
mod geometry;
mod inputs;
pub mod latency;
pub mod matmul;
pub mod mix;
mod modules;
pub mod nbody;
pub mod plane;
pub mod power;
mod product;
pub mod sources;
pub mod transfers;

use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::gpu_bench;

use self::check::{expect, expect_sum};
use crate::inputs::element;
use crate::reference::{elementwise, reduction};

pub use self::geometry::{Geometry, Grid};
use self::inputs::with_two_inputs;
use self::modules::launch_kernel;

pub use self::inputs::{Element, Inputs, Random, Refusal, with_one_input};
pub use self::latency::Latency;
pub use self::mix::Mix;
pub use self::modules::{Elementwise, Reduction};
pub use self::plane::{Stencil, Transpose};
pub use self::sources::Sources;

/// Sizes of one array in bytes.
const SIZES: [usize; 6] = [64 << 10, 1 << 20, 16 << 20, 40 << 20, 256 << 20, 1 << 30];
/// Values of `n` for arrays of `f32`.
const F32: [usize; 6] = elements(size_of::<f32>());
/// Those of 16 MiB and 1 GiB.
const TWO: [usize; 2] = [F32[2], F32[5]];
/// Values of `n` for arrays of `f64`.
const F64: [usize; 6] = elements(size_of::<f64>());

// The seeds of the inputs.
const X: u64 = 1;
const Y: u64 = 2;

/// The number of elements of this size in each of [`SIZES`].
const fn elements(size: usize) -> [usize; 6] {
    let mut numbers = SIZES;
    let mut index = 0;
    while index < numbers.len() {
        numbers[index] /= size;
        index += 1;
    }
    numbers
}

/// y ← x, for `f32`. One launch reads 4 n bytes and writes 4 n bytes.
#[gpu_bench(
    args(n = F32),
    setup = |n| with_one_input(Elementwise::load()?, X, n, stream),
    reads = 4 * x.len(),
    writes = 4 * y.len(),
    cold,
    check = |_kernels, _x, y, _n| expect(y, |i| element(X, i) as f32),
)]
pub fn copy(
    kernels: &Elementwise,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    assert_eq!(x.len(), y.len(), "x and y are of one length");
    let n = x.len();
    launch_kernel!(
        kernels.copy(x.as_device_ptr(), y.as_device_ptr(), n as u64),
        Grid::elementwise(4 * n),
        stream
    )
}

/// y ← a in every element, for `f32`. One launch writes 4 n bytes.
#[gpu_bench(
    args(n = F32),
    setup = |n| Ok((Elementwise::load()?, 0.75, Inputs::on(stream)?.unwritten(n)?)),
    writes = 4 * y.len(),
    cold,
    check = |_kernels, a, y, _n| expect(y, |_| a),
)]
pub fn fill(kernels: &Elementwise, a: f32, y: &mut DeviceBuffer<f32>, stream: &Stream) -> CudaResult<()> {
    let n = y.len();
    launch_kernel!(kernels.fill(a, y.as_device_ptr(), n as u64), Grid::elementwise(4 * n), stream)
}

/// x ← x + a in place, for `f32`. One launch reads 4 n bytes, writes 4 n bytes and does n operations.
#[gpu_bench(
    args(n = F32),
    setup = |n| Ok((Elementwise::load()?, 0.75, Inputs::on(stream)?.random(X, n)?)),
    reads = 4 * x.len(),
    writes = 4 * x.len(),
    flops = n,
    cold,
    accumulates,
    check = |_kernels, a, x, _n| expect(x, |i| elementwise::rmw(a, element(X, i) as f32)),
)]
pub fn rmw(kernels: &Elementwise, a: f32, x: &mut DeviceBuffer<f32>, stream: &Stream) -> CudaResult<()> {
    let n = x.len();
    launch_kernel!(kernels.rmw(a, x.as_device_ptr(), n as u64), Grid::elementwise(4 * n), stream)
}

/// y ← a·x + y, for `f32`, rounded once. One launch reads 8 n bytes, writes 4 n bytes and does 2 n operations.
#[gpu_bench(
    args(n = F32),
    setup = |n| {
        let inputs = Inputs::on(stream)?;
        Ok((Elementwise::load()?, 2.5, inputs.random(X, n)?, inputs.random(Y, n)?))
    },
    reads = 4 * (x.len() + y.len()),
    writes = 4 * y.len(),
    flops = 2 * n,
    cold,
    accumulates,
    check = |_kernels, a, _x, y, _n| expect(y, |i| elementwise::saxpy(a, element(X, i) as f32, element(Y, i) as f32)),
)]
pub fn saxpy(
    kernels: &Elementwise,
    a: f32,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    assert_eq!(x.len(), y.len(), "x and y are of one length");
    let n = x.len();
    launch_kernel!(
        kernels.saxpy(a, x.as_device_ptr(), y.as_device_ptr(), n as u64),
        Grid::elementwise(4 * n),
        stream
    )
}

/// z ← a·x + y, for `f32`, rounded once. One launch reads 8 n bytes, writes 4 n bytes and does 2 n operations.
#[gpu_bench(
    args(n = TWO),
    setup = |n| {
        let inputs = Inputs::on(stream)?;
        Ok((Elementwise::load()?, 2.5, inputs.random(X, n)?, inputs.random(Y, n)?, inputs.unwritten(n)?))
    },
    reads = 4 * (x.len() + y.len()),
    writes = 4 * z.len(),
    flops = 2 * n,
    cold,
    check = |_kernels, a, _x, _y, z, _n| expect(z, |i| elementwise::saxpy(a, element(X, i) as f32, element(Y, i) as f32)),
)]
pub fn triad(
    kernels: &Elementwise,
    a: f32,
    x: &DeviceBuffer<f32>,
    y: &DeviceBuffer<f32>,
    z: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    assert!(x.len() == z.len() && y.len() == z.len(), "x, y and z are of one length");
    let n = z.len();
    launch_kernel!(
        kernels.triad(a, x.as_device_ptr(), y.as_device_ptr(), z.as_device_ptr(), n as u64),
        Grid::elementwise(4 * n),
        stream
    )
}

/// c ← a + b, for `f64`. One launch reads 16 n bytes, writes 8 n bytes and does n operations.
#[gpu_bench(
    args(n = F64),
    setup = |n| with_two_inputs(Elementwise::load()?, [X, Y], n, stream),
    reads = 8 * (a.len() + b.len()),
    writes = 8 * c.len(),
    flops = n,
    data_type = "f64",
    cold,
    check = |_kernels, _a, _b, c, _n| expect(c, |i| elementwise::vector_add(element(X, i), element(Y, i))),
)]
pub fn vector_add(
    kernels: &Elementwise,
    a: &DeviceBuffer<f64>,
    b: &DeviceBuffer<f64>,
    c: &mut DeviceBuffer<f64>,
    stream: &Stream,
) -> CudaResult<()> {
    assert!(a.len() == c.len() && b.len() == c.len(), "a, b and c are of one length");
    let n = c.len();
    launch_kernel!(
        kernels.vector_add(a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr(), n as u64),
        Grid::elementwise(8 * n),
        stream
    )
}

/// total ← Σ x, for `f32`. One launch reads 4 n bytes and does n operations. Each thread adds its few elements in `f32`; the
/// sums of threads and blocks are added in `f64`. The blocks' partial sums, a few KiB, stay in the L2.
#[gpu_bench(
    args(n = F32),
    setup = |n| Ok((Reduction::load()?, Inputs::on(stream)?.random(X, n)?, DeviceBuffer::from_slice(&[f64::NAN])?)),
    reads = 4 * x.len(),
    flops = n,
    cold,
    check = |_reduction, _x, total, n| expect_sum(total, ("sum", n), |i| element(X, i), 1e-7),
)]
pub fn sum(
    reduction: &mut Reduction,
    x: &DeviceBuffer<f32>,
    total: &mut DeviceBuffer<f64>,
    stream: &Stream,
) -> CudaResult<()> {
    assert!(!total.is_empty(), "the total has room");
    let n = x.len();
    launch_kernel!(
        reduction.sum(x.as_device_ptr(), n as u64, reduction.slots.as_device_ptr(), total.as_device_ptr()),
        reduction.geometry.reduction(4 * n),
        stream
    )
}

/// total ← Σ x·y, for `f32`. One launch reads 8 n bytes and does 2 n operations, its products in `f32`, its sums as
/// those of [`sum`].
#[gpu_bench(
    args(n = TWO),
    setup = |n| {
        let inputs = Inputs::on(stream)?;
        let total = DeviceBuffer::from_slice(&[f64::NAN])?;
        Ok((Reduction::load()?, inputs.random(X, n)?, inputs.random(Y, n)?, total))
    },
    reads = 4 * (x.len() + y.len()),
    flops = 2 * n,
    cold,
    check = |_reduction, _x, _y, total, n| expect_sum(total, ("dot", n), |i| reduction::product(element(X, i) as f32, element(Y, i) as f32), 1e-6),
)]
pub fn dot(
    reduction: &mut Reduction,
    x: &DeviceBuffer<f32>,
    y: &DeviceBuffer<f32>,
    total: &mut DeviceBuffer<f64>,
    stream: &Stream,
) -> CudaResult<()> {
    assert_eq!(x.len(), y.len(), "x and y are of one length");
    assert!(!total.is_empty(), "the total has room");
    let n = x.len();
    launch_kernel!(
        reduction.dot(
            x.as_device_ptr(),
            y.as_device_ptr(),
            n as u64,
            reduction.slots.as_device_ptr(),
            total.as_device_ptr()
        ),
        reduction.geometry.reduction(4 * n),
        stream
    )
}

/// Does nothing, in blocks of 256 threads, 1024 threads a multiprocessor. Its time is the cost of any launch.
#[gpu_bench(setup = Elementwise::load)]
pub fn empty(kernels: &Elementwise, stream: &Stream) -> CudaResult<()> {
    launch_kernel!(kernels.empty(), kernels.geometry.filled(256), stream)
}
