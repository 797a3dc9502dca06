//! Measures the peaks of the CPU of this machine: the rate at which all threads together update memory, and the
//! rates of fused multiply-adds on vector registers. Each peak is the best of five measurements, since a peak is the
//! most that the hardware can do.
//!
//! A peak is uncertain if its best two measurements differ by more than a tenth. All peaks are uncertain if
//! other programs used more than a tenth of the processor time. Measuring takes half a second, and longer if
//! other programs use the processors.
#![expect(unsafe_code, reason = "calls functions that need instructions which not every processor has")]

use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime};

use gpubench_records::{Peak, PeakSource, Quantity};
use gpubench_stats::{Nanoseconds, Rate};
use rayon::prelude::*;

use super::{PinnedPool, clock::other_programs_time, flush::drop_lines};
use crate::device::Memory;
use crate::system::thread_time;

/// The number of measurements of a peak, of which the best counts.
const MEASUREMENTS_PER_PEAK: usize = 5;
/// A peak is uncertain if its best two measurements differ by more than this fraction of the best.
const LARGEST_DIFFERENCE: f64 = 0.1;
/// If other programs use more than this fraction of the processor time during the measurements, all peaks are
/// uncertain.
const LARGEST_OTHERS_PART: f64 = 0.1;
/// The processor time of the measuring thread for one measurement of the update rate.
const UPDATE_BUDGET: Duration = Duration::from_millis(60);
/// The processor time of the measuring thread for one measurement of the rate of fused multiply-adds.
const MULTIPLY_ADD_BUDGET: Duration = Duration::from_millis(13);
/// The fewest updates in one measurement, unless it ends by [`CLOCK_TIME_FACTOR`]. With a cache of half a
/// gigabyte, an update takes 30 ms.
const LEAST_UPDATES: usize = 2;
/// A measurement ends after this many times its budget according to the clock, even if the measuring thread
/// has used less processor time.
const CLOCK_TIME_FACTOR: u32 = 5;
/// The number of pieces of the updated array, each timed separately. A piece takes a third of a millisecond,
/// less than the time slice that a scheduler gives to one program.
const PIECES_PER_UPDATE: usize = 16;

/// Measures all peaks of the CPU: the rate of updates, and the rates of fused multiply-adds in f32 and f64 if
/// [`vectors::widest`] has them. Adds one half of `buffer` to the other. Both halves together must be
/// larger than the last-level cache, and their pages must exist. `processors` are those that this process may
/// use.
pub(super) fn measure(stream: &PinnedPool, buffer: &mut [u64], processors: &[usize]) -> Vec<Peak> {
    let (begin, before) = (Instant::now(), other_programs_time(processors));
    let updates = std::array::from_fn(|_| update_rate(stream, buffer));
    let mut peaks = vec![best_as_peak(Quantity::MemoryBandwidth, "y += x, bytes read + written", updates)];
    for (precision, work) in ["f32", "f64"].into_iter().zip(vectors::widest().into_iter().flatten()) {
        let rates = std::array::from_fn(|_| multiply_add_rate(stream, work));
        let quantity = Quantity::Compute(precision.to_owned());
        peaks.push(best_as_peak(quantity, "fused multiply-add, all threads", rates));
    }
    let others = other_programs_time(processors).zip(before).map(|(after, before)| after - before);
    if !is_disturbed(others, begin.elapsed().into(), processors.len()) {
        return peaks;
    }
    peaks.into_iter().map(Peak::uncertain).collect()
}

/// Returns true if other programs used more than [`LARGEST_OTHERS_PART`] of the time of all processors.
/// `others` is the processor time of the other programs, `elapsed` the time on the clock, and `processors`
/// the number of processors. Returns false if `others` is `None`.
fn is_disturbed(others: Option<Nanoseconds>, elapsed: Nanoseconds, processors: usize) -> bool {
    others.is_some_and(|others| others > LARGEST_OTHERS_PART * processors as f64 * elapsed)
}

/// Returns the best of the measured `rates` as a peak. The peak is uncertain if the second best is lower by
/// more than [`LARGEST_DIFFERENCE`]. The text of its method is `method` with the number of measurements and
/// the date.
fn best_as_peak(quantity: Quantity, method: &str, mut rates: [f64; MEASUREMENTS_PER_PEAK]) -> Peak {
    rates.sort_by(|one, other| other.total_cmp(one));
    let [best, second, ..] = rates;
    let today = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let day = today.split('T').next().unwrap_or_default();
    let method = format!("{method}, best of {MEASUREMENTS_PER_PEAK} on {day}");
    let peak = Peak::new(quantity, Rate(best), PeakSource::Measured, method);
    if best - second <= LARGEST_DIFFERENCE * best { peak } else { peak.uncertain() }
}

