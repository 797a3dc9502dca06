//! Keeps the other threads of a pool awake for launches that are timed. In: a stream; out: threads that look for work when the launch begins,
//! as they do in a program that launches all the time.
//!
//! A thread of rayon's pool that finds no work goes to sleep, and takes up to 50 µs to wake on a virtual machine. A launch of 45 µs on two
//! threads then takes 45 or 85 µs, for thousands of samples in a row, since the second thread comes too late each time. And where other
//! programs want the processors, an idle thread gives its own away for milliseconds before it sleeps.

use std::hint::spin_loop;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rayon::Yield;

use super::Stream;
use gpubench_records::method::Cache;

/// Threads stay awake for so long behind a launch: longer than what lies between two samples, mostly.
const STAY: Duration = PATIENCE;
/// A launch that has left the other threads without work so many times never gives them any. They sleep, since a processor that
/// spins takes clock rate, and the caches of its core, from the ones that work. One of this length gives them work in fewer tries, and one for which it
/// does not count that they wake has them sleep at once.
const TRIES: usize = 16;
const LONG: Duration = Duration::from_micros(100);
const TRIES_OF_LONG: usize = 3;
const VERY_LONG: Duration = STAY;
/// A thread that is awake answers within this and so much for each thread, which all read what one writes, unless another program has its processor.
const ANSWER: Duration = Duration::from_micros(20);
const ANSWER_EACH: Duration = Duration::from_nanos(500);
/// Of so many threads, one may be missing.
const MISSING_OF: usize = 16;
/// The pause before it is asked again, which leaves this thread a time slice for the launch.
const PAUSE: Duration = Duration::from_micros(100);
/// A launch begins without the threads that have not answered by then: another program gives a processor back after a time slice or two.
const PATIENCE: Duration = Duration::from_millis(20);
/// Or within so many times the shortest launch so far, where launches follow one another, and within this at least, since to wake takes 50 µs. A launch of
/// 2 µs that follows a rest of milliseconds takes three times as long.
const PATIENCE_OF: u32 = 64;
const LEAST_PATIENCE: Duration = Duration::from_millis(1);
/// If more launches than this, and one in so many, began without them, all others do: the thread that measures would give its own processor
/// away for a time slice whenever it waits for one of the others.
const LATE: usize = 2;
const LATE_OF: usize = 16;
/// After so many times without them they are waited for again.
const AGAIN: usize = 64;

/// The other threads of a stream, beside the launches of a case.
pub(super) struct Awake {
    shared: Arc<Shared>,
    /// The launches that began while the others were awake, and those that began without them.
    together: usize,
    alone: usize,
    /// The times that they were not waited for, since they do not come.
    without: usize,
    /// True once all others sleep, and nobody calls them.
    asleep: bool,
    /// The shortest launch so far.
    shortest: Option<Duration>,
    /// True if launches follow one another.
    hot: bool,
}

/// What the thread that measures and the others tell each other.
struct Shared {
    /// The beginning of all times.
    origin: Instant,
    /// The others stay until then, in nanoseconds, and as long as a launch goes on.
    until: Apart<AtomicU64>,
    launching: Apart<AtomicBool>,
    /// True once another thread has worked for a launch.
    worked: Apart<AtomicBool>,
    question: Apart<AtomicU64>,
    others: Vec<Apart<Other>>,
}

/// A value in a cache line of its own, or two, which processors fetch together.
#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

impl<T> Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// One of the other threads.
#[derive(Default)]
struct Other {
    is_awake: AtomicBool,
    called_again: AtomicBool,
    answer: AtomicU64,
}

impl Awake {
    /// Begins with the launches of a case.
    pub(super) fn of(stream: &Stream, cache: Cache) -> Self {
        let shared = Shared {
            origin: Instant::now(),
            until: Apart::default(),
            launching: Apart::default(),
            worked: Apart::default(),
            question: Apart::default(),
            others: (1..stream.threads()).map(|_| Apart::default()).collect(),
        };
        Self {
            shared: Arc::new(shared),
            together: 0,
            alone: 0,
            without: 0,
            asleep: false,
            shortest: None,
            hot: cache == Cache::Hot,
        }
    }

