//! The processors that the pool's threads run on. In: a pool whose first thread is the calling one; out: each of its threads on a
//! processor of its own, if the pool has a thread for each that this process may use.
//!
//! The other threads are pinned. The calling one is put on the processor that is left, and may leave it: it runs the user's
//! functions, and threads and processes that these start may run wherever it may. Left to the scheduler alone, two threads share a
//! processor for a long time if another program has the other.

use rayon::ThreadPool;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The place of the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    own: usize,
}

impl Placement {
    /// Pins all threads of `pool` but the calling one. Returns the place of that; nothing if the operating system does not let
    /// threads be pinned, or if the pool is of another size than what this process may use: then nobody knows which processors are
    /// best.
    pub(super) fn of(pool: &ThreadPool) -> Option<Self> {
        let allowed = sched_getaffinity(None).ok()?;
        let allowed = (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor)).collect();
        let processors = processors(allowed, sched_getcpu(), pool.current_num_threads())?;
        let placed = pool.broadcast(|thread| {
            thread.index() == 0 || sched_setaffinity(None, &only(processors[thread.index()])).is_ok()
        });
        placed.into_iter().all(|placed| placed).then_some(Self { own: processors[0] })
    }

    /// Moves the calling thread to its place, if it may run there. It may run wherever it might before.
    pub(super) fn take(self) {
        if sched_getcpu() == self.own {
            return;
        }
        let Ok(allowed) = sched_getaffinity(None) else { return };
        if allowed.is_set(self.own) && sched_setaffinity(None, &only(self.own)).is_ok() {
            // It may again what it might a moment ago.
            _ = sched_setaffinity(None, &allowed);
        }
    }
}

/// Returns a processor for each thread, for the first one `here`, where it runs; nothing if there are more processors or fewer.
fn processors(mut allowed: Vec<usize>, here: usize, threads: usize) -> Option<Vec<usize>> {
    let own = allowed.iter().position(|processor| *processor == here).unwrap_or(0);
    (allowed.len() == threads).then(|| {
        allowed.swap(0, own);
        allowed
    })
}

fn only(processor: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(processor);
    set
}

#[cfg(test)]
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
            let Some(placement) = Placement::of(&pool) else { panic!("Linux lets threads be pinned") };
            let mut all = pool.broadcast(|_| may_use());
            assert_eq!(all.remove(0), before, "the calling thread may use all");
            placement.take();
            assert_eq!(may_use(), before, "nor does it lose any by being moved");
            let mut each: Vec<usize> = all.concat();
            each.push(placement.own);
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
            assert_eq!(Placement::of(&pool), None);
            assert!(pool.broadcast(|_| may_use()).into_iter().all(|may_use| may_use == before));
        });
        checked.join().expect("it holds");
    }

    #[test]
    fn a_thread_is_moved_to_where_it_may_run_and_nowhere_else() {
        let checked = thread::spawn(|| {
            let before = may_use();
            for own in before.clone() {
                Placement { own }.take();
                assert_eq!(may_use(), before);
            }
            Placement { own: CpuSet::MAX_CPU - 1 }.take();
            assert_eq!(may_use(), before);
        });
        checked.join().expect("it holds");
    }

    #[test]
    fn the_processor_of_the_calling_thread_is_left_to_it() {
        assert_eq!(processors(vec![0, 2, 5], 5, 3), Some(vec![5, 2, 0]));
        assert_eq!(processors(vec![0, 2, 5], 7, 3), Some(vec![0, 2, 5]), "it was just moved");
        assert_eq!(processors(vec![3], 3, 1), Some(vec![3]));
        assert_eq!(processors(vec![0, 2, 5], 2, 2), None);
    }
}
