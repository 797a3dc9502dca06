//! Benchmarks of kernels that differ from those of the suite, and of two launches that declare wrong bytes. These commands compare them
//! with other clocks:
//!
//! ```sh
//! cargo gpubench verify --program target/debug/examples/unseen --explain -- --verify cupti
//! cargo run --example agreement -- RUN.json…
//! ```

#![expect(unsafe_code, reason = "launches kernels")]

mod inputs;

use cust::error::CudaResult;
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::Stream;
use gpubench::gpu_bench;

use inputs::{byte, expect, expect_near, filled, in_circle, load, made, neighbours, number, place, small};

/// The numbers in a row of a matrix, and in a block of [`scan`] and [`sort`].
const ROW: usize = 1024;
/// The nonzero numbers in a row of a sparse matrix.
const FULL: usize = 16;

/// The number of counts of [`count`].
const BINS: usize = 4096;
/// The nodes of [`walk`], and its number of walks.
const NODES: usize = 1 << 24;
const WALKS: usize = 66 * 32;

/// Returns the number of blocks of 256 threads for n threads.
fn blocks(n: usize) -> u32 {
    n.div_ceil(256) as u32
}

/// y[i] ← x[at[i]], for a permutation `at`.
#[gpu_bench(
    args(n = [1 << 18, 1 << 23]),
    setup = |n| Ok((load()?, made(n, number)?, made(n, |i| place(i, n))?, filled(n, 0.0)?)),
    reads = 8 * n,
    writes = 4 * n,
    cold,
    check = |_module, _x, _at, y, n| expect(y, |i| number(place(i, n) as usize)),
)]
fn gather(
    module: &Module,
    x: &DeviceBuffer<f32>,
    at: &DeviceBuffer<u32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    let (n, [x, y]) = (x.len() as u64, [x.as_device_ptr(), y.as_device_ptr()]);
    // SAFETY: x, at and y have n elements, and at has numbers below n.
    unsafe { launch!(module.gather<<<blocks(n as usize), 256, 0, stream>>>(x, at.as_device_ptr(), y, n)) }
}

/// y[at[i]] ← x[i], for a permutation `at`.
#[gpu_bench(
    args(n = [1 << 18, 1 << 23]),
    setup = |n| Ok((load()?, made(n, number)?, made(n, |i| place(i, n))?, filled(n, 0.0)?)),
    reads = 8 * n,
    writes = 4 * n,
    cold,
    check = |_module, _x, _at, y, n| {
        let mut expected = vec![0.0; n];
        (0..n).for_each(|i| expected[place(i, n) as usize] = number(i));
        expect(y, |i| expected[i])
    },
)]
fn scatter(
    module: &Module,
    x: &DeviceBuffer<f32>,
    at: &DeviceBuffer<u32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    let (n, [x, y]) = (x.len() as u64, [x.as_device_ptr(), y.as_device_ptr()]);
    // SAFETY: x, at and y have n elements, and at has numbers below n.
    unsafe { launch!(module.scatter<<<blocks(n as usize), 256, 0, stream>>>(x, at.as_device_ptr(), y, n)) }
}

/// y[i] ← x[8 i]. The memory moves whole sectors, eight times the used bytes.
#[gpu_bench(
    args(n = [1 << 18, 1 << 23]),
    setup = |n| Ok((load()?, made(8 * n, number)?, filled(n, 0.0)?)),
    reads = 32 * n,
    writes = 4 * n,
    cold,
    check = |_module, _x, y, _n| expect(y, |i| number(8 * i)),
)]
fn strided(
    module: &Module,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    let (n, [x, y]) = (y.len() as u64, [x.as_device_ptr(), y.as_device_ptr()]);
    // SAFETY: y has n elements, and x eight times as many.
    unsafe { launch!(module.strided<<<blocks(n as usize), 256, 0, stream>>>(x, y, n)) }
}

/// A stencil of seven points inside a cube.
#[gpu_bench(
    args(side = [64, 256]),
    setup = |side| Ok((load()?, made(side * side * side, small)?, filled(side * side * side, 0.0)?)),
    reads = 4 * x.len(),
    writes = 4 * (side - 2) * (side - 2) * (side - 2),
    cold,
    check = |_module, _x, y, side| expect(y, |at| neighbours(at, side)),
)]
fn laplace(
    module: &Module,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    side: usize,
    stream: &Stream,
) -> CudaResult<()> {
    assert!(x.len() == side.pow(3) && y.len() == x.len(), "both are cubes of this side");
    let (grid, [x, y]) = ((blocks(side), side as u32, side as u32), [x.as_device_ptr(), y.as_device_ptr()]);
    // SAFETY: x and y are cubes of this side.
    unsafe { launch!(module.laplace<<<grid, 256, 0, stream>>>(x, y, side as u32)) }
}