    /// Waits until all others are awake, each on a processor, if the launches may give them work; else until none is. Returns false if launches that
    /// give them work begin without them.
    pub(super) fn make_ready(&mut self, stream: &Stream) -> bool {
        if self.are_needed() {
            self.asleep = false;
            let awake = self.wake(stream);
            *(if awake { &mut self.together } else { &mut self.alone }) += 1;
            return awake || !self.gave_work();
        }
        self.let_sleep();
        if !self.come() {
            self.without += 1;
            if self.without == AGAIN {
                (self.without, self.together, self.alone) = (0, 0, 0);
            }
        }
        // To wake is no part of a long launch that counts.
        !self.gave_work() || self.is_very_long()
    }

    /// Returns true if there is nothing to wait for before a launch that follows another one at once.
    pub(super) fn is_ready(&mut self) -> bool {
        if !self.are_needed() {
            return self.asleep || self.shared.all_sleep();
        }
        self.shared.stay();
        let awake = self.shared.answer();
        self.together += usize::from(awake);
        awake
    }

    /// Does `launch`, which may give the others work.
    pub(super) fn during<R>(&mut self, launch: impl FnOnce() -> R) -> R {
        let begin = Instant::now();
        let launched = {
            let _launching = Launching::on(&self.shared.launching);
            launch()
        };
        let time = begin.elapsed();
        self.shortest = Some(self.shortest.map_or(time, |shortest| shortest.min(time)));
        launched
    }

    /// Returns true if the others come, and if the launches may give them work.
    fn are_needed(&self) -> bool {
        let is_long = self.shortest.is_some_and(|shortest| shortest >= LONG);
        let tries = if is_long { TRIES_OF_LONG } else { TRIES };
        let may_work = self.gave_work() || self.together < tries;
        !self.shared.others.is_empty() && !self.is_very_long() && may_work && self.come()
    }

    /// Returns true unless the others were missed too often.
    fn come(&self) -> bool {
        self.alone <= LATE + self.together / LATE_OF
    }

    /// Returns true if launches are so long that it does not count how long threads take to wake.
    fn is_very_long(&self) -> bool {
        self.shortest.is_some_and(|shortest| shortest > VERY_LONG)
    }

    fn gave_work(&self) -> bool {
        self.shared.worked.load(Ordering::Relaxed)
    }

    /// Waits until all others are awake. Returns false if one has not come.
    fn wake(&self, stream: &Stream) -> bool {
        let begin = Instant::now();
        let of_shortest =
            |shortest: Duration| shortest.saturating_mul(PATIENCE_OF).clamp(LEAST_PATIENCE, PATIENCE);
        let patience = self.shortest.filter(|_| self.hot).map_or(PATIENCE, of_shortest);
        while begin.elapsed() < patience {
            self.shared.stay();
            if !self.shared.others.iter().all(|other| other.is_awake()) {
                self.call(stream);
            }
            if self.shared.answer() {
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
        self.shared.until.store(0, Ordering::Release);
        let begin = Instant::now();
        while !self.shared.all_sleep() && begin.elapsed() < STAY {
            sleep(PAUSE);
        }
        self.asleep = self.shared.all_sleep();
    }

    /// Calls the others.
    fn call(&self, stream: &Stream) {
        let shared = Arc::clone(&self.shared);
        stream.on_other_threads(move |index| shared.look_for_work(index - 1));
    }
}

/// Holds for the time of a launch, also of one that panics.
struct Launching<'a>(&'a AtomicBool);

impl<'a> Launching<'a> {
    fn on(launching: &'a AtomicBool) -> Self {
        launching.store(true, Ordering::Release);
        Self(launching)
    }
}

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.shared.until.store(0, Ordering::Release);
    }
}

