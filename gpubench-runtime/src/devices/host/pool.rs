//! The thread pool that launches on the CPU run on. Each thread but the calling one is pinned to a processor
//! of its own. The calling thread, which measures and runs the user's functions, is moved to the remaining
//! processor but may leave it.

use std::{cell::OnceCell, io, sync::Arc};

use rayon::{ThreadPool, ThreadPoolBuilder};
#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

#[cfg(target_os = "linux")]
use super::topology::allowed_processors;
use crate::device::DeviceError;
use gpubench_core::host::Stream;
use gpubench_records::threads;

/// The thread pool of the calling thread, and the stream that runs work on it.
#[derive(Clone)]
pub(super) struct PinnedPool {
    pub(super) pool: Arc<ThreadPool>,
    /// The processor that is left for the measuring thread; `None` if the other threads are not pinned.
    own_processor: Option<usize>,
    /// The stream that launch functions take, and the source of the streams of cases.
    pub(super) stream: Stream,
}

thread_local! {
    // The pool counts this thread as one of its own, so that a launch needs no hand-over to another thread. A
    // thread belongs to one pool only.
    static POOL: OnceCell<PinnedPool> = const { OnceCell::new() };
}

impl PinnedPool {
    /// Returns the pool of the calling thread, which is one of its threads. The first call on a thread starts
    /// the pool, and pins the other threads if it can. The pool has a thread for each processor that the
    /// calling thread may use, unless a quota of processor time or `RAYON_NUM_THREADS` makes rayon use
    /// another number.
    pub(super) fn of_this_thread() -> Result<Self, DeviceError> {
        POOL.with(|pool| {
            if let Some(stream) = pool.get() {
                return Ok(stream.clone());
            }
            let built = ThreadPoolBuilder::new().use_current_thread().build();
            let built = built.map_err(|error| {
                DeviceError::new(threads::not_started(&io::Error::other(error)).to_string())
            })?;
            let own_processor = pin_other_threads(&built);
            let built = Arc::new(built);
            let stream = Stream::new(built.current_num_threads());
            Ok(pool.get_or_init(|| Self { pool: built, own_processor, stream }).clone())
        })
    }

    /// Moves the calling thread, which measures, to the processor that the other threads leave free. Does not
    /// pin the thread there. Does nothing if the other threads are not pinned.
    pub(super) fn move_to_own_processor(&self) {
        self.own_processor.into_iter().for_each(move_calling_thread);
    }

    /// Runs `work` once on every thread of the pool, and waits for all. Returns their results, that of the
    /// calling thread first.
    pub(super) fn on_each_thread<R: Send>(&self, work: impl Fn() -> R + Sync) -> Vec<R> {
        self.pool.broadcast(|_| work())
    }

    /// Makes every thread of the pool but the calling one run `work` with the number of the thread, from 1.
    /// Does not wait for them.
    pub(super) fn on_other_threads(&self, work: impl Fn(usize) + Send + Sync + 'static) {
        self.pool.spawn_broadcast(move |thread| {
            if thread.index() > 0 {
                work(thread.index());
            }
        });
        // The calling thread's part would otherwise be done within a launch.
        _ = self.pool.yield_now();
    }

    /// Returns the number of threads of the pool, including the calling thread.
    pub(super) fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }
}

/// Returns `None`: only Linux lets threads be pinned.
#[cfg(not(target_os = "linux"))]
fn pin_other_threads(_: &ThreadPool) -> Option<usize> {
    None
}

/// Does nothing on this operating system.
#[cfg(not(target_os = "linux"))]
fn move_calling_thread(_own: usize) {}

/// Pins all threads of `pool` except the calling one, each to a processor. Returns the remaining processor,
/// for the calling thread. Returns `None` if the operating system does not let threads be pinned, or if the
/// numbers of threads and of allowed processors differ.
#[cfg(target_os = "linux")]
fn pin_other_threads(pool: &ThreadPool) -> Option<usize> {
    let processors = assign_processors(allowed_processors(), sched_getcpu(), pool.current_num_threads())?;
    let placed = pool.broadcast(|thread| {
        thread.index() == 0 || sched_setaffinity(None, &single_processor(processors[thread.index()])).is_ok()
    });
    placed.into_iter().all(|placed| placed).then_some(processors[0])
}

/// Moves the calling thread to the processor `own`, if it may run there. The set of processors that the
/// thread may use does not change.
#[cfg(target_os = "linux")]
fn move_calling_thread(own: usize) {
    if sched_getcpu() == own {
        return;
    }
    let Ok(allowed) = sched_getaffinity(None) else { return };
    if allowed.is_set(own) && sched_setaffinity(None, &single_processor(own)).is_ok() {
        // Restores the set of allowed processors.
        _ = sched_setaffinity(None, &allowed);
    }
}

/// Returns a processor of `allowed` for each of `threads` threads. The first thread gets `here`, on which it
/// runs, if that is allowed. Returns `None` if there are not exactly `threads` processors.
#[cfg(target_os = "linux")]
fn assign_processors(mut allowed: Vec<usize>, here: usize, threads: usize) -> Option<Vec<usize>> {
    let own = allowed.iter().position(|processor| *processor == here).unwrap_or(0);
    (allowed.len() == threads).then(|| {
        allowed.swap(0, own);
        allowed
    })
}

/// Returns the set that contains `processor` only.
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
            let Some(own) = pin_other_threads(&pool) else { panic!("Linux lets threads be pinned") };
            let mut all = pool.broadcast(|_| may_use());
            assert_eq!(all.remove(0), before, "the calling thread may use all");
            move_calling_thread(own);
            assert_eq!(may_use(), before, "nor does it lose any by being moved");
            let mut each: Vec<usize> = all.concat();
            each.push(own);
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
            assert_eq!(pin_other_threads(&pool), None);
            assert!(pool.broadcast(|_| may_use()).into_iter().all(|may_use| may_use == before));
        });
        checked.join().expect("it holds");
    }

    #[test]
    fn a_thread_is_moved_to_where_it_may_run_and_nowhere_else() {
        let checked = thread::spawn(|| {
            let before = may_use();
            for own in before.clone() {
                move_calling_thread(own);
                assert_eq!(may_use(), before);
            }
            move_calling_thread(CpuSet::MAX_CPU - 1);
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
