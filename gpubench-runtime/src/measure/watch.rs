//! Reads a device's sensors during a measurement, from a thread of its own. In: a [`Monitor`], and the time span of the
//! samples; out: the [`Conditions`] in that span.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::device::Monitor;
use gpubench_records::conditions::{Conditions, Reading, Span};

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

    /// Stops the thread, and returns the conditions from `begin` to `end`, the time span of the samples.
    pub(super) fn conditions(mut self, begin: Instant, end: Instant) -> Option<Conditions> {
        drop(self.end.take());
        let readings = self.thread.take()?.join().ok()?;
        let (first, last) = (readings.first()?, readings.last()?);
        let mut during: Vec<Reading> = readings
            .iter()
            .filter(|(when, _)| (begin..=end).contains(when))
            .map(|(_, reading)| reading.clone())
            .collect();
        if during.is_empty() {
            let before = readings.iter().rfind(|(when, _)| *when <= begin).unwrap_or(first);
            during.push(before.1.clone());
        }
        Some(Conditions { before: first.1.clone(), during: Span::of(&during), after: last.1.clone() })
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
