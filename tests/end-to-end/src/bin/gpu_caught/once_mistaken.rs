//! Launches that gpubench once took for right, or for something else than they are.

use std::cell::Cell;
use std::time::{Duration, Instant};

use end_to_end::clockwork::Clockwork;
use gpubench::cuda::RawStream;
use gpubench::gpu_bench;

use crate::calls::{copy_pageable, synchronize};
use crate::gpu::{Array, DEFAULT, Done, ELEMENTWISE, Module, OWN, POWER, TENSOR, THREADS, bits};

/// The elements of most arrays here: 4 MiB.
pub(crate) const N: u64 = 1 << 20;

/// An array to fill, and the number of launches so far.
#[derive(Debug)]
pub(crate) struct Filled {
    pub(crate) module: Module,
    pub(crate) y: Array,
    launches: Cell<u64>,
}

impl Filled {
    pub(crate) fn new(n: u64) -> Done<Self> {
        Ok(Self { module: Module::load(ELEMENTWISE)?, y: Array::of(0.0, n)?, launches: Cell::new(0) })
    }

    /// Fills the first `n` elements by the grid that all of them need.
    pub(crate) fn first(&self, n: u64, a: f32, stream: gpubench_driver::sys::CUstream) -> Done {
        self.module.launch("fill", self.blocks(), &[bits(a), self.y.at, n], stream)
    }

    pub(crate) fn fill(&self, a: f32, stream: gpubench_driver::sys::CUstream) -> Done {
        self.first(self.y.n, a, stream)
    }

    /// The blocks of a grid for all elements, four a thread.
    pub(crate) fn blocks(&self) -> u64 {
        self.y.n / 4 / THREADS
    }

    /// The number of this launch, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.launches.set(self.launches.get() + 1);
        self.launches.get()
    }
}

#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn default_stream_alone(filled: &Filled, stream: &RawStream) -> Done {
    _ = stream;
    filled.fill(0.5, DEFAULT)
}

#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn default_stream_beside(filled: &Filled, stream: &RawStream) -> Done {
    filled.fill(0.5, stream.stream().cast())?;
    filled.fill(0.5, DEFAULT)
}

#[gpu_bench(setup = Filled::new(N), cold)]
pub(crate) fn synchronises(filled: &Filled, stream: &RawStream) -> Done {
    filled.fill(0.5, stream.stream().cast())?;
    synchronize(stream.stream().cast())
}

#[gpu_bench(setup = Filled::new(N), cold)]
pub(crate) fn allocates(filled: &Filled, stream: &RawStream) -> Done {
    let scratch = Array::uninitialized(N)?;
    filled.fill(0.5, stream.stream().cast())?;
    drop(scratch);
    Ok(())
}

/// A copy from memory that is not pinned keeps it out of a graph.
#[gpu_bench(setup = Ok((Filled::new(N)?, vec![0.5_f32])))]
pub(crate) fn idles(filled: &Filled, x: &[f32], stream: &RawStream) -> Done {
    fill_before_and_after(Duration::from_millis(1), filled, x, stream)
}

/// The same for longer than any delay before a group of samples.
#[gpu_bench(setup = Ok((Filled::new(N)?, vec![0.5_f32])))]
pub(crate) fn idles_for_long(filled: &Filled, x: &[f32], stream: &RawStream) -> Done {
    fill_before_and_after(Duration::from_millis(5), filled, x, stream)
}

/// Works on the host for so long between two kernels.
fn fill_before_and_after(work: Duration, filled: &Filled, x: &[f32], stream: &RawStream) -> Done {
    copy_pageable(&filled.y, x, stream.stream().cast())?;
    filled.fill(0.5, stream.stream().cast())?;
    let begin = Instant::now();
    while begin.elapsed() < work {
        std::hint::spin_loop();
    }
    filled.fill(0.5, stream.stream().cast())
}

/// A read of 256 MiB, eight vectors a thread. Of 16 MiB, an H200 would need no longer for twice as many bytes than this read takes.
#[gpu_bench(
    setup = Ok((Module::load(OWN)?, Array::of(0.5, 64 << 20)?, Array::of(0.0, 1)?)),
    bytes = 2 * x.bytes(),
    cold,
)]
pub(crate) fn claims_twice(own: &Module, x: &Array, y: &Array, stream: &RawStream) -> Done {
    own.launch("read_all", 8448, &[x.at, x.n, y.at], stream.stream().cast())
}

