//! Sums whose inputs are made again between the groups of their samples, and those whose inputs are not.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};

use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::gpu_bench;
use gpubench_kernels::cuda::{Reduction, sum};

/// The number of elements, all of which are zero.
const N: usize = 1 << 18;

type Inputs = (Reduction, DeviceBuffer<f32>, DeviceBuffer<f64>);
type Refusal = Box<dyn Error + Send + Sync>;

fn inputs() -> Result<Inputs, Refusal> {
    Ok((Reduction::load()?, DeviceBuffer::zeroed(N)?, DeviceBuffer::zeroed(1)?))
}

/// Refuses a second time in a process.
fn once() -> Result<Inputs, Refusal> {
    static MADE: AtomicBool = AtomicBool::new(false);
    match MADE.swap(true, Ordering::Relaxed) {
        true => Err("these inputs are made once".into()),
        false => inputs(),
    }
}

#[gpu_bench(setup = inputs(), reads = 4 * N, cold)]
fn moves(
    reduction: &mut Reduction,
    x: &DeviceBuffer<f32>,
    total: &mut DeviceBuffer<f64>,
    stream: &Stream,
) -> CudaResult<()> {
    sum(reduction, x, total, stream)
}

#[gpu_bench(setup = once(), reads = 4 * N, cold)]
fn refuses(
    reduction: &mut Reduction,
    x: &DeviceBuffer<f32>,
    total: &mut DeviceBuffer<f64>,
    stream: &Stream,
) -> CudaResult<()> {
    sum(reduction, x, total, stream)
}

#[gpu_bench(setup = inputs(), reads = 4 * N, accumulates)]
fn accumulates(
    reduction: &mut Reduction,
    x: &DeviceBuffer<f32>,
    total: &mut DeviceBuffer<f64>,
    stream: &Stream,
) -> CudaResult<()> {
    sum(reduction, x, total, stream)
}

/// It has too much memory for its inputs to be moved, whatever of it is read.
#[gpu_bench(
    setup = {
        let (reduction, x, total) = inputs()?;
        Ok::<_, Refusal>((reduction, x, total, DeviceBuffer::<u8>::zeroed(320 << 20)?))
    },
    reads = 4 * N,
)]
fn large(
    reduction: &mut Reduction,
    x: &DeviceBuffer<f32>,
    total: &mut DeviceBuffer<f64>,
    _rest: &DeviceBuffer<u8>,
    stream: &Stream,
) -> CudaResult<()> {
    sum(reduction, x, total, stream)
}

gpubench::main!();