/// How often each byte occurs: a memset, and a kernel with atomic additions.
#[gpu_bench(
    args(n = [1 << 20, 1 << 26]),
    setup = |n| Ok((load()?, made(n, byte)?, filled(256, 0_u32)?)),
    reads = n,
    writes = 4 * counts.len(),
    cold,
    check = |_module, _x, counts, n| {
        let mut expected = [0_u32; 256];
        (0..n).for_each(|i| expected[usize::from(byte(i))] += 1);
        expect(counts, |b| expected[b])
    },
)]
fn histogram(
    module: &Module,
    x: &DeviceBuffer<u8>,
    counts: &mut DeviceBuffer<u32>,
    stream: &Stream,
) -> CudaResult<()> {
    // SAFETY: the counts live until the launch is over.
    unsafe { counts.set_zero_async(stream) }?;
    let n = x.len();
    let grid = blocks(n).min(1056);
    // SAFETY: x has n bytes, and there are 256 counts.
    unsafe {
        launch!(module.histogram<<<grid, 256, 0, stream>>>(x.as_device_ptr(), counts.as_device_ptr(), n as u64))
    }
}

/// The softmax of rows of 1024 in two kernels, which read the same input.
#[gpu_bench(
    args(rows = [256, 1 << 14]),
    setup = |rows| Ok((load()?, made(ROW * rows, number)?, filled(rows, 0.0)?, filled(ROW * rows, 0.0)?)),
    bytes = 12 * x.len(),
    cold,
    check = |_module, _x, _sums, y, rows| {
        let sums: Vec<f32> = (0..rows).map(|row| (0..ROW).map(|i| number(ROW * row + i).exp()).sum()).collect();
        expect_near(y, |i| number(i).exp() / sums[i / ROW])
    },
)]
fn softmax(
    module: &Module,
    x: &DeviceBuffer<f32>,
    sums: &mut DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    let rows = sums.len() as u32;
    let [x, sums, y] = [x.as_device_ptr(), sums.as_device_ptr(), y.as_device_ptr()];
    // SAFETY: x and y have this many rows of 1024, and there is a sum for each.
    unsafe { launch!(module.row_sums<<<rows, 256, 0, stream>>>(x, sums)) }?;
    // SAFETY: as above.
    unsafe { launch!(module.divide<<<rows, 256, 0, stream>>>(x, sums, y)) }
}

/// The running sums of each 1024 numbers.
#[gpu_bench(
    args(n = [1 << 18, 1 << 24]),
    setup = |n| Ok((load()?, made(n, |i| u32::from(byte(i)))?, filled(n, 0_u32)?)),
    reads = 4 * n,
    writes = 4 * n,
    cold,
    check = |_module, _x, y, n| {
        let mut sums: Vec<u32> = (0..n).map(|i| u32::from(byte(i))).collect();
        sums.chunks_mut(ROW).for_each(|row| (1..row.len()).for_each(|i| row[i] += row[i - 1]));
        expect(y, |i| sums[i])
    },
)]
fn scan(
    module: &Module,
    x: &DeviceBuffer<u32>,
    y: &mut DeviceBuffer<u32>,
    stream: &Stream,
) -> CudaResult<()> {
    let (grid, [x, y]) = ((x.len() / ROW) as u32, [x.as_device_ptr(), y.as_device_ptr()]);
    // SAFETY: x and y have 1024 elements for each block.
    unsafe { launch!(module.scan<<<grid, 1024, 0, stream>>>(x, y)) }
}