/// Measures an update of one half of `buffer` by the other. Returns the bytes read and written per second, from
/// the best time of each piece over all updates, so that a piece needs only one update that nothing disturbed.
///
/// A copy would read more than its source: a store reads its line first. An update reads that line itself, so that all its traffic
/// counts. Drops the lines of both halves before each update, if the processor can. Otherwise the caches may serve a part.
fn update_rate(stream: &PinnedPool, buffer: &mut [u64]) -> f64 {
    let (source, target) = buffer.split_at_mut(buffer.len() / 2);
    let source = &*source;
    let piece = source.len().div_ceil(PIECES_PER_UPDATE);
    let block = stream.stream.block_of::<u64>(piece);
    let update = |(target, source): (&mut [u64], &[u64])| {
        target.iter_mut().zip(source).for_each(|(target, source)| *target = target.wrapping_add(*source));
    };
    let mut best = [f64::INFINITY; PIECES_PER_UPDATE];
    repeat_for(UPDATE_BUDGET, LEAST_UPDATES, || {
        [source, target].iter().for_each(|half| drop_lines(stream, &Memory::of(half)));
        for ((target, source), best) in target.chunks_mut(piece).zip(source.chunks(piece)).zip(&mut best) {
            let seconds = seconds_of(stream, || {
                stream.pool.install(|| {
                    target.par_chunks_mut(block).zip(source.par_chunks(block)).for_each(update);
                });
            });
            *best = best.min(seconds);
        }
    });
    black_box(target);
    let seconds: f64 = best.iter().filter(|seconds| seconds.is_finite()).sum();
    3.0 * size_of_val(source) as f64 / seconds
}

/// Measures `work` on all threads of the pool at once. Returns floating-point operations per second, from the
/// best run.
fn multiply_add_rate(stream: &PinnedPool, work: MultiplyAdds) -> f64 {
    stream.on_each_thread(|| (work.run)());
    let mut best = f64::INFINITY;
    repeat_for(MULTIPLY_ADD_BUDGET, 1, || {
        best = best.min(seconds_of(stream, || _ = stream.on_each_thread(|| (work.run)())));
    });
    work.flops() * stream.threads() as f64 / best
}

