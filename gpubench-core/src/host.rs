//! The stream that host launch functions take.

use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, sync::Arc};

pub use crate::bind::Plain;
use crate::{CaseError, LaunchStream, StreamSource};

/// Runs work on the pool of threads that share a launch, and waits for it. The runtime has one.
type RunOnPool = Arc<dyn Fn(&mut (dyn FnMut() + Send)) + Send + Sync>;

/// An in-order stream of work for this machine's CPU: each launch is spread over a thread pool, and finished when the call
/// returns.
///
/// ```
/// # use gpubench_driver as _;
/// use gpubench_core::host::Stream;
///
/// /// y ← a·x + y
/// fn saxpy(a: f32, x: &[f32], y: &mut [f32], stream: &Stream) {
///     stream.run(|| y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x));
/// }
/// ```
#[derive(Clone)]
pub struct Stream {
    install: RunOnPool,
    threads: usize,
    /// True once work ran. All clones share it.
    ran: Arc<AtomicBool>,
}

/// A thread wakes in microseconds: less work than this, in bytes of one array, is not worth sharing.
const MIN_BLOCK_BYTES: usize = 64 << 10;

impl Stream {
    /// Returns a stream of work for a pool of this many threads, which `install` runs work on.
    #[doc(hidden)]
    pub fn new(threads: usize, install: impl Fn(&mut (dyn FnMut() + Send)) + Send + Sync + 'static) -> Self {
        Self { install: Arc::new(install), threads, ran: Arc::default() }
    }

    /// Runs `work` with the stream's pool as rayon's current one, and waits for it.
    pub fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        // A launch of nanoseconds does not notice a read.
        if !self.ran.load(Ordering::Relaxed) {
            self.ran.store(true, Ordering::Relaxed);
        }
        let (mut work, mut result) = (Some(work), None);
        (self.install)(&mut || result = work.take().map(|work| work()));
        match result {
            Some(result) => result,
            None => unreachable!("a pool runs its work once"),
        }
    }

    /// Returns true if anything called [`Self::run`] since the last call of this function.
    #[doc(hidden)]
    pub fn take_ran(&self) -> bool {
        self.ran.swap(false, Ordering::Relaxed)
    }

    /// Returns the number of threads that share a launch.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Returns the number of elements, of `len`, that each thread takes, so that every thread has one block and none a
    /// tiny one.
    #[must_use]
    pub fn block_of<T>(&self, len: usize) -> usize {
        len.div_ceil(self.threads()).max(MIN_BLOCK_BYTES / size_of::<T>().max(1))
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("threads", &self.threads()).finish()
    }
}

impl StreamSource for Stream {
    const KIND: &'static str = "host";
}

impl LaunchStream for Stream {
    type Source = Self;
    type Owned = Self;

    fn open(source: &mut Self) -> Result<Self, CaseError> {
        Ok(source.clone())
    }
}
