//! Keeps the other threads of a pool awake for launches that are timed. In: a stream; out: threads that look for work when the launch begins,
//! as they do in a program that launches all the time.
//!
//! A thread of rayon's pool that finds no work goes to sleep, and takes up to 50 µs to wake on a virtual machine. A launch of 45 µs on two
//! threads then takes 45 or 85 µs, for thousands of samples in a row, since the second thread comes too late each time. And where other
//! programs want the processors, an idle thread gives its own away for milliseconds before it sleeps.

mod lookers;
mod need;

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use gpubench_records::method::Cache;

use self::lookers::{Lookers, STAY};
use self::need::Need;
use super::Stream;

/// The pause before threads are asked again, which leaves this thread a time slice for the launch.
const PAUSE: Duration = Duration::from_micros(100);

/// The other threads of a stream, beside the launches of a case.
pub(super) struct Awake {
    lookers: Arc<Lookers>,
    need: Need,
    /// True once all others sleep, and nobody calls them.
    asleep: bool,
}

impl Awake {
    /// Begins with the launches of a case.
    pub(super) fn of(stream: &Stream, cache: Cache) -> Self {
        let lookers = Arc::new(Lookers::new(stream.threads() - 1));
        Self { lookers, need: Need::of(cache), asleep: false }
    }

    /// Waits until all others are awake, each on a processor, if the launches may give them work; else until none is. Returns false if launches that
    /// give them work begin without them.
    pub(super) fn make_ready(&mut self, stream: &Stream) -> bool {
        if self.are_needed() {
            self.asleep = false;
            let awake = self.wake(stream);
            self.need.begins(awake);
            return awake || !self.lookers.worked();
        }
        self.let_sleep();
        self.need.begins_unprepared();
        !self.lookers.worked() || self.need.is_very_long()
    }

    /// Returns true if there is nothing to wait for before a launch that follows another one at once.
    pub(super) fn is_ready(&mut self) -> bool {
        if !self.are_needed() {
            return self.asleep || self.lookers.none_looks();
        }
        self.lookers.stay();
        let awake = self.lookers.answer();
        if awake {
            self.need.begins(awake);
        }
        awake
    }

    /// Does `launch`, which may give the others work.
    pub(super) fn during<R>(&mut self, launch: impl FnOnce() -> R) -> R {
        let begin = Instant::now();
        let launched = {
            let _launching = self.lookers.launching();
            launch()
        };
        self.need.took(begin.elapsed());
        launched
    }

    fn are_needed(&self) -> bool {
        !self.lookers.is_empty() && self.need.waits(self.lookers.worked())
    }

    /// Waits until all others are awake. Returns false if they have not come.
    fn wake(&self, stream: &Stream) -> bool {
        let (begin, patience) = (Instant::now(), self.need.patience());
        while begin.elapsed() < patience {
            self.lookers.stay();
            if !self.lookers.all_look() {
                let lookers = Arc::clone(&self.lookers);
                stream.on_other_threads(move |index| lookers.look(index - 1));
            }
            if self.lookers.answer() {
                return true;
            }
            sleep(PAUSE);
        }
        false
    }

    /// Waits until no other thread is awake: one that looks for work makes a launch of 80 ns on this thread take 140.
    fn let_sleep(&mut self) {
        if self.asleep {
            return;
        }
        self.lookers.end();
        let begin = Instant::now();
        while !self.lookers.none_looks() && begin.elapsed() < STAY {
            sleep(PAUSE);
        }
        self.asleep = self.lookers.none_looks();
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.lookers.end();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::{self, ThreadId};

    use rayon::prelude::*;

    use super::*;

    /// A thread belongs to one pool for good, so that each test has its own.
    fn on_a_pool(test: impl FnOnce(&Stream) + Send) {
        thread::scope(|scope| {
            scope.spawn(|| test(&Stream::of_this_thread().expect("the pool starts")));
        });
    }

    fn spin(time: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < time {}
    }

    /// Launches a part for each thread, and returns the threads that did them.
    fn launch(stream: &Stream) -> HashSet<ThreadId> {
        let parts: Vec<usize> = (0..stream.threads()).collect();
        stream.run(|| {
            let threads = parts.par_chunks(1).map(|_| {
                spin(Duration::from_micros(500));
                thread::current().id()
            });
            threads.collect()
        })
    }

    #[test]
    fn launches_of_several_parts_keep_the_others_awake() {
        on_a_pool(|stream| {
            let mut awake = Awake::of(stream, Cache::Hot);
            let threads = (0..50).map(|_| {
                awake.make_ready(stream);
                awake.during(|| launch(stream)).len()
            });
            let threads: Vec<usize> = threads.collect();
            // Beside other programs the others do not come.
            let come = awake.need.waits(true);
            assert_eq!(awake.are_needed(), come && stream.threads() > 1, "{threads:?}");
            assert!(!come || threads.contains(&stream.threads()), "all threads work: {threads:?}");
        });
    }

    #[test]
    fn launches_of_one_part_let_the_others_sleep() {
        on_a_pool(|stream| {
            let mut awake = Awake::of(stream, Cache::Hot);
            for _ in 0..50 {
                awake.make_ready(stream);
                awake.during(|| spin(Duration::from_micros(20)));
            }
            assert!(!awake.are_needed());
            let begin = Instant::now();
            while !awake.is_ready() {
                assert!(begin.elapsed() < Duration::from_secs(10), "they sleep soon");
                awake.make_ready(stream);
            }
        });
    }

    /// Work between launches, such as a flush, is done by threads that are awake, and says nothing of the launches.
    #[test]
    fn work_between_launches_is_done_and_does_not_count() {
        on_a_pool(|stream| {
            let mut awake = Awake::of(stream, Cache::Hot);
            for _ in 0..20 {
                awake.make_ready(stream);
                awake.during(|| ());
                assert!(!launch(stream).is_empty());
                assert_eq!(stream.on_each_thread(|| ()).len(), stream.threads());
            }
            assert!(!awake.lookers.worked());
        });
    }

    /// A thread that came late was called several times, and finds the last call while it looks.
    #[test]
    fn a_call_that_is_found_beside_a_launch_is_no_work_of_it() {
        on_a_pool(|stream| {
            let mut awake = Awake::of(stream, Cache::Hot);
            for _ in 0..20 {
                awake.make_ready(stream);
                let (lookers, returned) = (Arc::clone(&awake.lookers), Arc::new(AtomicUsize::new(0)));
                let count = Arc::clone(&returned);
                awake.during(|| {
                    stream.on_other_threads(move |index| {
                        lookers.look(index - 1);
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                    let begin = Instant::now();
                    while returned.load(Ordering::Relaxed) + 1 < stream.threads() {
                        assert!(begin.elapsed() < Duration::from_secs(10), "each returns at once");
                    }
                });
            }
            assert!(!awake.lookers.worked());
        });
    }

    #[test]
    fn a_launch_that_panics_does_not_keep_the_others() {
        on_a_pool(|stream| {
            let mut awake = Awake::of(stream, Cache::Hot);
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                awake.during(|| panic!("of the launch"));
            }));
            assert!(panicked.is_err());
            // Within a launch it would return at once.
            let begin = Instant::now();
            awake.lookers.stay();
            if !awake.lookers.is_empty() {
                awake.lookers.look(0);
                assert!(begin.elapsed() > STAY / 2);
            }
        });
    }
}
