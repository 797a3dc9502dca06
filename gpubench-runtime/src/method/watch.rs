//! What is read of a device besides times: its sensors, by a thread of its own, and the GPU clock according to the counters of the
//! device, once after each group.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use crate::device::Monitor;
use gpubench_records::threads::{self, Receiver, Sender, Thread, channel};
use gpubench_records::{
    DeviceClock, GroupClock, Reading, SensorRange, SensorReadings, conditions::TimedReading,
};
use gpubench_stats::{Hertz, Nanoseconds, units::Range};

/// The pause between two readings of the sensors. Sensors are not updated faster, and each reading costs a
/// few driver calls.
const READING_PERIOD: Duration = Duration::from_millis(20);

/// The readings of a device's sensors, with their times.
type SensorLog = Vec<(Instant, Reading)>;

/// A thread that reads the sensors of a device until the watch is dropped.
pub(super) struct SensorWatch(Option<(Sender<()>, Thread<SensorLog>)>);

impl SensorWatch {
    /// Starts the thread, which reads the sensors of `monitor`. If the thread cannot be started,
    /// [`Self::into_conditions`] returns `None`.
    pub(super) fn start(monitor: Box<dyn Monitor>) -> Self {
        let (end, ended) = channel();
        // If there is no thread for them, there are no conditions.
        let thread = threads::start("conditions", move || read_until_closed(monitor, &ended)).ok();
        Self(thread.map(|thread| (end, thread)))
    }

    /// Stops the thread, and returns all its readings. Returns `None` if the thread was not started, if it
    /// was stopped before, or if it panicked, which it does only if the monitor does.
    fn stop(&mut self) -> Option<SensorLog> {
        let (end, thread) = self.0.take()?;
        drop(end);
        thread.join().ok()
    }

    /// Stops the thread, and returns the sensor readings for samples that were taken from `begin` to `end`:
    /// the first and the last reading of all, a summary of the readings in this time, and at most `most` of
    /// these readings, evenly spaced. If there is no reading in this time, the summary is of the last one
    /// before `begin`. Returns `None` if the thread was not started, or if it panicked.
    pub(super) fn into_conditions(
        mut self,
        begin: Instant,
        end: Instant,
        most: usize,
    ) -> Option<SensorReadings> {
        let readings = self.stop()?;
        let (first, last) = (readings.first()?, readings.last()?);
        let while_sampling: Vec<_> =
            readings.iter().filter(|(when, _)| (begin..=end).contains(when)).collect();
        let mut during: Vec<Reading> = while_sampling.iter().map(|(_, reading)| reading.clone()).collect();
        let step = while_sampling.len().div_ceil(most.max(1)).max(1);
        let over_time = while_sampling
            .iter()
            .step_by(step)
            .map(|(when, reading)| TimedReading { at: (*when - begin).into(), reading: reading.clone() });
        let over_time = over_time.collect();
        if during.is_empty() {
            let before = readings.iter().rfind(|(when, _)| *when <= begin).unwrap_or(first);
            during.push(before.1.clone());
        }
        let (before, after) = (first.1.clone(), last.1.clone());
        Some(SensorReadings { before, during: SensorRange::of(&during), after, over_time })
    }
}

impl Drop for SensorWatch {
    /// Stops the thread also after a failed measurement.
    fn drop(&mut self) {
        self.stop();
    }
}

/// Reads the sensors every [`READING_PERIOD`] until the other end of the channel `end` is dropped, and then
/// once more. Returns the readings with their times.
fn read_until_closed(mut monitor: Box<dyn Monitor>, end: &Receiver<()>) -> SensorLog {
    let mut readings = Vec::new();
    loop {
        readings.push((Instant::now(), monitor.read()));
        // Nothing is ever sent: the channel closes to stop the thread.
        if let Err(RecvTimeoutError::Disconnected) = end.receive(Some(READING_PERIOD)) {
            readings.push((Instant::now(), monitor.read()));
            return readings;
        }
    }
}

/// The number of groups for which memory is reserved. Few cases have more groups: 600 groups of 2.5 ms
/// take 1.5 s.
pub(super) const USUAL_GROUPS: usize = 600;

