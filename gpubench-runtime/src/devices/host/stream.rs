//! The stream that host launch functions take: work runs in the order it is launched, each launch spread over a
//! thread pool and finished when the call returns.

use std::cell::OnceCell;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::placement::Placement;
use crate::device::DeviceError;
use gpubench_records::threads;

/// An in-order stream of work for this machine's CPU.
///
/// ```
/// use gpubench_runtime::devices::host::Stream;
/// use rayon::prelude::*;
///
/// /// y ← a·x + y
/// fn saxpy(a: f32, x: &[f32], y: &mut [f32], stream: &Stream) {
///     let block = stream.block_of::<f32>(y.len());
///     stream.run(|| {
///         y.par_chunks_mut(block).zip(x.par_chunks(block)).for_each(|(y, x)| {
///             y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
///         });
///     });
/// }
/// ```
#[derive(Clone)]
pub struct Stream {
    pool: Arc<ThreadPool>,
    placement: Option<Placement>,
    /// True once work ran. All clones share it.
    ran: Arc<AtomicBool>,
}

/// A thread wakes in microseconds: less work than this, in bytes of one array, is not worth sharing.
const SMALLEST_BLOCK: usize = 64 << 10;

thread_local! {
    // The pool counts this thread as one of its own, so that a launch needs no hand-over to another thread; a
    // thread belongs to one pool for good.
    static POOL: OnceCell<Stream> = const { OnceCell::new() };
}

impl Stream {
    /// The stream that the calling thread measures on, with one thread for each processor it may use. The others are
    /// pinned.
    pub(crate) fn of_this_thread() -> Result<Self, DeviceError> {
        POOL.with(|pool| {
            if let Some(stream) = pool.get() {
                return Ok(stream.clone());
            }
            let built = ThreadPoolBuilder::new().use_current_thread().build();
            let built = built.map_err(|error| {
                DeviceError::new(threads::not_started(&io::Error::other(error)).to_string())
            })?;
            let placement = Placement::of(&built);
            Ok(pool.get_or_init(|| Self { pool: Arc::new(built), placement, ran: Arc::default() }).clone())
        })
    }

    /// Moves the calling thread, which measures, to the processor that the others leave it.
    pub(super) fn take_place(&self) {
        self.placement.iter().copied().for_each(Placement::take);
    }

    /// Runs `work` with the stream's pool as rayon's current one, and waits for it.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        // A launch of nanoseconds does not notice a read.
        if !self.ran.load(Ordering::Relaxed) {
            self.ran.store(true, Ordering::Relaxed);
        }
        self.pool.install(work)
    }

    /// Returns true if anything called [`Self::run`] since the last call of this function.
    pub(super) fn take_ran(&self) -> bool {
        self.ran.swap(false, Ordering::Relaxed)
    }

    /// Runs `work` once on every thread of the pool, waits for all, and returns what they return, the calling thread's first.
    pub(super) fn on_each_thread<R: Send>(&self, work: impl Fn() -> R + Sync) -> Vec<R> {
        self.pool.broadcast(|_| work())
    }

    /// Has every thread of the pool but the calling one run `work` with its number, and does not wait.
    pub(super) fn on_other_threads(&self, work: impl Fn(usize) + Send + Sync + 'static) {
        self.pool.spawn_broadcast(move |thread| {
            if thread.index() > 0 {
                work(thread.index());
            }
        });
        // The calling thread's part would otherwise be done within a launch.
        _ = self.pool.yield_now();
    }

    /// The number of threads that share a launch.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Returns the number of elements, of `len`, that each thread takes, so that every thread has one block and none a
    /// tiny one.
    #[must_use]
    pub fn block_of<T>(&self, len: usize) -> usize {
        len.div_ceil(self.threads()).max(SMALLEST_BLOCK / size_of::<T>().max(1))
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("threads", &self.threads()).finish()
    }
}
