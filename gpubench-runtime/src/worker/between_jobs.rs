//! What a worker does between jobs: waits until the device is cool, and detects two changes that a job can leave in its
//! process and that falsify the times of later jobs: another rounding mode, and threads that still run.

use std::time::{Duration, Instant};
use std::{collections::HashMap, fs, hint::black_box, thread};

use gpubench_records::{CoolDown, HeatLevel};
use gpubench_stats::Nanoseconds;

use crate::device::Monitor;
use crate::system::Stat;

/// The pause between two readings of the sensors while the device cools.
pub(super) const READING_INTERVAL: Duration = Duration::from_millis(100);
/// The maximum number of pauses; they take 60 s together.
const MAX_PAUSES: usize = 600;
/// The maximum number of consecutive pauses without a new lowest reading; they take 10 s together. The device
/// then gets no cooler.
const MAX_PAUSES_WITHOUT_FALL: usize = 100;

/// Reads the sensor of `threshold` until its value is at most `threshold`. Calls `pause`, which must wait for
/// [`READING_INTERVAL`], before each reading after the first. Gives up after 60 s, or after 10 s without a
/// new lowest value. Returns the first and the last value, or `None` if the sensor has no reading.
pub(super) fn wait_until_cool(
    monitor: &mut dyn Monitor,
    threshold: HeatLevel,
    pause: &mut dyn FnMut(),
) -> Option<CoolDown> {
    let mut read = || threshold.read(&monitor.read());
    let before = read()?;
    let (mut after, mut lowest, mut without_fall, mut pauses) = (before, before, 0, 0);
    let begin = Instant::now();
    while after > threshold && pauses < MAX_PAUSES && without_fall < MAX_PAUSES_WITHOUT_FALL {
        pause();
        after = read()?;
        pauses += 1;
        without_fall += 1;
        if after < lowest {
            (lowest, without_fall) = (after, 0);
        }
    }
    let waited = if pauses == 0 { Nanoseconds::ZERO } else { begin.elapsed().into() };
    Some(CoolDown { threshold, before, after, waited })
}

/// The processor time, in ticks of 10 ms, with which a thread counts as busy if it was runnable at each
/// observation. The threads of a pool spin only for a moment before they sleep.
const BUSY_TICKS: u64 = 8;
/// The longest time for which the other threads of the process are observed after a job.
const MAX_OBSERVATION: Duration = Duration::from_millis(800);
/// The pause between two observations of the threads.
const OBSERVATION_INTERVAL: Duration = Duration::from_millis(1);

/// Returns the bits of sums and products that depend on the rounding mode of this thread, and on whether it
/// flushes denormal numbers to zero. If two calls return the same, this thread's floating-point mode is
/// unchanged. Only unsafe code could read the mode itself.
pub(super) fn arithmetic_fingerprint() -> [u64; 5] {
    let [one, tiny] = [1.0, f64::EPSILON / 1024.0].map(black_box);
    let [least, denormal, half] = [f64::MIN_POSITIVE, f64::from_bits(1), 0.5].map(black_box);
    // The first three differ in each direction of rounding.
    let results = [one + tiny, -one - tiny, one - tiny, least * half, denormal / black_box(f64::EPSILON)];
    results.map(|result| black_box(result).to_bits())
}

/// Observes the other threads of this process for at most [`MAX_OBSERVATION`]. Returns true as soon as one of
/// them has used [`BUSY_TICKS`] of processor time since the first observation, and was runnable at each one.
/// Returns false as soon as no thread was runnable at each observation, and thus at once on systems without
/// `/proc`.
pub(super) fn has_busy_threads() -> bool {
    let begin = Instant::now();
    let mut always = running_threads();
    while !always.is_empty() && begin.elapsed() < MAX_OBSERVATION {
        thread::sleep(OBSERVATION_INTERVAL);
        let now = running_threads();
        always.retain(|thread, _| now.contains_key(thread));
        if always.iter().any(|(thread, first)| now[thread] >= first + BUSY_TICKS) {
            return true;
        }
    }
    false
}

/// Returns the processor time, in ticks, of each other thread that runs or waits for a processor, by the
/// thread's number. Empty on systems without `/proc`.
fn running_threads() -> HashMap<String, u64> {
    let own = fs::read_link("/proc/thread-self").ok();
    let own = own.as_deref().and_then(|path| path.file_name()).unwrap_or_default();
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let read = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("stat")).ok()?;
        let stat = Stat::read(&text).filter(Stat::is_runnable)?;
        Some((thread.file_name().into_string().ok()?, stat.ticks()?))
    };
    threads.filter(|thread| thread.file_name() != own).filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use gpubench_records::Reading;
    use gpubench_stats::Watts;

    use super::*;

    /// A device whose temperature is given for each reading; the last one repeats. It draws 200 W.
    struct Cools(Vec<u32>);

    impl Monitor for Cools {
        fn read(&mut self) -> Reading {
            let temperature = if self.0.len() > 1 { self.0.remove(0) } else { self.0[0] };
            Reading { temperature: Some(temperature), power: Some(Watts(200.0)), ..Reading::default() }
        }
    }

    /// The last temperature and the number of pauses before it.
    fn cooled(temperatures: impl IntoIterator<Item = u32>, threshold: HeatLevel) -> (HeatLevel, usize) {
        let (mut monitor, mut pauses) = (Cools(temperatures.into_iter().collect()), 0);
        let found = wait_until_cool(&mut monitor, threshold, &mut || pauses += 1).expect("there are sensors");
        assert_eq!((found.threshold, found.waited == Nanoseconds::ZERO), (threshold, pauses == 0));
        (found.after, pauses)
    }

    #[test]
    fn a_wait_ends_at_the_threshold() {
        let [cool, at] = [59, 60].map(HeatLevel::Temperature);
        assert_eq!(cooled([59], at), (cool, 0));
        assert_eq!(cooled([60], at), (at, 0));
        assert_eq!(cooled([80, 81, 72, 59, 90], at), (cool, 3));
    }

    #[test]
    fn a_wait_ends_if_the_device_gets_no_cooler() {
        let hot = HeatLevel::Temperature(70);
        assert_eq!(cooled([72, 70], HeatLevel::Temperature(60)), (hot, 1 + MAX_PAUSES_WITHOUT_FALL));
        let power = HeatLevel::Power(Watts(100.0));
        assert_eq!(cooled([72], power), (HeatLevel::Power(Watts(200.0)), MAX_PAUSES_WITHOUT_FALL));
        // One degree in five seconds: it would take minutes.
        let slowly = (0..2000).map(|number| 100 - number / 50);
        assert_eq!(cooled(slowly, HeatLevel::Temperature(60)), (HeatLevel::Temperature(88), MAX_PAUSES));
    }

    #[test]
    fn sensors_may_lack_what_is_wanted() {
        struct Nothing;
        impl Monitor for Nothing {
            fn read(&mut self) -> Reading {
                Reading::default()
            }
        }
        assert_eq!(wait_until_cool(&mut Nothing, HeatLevel::Temperature(60), &mut || {}), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_that_spins_is_found() {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicBool, Ordering};

        let end = Arc::new(AtomicBool::new(false));
        let spins = thread::spawn({
            let end = Arc::clone(&end);
            move || {
                while !end.load(Ordering::Relaxed) {
                    black_box(&end);
                }
            }
        });
        // On a busy machine it may get too little time within one wait.
        let found = (0..50).any(|_| has_busy_threads());
        end.store(true, Ordering::Relaxed);
        spins.join().expect("no panic");
        assert!(found);
    }
}