/// A clock that changes by more than this fraction over the samples is not steady. Readings of a steady clock
/// agree within 0.1 %.
const STEADY_CLOCK_CHANGE: f64 = 0.005;

/// The clock readings after the groups of a warm-up, or of the samples.
#[derive(Clone)]
pub(super) struct ClockReadings {
    groups: Vec<GroupClock>,
}

impl Default for ClockReadings {
    fn default() -> Self {
        Self { groups: Vec::with_capacity(USUAL_GROUPS) }
    }
}

impl ClockReadings {
    /// Adds the reading after a group, or nothing if `clock` is `None`. `samples` is the number of samples so
    /// far, and `at` the time since the first sample.
    pub(super) fn add(&mut self, clock: Option<Hertz>, samples: usize, at: Nanoseconds) {
        self.groups.extend(clock.map(|clock| GroupClock { samples, at, clock }));
    }

    /// Returns the readings in hertz.
    pub(super) fn hertz(&self) -> Vec<f64> {
        self.groups.iter().map(|group| group.clock.as_f64()).collect()
    }

    /// Appends the readings `later`, of groups that ran after these.
    pub(super) fn extend(&mut self, later: &Self) {
        self.groups.extend_from_slice(&later.groups);
    }

    /// Returns true if the mean clock in the last third of the groups differs from that in the first third by
    /// more than [`STEADY_CLOCK_CHANGE`]. Returns false for fewer than three groups.
    pub(super) fn has_drifted(&self) -> bool {
        let third = self.groups.len() / 3;
        let sum = |groups: &[GroupClock]| groups.iter().map(|group| group.clock.as_f64()).sum::<f64>();
        let (first, last) = (sum(&self.groups[..third]), sum(&self.groups[self.groups.len() - third..]));
        // With fewer than three groups, the ratio is NaN, and the comparison false.
        (last / first - 1.0).abs() > STEADY_CLOCK_CHANGE
    }

    /// Returns the lowest and the highest clock, or `None` without readings.
    fn range(&self) -> Option<Range<Hertz>> {
        Range::of(self.groups.iter().map(|group| group.clock))
    }

    /// Returns a summary of these readings, which are those of the samples, together with the range of the
    /// readings in `warm_up`. Returns `None` if the samples have no readings.
    pub(super) fn summarize_after(&self, warm_up: &Self) -> Option<DeviceClock> {
        let readings = self.groups.len();
        let sum: Hertz = self.groups.iter().map(|group| group.clock).sum();
        Some(DeviceClock {
            before: warm_up.range(),
            during: self.range()?,
            mean: sum / readings as u64,
            after: self.groups.last()?.clock,
            readings,
            over_time: self.groups.clone(),
        })
    }
}

