//! Times of this machine: the resolution of its monotonic clock, the time of an empty launch, the processor
//! time of other programs, and the times of the threads of a pool.
//!
//! The resolution of the clock, called its step, is the largest number of which all differences of readings
//! are multiples. A clock with a step of 10 ns gives differences of 20, 21, 30 and 31 ns, since readings are
//! rounded to whole nanoseconds. Such differences do not show a step of 1 ns.

use std::fs::{self, File};
use std::{hint::black_box, os::unix::fs::FileExt as _, path::Path, time::Instant};

use super::{PinnedPool, time_launch};
use crate::device::{Work, single_launch_sampler::ThreadTime};
use crate::registry::CaughtCase;
use crate::system::Stat;
use gpubench_core::{Bound, Case as _, StreamParameter as _, host::Stream};
use gpubench_stats::{Nanoseconds, median};

/// The number of differences above zero after which the clock is read no more.
const ENOUGH_DIFFERENCES: usize = 4_000;
/// The most pairs of readings that measure the step. Many are needed for a step as long as a tick of the
/// operating system.
const MOST_CLOCK_READINGS: usize = 1 << 20;
/// A wait between the two readings of a pair has fewer rounds than this, each of some tenths of a nanosecond.
/// The longest wait lasts several steps of a usual clock.
const LONGEST_WAIT_ROUNDS: usize = 256;
/// After this many pairs of readings, [`ENOUGH_DIFFERENCES_OF_LONG_STEP`] differences are enough: the step is
/// long if fewer than [`ENOUGH_DIFFERENCES`] were found until then.
const READINGS_BEFORE_FEWER: usize = 16_000;
/// The number of differences above zero that are enough for a clock with a long step.
const ENOUGH_DIFFERENCES_OF_LONG_STEP: usize = 8;

/// Differences up to this multiple of the smallest difference are used. For longer ones, a small error of the
/// step would change the number of steps.
const LARGEST_MULTIPLE: u64 = 8;
/// The largest error of a difference, in nanoseconds: less than one by rounding, and a tenth by the error of
/// the step that is tried.
const ROUNDING_ERROR: f64 = 1.1;
/// A step up to this, in nanoseconds, cannot be distinguished from 1 ns, which is then the result.
const SHORTEST_STEP: f64 = 3.5;
/// Each step that is tried is the previous one times this factor.
const NEXT_STEP_FACTOR: f64 = 0.9995;

/// Measures the step of the monotonic clock. Returns 1 ns for any step that is too short to be found, up to
/// about 3.5 ns.
pub(super) fn measure_step() -> Nanoseconds {
    let origin = Instant::now();
    largest_common_step(&clock_differences(|| origin.elapsed().as_nanos() as u64, spin))
}

/// Spins for `rounds` iterations of an empty loop that the compiler cannot remove.
fn spin(rounds: usize) {
    for round in 0..rounds {
        black_box(round);
    }
}

/// Reads a clock in pairs: calls `now`, then `wait` with a varying number of rounds, then `now`. Returns the
/// differences above zero between the readings of a pair, in nanoseconds.
fn clock_differences(now: impl Fn() -> u64, wait: impl Fn(usize)) -> Vec<u64> {
    let mut differences = Vec::with_capacity(ENOUGH_DIFFERENCES);
    for reading in 0..MOST_CLOCK_READINGS {
        let enough = if reading < READINGS_BEFORE_FEWER {
            ENOUGH_DIFFERENCES
        } else {
            ENOUGH_DIFFERENCES_OF_LONG_STEP
        };
        if differences.len() >= enough {
            break;
        }
        let begin = now();
        // A stride that repeats no wait before all others were used.
        wait(reading * 37 % LONGEST_WAIT_ROUNDS);
        differences.extend(Some(now() - begin).filter(|difference| *difference > 0));
    }
    differences
}

