//! Launch functions that are as they should be.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use gpubench::{gpu_bench, host};
use rayon::prelude::*;

use crate::{Filled, N, SORTED, all_are, unsorted};

#[gpu_bench(
    setup = Ok((vec![0.5; N], vec![0.0; N])),
    reads = size_of_val(x),
    writes = size_of_val(y),
    check = |x, y| assert_eq!(x, y),
    cold,
)]
fn copies(x: &[f32], y: &mut [f32], stream: &host::Stream) {
    stream.run(|| y.copy_from_slice(x));
}

/// y ← y + a·x, with a check of one launch.
#[gpu_bench(
    setup = Ok((vec![0.5; N], vec![1.0; N])),
    reads = size_of_val(x) + size_of_val(y),
    writes = size_of_val(y),
    check = |_x, y| all_are(y, 2.0),
)]
fn adds_to_its_output(x: &[f32], y: &mut [f32], stream: &host::Stream) {
    stream.run(|| y.iter_mut().zip(x).for_each(|(y, x)| *y += 2.0 * x));
}

/// Buffers that change places after each step. The first is the newest.
struct Ring(Vec<Vec<f32>>);

impl Ring {
    fn new(buffers: usize) -> Self {
        Self(vec![vec![0.0; N]; buffers])
    }

    /// Writes the oldest buffer, which then is the newest.
    fn step(&mut self, compute: impl Fn(&[f32], usize) -> f32) {
        if let [x, .., y] = &mut self.0[..] {
            y.iter_mut().enumerate().for_each(|(index, y)| *y = compute(x, index));
        }
        self.0.rotate_right(1);
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.0[0][..])
    }
}

/// A step of Jacobi's method on a ring of elements, each with a source of 1.
fn jacobi(x: &[f32], index: usize) -> f32 {
    f32::midpoint(x[(index + N - 1) % N], x[(index + 1) % N]) + 1.0
}

#[gpu_bench(
    setup = Ok(Ring::new(2)),
    reads = ring.bytes(),
    writes = ring.bytes(),
    check = |ring| all_are(&ring.0[0], 1.0),
    cold,
)]
fn jacobi_swaps(ring: &mut Ring, stream: &host::Stream) {
    stream.run(|| ring.step(jacobi));
}

#[gpu_bench(
    setup = Ok(Ring::new(3)),
    reads = ring.bytes(),
    writes = ring.bytes(),
    check = |ring| all_are(&ring.0[0], 1.0),
)]
fn ring_of_three(ring: &mut Ring, stream: &host::Stream) {
    stream.run(|| ring.step(jacobi));
}

#[gpu_bench(
    setup = Ok(Ring::new(4)),
    reads = ring.bytes(),
    writes = ring.bytes(),
    check = |ring| all_are(&ring.0[0], 1.0),
)]
fn ring_of_four(ring: &mut Ring, stream: &host::Stream) {
    stream.run(|| ring.step(jacobi));
}

/// y = x/2 + 1, whose values approach 2 and stop changing there.
#[gpu_bench(
    setup = Ok(Ring::new(2)),
    reads = ring.bytes(),
    writes = ring.bytes(),
    check = |ring| all_are(&ring.0[0], 1.0),
)]
fn converges_in_two_buffers(ring: &mut Ring, stream: &host::Stream) {
    stream.run(|| ring.step(|x, index| x[index] / 2.0 + 1.0));
}

#[gpu_bench(
    setup = Ok(vec![0.0; N]),
    reads = size_of_val(x),
    writes = size_of_val(x),
    check = |x| all_are(x, 1.0),
)]
fn converges_in_place(x: &mut [f32], stream: &host::Stream) {
    stream.run(|| x.iter_mut().for_each(|x| *x = *x / 2.0 + 1.0));
}

#[gpu_bench(
    setup = Ok((unsorted(SORTED, 1), unsorted(SORTED, 1))),
    reset = |x, before, stream| stream.run(|| x.copy_from_slice(before)),
    reads = size_of_val(x),
    writes = size_of_val(x),
    check = |x, _before| assert!(x.is_sorted()),
    cold,
)]
fn sorts_with_a_reset(x: &mut [u32], before: &[u32], stream: &host::Stream) {
    _ = before;
    stream.run(|| x.sort_unstable());
}

/// Every thread sums a part of 1 MiB.
#[gpu_bench(
    setup = Ok((vec![1.0; 4 * N], 0.0)),
    reads = size_of_val(x),
    check = |_x, total| assert!((*total - 4.0 * N as f32).abs() < 1.0, "the sum is {total}"),
)]
fn sums_in_parallel(x: &[f32], total: &mut f32, stream: &host::Stream) {
    let block = stream.block_of::<f32>(x.len());
    stream.run(|| *total = x.par_chunks(block).map(|x| x.iter().sum::<f32>()).sum());
}

/// The first launch on new inputs is the first to touch the 4 MiB of its output.
#[gpu_bench(
    setup = Ok(vec![0_u8; 16 * N]),
    writes = y.len(),
    check = |y| assert!(y.iter().all(|y| *y == 1)),
)]
fn writes_what_nobody_touched(y: &mut [u8], stream: &host::Stream) {
    stream.run(|| y.fill(1));
}

