//! Kernels that treat every element alike. In: buffers of one length and a stream; out: one launch on it. 16 bytes are
//! moved at a time, with a tail of single elements for any n.

#![expect(unsafe_code, reason = "launches kernels")]

use cust::error::CudaResult;
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::Stream;
use gpubench::gpu_bench;

use super::check::expect;
use super::geometry::Geometry;
use super::inputs::Inputs;
use super::{F32, F64, X, Y};
use crate::inputs::element;

const PTX: &str = include_str!("../../ptx/elementwise.ptx");

/// The module of these kernels, loaded, and the size of its device.
#[derive(Debug)]
pub struct Elementwise {
    module: Module,
    geometry: Geometry,
}

impl Elementwise {
    /// Loads the module into the current context, where the driver compiles it.
    ///
    /// # Errors
    /// Where there is no context or the driver refuses the PTX.
    pub fn load() -> CudaResult<Self> {
        Ok(Self { module: Module::from_ptx(PTX, &[])?, geometry: Geometry::of_current_device()? })
    }
}

/// y ← x, for `f32`. One launch reads 4 n bytes and writes 4 n bytes.
///
/// # Errors
/// What the launch returned.
///
/// # Panics
/// Where the lengths differ.
#[gpu_bench(
    args(n = F32),
    setup = |n| {
        let inputs = Inputs::on(stream)?;
        Ok((Elementwise::load()?, inputs.random(X, n)?, inputs.unwritten(n)?))
    },
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
    let (module, n) = (&kernels.module, x.len());
    let grid = kernels.geometry.elementwise(4 * n);
    // SAFETY: the kernel takes these parameters and touches n elements of each array. Memory is freed only after the
    // device is done with it.
    unsafe {
        launch!(module.copy<<<grid.blocks, grid.threads, 0, stream>>>(
            x.as_device_ptr(), y.as_device_ptr(), n as u64
        ))
    }
}

/// y ← a in every element, for `f32`. One launch writes 4 n bytes.
///
/// # Errors
/// What the launch returned.
#[gpu_bench(
    args(n = F32),
    setup = |n| Ok((Elementwise::load()?, 0.75, Inputs::on(stream)?.unwritten(n)?)),
    writes = 4 * y.len(),
    cold,
    check = |_kernels, a, y, _n| expect(y, |_| a),
)]
pub fn fill(kernels: &Elementwise, a: f32, y: &mut DeviceBuffer<f32>, stream: &Stream) -> CudaResult<()> {
    let (module, n) = (&kernels.module, y.len());
    let grid = kernels.geometry.elementwise(4 * n);
    // SAFETY: as for `copy`.
    unsafe { launch!(module.fill<<<grid.blocks, grid.threads, 0, stream>>>(a, y.as_device_ptr(), n as u64)) }
}

/// x ← x + a in place, for `f32`. One launch reads 4 n bytes, writes 4 n bytes and does n operations.
///
/// # Errors
/// What the launch returned.
#[gpu_bench(
    args(n = F32),
    setup = |n| Ok((Elementwise::load()?, 0.75, Inputs::on(stream)?.random(X, n)?)),
    reads = 4 * x.len(),
    writes = 4 * x.len(),
    flops = n,
    cold,
    check = |_kernels, a, x, _n| expect(x, |i| element(X, i) as f32 + a),
)]
pub fn rmw(kernels: &Elementwise, a: f32, x: &mut DeviceBuffer<f32>, stream: &Stream) -> CudaResult<()> {
    let (module, n) = (&kernels.module, x.len());
    let grid = kernels.geometry.elementwise(4 * n);
    // SAFETY: as for `copy`.
    unsafe { launch!(module.rmw<<<grid.blocks, grid.threads, 0, stream>>>(a, x.as_device_ptr(), n as u64)) }
}

/// y ← a·x + y, for `f32`, rounded once. One launch reads 8 n bytes, writes 4 n bytes and does 2 n operations.
///
/// # Errors
/// What the launch returned.
///
/// # Panics
/// Where the lengths differ.
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
    // In f64 the sum is exact, so that it is rounded once here too.
    check = |_kernels, a, _x, y, _n| expect(y, |i| (f64::from(a) * element(X, i) + element(Y, i)) as f32),
)]
pub fn saxpy(
    kernels: &Elementwise,
    a: f32,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    assert_eq!(x.len(), y.len(), "x and y are of one length");
    let (module, n) = (&kernels.module, x.len());
    let grid = kernels.geometry.elementwise(4 * n);
    // SAFETY: as for `copy`.
    unsafe {
        launch!(module.saxpy<<<grid.blocks, grid.threads, 0, stream>>>(
            a, x.as_device_ptr(), y.as_device_ptr(), n as u64
        ))
    }
}

/// c ← a + b, for `f64`. One launch reads 16 n bytes, writes 8 n bytes and does n operations.
///
/// # Errors
/// What the launch returned.
///
/// # Panics
/// Where the lengths differ.
#[gpu_bench(
    args(n = F64),
    setup = |n| {
        let inputs = Inputs::on(stream)?;
        Ok((Elementwise::load()?, inputs.random(X, n)?, inputs.random(Y, n)?, inputs.unwritten(n)?))
    },
    reads = 8 * (a.len() + b.len()),
    writes = 8 * c.len(),
    flops = n,
    precision = "f64",
    cold,
    check = |_kernels, _a, _b, c, _n| expect(c, |i| element(X, i) + element(Y, i)),
)]
pub fn vector_add(
    kernels: &Elementwise,
    a: &DeviceBuffer<f64>,
    b: &DeviceBuffer<f64>,
    c: &mut DeviceBuffer<f64>,
    stream: &Stream,
) -> CudaResult<()> {
    assert!(a.len() == c.len() && b.len() == c.len(), "a, b and c are of one length");
    let (module, n) = (&kernels.module, c.len());
    let grid = kernels.geometry.elementwise(8 * n);
    // SAFETY: as for `copy`.
    unsafe {
        launch!(module.vector_add<<<grid.blocks, grid.threads, 0, stream>>>(
            a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr(), n as u64
        ))
    }
}

/// Nothing, in as many blocks as the largest launches of the others have. Its time is what any launch costs.
///
/// # Errors
/// What the launch returned.
#[gpu_bench(setup = Elementwise::load)]
pub fn empty(kernels: &Elementwise, stream: &Stream) -> CudaResult<()> {
    let module = &kernels.module;
    let grid = kernels.geometry.elementwise(usize::MAX);
    // SAFETY: the kernel takes no parameters and touches no memory.
    unsafe { launch!(module.empty<<<grid.blocks, grid.threads, 0, stream>>>()) }
}
