//! Comparisons whose answer is known: a copy with itself, with one of 2 % more bytes, and with itself after it was made
//! slower. In: the seed of each pair's inputs; out: rows whose answers can be counted.
//!
//! ```sh
//! cargo build --example decisions
//! scripts/decisions target/debug/examples/decisions
//! ```

use std::env;

use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::gpu_bench;
use gpubench_kernels::cuda::{Elementwise, Refusal, copy, with_one_input};

type Buffers = (Elementwise, DeviceBuffer<f32>, DeviceBuffer<f32>);

/// 40 MiB: an H200 copies them cold in 19 µs.
const LONG: usize = 10 << 20;
/// 4 MiB.
const MIDDLE: usize = 1 << 20;
/// 1 MiB: copied in 1.6 µs, of which the place of the inputs is more than half a percent.
const SHORT: usize = 1 << 18;

fn inputs(n: usize, seed: u64, stream: &Stream) -> Result<Buffers, Refusal> {
    with_one_input(Elementwise::load()?, seed, n, stream)
}

/// A copy, to be compared with itself.
#[gpu_bench(
    args(seed = 0..100, n = [LONG, MIDDLE, SHORT]),
    setup = |seed, n| inputs(n, seed, stream),
    reads = 4 * x.len(),
    writes = 4 * y.len(),
    cold,
)]
fn same(
    kernels: &Elementwise,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    copy(kernels, x, y, stream)
}

/// The same with 2 % more bytes.
#[gpu_bench(
    args(seed = 0..100, n = [LONG, MIDDLE, SHORT]),
    setup = |seed, n| inputs(n / 100 * 102, seed, stream),
    reads = 4 * x.len(),
    writes = 4 * y.len(),
    cold,
)]
fn longer(
    kernels: &Elementwise,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    copy(kernels, x, y, stream)
}

/// A copy that changes from one run to the next: it copies `DECISIONS_SLOWER` percent more, and counts `DECISIONS_BYTES`
/// percent more bytes.
#[gpu_bench(
    args(n = [LONG, 64 << 20]),
    setup = |n| inputs(n / 100 * (100 + percent("DECISIONS_SLOWER")), 0, stream),
    bytes = 8 * (n / 100 * (100 + percent("DECISIONS_BYTES"))),
    cold,
)]
fn changes(
    kernels: &Elementwise,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    copy(kernels, x, y, stream)
}

fn percent(name: &str) -> usize {
    env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(0)
}

gpubench::main!();
