//! The limits of this machine's CPU, measured: the rate at which all threads together copy memory, and the rate of
//! fused multiply-adds on registers. The best of several runs counts, since a limit is the most that the hardware can
//! do. Runs are short, so that some of them are not interrupted on a machine that has other work. All take 0.3 s together, and
//! longer where other programs take that time away.

use std::hint::black_box;
use std::time::{Duration, Instant};

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::Stream;
use crate::system::machine::thread_time;
use gpubench_records::facts::{Peak, PeakSource, Quantity};
use gpubench_stats::units::Rate;

/// The time that the measuring thread runs for the copy, and for each rate of multiply-adds, some hundred runs.
const COPY_BUDGET: Duration = Duration::from_millis(160);
const SUMS_BUDGET: Duration = Duration::from_millis(65);
/// The least number of copies, whatever they take: a cache of half a gigabyte lets one take 20 ms.
const LEAST_COPIES: usize = 8;
/// A budget may take so many times as long by the clock. A peak that has not had its time by then is uncertain, and judges nothing.
const PATIENCE: u32 = 5;
/// The pieces of the copied arrays, each timed on its own: a third of a millisecond, less than a scheduler gives to one program.
const PIECES: usize = 16;
/// The number of independent sums: enough to hide the latency of a multiply-add on two ports, and few enough to stay in
/// registers.
const CHAINS: usize = 12;
const STEPS: usize = 40_000;

/// Measures every peak of the host. Copies one half of `buffer` over the other, which together are larger than the last-level cache and
/// whose pages exist.
pub(super) fn measure(stream: &Stream, buffer: &mut [u64]) -> Vec<Peak> {
    let arch = Arch::new();
    let peak = |quantity, rate: BestRate, method: &str| {
        let peak = Peak::new(quantity, Rate(rate.value), PeakSource::Measured, method);
        if rate.certain { peak } else { peak.uncertain() }
    };
    let f32_lanes = arch.dispatch(F32Lanes) as f64;
    let f64_lanes = arch.dispatch(F64Lanes) as f64;
    let flops = |lanes: f64| 2.0 * lanes * (CHAINS * STEPS * stream.threads()) as f64;
    let multiply_add = "fused multiply-add, all threads";
    let f32_rate = sum_rate(stream, flops(f32_lanes), || _ = black_box(arch.dispatch(F32Sums)));
    let f64_rate = sum_rate(stream, flops(f64_lanes), || _ = black_box(arch.dispatch(F64Sums)));
    vec![
        peak(Quantity::MemoryBandwidth, copy_rate(stream, buffer), "copy, bytes read + written"),
        peak(Quantity::Compute("f32".to_owned()), f32_rate, multiply_add),
        peak(Quantity::Compute("f64".to_owned()), f64_rate, multiply_add),
    ]
}

/// The best rate that was seen, and true if the measurement had its time.
struct BestRate {
    value: f64,
    certain: bool,
}

/// Returns bytes read and written per second by a copy within `buffer`: of each piece the best time of all copies, so that each needs
/// one copy in which nothing else ran.
fn copy_rate(stream: &Stream, buffer: &mut [u64]) -> BestRate {
    let (source, target) = buffer.split_at_mut(buffer.len() / 2);
    let source = &*source;
    let piece = source.len().div_ceil(PIECES);
    let block = stream.block_of::<u64>(piece);
    let mut best = [f64::INFINITY; PIECES];
    let certain = Budget::begin(COPY_BUDGET).spend(LEAST_COPIES, || {
        for ((target, source), best) in target.chunks_mut(piece).zip(source.chunks(piece)).zip(&mut best) {
            let seconds = timed(stream, || {
                stream.run(|| {
                    let parts = target.par_chunks_mut(block).zip(source.par_chunks(block));
                    parts.for_each(|(target, source)| target.copy_from_slice(source));
                });
            });
            *best = best.min(seconds);
        }
    });
    black_box(target);
    let seconds: f64 = best.iter().filter(|seconds| seconds.is_finite()).sum();
    BestRate { value: 2.0 * size_of_val(source) as f64 / seconds, certain }
}

/// Returns the rate of `work` that does `flops` if it runs on every thread.
fn sum_rate(stream: &Stream, flops: f64, work: impl Fn() + Sync) -> BestRate {
    stream.on_each_thread(&work);
    let mut best = f64::INFINITY;
    let certain = Budget::begin(SUMS_BUDGET).spend(1, || {
        best = best.min(timed(stream, || _ = stream.on_each_thread(&work)));
    });
    BestRate { value: flops / best, certain }
}

/// Returns the time of a run in seconds.
fn timed(stream: &Stream, run: impl FnOnce()) -> f64 {
    stream.take_place();
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

/// A time that the calling thread may run.
struct Budget {
    limit: Duration,
    begin: Instant,
    ran: Duration,
}

impl Budget {
    fn begin(limit: Duration) -> Self {
        Self { limit, begin: Instant::now(), ran: thread_time() }
    }

    /// Repeats `run`, so many times at least, until the thread ran so long. Returns false if that took too long by the clock.
    fn spend(self, least: usize, mut run: impl FnMut()) -> bool {
        let mut runs = 0;
        loop {
            run();
            runs += 1;
            if runs >= least && thread_time() - self.ran >= self.limit {
                return true;
            }
            if self.begin.elapsed() >= PATIENCE * self.limit {
                return false;
            }
        }
    }
}

struct F32Lanes;
impl WithSimd for F32Lanes {
    type Output = usize;
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F32_LANES
    }
}

struct F64Lanes;
impl WithSimd for F64Lanes {
    type Output = usize;
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        S::F64_LANES
    }
}

struct F32Sums;
impl WithSimd for F32Sums {
    type Output = f32;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let (factor, term) = (simd.splat_f32s(black_box(0.999)), simd.splat_f32s(black_box(0.001)));
        let mut sums = [simd.splat_f32s(black_box(1.0)); CHAINS];
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = simd.mul_add_e_f32s(*sum, factor, term);
            }
        }
        sums.into_iter().map(|sum| simd.reduce_sum_f32s(sum)).sum()
    }
}

struct F64Sums;
impl WithSimd for F64Sums {
    type Output = f64;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let (factor, term) = (simd.splat_f64s(black_box(0.999)), simd.splat_f64s(black_box(0.001)));
        let mut sums = [simd.splat_f64s(black_box(1.0)); CHAINS];
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = simd.mul_add_e_f64s(*sum, factor, term);
            }
        }
        sums.into_iter().map(|sum| simd.reduce_sum_f64s(sum)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_measured_in_a_moment() {
        let stream = Stream::of_this_thread().expect("a pool starts");
        let begin = Instant::now();
        let peaks = measure(&stream, &mut vec![1; 8 << 20]);
        let took = begin.elapsed();
        let [memory, f32, f64] = [0, 1, 2].map(|place| peaks[place].value.0);
        assert!(memory > 1e8, "{peaks:?}");
        assert!(f32 > 1e8 && f64 > 1e8, "{peaks:?}");
        // A register holds twice as many of half the size. A peak that was disturbed says so, and may be any part of what it should be.
        let is_disturbed = peaks.iter().any(|peak| peak.uncertain);
        assert!(is_disturbed || f32 > 0.9 * f64, "{peaks:?}");
        assert!(took < Duration::from_secs(3), "{took:?}");
    }
}