/// Returns the largest step of which all `differences` up to [`LARGEST_MULTIPLE`] times the smallest are
/// multiples, within [`ROUNDING_ERROR`]. Returns 1 ns if there are no differences, or if the step is too
/// short to be found.
fn largest_common_step(differences: &[u64]) -> Nanoseconds {
    let Some(smallest) = differences.iter().copied().min() else { return Nanoseconds(1.0) };
    let short_differences =
        || differences.iter().copied().filter(|difference| *difference <= LARGEST_MULTIPLE * smallest);
    let multiple = |difference: u64, step: f64| (difference as f64 / step).round();
    let fits = |step: f64| {
        short_differences().all(|it| (it as f64 - step * multiple(it, step)).abs() <= ROUNDING_ERROR)
    };
    let tried = std::iter::successors(Some(smallest as f64 + 1.0), |step| Some(step * NEXT_STEP_FACTOR));
    let found = tried.take_while(|step| *step > SHORTEST_STEP).find(|step| fits(*step));
    found.map_or(Nanoseconds(1.0), |step| {
        let (sum, multiples) = short_differences().fold((0.0, 0.0), |(sum, multiples), difference| {
            (sum + difference as f64, multiples + multiple(difference, step))
        });
        Nanoseconds(sum / multiples)
    })
}

/// The number of empty launches that are timed together, between two readings of the clock.
const EMPTY_LAUNCHES_PER_READING: usize = 256;
/// The number of times that [`EMPTY_LAUNCHES_PER_READING`] launches are timed. The median of the times is
/// used, since a busy machine slows the median as it slows samples.
const EMPTY_LAUNCH_READINGS: usize = 251;

/// Measures the time of one empty launch on `stream`, which is the launch of a case with an empty launch
/// function. Its launches go through the same code as those of any other case. Returns the median over many
/// readings, which take 0.2 ms together.
pub(super) fn empty_launch_time(stream: &Stream) -> Nanoseconds {
    let launch = |(): &mut (), stream: &Stream| {
        stream.run(|| ());
        Ok(())
    };
    let mut case = Bound::new(Stream::open_on, |_| Ok(()), launch);
    // Cannot fail. Without inputs each launch would fail, and none would be timed.
    _ = case.open(&mut stream.clone()).and_then(|()| case.setup());
    let mut case = CaughtCase(&mut case);
    // The compiler does not see what it calls.
    let empty: &mut dyn Work = black_box(&mut case);
    let mut launches = || empty.launch_times(EMPTY_LAUNCHES_PER_READING);
    let readings: Vec<_> =
        (0..EMPTY_LAUNCH_READINGS).filter_map(|_| time_launch(&mut launches).ok()).collect();
    median(&readings).unwrap_or_default() / EMPTY_LAUNCHES_PER_READING as f64
}

/// The unit of processor times in `/proc`: 10 ms, on all architectures of Linux but Alpha.
const TICK: Nanoseconds = Nanoseconds(10e6);

/// Returns the processor time of `processors` so far minus that of this process: the time of other programs,
/// the kernel, and other virtual machines. The time has an arbitrary origin, and may be negative; only the
/// difference of two calls has a meaning. Returns `None` if `/proc` does not contain these times.
pub(super) fn other_programs_time(processors: &[usize]) -> Option<Nanoseconds> {
    let busy = busy_ticks(&fs::read_to_string("/proc/stat").ok()?, processors)?;
    let own = Stat::read(&fs::read_to_string("/proc/self/stat").ok()?)?.ticks()?;
    Some((busy as f64 - own as f64) * TICK)
}

/// Returns the sum of the ticks in which `processors` were busy, from the text of `/proc/stat`: lines such as
/// `cpu0 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL …`. Returns `None` if it has no line of these
/// processors.
fn busy_ticks(stat: &str, processors: &[usize]) -> Option<u64> {
    let of = |line: &str| {
        let mut words = line.split_whitespace();
        let processor: usize = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let ticks: Vec<u64> = words.map_while(|ticks| ticks.parse().ok()).collect();
        let [user, nice, system, _idle, _waiting, rest @ ..] = &ticks[..] else { return None };
        processors.contains(&processor).then(|| user + nice + system + rest.iter().take(3).sum::<u64>())
    };
    stat.lines().filter_map(of).reduce(|sum, one| sum + one)
}

/// Opens the `schedstat` files of all threads of the pool, that of the measuring thread first. Returns an
/// empty list if one of them cannot be opened.
pub(super) fn open_schedstats(stream: &PinnedPool) -> Vec<File> {
    stream.on_each_thread(open_own_schedstat).into_iter().collect::<Option<_>>().unwrap_or_default()
}

/// Reads from a `schedstat` file how long its thread ran and waited since it started. A wait is counted once
/// it has ended. Returns `None` if the file cannot be read or parsed.
pub(super) fn thread_time(schedstat: &File) -> Option<ThreadTime> {
    let mut text = [0; 96];
    let length = schedstat.read_at(&mut text, 0).ok()?;
    parse_schedstat(str::from_utf8(&text[..length]).ok()?)
}

