//! Reads a device's sensors during a measurement, from a thread of its own. In: a [`Monitor`], and the time span of the
//! samples; out: the [`Conditions`] in that span.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::device::Monitor;
use gpubench_records::conditions::{Conditions, Reading, Span, TimedReading};

/// The time between two readings. Sensors are no faster, and each reading costs a few driver calls.
const PERIOD: Duration = Duration::from_millis(20);

/// A thread that reads until it is stopped.
pub(super) struct Watch {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<Vec<(Instant, Reading)>>>,
}

impl Watch {
    /// Starts the thread.
    pub(super) fn over(monitor: Box<dyn Monitor>) -> Self {
        let (end, ended) = channel();
        Self { end: Some(end), thread: Some(thread::spawn(move || read(monitor, &ended))) }
    }

    /// Stops the thread, and returns the conditions from `begin` to `end`, the time span of the samples, with at most
    /// `most` readings over time.
    pub(super) fn conditions(mut self, begin: Instant, end: Instant, most: usize) -> Option<Conditions> {
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
        Some(Conditions { before, during: Span::of(&during), after, over_time })
    }
}

impl Drop for Watch {
    /// Stops the thread also after a failed measurement.
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // The thread panics only if a monitor does; its readings are lost then.
            drop(thread.join());
        }
    }
}

fn read(mut monitor: Box<dyn Monitor>, end: &Receiver<()>) -> Vec<(Instant, Reading)> {
    let mut readings = Vec::new();
    loop {
        readings.push((Instant::now(), monitor.read()));
        // Nothing is ever sent: the channel closes to stop the thread.
        if let Err(RecvTimeoutError::Disconnected) = end.recv_timeout(PERIOD) {
            readings.push((Instant::now(), monitor.read()));
            return readings;
        }
    }
}