/// Each 1024 numbers, sorted in shared memory.
#[gpu_bench(
    args(n = [1 << 18, 1 << 22]),
    setup = |n| Ok((load()?, made(n, |i| place(i, n))?, filled(n, 0_u32)?)),
    reads = 4 * n,
    writes = 4 * n,
    cold,
    check = |_module, _x, y, n| {
        let mut sorted: Vec<u32> = (0..n).map(|i| place(i, n)).collect();
        sorted.chunks_mut(ROW).for_each(<[u32]>::sort_unstable);
        expect(y, |i| sorted[i])
    },
)]
fn sort(
    module: &Module,
    x: &DeviceBuffer<u32>,
    y: &mut DeviceBuffer<u32>,
    stream: &Stream,
) -> CudaResult<()> {
    let (grid, [x, y]) = ((x.len() / ROW) as u32, [x.as_device_ptr(), y.as_device_ptr()]);
    // SAFETY: x and y have 1024 elements for each block.
    unsafe { launch!(module.sort<<<grid, 1024, 0, stream>>>(x, y)) }
}

/// The Mandelbrot set: threads of a warp take 1 to 256 steps.
#[gpu_bench(
    args(side = [256, 2048]),
    setup = |side| Ok((load()?, filled(side * side, u32::MAX)?)),
    writes = 4 * side * side,
    cold,
    check = |_module, steps, side| in_circle(steps, side),
)]
fn mandelbrot(
    module: &Module,
    steps: &mut DeviceBuffer<u32>,
    side: usize,
    stream: &Stream,
) -> CudaResult<()> {
    assert_eq!(steps.len(), side * side, "there is a number for each point");
    let grid = blocks(side * side);
    // SAFETY: there is a number for each point.
    unsafe { launch!(module.mandelbrot<<<grid, 256, 0, stream>>>(steps.as_device_ptr(), side as u32)) }
}

/// y ← A x, with 16 numbers in each row of a sparse A, and one thread per row.
#[gpu_bench(
    args(rows = [1 << 14, 1 << 20]),
    setup = |rows| {
        let columns = made(FULL * rows, |i| place(i, FULL * rows) % rows as u32)?;
        Ok((load()?, made(FULL * rows, small)?, columns, made(rows, small)?, filled(rows, 0.0)?))
    },
    reads = 8 * FULL * rows + 4 * rows,
    writes = 4 * rows,
    flops = 2 * FULL * rows,
    cold,
    check = |_module, _a, _columns, _x, y, rows| expect(y, |row| {
        let at = FULL * row..FULL * (row + 1);
        at.map(|i| small(i) * small((place(i, FULL * rows) % rows as u32) as usize)).sum()
    }),
)]
fn sparse(
    module: &Module,
    a: &DeviceBuffer<f32>,
    columns: &DeviceBuffer<u32>,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    let (rows, [a, x, y]) = (y.len(), [a, x, &*y].map(|buffer| buffer.as_device_ptr()));
    let columns = columns.as_device_ptr();
    // SAFETY: A has 16 numbers and columns for each row. x and y have an element per row, and columns are below the number of rows.
    unsafe { launch!(module.sparse<<<blocks(rows), 256, 0, stream>>>(a, columns, x, y, rows as u64)) }
}

/// y ← A x, for a square matrix of n rows.
#[gpu_bench(
    args(n = [512, 4096]),
    setup = |n| Ok((load()?, made(n * n, small)?, made(n, small)?, filled(n, 0.0)?)),
    reads = 4 * n * n + 4 * n,
    writes = 4 * n,
    flops = 2 * n * n,
    cold,
    check = |_module, _a, _x, y, n| expect(y, |row| (0..n).map(|j| small(n * row + j) * small(j)).sum()),
)]
fn dense(
    module: &Module,
    a: &DeviceBuffer<f32>,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    let (n, [a, x, y]) = (y.len() as u32, [a, x, &*y].map(|buffer| buffer.as_device_ptr()));
    // SAFETY: A has n rows of n numbers, and x and y have n.
    unsafe { launch!(module.dense<<<n, 256, 0, stream>>>(a, x, y, n)) }
}

/// The softmax of rows of 1024, in one kernel with a block of 1024 threads for each row.
#[gpu_bench(
    args(rows = [256, 1 << 14]),
    setup = |rows| Ok((load()?, made(ROW * rows, number)?, filled(ROW * rows, 0.0)?)),
    reads = 4 * x.len(),
    writes = 4 * y.len(),
    cold,
    check = |_module, _x, y, rows| {
        let sums: Vec<f32> = (0..rows).map(|row| (0..ROW).map(|i| number(ROW * row + i).exp()).sum()).collect();
        expect_near(y, |i| number(i).exp() / sums[i / ROW])
    },
)]
fn softmax_rows(
    module: &Module,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    let (grid, [x, y]) = ((x.len() / ROW) as u32, [x.as_device_ptr(), y.as_device_ptr()]);
    // SAFETY: x and y have 1024 elements for each block.
    unsafe { launch!(module.softmax_rows<<<grid, 1024, 0, stream>>>(x, y)) }
}