#[gpu_bench(
    setup = Ok((unsorted(N, 1), vec![0; N])),
    reads = size_of_val(x),
    writes = size_of_val(y),
    check = |x, y| assert!(x.iter().eq(y.iter().rev())),
)]
fn allocates_and_frees(x: &[u32], y: &mut [u32], stream: &host::Stream) {
    stream.run(|| {
        let scratch: Vec<u32> = black_box(x.iter().rev().copied().collect());
        y.copy_from_slice(&scratch);
    });
}

/// Positions and velocities, in a type of the user's own.
#[derive(Clone)]
struct Particle {
    position: [f32; 3],
    velocity: [f32; 3],
}

/// No check and nothing declared: positions differ after each launch.
#[gpu_bench(setup = Ok(vec![Particle { position: [0.0; 3], velocity: [0.5; 3] }; N / 4]))]
fn moves_particles(particles: &mut [Particle], stream: &host::Stream) {
    stream.run(|| {
        for particle in particles {
            particle.position.iter_mut().zip(particle.velocity).for_each(|(x, v)| *x += 0.125 * v);
        }
    });
}

/// Each element depends on the one before, so that one thread does all.
#[gpu_bench(
    setup = Ok((vec![1_u32; N], vec![0; N])),
    reads = size_of_val(x),
    writes = size_of_val(y),
    check = |_x, y| assert_eq!(y.last(), Some(&(N as u32))),
)]
fn sums_up_in_one_thread(x: &[u32], y: &mut [u32], stream: &host::Stream) {
    stream.run(|| {
        let mut sum = 0;
        for (y, x) in y.iter_mut().zip(x) {
            sum += x;
            *y = sum;
        }
    });
}

/// Each setup makes other inputs.
fn random() -> (Vec<u32>, Vec<u32>) {
    static SEED: AtomicU32 = AtomicU32::new(1);
    (unsorted(N, SEED.fetch_add(1, Ordering::Relaxed)), vec![0; N])
}

#[gpu_bench(
    setup = Ok(random()),
    reads = size_of_val(x),
    writes = size_of_val(y),
    check = |x, y| assert!(x.iter().zip(y).all(|(x, y)| *y == x.wrapping_mul(3))),
)]
fn random_inputs(x: &[u32], y: &mut [u32], stream: &host::Stream) {
    stream.run(|| y.iter_mut().zip(x).for_each(|(y, x)| *y = x.wrapping_mul(3)));
}

#[gpu_bench(
    setup = Ok((unsorted(N, 1), vec![0; 256])),
    reads = size_of_val(keys),
    check = |keys, counts| assert_eq!(counts.iter().sum::<u64>(), keys.len() as u64),
)]
fn histogram_without_a_reset(keys: &[u32], counts: &mut [u64], stream: &host::Stream) {
    stream.run(|| keys.iter().for_each(|key| counts[(key % 256) as usize] += 1));
}

/// A launch appends 64 KiB, and begins anew when the 4 MiB are full.
#[gpu_bench(
    setup = Ok((vec![0.5; N / 4], Filled::new(16 * N))),
    reads = size_of_val(token),
    writes = size_of_val(token),
    check = |token, cache| all_are(&cache.y[..token.len()], 0.5).and(all_are(&cache.y[token.len()..], 0.0)),
)]
fn appends_to_a_cache(token: &[f32], cache: &mut Filled, stream: &host::Stream) {
    let slot = (cache.number() - 1) as usize % (cache.y.len() / token.len());
    stream.run(|| cache.y[slot * token.len()..][..token.len()].copy_from_slice(token));
}

/// The first launch on new inputs compiles, which takes 20 ms.
#[gpu_bench(
    setup = Ok(Filled::new(N)),
    writes = size_of_val(&filled.y[..]),
    check = |filled| all_are(&filled.y, 0.5),
)]
fn compiles_at_first(filled: &mut Filled, stream: &host::Stream) {
    if filled.number() == 1 {
        thread::sleep(Duration::from_millis(20));
    }
    stream.run(|| filled.y.fill(0.5));
}

/// Other values each time, within bounds that the check knows, as a simulation by random numbers has.
#[gpu_bench(
    setup = Ok(Filled::new(N)),
    writes = size_of_val(&filled.y[..]),
    check = |filled| assert!(filled.y.iter().all(|y| (1.0..2.0).contains(y))),
)]
fn other_values_within_bounds(filled: &mut Filled, stream: &host::Stream) {
    let value = 1.0 + filled.number() as f32 * 0.618_034 % 1.0;
    stream.run(|| filled.y.fill(value));
}

/// Nothing but arithmetic.
#[gpu_bench(setup = Ok(1.0), flops = 2 * N, check = |x| assert!(x.is_finite()))]
fn arithmetic(x: &mut f32, stream: &host::Stream) {
    stream.run(|| *x = (0..N).fold(black_box(1.0), |x, _| x * 0.5 + 1.0));
}
