//! Times of this machine: the step of its monotonic clock, an empty launch, the work of other programs, and the threads of a pool.
//!
//! The step is the largest one that all differences of readings are multiples of. A clock with a step of 10 ns gives differences of 20, 21,
//! 30 and 31 ns: whole nanoseconds hide its step, and 1 ns is none.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::{hint::black_box, path::Path, time::Instant};

use super::{PinnedPool, timed};
use crate::device::single_launch_sampler::ThreadTime;
use crate::{device::Work, system::machine::Stat};
use gpubench_core::host::Stream;
use gpubench_stats::{Nanoseconds, median};

/// The number of differences above zero that are enough, and the number of readings after which fewer have to do: a step may be
/// as long as a tick of the operating system.
const ENOUGH: usize = 4_000;
const MOST_READINGS: usize = 1 << 20;
/// The longest of the waits, in rounds of some tenths of a nanosecond: several steps of a usual clock.
const LONGEST_WAIT: usize = 256;
/// After this many readings, fewer differences are enough: the step is long.
const LONG_STEP: usize = 16_000;
const ENOUGH_LONG: usize = 8;

/// Differences up to this multiple of the smallest one are used. For longer ones, a small error of the step would change the multiple.
const MULTIPLE: u64 = 8;
/// A difference of two readings in whole nanoseconds is off by less than one; a tenth is for the error of the step that is tried.
const ROUNDING: f64 = 1.1;
/// A step up to this cannot be distinguished from 1 ns.
const SHORTEST: f64 = 3.5;
/// Steps that are tried after each other differ by this factor.
const NEXT: f64 = 0.9995;

/// Measures the step.
pub(super) fn step() -> Nanoseconds {
    let origin = Instant::now();
    step_of(&differences(|| origin.elapsed().as_nanos() as u64, wait))
}

/// Waits for this many iterations, which the compiler cannot remove.
fn wait(rounds: usize) {
    for round in 0..rounds {
        black_box(round);
    }
}

/// Returns differences of successive readings in nanoseconds, without those of zero.
fn differences(now: impl Fn() -> u64, wait: impl Fn(usize)) -> Vec<u64> {
    let mut differences = Vec::with_capacity(ENOUGH);
    for reading in 0..MOST_READINGS {
        let enough = if reading < LONG_STEP { ENOUGH } else { ENOUGH_LONG };
        if differences.len() >= enough {
            break;
        }
        let begin = now();
        // A stride that repeats no wait before all others were used.
        wait(reading * 37 % LONGEST_WAIT);
        differences.extend(Some(now() - begin).filter(|difference| *difference > 0));
    }
    differences
}

/// Returns the largest step that these differences are multiples of, as far as whole nanoseconds can show; 1 ns without any.
fn step_of(differences: &[u64]) -> Nanoseconds {
    let Some(smallest) = differences.iter().copied().min() else { return Nanoseconds(1.0) };
    let short_differences =
        || differences.iter().copied().filter(|difference| *difference <= MULTIPLE * smallest);
    let multiple = |difference: u64, step: f64| (difference as f64 / step).round();
    let fits =
        |step: f64| short_differences().all(|it| (it as f64 - step * multiple(it, step)).abs() <= ROUNDING);
    let tried = std::iter::successors(Some(smallest as f64 + 1.0), |step| Some(step * NEXT));
    let found = tried.take_while(|step| *step > SHORTEST).find(|step| fits(*step));
    found.map_or(Nanoseconds(1.0), |step| {
        let (sum, multiples) = short_differences().fold((0.0, 0.0), |(sum, multiples), difference| {
            (sum + difference as f64, multiples + multiple(difference, step))
        });
        Nanoseconds(sum / multiples)
    })
}

/// The launches between two readings of the clock, and the number of such readings, whose median counts: a busy machine slows them as it
/// slows samples. All take 0.1 ms.
const LAUNCHES: usize = 256;
const READINGS: usize = 25;

