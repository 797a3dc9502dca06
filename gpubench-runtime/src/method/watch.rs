//! Reads a device's sensors during a measurement, on a separate thread, for the [`SensorReadings`] while the
//! samples were taken.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use crate::device::Monitor;
use gpubench_records::threads::{self, Receiver, Sender, Thread, channel};
use gpubench_records::{Reading, SensorRange, SensorReadings, conditions::TimedReading};

/// The pause between two readings of the sensors. Sensors are not updated faster, and each reading costs a
/// few driver calls.
const READING_PERIOD: Duration = Duration::from_millis(20);

/// A thread that reads the sensors of a device until the watch is dropped.
pub(super) struct SensorWatch {
    end: Option<Sender<()>>,
    thread: Option<Thread<Vec<(Instant, Reading)>>>,
}

impl SensorWatch {
    /// Starts the thread, which reads the sensors of `monitor`. If the thread cannot be started,
    /// [`Self::into_conditions`] returns `None`.
    pub(super) fn start(monitor: Box<dyn Monitor>) -> Self {
        let (end, ended) = channel();
        // If there is no thread for them, there are no conditions.
        Self {
            end: Some(end),
            thread: threads::start("conditions", move || read_until_closed(monitor, &ended)).ok(),
        }
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
        drop(self.end.take());
        let readings = self.thread.take()?.join().ok()?;
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
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // The thread panics only if a monitor does; its readings are lost then.
            drop(thread.join());
        }
    }
}

/// Reads the sensors every [`READING_PERIOD`] until the other end of the channel `end` is dropped, and then
/// once more. Returns the readings with their times.
fn read_until_closed(mut monitor: Box<dyn Monitor>, end: &Receiver<()>) -> Vec<(Instant, Reading)> {
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

#[cfg(test)]
mod tests {
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