/// A polynomial of 64 terms in `f64` at each of n numbers.
#[gpu_bench(
    args(n = [1 << 18, 1 << 22]),
    setup = |n| Ok((load()?, made(n, |i| f64::from(number(i)))?, filled(n, 0.0_f64)?)),
    reads = 8 * n,
    writes = 8 * n,
    flops = 126 * n,
    data_type = "f64",
    cold,
    check = |_module, _x, y, _n| expect(y, |i| (1..64).fold(1.0_f64, |sum, _| sum.mul_add(f64::from(number(i)), 1.0))),
)]
fn horner(
    module: &Module,
    x: &DeviceBuffer<f64>,
    y: &mut DeviceBuffer<f64>,
    stream: &Stream,
) -> CudaResult<()> {
    let (n, [x, y]) = (x.len(), [x.as_device_ptr(), y.as_device_ptr()]);
    // SAFETY: x and y have n elements.
    unsafe { launch!(module.horner<<<n.div_ceil(128) as u32, 128, 0, stream>>>(x, y, n as u64)) }
}

/// counts[at[i] mod 4096] ← counts[at[i] mod 4096] + 1, by atomic additions.
#[gpu_bench(
    args(n = [1 << 18, 1 << 22]),
    setup = |n| Ok((load()?, made(n, |i| place(i, n))?, filled(BINS, 0_u32)?)),
    reads = 4 * n,
    writes = 4 * BINS,
    cold,
    check = |_module, _at, counts, n| expect(counts, |_| (n / BINS) as u32),
)]
fn count(
    module: &Module,
    at: &DeviceBuffer<u32>,
    counts: &mut DeviceBuffer<u32>,
    stream: &Stream,
) -> CudaResult<()> {
    let (n, [at, counts]) = (at.len(), [at.as_device_ptr(), counts.as_device_ptr()]);
    // SAFETY: there are n numbers and 4096 counts.
    unsafe { launch!(module.count<<<blocks(n), 256, 0, stream>>>(at, counts, n as u64, BINS as u32)) }
}

/// 2112 walks through a permutation. Each load depends on the previous load.
#[gpu_bench(
    args(steps = [16_u32, 256]),
    setup = |_steps| Ok((load()?, made(NODES, |i| place(i, NODES))?, filled(WALKS, 0_u32)?)),
    reads = 4 * WALKS * steps as usize,
    writes = 4 * WALKS,
    cold,
    check = |_module, _next, last, steps| expect(last, |i| {
        (0..steps).fold((97 * i % NODES) as u32, |at, _| place(at as usize, NODES))
    }),
)]
fn walk(
    module: &Module,
    next: &DeviceBuffer<u32>,
    last: &mut DeviceBuffer<u32>,
    steps: u32,
    stream: &Stream,
) -> CudaResult<()> {
    let (grid, [next, last]) = ((last.len() / 32) as u32, [next.as_device_ptr(), last.as_device_ptr()]);
    // SAFETY: the numbers in `next` are indices of `next`, and `last` has an element per thread.
    unsafe { launch!(module.walk<<<grid, 32, 0, stream>>>(next, last, steps, NODES as u32)) }
}

/// [`scan`], which declares half of its bytes. Only the GPU's counters show this.
#[gpu_bench(
    args(n = [1 << 24]),
    setup = |n| Ok((load()?, made(n, |i| u32::from(byte(i)))?, filled(n, 0_u32)?)),
    reads = 2 * n,
    writes = 2 * n,
    cold,
)]
fn declares_half(
    module: &Module,
    x: &DeviceBuffer<u32>,
    y: &mut DeviceBuffer<u32>,
    stream: &Stream,
) -> CudaResult<()> {
    scan(module, x, y, stream)
}

/// [`dense`], which declares twice its bytes.
#[gpu_bench(
    args(n = [4096]),
    setup = |n| Ok((load()?, made(n * n, small)?, made(n, small)?, filled(n, 0.0)?)),
    reads = 8 * n * n,
    cold,
)]
fn declares_twice(
    module: &Module,
    a: &DeviceBuffer<f32>,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    dense(module, a, x, y, stream)
}

gpubench::main!();
