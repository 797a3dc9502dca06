//! Reads a device's sensors beside a measurement, from a thread of its own. In: a [`Monitor`], and when the samples were
//! taken; out: the [`Conditions`] then.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::device::Monitor;
use gpubench_records::conditions::{Conditions, Reading, Span};

/// Between two readings. Sensors are no faster, and each reading is a few calls of the driver.
const PERIOD: Duration = Duration::from_millis(20);

/// A thread that reads until it is told to end.
pub(super) struct Watch {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<Vec<(Instant, Reading)>>>,
}

impl Watch {
    /// Begins to read.
    pub(super) fn over(monitor: Box<dyn Monitor>) -> Self {
        let (end, ended) = channel();
        Self { end: Some(end), thread: Some(thread::spawn(move || read(monitor, &ended))) }
    }

    /// Ends reading. Samples were taken from `begin` to `end`.
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
    /// A measurement that fails leaves no thread behind.
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It panics only where a monitor does, whose readings are lost then.
            drop(thread.join());
        }
    }
}

fn read(mut monitor: Box<dyn Monitor>, end: &Receiver<()>) -> Vec<(Instant, Reading)> {
    let mut readings = Vec::new();
    loop {
        readings.push((Instant::now(), monitor.read()));
        // Nothing is ever sent: the other side goes away.
        if let Err(RecvTimeoutError::Disconnected) = end.recv_timeout(PERIOD) {
            readings.push((Instant::now(), monitor.read()));
            return readings;
        }
    }
}