/// Opens the `schedstat` file of the calling thread, by the number of the thread. `None` if that fails.
fn open_own_schedstat() -> Option<File> {
    // By its number: `thread-self` would be whoever reads.
    let thread = fs::read_link("/proc/thread-self").ok()?;
    File::open(Path::new("/proc").join(thread).join("schedstat")).ok()
}

/// Parses the text of a `schedstat` file, such as `989850 3021 2`: the nanoseconds that the thread ran, the
/// nanoseconds that it waited, and how often it ran, which is not returned. Returns `None` for other text.
fn parse_schedstat(counts: &str) -> Option<ThreadTime> {
    let mut counts = counts.split_whitespace().map(|count| count.parse().map(Nanoseconds).ok());
    Some(ThreadTime { ran: counts.next()??, waited: counts.next()?? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Measures the step of a clock whose step is known. A reading takes 25 ns, a round of a wait 0.35 ns,
    /// and one reading in a thousand is interrupted.
    fn measured(step: f64) -> f64 {
        let (time, readings) = (Cell::new(0.0_f64), Cell::new(0_u64));
        let now = || {
            readings.set(readings.get() + 1);
            let interrupted = if readings.get().is_multiple_of(1_000) { 54_321.7 } else { 0.0 };
            time.set(time.get() + 25.13 + interrupted);
            ((time.get() / step).floor() * step) as u64
        };
        let wait = |rounds: usize| time.set(time.get() + 0.35 * rounds as f64);
        largest_common_step(&clock_differences(now, wait)).0
    }

    #[test]
    fn a_known_step_is_found() {
        // Those of ARM at 24 MHz and of a processor whose counter advances by 10.0187 ns are no whole
        // numbers.
        for step in [4.0, 10.0, 10.0187, 16.0, 40.0, 1e3 / 24.0, 52.08, 100.0, 1_000.0, 1e6, 4e6] {
            let found = measured(step);
            assert!((found / step - 1.0).abs() < 1e-3, "{found} ns of {step} ns");
        }
    }

    #[test]
    fn a_step_of_a_nanosecond_or_less_is_one() {
        for step in [0.01, 0.3, 0.5, 1.0] {
            assert_eq!(measured(step), 1.0, "{step} ns");
        }
    }

    #[test]
    fn a_clock_that_stands_still_steps_by_one() {
        assert_eq!(largest_common_step(&clock_differences(|| 7, |_| ())), Nanoseconds(1.0));
    }

    #[test]
    fn this_machines_clock_has_a_step() {
        let step = measure_step().0;
        assert!((1.0..1e8).contains(&step), "{step} ns");
    }
}

#[cfg(test)]
mod empty_launch_tests {
    use super::*;
    use std::cell::RefCell;
    use std::thread;
    use std::time::{Duration, Instant};

    use crate::device::{Device, SampleOptions};
    use crate::devices::host::Host;
    use crate::method::measure;
    use gpubench_records::Counts;
    use gpubench_records::limits::DeclaredWork;
    use gpubench_records::method::Cache;
    use gpubench_records::sampling::Sampling;
    use gpubench_records::verdict::{Reason, missing_work};

    /// Measures a launch function that declares a copy of 16 KiB. Returns its time, the time of an empty launch,
    /// and the reason that it cannot have done that copy.
    fn measured(launch: impl Fn(&Stream)) -> (Nanoseconds, Nanoseconds, Option<Reason>) {
        let mut host = Host::open().expect("there is a CPU");
        let info = host.info().expect("nothing fails");
        let mut case = Bound::new(
            Stream::open_on,
            |_| Ok(()),
            |(): &mut (), stream| {
                launch(stream);
                Ok(())
            },
        );
        let mut case = CaughtCase(&mut case);
        case.open_stream(&mut host).and_then(|()| case.setup()).expect("nothing fails");
        let seen = host.observe(&mut case).expect("nothing fails");
        let mut sampler =
            host.sampler(&mut case, &SampleOptions::new(Cache::Hot)).expect("it can be sampled");
        let deadline = Instant::now() + Duration::from_secs(60);
        let sampling = Sampling { samples: Some(50), ..Sampling::USUAL };
        let samples = measure(&mut *sampler, &sampling, deadline, None, &mut |_| ()).expect("nothing fails");
        let counts = Counts { bytes: Some(32 << 10), ..Counts::default() };
        let claim = DeclaredWork {
            counts,
            data_type: "f32",
            link: None,
            cold: false,
            written: None,
            operations: None,
        };
        let empty = seen.empty_launch_time.expect("it was measured");
        (samples.time.median, empty, missing_work(&claim, &samples, &seen, &info))
    }

    /// Other programs may slow the measurement of the launches or that of the empty ones.
    const TRIES: usize = 9;

    #[test]
    fn an_empty_launch_function_takes_no_time_and_a_copy_of_16_kib_does() {
        // A thread belongs to one pool for good.
        let checked = thread::spawn(|| {
            let tried: Vec<_> = (0..TRIES).map(|_| measured(|stream| stream.run(|| ()))).collect();
            // Without optimisation, the closures of this test take time too.
            assert!(
                tried.iter().any(|(time, empty, _)| time.abs() < Nanoseconds(2.0).max(*empty / 2.0)),
                "{tried:?}"
            );
            let is_removed =
                |reason: &Option<Reason>| matches!(reason, Some(Reason::NoLongerThanEmpty { .. }));
            assert!(
                tried.iter().all(|(time, _, reason)| *time > Nanoseconds(2.0) || is_removed(reason)),
                "{tried:?}"
            );
            let (source, target) = (vec![1_u8; 16 << 10], RefCell::new(vec![0; 16 << 10]));
            let copied = (0..TRIES).map(|_| {
                measured(|stream| {
                    let target = &mut **target.borrow_mut();
                    stream.run(|| black_box(target).copy_from_slice(black_box(&source)));
                })
            });
            let copied: Vec<_> = copied.map(|(_, _, reason)| reason).collect();
            assert!(copied.iter().any(Option::is_none), "{copied:?}");
        });
        checked.join().expect("it holds");
    }
}

#[cfg(test)]
mod others_tests {
    use super::*;
    use crate::devices::host::topology;
    use crate::system::thread_time;
    use std::hint::black_box;
    use std::time::{Duration, Instant};

    #[test]
    fn times_read_as_linux_writes_them() {
        let stat = "cpu  9 9 9 9\ncpu0 1 20 300 7777 8888 4000 50000 600000 9 9\ncpu1 2 0 0 7 8 0 0 0\ncpu10 5 5 5 5 5 5 5 5\nintr 7\n";
        assert_eq!(busy_ticks(stat, &[0, 1]), Some(654_323));
        assert_eq!(busy_ticks(stat, &[1]), Some(2));
        assert_eq!(busy_ticks(stat, &[7]), None);
    }

    #[test]
    fn work_of_this_process_is_none_of_others() {
        let processors = topology::allowed_processors();
        let Some(before) = other_programs_time(&processors) else { return };
        let (begin, ran) = (Instant::now(), thread_time());
        while thread_time() - ran < Duration::from_millis(300) {
            black_box(begin);
        }
        let others = (other_programs_time(&processors).expect("it was told before") - before).as_f64();
        // Both are counted in ticks.
        let rest = begin.elapsed().as_nanos() as f64 * processors.len() as f64 - 200e6;
        assert!(others < rest, "{others} of {rest}");
    }
}

#[cfg(test)]
mod threads_tests {
    use super::*;
    use std::hint::black_box;
    use std::thread;
    use std::time::{Duration, Instant};

    #[test]
    fn counts_read_as_linux_writes_them() {
        let time = parse_schedstat("989850 3021 2\n").expect("they are counts");
        assert_eq!(time, ThreadTime { ran: Nanoseconds(989_850.0), waited: Nanoseconds(3_021.0) });
        assert_eq!([parse_schedstat(""), parse_schedstat("17"), parse_schedstat("- - -")], [None; 3]);
    }

    #[test]
    fn each_thread_that_works_runs() {
        // A thread belongs to one pool for good.
        let checked = thread::spawn(|| {
            let stream = PinnedPool::of_this_thread().expect("the pool starts");
            let threads = open_schedstats(&stream);
            let times = || {
                let mut times = Vec::new();
                times.extend(threads.iter().filter_map(thread_time));
                times
            };
            let before = times();
            // Not every system counts.
            if before.is_empty() {
                return;
            }
            assert_eq!(before.len(), stream.threads());
            stream.on_each_thread(|| {
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_millis(30) {
                    black_box(begin);
                }
            });
            for (before, after) in before.iter().zip(times()) {
                let occupied = (after.ran + after.waited) - (before.ran + before.waited);
                assert!(occupied > Nanoseconds(20e6), "{before:?} {after:?}");
            }
        });
        checked.join().expect("it holds");
    }
}
