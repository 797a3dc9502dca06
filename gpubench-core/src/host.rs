//! The stream that host launch functions take.

use std::sync::atomic::{AtomicBool, Ordering};
use std::{hint::black_box, sync::Arc};

pub use crate::inputs::Plain;
use crate::{CaseError, LaunchStream, Restore, StreamSource};

/// A stream of work for this machine's CPU. [`run`](Self::run) runs a closure on the calling thread. The thread
/// of the launch function belongs to a rayon pool, so that the closure spreads over all threads if it uses rayon,
/// such as parallel iterators; the serial closure in this example runs on one thread.
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
#[derive(Clone, Debug)]
pub struct Stream {
    threads: usize,
    /// True if work ran since the last call of [`Self::take_ran`]. All clones share this flag.
    ran: Arc<AtomicBool>,
}

/// The minimum size of a block, in bytes of one array. A thread needs microseconds to wake up, so that
/// smaller blocks are not worth sharing.
const MIN_BLOCK_BYTES: usize = 64 << 10;

impl Stream {
    /// Returns a stream for the pool of the calling thread, which has `threads` threads.
    #[doc(hidden)]
    pub fn new(threads: usize) -> Self {
        Self { threads, ran: Arc::default() }
    }

    /// Runs `work` on the calling thread, and returns its result. The compiler neither removes nor merges calls,
    /// even if nobody uses their results.
    #[inline(never)]
    pub fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        // A launch of nanoseconds does not notice a read.
        if !self.ran.load(Ordering::Relaxed) {
            self.ran.store(true, Ordering::Relaxed);
        }
        black_box(black_box(work)())
    }

    /// Returns true if [`Self::run`] was called, on this stream or a clone, since the last call of `take_ran`
    /// on any of them.
    #[doc(hidden)]
    pub fn take_ran(&self) -> bool {
        self.ran.swap(false, Ordering::Relaxed)
    }

    /// Returns the number of threads of the pool.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Returns the number of elements in a block, to divide `len` elements of type `T` among the threads: one
    /// block for each thread, but no block smaller than about 64 KiB. The block may thus be longer than
    /// `len`.
    pub fn block_of<T>(&self, len: usize) -> usize {
        len.div_ceil(self.threads()).max(MIN_BLOCK_BYTES / size_of::<T>().max(1))
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

#[diagnostic::do_not_recommend]
impl<T: Clone> Restore<Stream> for T {
    type Copy = T;

    fn copy(&self, _: &Stream) -> Result<T, CaseError> {
        Ok(self.clone())
    }

    fn restore(&mut self, copy: &T, stream: &Stream) -> Result<(), CaseError> {
        stream.run(|| self.clone_from(copy));
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<T: Clone> Restore<Stream> for [T] {
    type Copy = Vec<T>;

    fn copy(&self, _: &Stream) -> Result<Vec<T>, CaseError> {
        Ok(self.to_vec())
    }

    fn restore(&mut self, copy: &Vec<T>, stream: &Stream) -> Result<(), CaseError> {
        stream.run(|| self.clone_from_slice(copy));
        Ok(())
    }
}
