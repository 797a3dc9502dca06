//! Reads the sensors of a GPU in a thread, because a reading may take longer than a launch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use gpubench::device::{Monitor, Reading};

/// The time between two readings. The sensors are not faster.
const PERIOD: Duration = Duration::from_millis(20);

/// A thread that reads until this is dropped.
pub(crate) struct SensorReader {
    last: Arc<Mutex<Reading>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SensorReader {
    /// Starts the thread.
    pub(crate) fn over(mut monitor: Box<dyn Monitor>) -> Self {
        let last = Arc::new(Mutex::new(monitor.read()));
        let ended = Arc::new(AtomicBool::new(false));
        let (kept, end) = (Arc::clone(&last), Arc::clone(&ended));
        let thread = thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                let reading = monitor.read();
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = reading;
                thread::sleep(PERIOD);
            }
        });
        Self { last, ended, thread: Some(thread) }
    }

    /// Returns the last reading.
    pub(crate) fn last(&self) -> Reading {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for SensorReader {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread panics only if the monitor panics. The last reading remains.
            drop(thread.join());
        }
    }
}
