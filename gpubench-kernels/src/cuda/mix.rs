//! Reads and writes in every balance from reading alone to writing alone. `bytes` is the sum of the bytes that one launch
//! reads and writes, rounded down to whole threads.

use cust::error::CudaResult;
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::gpu_bench;

use super::X;
use super::check::expect;
use super::geometry::{Grid, VECTOR};
use super::inputs::{Inputs, Refusal};
use super::modules::modules;
use crate::inputs::bits;
use crate::reference::mix::{THREADS, WORDS, written};

modules! {
    /// The module of reads and writes in all balances, loaded.
    Mix "mix";
}

/// The vectors that a thread reads, from all to none; beside [`WRITES`].
pub const READS: [usize; 13] = [1, 7, 5, 3, 2, 3, 1, 2, 1, 1, 1, 1, 0];
/// The vectors that it writes.
pub const WRITES: [usize; 13] = [0, 1, 1, 1, 1, 2, 1, 3, 2, 3, 5, 7, 1];

/// y ← sums of x, of which each thread reads `reads` vectors of 16 bytes and writes `writes`. One launch reads and writes
/// `bytes` in that balance.
#[gpu_bench(
    args(zip(reads = READS, writes = WRITES), bytes = [2 << 30]),
    setup = |reads, writes, bytes| arrays(reads, writes, bytes, stream),
    // One of the two may be 0.
    bytes = VECTOR * threads * (reads + writes),
    cold,
    ignore,
    check = |_kernels, _x, y, threads, reads, writes, _bytes| expect(y, |word| written(word, threads, reads, writes, |word| bits(X, word))),
)]
pub fn mix(
    kernels: &Mix,
    x: &DeviceBuffer<u32>,
    y: &mut DeviceBuffer<u32>,
    threads: usize,
    reads: usize,
    writes: usize,
    stream: &Stream,
) -> CudaResult<()> {
    assert!(
        x.len() >= WORDS * threads * reads && y.len() >= WORDS * threads * writes.max(1),
        "both have room"
    );
    let kernel = kernels.module.get_function(format!("mix_{reads}_{writes}"))?;
    let grid = Grid::covering(threads, THREADS as u32);
    // SAFETY: each of the kernels takes these parameters, and touches as many vectors of the arrays as were counted above.
    // Memory is freed only after the device is done with it.
    unsafe {
        launch!(kernel<<<grid.blocks, grid.threads, 0, stream>>>(
            x.as_device_ptr(), y.as_device_ptr(), threads as u64
        ))
    }
}

type Arrays = (Mix, DeviceBuffer<u32>, DeviceBuffer<u32>, usize);

/// The kernels, both arrays, and the number of threads. An array that is not read or written has room all the same.
fn arrays(reads: usize, writes: usize, bytes: usize, stream: &Stream) -> Result<Arrays, Refusal> {
    let threads = bytes / VECTOR / (reads + writes).max(1);
    let (inputs, words) = (Inputs::on(stream)?, |vectors: usize| WORDS * threads * vectors.max(1));
    Ok((Mix::load()?, inputs.random(X, words(reads))?, inputs.unwritten(words(writes))?, threads))
}