impl Other {
    fn is_awake(&self) -> bool {
        self.is_awake.load(Ordering::Acquire)
    }
}

impl Shared {
    fn all_sleep(&self) -> bool {
        !self.others.iter().any(|other| other.is_awake())
    }

    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// Has the others stay for a while from now on.
    fn stay(&self) {
        self.until.store(self.now() + STAY.as_nanos() as u64, Ordering::Release);
    }

    /// Asks the others, and returns true if they answer.
    fn answer(&self) -> bool {
        let question = self.question.fetch_add(1, Ordering::AcqRel) + 1;
        let (begin, patience) = (Instant::now(), ANSWER + ANSWER_EACH * self.others.len() as u32);
        let answers = |other: &Apart<Other>| {
            while other.answer.load(Ordering::Acquire) != question {
                if begin.elapsed() > patience {
                    return false;
                }
                spin_loop();
            }
            true
        };
        let missing = self.others.iter().filter(|other| !answers(other)).count();
        missing <= self.others.len() / MISSING_OF
    }

    /// Looks for work on this thread, which is one of the others, without ever giving its processor away.
    fn look_for_work(&self, number: usize) {
        // A thread that comes late finds this call within its part of a launch, which others wait for.
        if self.launching.load(Ordering::Acquire) {
            return;
        }
        let other = &self.others[number];
        // A thread that is called while it looks for work finds this call.
        if other.is_awake.swap(true, Ordering::AcqRel) {
            other.called_again.store(true, Ordering::Relaxed);
            return;
        }
        loop {
            other.answer.store(self.question.load(Ordering::Acquire), Ordering::Release);
            let launching = self.launching.load(Ordering::Acquire);
            match rayon::yield_now() {
                Some(Yield::Executed) if other.called_again.swap(false, Ordering::Relaxed) => (),
                Some(Yield::Executed) if launching => self.worked.store(true, Ordering::Relaxed),
                // Not in haste: each look reads what the thread that launches writes.
                _ => (0..4).for_each(|_| spin_loop()),
            }
            if self.now() > self.until.load(Ordering::Acquire) {
                break;
            }
        }
        other.is_awake.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
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
    fn launch(stream: &Stream) -> BTreeSet<ThreadIdText> {
        let parts: Vec<usize> = (0..stream.threads()).collect();
        stream.run(|| {
            let threads = parts.par_chunks(1).map(|_| {
                spin(Duration::from_micros(500));
                text(thread::current().id())
            });
            threads.collect()
        })
    }

    type ThreadIdText = String;

    fn text(id: ThreadId) -> ThreadIdText {
        format!("{id:?}")
    }

    #[test]
    fn launches_of_several_parts_keep_the_others_awake() {
        on_a_pool(|stream| {
            let mut awake = Awake::of(stream, Cache::Hot);
            let threads = (0..3 * TRIES).map(|_| {
                awake.make_ready(stream);
                awake.during(|| launch(stream)).len()
            });
            let threads: Vec<usize> = threads.collect();
            // Beside other programs the others do not come.
            let come = awake.alone <= LATE;
            assert_eq!(awake.are_needed(), come && stream.threads() > 1, "{threads:?}");
            assert!(!come || threads.contains(&stream.threads()), "all threads work: {threads:?}");
        });
    }

    #[test]
    fn launches_of_one_part_let_the_others_sleep() {
        on_a_pool(|stream| {
            let mut awake = Awake::of(stream, Cache::Hot);
            for _ in 0..TRIES + LATE + 1 {
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
            for _ in 0..TRIES {
                awake.make_ready(stream);
                awake.during(|| ());
                assert!(!launch(stream).is_empty());
                assert_eq!(stream.on_each_thread(|| ()).len(), stream.threads());
            }
            assert!(!awake.shared.worked.load(Ordering::Relaxed));
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
            assert!(!awake.shared.launching.load(Ordering::Acquire));
        });
    }
}
