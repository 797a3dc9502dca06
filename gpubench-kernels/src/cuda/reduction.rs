//! A sum over a whole array. In: a buffer and a stream; out: one launch that leaves the total in another buffer, the same
//! to the last bit each time.

#![expect(unsafe_code, reason = "launches kernels")]

use cust::error::CudaResult;
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::Stream;
use gpubench::gpu_bench;

use super::check::expect_sum;
use super::geometry::Geometry;
use super::inputs::Inputs;
use super::{F32, X};
use crate::inputs::element;

const PTX: &str = include_str!("../../ptx/reduction.ptx");

/// The module of the reduction, loaded, and the memory in which its blocks meet. One launch at a time may use it.
pub struct Reduction {
    module: Module,
    geometry: Geometry,
    /// A partial sum of each block.
    partials: DeviceBuffer<f64>,
    /// How many blocks have left theirs: 0 before a launch and after it.
    arrived: DeviceBuffer<u32>,
}

impl Reduction {
    /// Loads the module into the current context, where the driver compiles it.
    ///
    /// # Errors
    /// Where there is no context, no memory, or the driver refuses the PTX.
    pub fn load() -> CudaResult<Self> {
        let geometry = Geometry::of_current_device()?;
        let most = geometry.reduction(usize::MAX).blocks as usize;
        Ok(Self {
            module: Module::from_ptx(PTX, &[])?,
            geometry,
            partials: DeviceBuffer::from_slice(&vec![f64::NAN; most])?,
            arrived: DeviceBuffer::from_slice(&[0])?,
        })
    }
}

/// total ← Σ x, for `f32`. One launch reads 4 n bytes and does n operations. Each thread adds its few elements in `f32`;
/// what threads and blocks add is in `f64`. The blocks' partial sums, a few KiB, stay in the L2.
///
/// # Errors
/// What the launch returned.
///
/// # Panics
/// Where there is no room for the total.
#[gpu_bench(
    args(n = F32),
    setup = |n| Ok((Reduction::load()?, Inputs::on(stream)?.random(X, n)?, DeviceBuffer::from_slice(&[f64::NAN])?)),
    reads = 4 * x.len(),
    flops = n,
    cold,
    check = |_reduction, _x, total, n| expect_sum(total, n, |i| element(X, i), 1e-7),
)]
pub fn sum(
    reduction: &mut Reduction,
    x: &DeviceBuffer<f32>,
    total: &mut DeviceBuffer<f64>,
    stream: &Stream,
) -> CudaResult<()> {
    assert!(!total.is_empty(), "the total has room");
    let Reduction { module, geometry, partials, arrived } = reduction;
    let n = x.len();
    let grid = geometry.reduction(4 * n);
    // SAFETY: the kernel takes these parameters; it reads n elements of x, and writes one partial sum a block, for which
    // there is room, the counter and the total. Memory is freed only after the device is done with it.
    unsafe {
        launch!(module.sum<<<grid.blocks, grid.threads, 0, stream>>>(
            x.as_device_ptr(), n as u64, partials.as_device_ptr(), arrived.as_device_ptr(), total.as_device_ptr()
        ))
    }
}
