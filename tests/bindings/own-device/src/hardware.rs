//! The coprocessor, played by a thread: it works through its queue when the doorbell rings, and has a counter of its own. For a
//! real device this is the library that drives it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Instant;

/// The nanoseconds of a step of the counter.
pub const TICK: u64 = 40;
/// The FNV-1a hash of nothing, and the factor of each byte.
pub const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
/// See [`BASIS`].
pub const PRIME: u64 = 0x0100_0000_01b3;

/// A word that the coprocessor writes.
pub type Word = Arc<AtomicU64>;

/// A command, which is given what the counter reads when it begins.
type Command = Box<dyn FnOnce(u64) + Send>;

/// The coprocessor's queue.
#[derive(Clone)]
pub struct Queue {
    commands: Rc<RefCell<Vec<Command>>>,
    doorbell: Sender<Vec<Command>>,
}

impl Queue {
    /// Starts the coprocessor.
    #[must_use]
    pub fn start() -> Self {
        let (doorbell, rung) = channel::<Vec<Command>>();
        let start = Instant::now();
        thread::spawn(move || {
            for command in rung.into_iter().flatten() {
                command(start.elapsed().as_nanos() as u64 / TICK);
            }
        });
        Self { commands: Rc::default(), doorbell }
    }

    fn push(&self, command: impl FnOnce(u64) + Send + 'static) {
        self.commands.borrow_mut().push(Box::new(command));
    }

    /// Enqueues a reading of the counter, in steps of [`TICK`].
    #[must_use]
    pub fn read_counter(&self) -> Word {
        let reading = Word::default();
        let written = Arc::clone(&reading);
        self.push(move |ticks| written.store(ticks, Relaxed));
        reading
    }

    /// Enqueues the computation of the FNV-1a hash of `data`.
    pub fn checksum(&self, data: &Arc<[u8]>, sum: &Word) {
        let (data, sum) = (Arc::clone(data), Arc::clone(sum));
        self.push(move |_| {
            let hash = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(PRIME);
            sum.store(data.iter().fold(BASIS, hash), Relaxed);
        });
    }

    /// Rings the doorbell, and waits until the queue is empty.
    ///
    /// # Errors
    /// Returns an error if the coprocessor has stopped.
    pub fn finish(&self) -> Result<(), &'static str> {
        let (send, done) = channel();
        self.push(move |_| _ = send.send(()));
        _ = self.doorbell.send(self.commands.take());
        done.recv().or(Err("the coprocessor has stopped"))
    }
}
