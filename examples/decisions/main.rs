//! Benchmarks for comparisons with known answers: a copy compared with itself, with a copy of 2 % more bytes, and with its baseline
//! after a change. `scripts/decisions` counts the answers.
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
/// 1 MiB: a copy takes 1.6 µs, and the inputs' addresses change this by more than 0.5 %.
const SHORT: usize = 1 << 18;

fn inputs(n: usize, seed: u64, stream: &Stream) -> Result<Buffers, Refusal> {
    with_one_input(Elementwise::load()?, seed, n, stream)
}

/// A copy that `scripts/decisions` compares with itself.
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

/// A copy of 2 % more bytes.
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

/// A copy that changes between runs: it copies `DECISIONS_SLOWER` percent more, and declares `DECISIONS_BYTES` percent more bytes.
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