/// Returns the time of an empty launch on `stream`.
pub(super) fn empty_launch_time(stream: &Stream) -> Nanoseconds {
    let mut empty = || {
        stream.run(|| ());
        Ok(())
    };
    // Called as the launches of a case are: the compiler does not see what it calls.
    let empty: &mut dyn Work = black_box(&mut empty);
    let mut launches = || (0..LAUNCHES).try_for_each(|_| empty.launch());
    let readings: Vec<_> = (0..READINGS).filter_map(|_| timed(&mut launches).ok()).collect();
    median(&readings).unwrap_or_default() / LAUNCHES as f64
}

/// The unit of these times: a hundred to the second, for programs, on all of Linux's architectures but Alpha.
const TICK: Nanoseconds = Nanoseconds(10e6);

/// Returns the time so far that these processors worked for other programs, for the system, or for another virtual machine.
pub(super) fn others_time(processors: &[usize]) -> Option<Nanoseconds> {
    let busy = busy(&fs::read_to_string("/proc/stat").ok()?, processors)?;
    let own = Stat::read(&fs::read_to_string("/proc/self/stat").ok()?)?.ticks()?;
    Some((busy as f64 - own as f64) * TICK)
}

/// The ticks in which these processors were busy: `cpu0 USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL …`.
fn busy(stat: &str, processors: &[usize]) -> Option<u64> {
    let of = |line: &str| {
        let mut words = line.split_whitespace();
        let processor: usize = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let ticks: Vec<u64> = words.map_while(|ticks| ticks.parse().ok()).collect();
        let [user, nice, system, _idle, _waiting, rest @ ..] = &ticks[..] else { return None };
        processors.contains(&processor).then(|| user + nice + system + rest.iter().take(3).sum::<u64>())
    };
    stat.lines().filter_map(of).reduce(|sum, one| sum + one)
}

/// The files of a pool's threads, which stay open.
#[derive(Default)]
pub(super) struct PoolThreads {
    /// The thread that measures comes first.
    threads: Vec<File>,
}

impl PoolThreads {
    /// Opens the files of all threads of the stream's pool; none if one of them has none.
    pub(super) fn new(stream: &PinnedPool) -> Self {
        let threads: Option<Vec<File>> = stream.on_each_thread(of_this_thread).into_iter().collect();
        Self { threads: threads.unwrap_or_default() }
    }

    /// Appends the time of each thread since it began. A wait is counted once it has ended.
    pub(super) fn times(&self, times: &mut Vec<ThreadTime>) {
        times.extend(self.threads.iter().filter_map(|thread| read(&contents(thread)?)));
    }
}

/// Opens the counts of the calling thread.
fn of_this_thread() -> Option<File> {
    // By its number: `thread-self` would be whoever reads.
    let thread = fs::read_link("/proc/thread-self").ok()?;
    File::open(Path::new("/proc").join(thread).join("schedstat")).ok()
}

/// Reads a file of counts from its start.
fn contents(mut file: &File) -> Option<String> {
    let mut room = [0; 96];
    file.rewind().ok()?;
    let length = file.read(&mut room).ok()?;
    String::from_utf8(room[..length].to_vec()).ok()
}

