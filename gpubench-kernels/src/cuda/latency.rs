//! The latency of a load. Each load needs the result of the one before. `bytes` is the size of the table, of which each line
//! of 128 bytes is visited once in a round.

use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::gpu_bench;

use super::check::expect;
use super::geometry::shape;
use super::inputs::{Inputs, LINE};
use super::modules::{launch_kernel, modules};
use crate::reference::inputs::cycle;
use crate::reference::latency;

modules! {
    /// The module of the chain of loads, loaded.
    Latency "latency";
}

/// The number of loads of a launch: an odd number, so that a launch never ends where it began.
pub const LOADS: usize = (1 << 12) - 1;

/// `at` ← the place after [`LOADS`] loads from `at` on, each waiting for the one before. The listed tables are of 1 MiB and
/// 1 GiB: loads from the L2 and from memory. The time of one is the launch's over [`LOADS`].
#[gpu_bench(
    args(bytes = [1 << 20, 1 << 30]),
    setup = |bytes| Ok((Latency::load()?, Inputs::on(stream)?.cycle(bytes / LINE)?, DeviceBuffer::from_slice(&[0])?)),
    items = LOADS, "loads",
    accumulates,
    check = |_kernels, _table, at, bytes| {
        let end = latency::chase(0, LOADS as u64, |word| cycle(word, (bytes / LINE) as u64));
        expect(at, |_| end)
    },
)]
pub fn chase(
    kernels: &Latency,
    table: &DeviceBuffer<u64>,
    at: &mut DeviceBuffer<u64>,
    stream: &Stream,
) -> CudaResult<()> {
    let n = LOADS;
    // A load from the table reads the index of another of its lines, and `at` holds such an index before each launch.
    launch_kernel!(kernels.chase(table.as_device_ptr(), at.as_device_ptr(), n as u64), shape(1, 1), stream)
}
