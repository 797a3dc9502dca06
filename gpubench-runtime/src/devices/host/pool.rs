//! The thread pool that host launches run on. Its threads are pinned, each to a processor of its own; the calling one is put on the processor that is left,
//! and may leave it, since it runs the user's functions.

use std::{cell::OnceCell, io, sync::Arc};

use rayon::{ThreadPool, ThreadPoolBuilder};
#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

#[cfg(target_os = "linux")]
use super::topology::allowed_processors;
use crate::device::DeviceError;
use gpubench_core::host::Stream;
use gpubench_records::threads;

/// The pool of the calling thread, and the stream of work for it.
#[derive(Clone)]
pub(super) struct PinnedPool {
    pool: Arc<ThreadPool>,
    pinning: Option<MeasuringProcessor>,
    stream: Stream,
}

thread_local! {
    // The pool counts this thread as one of its own, so that a launch needs no hand-over to another thread. A thread belongs to one pool
    // only.
    static POOL: OnceCell<PinnedPool> = const { OnceCell::new() };
}

impl PinnedPool {
    /// Returns the pool that the calling thread measures on, with one thread for each processor it may use. The others are
    /// pinned.
    pub(super) fn of_this_thread() -> Result<Self, DeviceError> {
        POOL.with(|pool| {
            if let Some(stream) = pool.get() {
                return Ok(stream.clone());
            }
            let built = ThreadPoolBuilder::new().use_current_thread().build();
            let built = built.map_err(|error| {
                DeviceError::new(threads::not_started(&io::Error::other(error)).to_string())
            })?;
            let pinning = MeasuringProcessor::pin_others(&built);
            let built = Arc::new(built);
            let pool_of_stream = Arc::clone(&built);
            let stream = Stream::new(built.current_num_threads(), move |work| pool_of_stream.install(work));
            Ok(pool.get_or_init(|| Self { pool: built, pinning, stream }).clone())
        })
    }

    /// Moves the calling thread, which measures, to the processor that the others leave it.
    pub(super) fn move_to_own_processor(&self) {
        self.pinning.iter().copied().for_each(MeasuringProcessor::move_calling_thread);
    }

    /// Returns the stream that launch functions take.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Runs `work` with the pool as rayon's current one, and waits for it.
    pub(super) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
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

    /// Returns the number of threads that share a launch.
    pub(super) fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }
}

/// The processor of the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MeasuringProcessor {
    own: usize,
}

#[cfg(not(target_os = "linux"))]
impl MeasuringProcessor {
    /// Only Linux lets threads be pinned.
    fn pin_others(_: &ThreadPool) -> Option<Self> {
        None
    }

    fn move_calling_thread(self) {
        _ = self.own;
    }
}

#[cfg(target_os = "linux")]
impl MeasuringProcessor {
    /// Pins all threads of `pool` except the calling one, and returns the processor of that one. `None` if the operating system does not let
    /// threads be pinned, or if the number of threads differs from the number of processors that this process may use: then the best
    /// processors are unknown.
    fn pin_others(pool: &ThreadPool) -> Option<Self> {
        let processors = assign_processors(allowed_processors(), sched_getcpu(), pool.current_num_threads())?;
        let placed = pool.broadcast(|thread| {
            thread.index() == 0
                || sched_setaffinity(None, &single_processor(processors[thread.index()])).is_ok()
        });
        placed.into_iter().all(|placed| placed).then_some(Self { own: processors[0] })
    }

    /// Moves the calling thread to its processor, if it may run there. The set of processors that it may use is unchanged.
    fn move_calling_thread(self) {
        if sched_getcpu() == self.own {
            return;
        }
        let Ok(allowed) = sched_getaffinity(None) else { return };
        if allowed.is_set(self.own) && sched_setaffinity(None, &single_processor(self.own)).is_ok() {
            // Restores the set of allowed processors.
            _ = sched_setaffinity(None, &allowed);
        }
    }
}

/// Returns a processor for each thread, for the first one `here`, where it runs; nothing if there are more processors or fewer.
#[cfg(target_os = "linux")]
fn assign_processors(mut allowed: Vec<usize>, here: usize, threads: usize) -> Option<Vec<usize>> {
    let own = allowed.iter().position(|processor| *processor == here).unwrap_or(0);
    (allowed.len() == threads).then(|| {
        allowed.swap(0, own);
        allowed
    })
}

#[cfg(target_os = "linux")]
fn single_processor(processor: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(processor);
    set
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use rayon::ThreadPoolBuilder;
    use std::thread;

    fn may_use() -> Vec<usize> {
        let set = sched_getaffinity(None).expect("it can be read");
        (0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor)).collect()
    }

    #[test]
    fn every_other_thread_has_a_processor_of_its_own_and_the_calling_one_all() {
        // A thread belongs to one pool for good.
        let checked = thread::spawn(|| {
            let before = may_use();
            let pool = ThreadPoolBuilder::new().num_threads(before.len()).use_current_thread();
            let pool = pool.build().expect("it starts");
            let Some(pinning) = MeasuringProcessor::pin_others(&pool) else {
                panic!("Linux lets threads be pinned")
            };
            let mut all = pool.broadcast(|_| may_use());
            assert_eq!(all.remove(0), before, "the calling thread may use all");
            pinning.move_calling_thread();
            assert_eq!(may_use(), before, "nor does it lose any by being moved");
            let mut each: Vec<usize> = all.concat();
            each.push(pinning.own);
            each.sort_unstable();
            assert_eq!(each, before, "each has another");
            assert_eq!(thread::spawn(may_use).join().expect("no panic"), before, "nor is its child pinned");
        });
        checked.join().expect("it holds");
    }

    #[test]
    fn a_pool_of_another_size_is_left_alone() {
        let checked = thread::spawn(|| {
            let before = may_use();
            let pool = ThreadPoolBuilder::new().num_threads(before.len() + 1).use_current_thread();
            let pool = pool.build().expect("it starts");
            assert_eq!(MeasuringProcessor::pin_others(&pool), None);
            assert!(pool.broadcast(|_| may_use()).into_iter().all(|may_use| may_use == before));
        });
        checked.join().expect("it holds");
    }

    #[test]
    fn a_thread_is_moved_to_where_it_may_run_and_nowhere_else() {
        let checked = thread::spawn(|| {
            let before = may_use();
            for own in before.clone() {
                MeasuringProcessor { own }.move_calling_thread();
                assert_eq!(may_use(), before);
            }
            MeasuringProcessor { own: CpuSet::MAX_CPU - 1 }.move_calling_thread();
            assert_eq!(may_use(), before);
        });
        checked.join().expect("it holds");
    }

    #[test]
    fn the_processor_of_the_calling_thread_is_left_to_it() {
        assert_eq!(assign_processors(vec![0, 2, 5], 5, 3), Some(vec![5, 2, 0]));
        assert_eq!(assign_processors(vec![0, 2, 5], 7, 3), Some(vec![0, 2, 5]), "it was just moved");
        assert_eq!(assign_processors(vec![3], 3, 1), Some(vec![3]));
        assert_eq!(assign_processors(vec![0, 2, 5], 2, 2), None);
    }
}