/// `989850 3021 2`: nanoseconds that it ran and that it waited, and the number of times that it ran.
fn read(counts: &str) -> Option<ThreadTime> {
    let mut counts = counts.split_whitespace().map(|count| count.parse().map(Nanoseconds).ok());
    Some(ThreadTime { ran: counts.next()??, waited: counts.next()?? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Measures the step of a clock whose step is known. A reading takes 25 ns, a round of a wait 0.35 ns, and one reading in a
    /// thousand is interrupted.
    fn measured(step: f64) -> f64 {
        let (time, readings) = (Cell::new(0.0_f64), Cell::new(0_u64));
        let now = || {
            readings.set(readings.get() + 1);
            let interrupted = if readings.get().is_multiple_of(1_000) { 54_321.7 } else { 0.0 };
            time.set(time.get() + 25.13 + interrupted);
            ((time.get() / step).floor() * step) as u64
        };
        let wait = |rounds: usize| time.set(time.get() + 0.35 * rounds as f64);
        step_of(&differences(now, wait)).0
    }

    #[test]
    fn a_known_step_is_found() {
        // Those of ARM at 24 MHz and of a processor whose counter advances by 10.0187 ns are no whole numbers.
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
        assert_eq!(step_of(&differences(|| 7, |_| ())), Nanoseconds(1.0));
    }

    #[test]
    fn this_machines_clock_has_a_step() {
        let step = step().0;
        assert!((1.0..1e8).contains(&step), "{step} ns");
    }
}

#[cfg(test)]
mod empty_launch_tests {
    use super::*;
    use std::thread;
    use std::time::{Duration, Instant};

    use crate::device::{Device, SampleOptions};
    use crate::devices::host::Host;
    use crate::method::measure;
    use gpubench_records::failure::Failure;
    use gpubench_records::limits::DeclaredWork;
    use gpubench_records::method::Cache;
    use gpubench_records::sampling::Sampling;
    use gpubench_records::verdict::{Reason, missing_work};
    use gpubench_records::work::Counts;

    /// A launch that runs this closure on its stream.
    struct Runs<F>(Stream, F);

    impl<F: FnMut() + Send> Work for Runs<F> {
        fn launch(&mut self) -> Result<(), Failure> {
            self.0.run(&mut self.1);
            Ok(())
        }
    }

    /// Returns the reason that a launch of `work` cannot have done what it declares: to copy 16 KiB.
    fn judged(work: impl FnMut() + Send) -> Option<Reason> {
        let mut host = Host::open().expect("there is a CPU");
        let info = host.info().expect("nothing fails");
        let mut work = Runs(host.stream.clone(), work);
        let seen = host.observe(&mut work).expect("nothing fails");
        let mut sampler =
            host.sampler(&mut work, &SampleOptions::new(Cache::Hot)).expect("it can be sampled");
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
        missing_work(&claim, &samples, &seen, &info)
    }

    #[test]
    fn a_copy_of_16_kib_is_distinguished_from_nothing() {
        // A thread belongs to one pool for good.
        let checked = thread::spawn(|| {
            let removed = judged(|| ());
            assert!(matches!(removed, Some(Reason::NoLongerThanEmpty { .. })), "{removed:?}");
            let (source, mut target) = (vec![1_u8; 16 << 10], vec![0; 16 << 10]);
            assert_eq!(judged(|| black_box(&mut target).copy_from_slice(black_box(&source))), None);
        });
        checked.join().expect("it holds");
    }
}

#[cfg(test)]
mod others_tests {
    use super::*;
    use crate::devices::host::topology;
    use crate::system::machine::thread_time;
    use std::hint::black_box;
    use std::time::{Duration, Instant};

    #[test]
    fn times_read_as_linux_writes_them() {
        let stat = "cpu  9 9 9 9\ncpu0 1 20 300 7777 8888 4000 50000 600000 9 9\ncpu1 2 0 0 7 8 0 0 0\ncpu10 5 5 5 5 5 5 5 5\nintr 7\n";
        assert_eq!(busy(stat, &[0, 1]), Some(654_323));
        assert_eq!(busy(stat, &[1]), Some(2));
        assert_eq!(busy(stat, &[7]), None);
    }

    #[test]
    fn work_of_this_process_is_none_of_others() {
        let processors = topology::allowed_processors();
        let Some(before) = others_time(&processors) else { return };
        let (begin, ran) = (Instant::now(), thread_time());
        while thread_time() - ran < Duration::from_millis(300) {
            black_box(begin);
        }
        let others = (others_time(&processors).expect("it was told before") - before).as_f64();
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
        let time = read("989850 3021 2\n").expect("they are counts");
        assert_eq!(time, ThreadTime { ran: Nanoseconds(989_850.0), waited: Nanoseconds(3_021.0) });
        assert_eq!([read(""), read("17"), read("- - -")], [None; 3]);
    }

    #[test]
    fn each_thread_that_works_runs() {
        // A thread belongs to one pool for good.
        let checked = thread::spawn(|| {
            let stream = PinnedPool::of_this_thread().expect("the pool starts");
            let threads = PoolThreads::new(&stream);
            let times = || {
                let mut times = Vec::new();
                threads.times(&mut times);
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