#[gpu_bench(setup = Filled::new(4 * N), writes = filled.y.bytes())]
pub(crate) fn claims_all_changes_half(filled: &Filled, stream: &RawStream) -> Done {
    filled.first(2 * N, 0.5, stream.stream().cast())
}

#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn fifty_then_one(filled: &Filled, stream: &RawStream) -> Done {
    let kernels = if filled.number() == 1 { 50 } else { 1 };
    (0..kernels).try_for_each(|_| filled.fill(0.5, stream.stream().cast()))
}

/// No block has so many threads.
pub(crate) fn impossible_launch(filled: &Filled, stream: &RawStream) {
    let arguments = [bits(0.5), filled.y.at, filled.y.n];
    _ = filled.module.launch_by("fill", filled.blocks(), 4096, &arguments, stream.stream().cast());
}

#[gpu_bench(setup = Filled::new(N))]
pub(crate) fn ignores_an_error(filled: &Filled, stream: &RawStream) -> Done {
    filled.fill(0.5, stream.stream().cast())?;
    impossible_launch(filled, stream);
    Ok(())
}

/// On a device of its own, since no launch moves a GPU's clock.
#[gpu_bench(setup = Ok(0_u64))]
pub(crate) fn negative_times(launches: &mut u64, stream: &Clockwork) {
    *launches += 1;
    if launches.is_multiple_of(100) { stream.turn_back(32_000) } else { stream.advance(16_000) }
}

/// What the clockwork's measured peak allows in 3.2 µs, 10¹⁴ times.
const FAR_TOO_MUCH: u64 = 3_840_000_000_000_000_000;

#[gpu_bench(bytes = FAR_TOO_MUCH)]
pub(crate) fn beats_a_measured_peak(stream: &Clockwork) {
    stream.advance(3_200);
}

/// Whose speed is impossible is not also in two modes.
#[gpu_bench(setup = Ok(0_u64), bytes = FAR_TOO_MUCH)]
pub(crate) fn beats_it_in_two_modes(launches: &mut u64, stream: &Clockwork) {
    *launches += 1;
    stream.advance(if launches.is_multiple_of(2) { 3_200 } else { 6_400 });
}

/// An array to fill, after a second and a half in which the GPU drew what it can.
pub(crate) fn after_load() -> Done<Filled> {
    /// Their time is about 1.5 ms each.
    const LAUNCHES: u64 = 1000;
    const STEPS: u64 = 4096;
    let (module, blocks) = (Module::load(TENSOR)?, 8 * 132);
    let one = f32::from_bits(0x3f80_3f80);
    let (left, right) = (Array::of(one, 2 * 32 * 4)?, Array::of(one, 2 * 32 * 2)?);
    let sums = Array::of(0.0, 4 * blocks * THREADS)?;
    for _ in 0..LAUNCHES {
        module.launch("products", blocks, &[left.at, right.at, STEPS, sums.at], DEFAULT)?;
    }
    synchronize(DEFAULT)?;
    Filled::new(N)
}

#[gpu_bench(setup = after_load())]
pub(crate) fn after_power_cap(filled: &Filled, stream: &RawStream) -> Done {
    filled.fill(0.5, stream.stream().cast())
}

/// Arithmetic of `f32` on the whole device.
pub(crate) struct Turned {
    module: Module,
    inputs: Array,
    sums: Array,
}

impl Turned {
    const BLOCKS: u64 = 8 * 132;
    const STEPS: u64 = 4096;

    pub(crate) fn new() -> Done<Self> {
        let inputs = Array::of(0.25, 16 * THREADS)?;
        Ok(Self { module: Module::load(POWER)?, inputs, sums: Array::of(0.0, Self::BLOCKS * THREADS)? })
    }

    /// The operations of a launch.
    pub(crate) const FLOPS: u64 = 32 * Self::STEPS * Self::BLOCKS * THREADS;

    pub(crate) fn launch(&self, stream: &RawStream) -> Done {
        let arguments = [bits(0.3), self.inputs.at, Self::STEPS, self.sums.at];
        self.module.launch("turn", Self::BLOCKS, &arguments, stream.stream().cast())
    }
}