/// Returns the time of a call of `run` in seconds. Moves the calling thread to its own processor first.
fn seconds_of(stream: &PinnedPool, run: impl FnOnce()) -> f64 {
    stream.move_to_own_processor();
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

/// Repeats `run` until the calling thread has used the processor time `budget` and has called `run` at least
/// `least` times. In any case stops after [`CLOCK_TIME_FACTOR`] times `budget` according to the clock, even
/// if `run` was called less often, but always calls it once.
fn repeat_for(budget: Duration, least: usize, mut run: impl FnMut()) {
    let (begin, ran) = (Instant::now(), thread_time());
    for runs in 1.. {
        run();
        let is_spent = runs >= least && thread_time() - ran >= budget;
        if is_spent || begin.elapsed() >= CLOCK_TIME_FACTOR * budget {
            return;
        }
    }
}

/// The number of independent sums of a thread: enough to hide the latency of a multiply-add on two ports, and
/// few enough to stay in registers.
const INDEPENDENT_SUMS: usize = 12;
/// The number of multiply-adds on each sum in a run.
const STEPS_PER_RUN: usize = 40_000;

/// A run of fused multiply-adds for one thread, in registers only.
#[derive(Clone, Copy)]
struct MultiplyAdds {
    /// Executes the run.
    run: fn(),
    /// The number of values in a vector register.
    lanes: usize,
}

impl MultiplyAdds {
    /// Returns the number of floating-point operations of a run, two for each multiply-add.
    pub(super) fn flops(self) -> f64 {
        2.0 * (self.lanes * INDEPENDENT_SUMS * STEPS_PER_RUN) as f64
    }
}

/// Defines a function `name` that runs multiply-adds with the instructions `splat` and `multiply_add`, for
/// processors with `feature`.
macro_rules! multiply_adds {
    ($($name:ident: $feature:literal, $splat:path, $multiply_add:path;)*) => {$(
        #[target_feature(enable = $feature)]
        fn $name() {
            let (factor, term) = ($splat(black_box(0.999)), $splat(black_box(0.001)));
            let mut sums = [$splat(black_box(1.0)); INDEPENDENT_SUMS];
            for _ in 0..STEPS_PER_RUN {
                for sum in &mut sums {
                    *sum = $multiply_add(*sum, factor, term);
                }
            }
            black_box(sums);
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::{
        _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_set1_pd, _mm256_set1_ps, _mm512_fmadd_pd, _mm512_fmadd_ps,
        _mm512_set1_pd, _mm512_set1_ps,
    };

    use super::*;

    multiply_adds! {
        f32_in_512_bits: "avx512f", _mm512_set1_ps, _mm512_fmadd_ps;
        f64_in_512_bits: "avx512f", _mm512_set1_pd, _mm512_fmadd_pd;
        f32_in_256_bits: "avx,fma", _mm256_set1_ps, _mm256_fmadd_ps;
        f64_in_256_bits: "avx,fma", _mm256_set1_pd, _mm256_fmadd_pd;
    }

    /// Returns the runs for f32 and for f64 on the widest vector registers of this processor; `None` if the
    /// processor has no fused multiply-add for vectors.
    pub(super) fn widest() -> Option<[MultiplyAdds; 2]> {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            let (f32, f64) = (|| unsafe { f32_in_512_bits() }, || unsafe { f64_in_512_bits() });
            return Some([MultiplyAdds { run: f32, lanes: 16 }, MultiplyAdds { run: f64, lanes: 8 }]);
        }
        (is_x86_feature_detected!("avx") && is_x86_feature_detected!("fma")).then(|| {
            // SAFETY: the processor has AVX and FMA.
            let (f32, f64) = (|| unsafe { f32_in_256_bits() }, || unsafe { f64_in_256_bits() });
            [MultiplyAdds { run: f32, lanes: 8 }, MultiplyAdds { run: f64, lanes: 4 }]
        })
    }
}

#[cfg(target_arch = "aarch64")]
mod vectors {
    use std::arch::aarch64::{vdupq_n_f32, vdupq_n_f64, vfmaq_f32, vfmaq_f64};

    use super::*;

    multiply_adds! {
        f32_in_128_bits: "neon", vdupq_n_f32, vfmaq_f32;
        f64_in_128_bits: "neon", vdupq_n_f64, vfmaq_f64;
    }

    /// Returns the runs for f32 and for f64 on the 128-bit vector registers of this processor.
    pub(super) fn widest() -> Option<[MultiplyAdds; 2]> {
        // SAFETY: every processor that Rust's standard library supports has NEON.
        let (f32, f64) = (|| unsafe { f32_in_128_bits() }, || unsafe { f64_in_128_bits() });
        Some([MultiplyAdds { run: f32, lanes: 4 }, MultiplyAdds { run: f64, lanes: 2 }])
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod vectors {
    /// Returns `None`: no fused multiply-add is known for this processor.
    pub(super) fn widest() -> Option<[super::MultiplyAdds; 2]> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rates: [f64; MEASUREMENTS_PER_PEAK]) -> Peak {
        best_as_peak(Quantity::MemoryBandwidth, "copy", rates)
    }

    #[test]
    fn the_best_of_five_counts_and_is_certain_where_two_agree() {
        let best = of([19e9, 48.7e9, 23e9, 54e9, 20e9]);
        assert_eq!((best.value.0, best.uncertain), (54e9, false));
        let alone = of([19e9, 48.5e9, 23e9, 54e9, 20e9]);
        assert_eq!((alone.value.0, alone.uncertain), (54e9, true));
    }

    #[test]
    fn other_programs_that_use_a_tenth_of_the_processors_disturb() {
        let second = Nanoseconds::from_seconds(1.0);
        let disturbs = |milliseconds: f64| is_disturbed(Some(Nanoseconds(1e6 * milliseconds)), second, 2);
        assert_eq!([disturbs(190.0), disturbs(210.0)], [false, true]);
        // Not every system counts.
        assert!(!is_disturbed(None, second, 2));
    }

    #[test]
    fn a_peak_names_the_day_on_which_it_was_measured() {
        let method = of([1.0; MEASUREMENTS_PER_PEAK]).method;
        let day = method.strip_prefix("copy, best of 5 on 20").expect("a day of this century");
        assert_eq!(day.len(), "26-11-26".len(), "{method}");
    }

    #[test]
    fn peaks_are_measured_in_a_moment() {
        let stream = PinnedPool::of_this_thread().expect("a pool starts");
        let timed = || {
            let begin = Instant::now();
            let peaks = measure(&stream, &mut vec![1; 8 << 20], &[0]);
            (begin.elapsed(), peaks)
        };
        // Other tests share the processors.
        let (took, peaks) = (0..3).map(|_| timed()).min_by_key(|(took, _)| *took).expect("three attempts");
        let [memory, f32, f64] = [0, 1, 2].map(|place| peaks[place].value.0);
        assert!(memory > 1e8, "{peaks:?}");
        assert!(f32 > 1e8 && f64 > 1e8, "{peaks:?}");
        // A register holds twice as many of half the size. A peak that other programs disturbed may be low by
        // any factor.
        let is_disturbed = peaks.iter().any(|peak| peak.uncertain);
        assert!(is_disturbed || f32 > 0.9 * f64, "{peaks:?}");
        assert!(took < Duration::from_secs(3), "{took:?}");
    }
}