#[cfg(test)]
mod sensor_tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::thread;

    use super::*;
    use gpubench_stats::units::Range;

    /// A device that is one degree warmer at each reading. Records when it is dropped.
    struct Warms {
        degrees: Arc<AtomicU32>,
        is_gone: Arc<AtomicBool>,
    }

    impl Monitor for Warms {
        fn read(&mut self) -> Reading {
            let temperature = Some(self.degrees.fetch_add(1, Ordering::SeqCst));
            Reading { temperature, ..Reading::default() }
        }
    }

    impl Drop for Warms {
        fn drop(&mut self) {
            self.is_gone.store(true, Ordering::SeqCst);
        }
    }

    fn watch() -> (SensorWatch, Arc<AtomicU32>, Arc<AtomicBool>) {
        let (degrees, is_gone) = (Arc::new(AtomicU32::new(40)), Arc::new(AtomicBool::new(false)));
        let monitor = Warms { degrees: Arc::clone(&degrees), is_gone: Arc::clone(&is_gone) };
        (SensorWatch::start(Box::new(monitor)), degrees, is_gone)
    }

    /// Waits until the device was read at this many degrees.
    fn wait(degrees: &AtomicU32, until: u32) {
        while degrees.load(Ordering::SeqCst) <= until {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// A moment, and the readings before and after it: a reading of a lower number was before it, one of a
    /// higher after it.
    fn moment(degrees: &AtomicU32) -> (u32, Instant, u32) {
        let before = degrees.load(Ordering::SeqCst);
        (before, Instant::now(), degrees.load(Ordering::SeqCst))
    }

    #[test]
    fn readings_belong_to_the_samples_that_were_taken_meanwhile() {
        let (watch, degrees, is_gone) = watch();
        wait(&degrees, 42);
        let (least_low, begin, most_low) = moment(&degrees);
        wait(&degrees, most_low + 4);
        let (least_high, end, most_high) = moment(&degrees);
        wait(&degrees, most_high + 1);
        let conditions = watch.into_conditions(begin, end, 2).expect("it was read");
        assert!(is_gone.load(Ordering::SeqCst));
        let [before, after] = [&conditions.before, &conditions.after].map(|reading| reading.temperature);
        assert!(before == Some(40) && after.is_some_and(|after| after > most_high), "{before:?}, {after:?}");
        let Range { low, high } = conditions.during.temperature.expect("it was read");
        assert!(
            (least_low..=most_low).contains(&low) && (least_high - 1..most_high + 1).contains(&high),
            "{low}, {high}"
        );
        let readings = high - low + 1;
        assert_eq!(conditions.during.readings, readings as usize);
        let over_time: Vec<_> = conditions.over_time.iter().map(|timed| timed.reading.temperature).collect();
        assert_eq!(over_time, [Some(low), Some(low + readings.div_ceil(2))]);
        assert!(conditions.over_time.is_sorted_by(|one, next| one.at < next.at));
    }

    /// Samples may take less than the time between two readings.
    #[test]
    fn short_samples_have_the_reading_before_them() {
        let (watch, degrees, _) = watch();
        wait(&degrees, 41);
        let now = Instant::now();
        let conditions = watch.into_conditions(now, now, 2).expect("it was read");
        assert_eq!(
            (conditions.during.readings, conditions.during.temperature.map(|all| all.low)),
            (1, Some(41))
        );
        assert!(conditions.over_time.is_empty());
    }

    #[test]
    fn a_failed_measurement_leaves_no_thread() {
        let (watch, _, is_gone) = watch();
        drop(watch);
        assert!(is_gone.load(Ordering::SeqCst));
    }
}

#[cfg(test)]
mod clock_tests {
    use super::*;

    /// The readings of these clocks, in MHz, a group of eight samples each, a millisecond apart.
    fn readings(megahertz: &[u64]) -> ClockReadings {
        let group = |(number, megahertz): (usize, &u64)| GroupClock {
            samples: 8 * (number + 1),
            at: Nanoseconds(1e6 * number as f64),
            clock: Hertz(megahertz * 1_000_000),
        };
        ClockReadings { groups: megahertz.iter().enumerate().map(group).collect() }
    }

    #[test]
    fn a_clock_has_moved_if_its_last_third_differs_from_the_first() {
        for (clocks, moved) in [
            (&[2000, 2000, 2000, 2000, 2000, 2000][..], false),
            (&[2000, 2000, 1500, 1500, 2000, 2000], false),
            (&[2000, 2000, 2000, 2000, 1991, 1991], false),
            (&[2000, 2000, 2000, 2000, 1989, 1989], true),
            (&[2000, 2000, 2000, 2000, 2011, 2011], true),
            // Of seven a third is two.
            (&[2000, 1900, 1, 1, 1, 1900, 2000], false),
            (&[2000, 1000], false),
            (&[], false),
        ] {
            assert_eq!(readings(clocks).has_drifted(), moved, "{clocks:?}");
        }
    }

    #[test]
    fn readings_are_summarised_with_those_of_the_warm_up() {
        let samples = readings(&[1900, 2000, 1980]);
        let clock = samples.summarize_after(&readings(&[1200, 1800])).expect("it was read");
        let range = |low: u64, high: u64| Range::of([Hertz(low * 1_000_000), Hertz(high * 1_000_000)]);
        assert_eq!((clock.before, Some(clock.during)), (range(1200, 1800), range(1900, 2000)));
        assert_eq!(
            (clock.mean, clock.after, clock.readings),
            (Hertz(1_960_000_000), Hertz(1_980_000_000), 3)
        );
        assert_eq!(clock.over_time, samples.groups);
        assert_eq!(readings(&[]).summarize_after(&samples), None);
        assert_eq!(samples.summarize_after(&readings(&[])).expect("it was read").before, None);
    }
}
