//! Keeps the other threads of a pool awake for launches that are timed. In: a stream; out: threads that look for work when the launch begins,
//! as they do in a program that launches all the time.
//!
//! A thread of rayon's pool that finds no work goes to sleep, and takes up to 50 µs to wake on a virtual machine. A launch of 45 µs on two
//! threads then takes 45 or 85 µs, for thousands of samples in a row, since the second thread comes too late each time. And where other
//! programs want the processors, an idle thread gives its own away for milliseconds before it sleeps.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{hint::spin_loop, sync::Arc, thread::sleep};

use crossbeam_utils::CachePadded;
use rayon::Yield;

use super::PinnedPool;
use gpubench_records::Cache;

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
    pub(super) fn of(stream: &PinnedPool, cache: Cache) -> Self {
        let lookers = Arc::new(Lookers::new(stream.threads() - 1));
        Self { lookers, need: Need::of(cache), asleep: false }
    }

    /// Waits until all others are awake, each on a processor, if the launches may give them work; else until none is. Returns false if launches that
    /// give them work begin without them.
    pub(super) fn make_ready(&mut self, stream: &PinnedPool) -> bool {
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
    fn wake(&self, stream: &PinnedPool) -> bool {
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

/// A thread looks for so long behind the last question: longer than what lies between two samples, mostly.
const STAY: Duration = Duration::from_millis(20);
/// A thread that looks answers within this and so much for each thread, which all read what one writes, unless another program has its processor.
const ANSWER: Duration = Duration::from_micros(20);
const ANSWER_EACH: Duration = Duration::from_nanos(500);
/// Of so many threads, one may be missing.
const MISSING_OF: usize = 16;

/// What the thread that measures and the others tell each other.
struct Lookers {
    /// The beginning of all times.
    origin: Instant,
    /// They look until then, in nanoseconds.
    until: CachePadded<AtomicU64>,
    launching: CachePadded<AtomicBool>,
    /// True once one of them has worked for a launch.
    worked: CachePadded<AtomicBool>,
    question: CachePadded<AtomicU64>,
    others: Vec<CachePadded<Other>>,
}

/// One of the other threads.
#[derive(Default)]
struct Other {
    looks: AtomicBool,
    called_again: AtomicBool,
    answer: AtomicU64,
}

impl Lookers {
    /// Makes room for so many threads, none of which looks yet.
    fn new(others: usize) -> Self {
        Self {
            origin: Instant::now(),
            until: CachePadded::default(),
            launching: CachePadded::default(),
            worked: CachePadded::default(),
            question: CachePadded::default(),
            others: (0..others).map(|_| CachePadded::default()).collect(),
        }
    }

    /// Returns true if there is none.
    fn is_empty(&self) -> bool {
        self.others.is_empty()
    }

    /// Has them look for a while from now on.
    fn stay(&self) {
        self.until.store(self.now() + STAY.as_nanos() as u64, Ordering::Release);
    }

    /// Has them end.
    fn end(&self) {
        self.until.store(0, Ordering::Release);
    }

    /// Returns true if all look.
    fn all_look(&self) -> bool {
        self.others.iter().all(|other| other.looks.load(Ordering::Acquire))
    }

    /// Returns true if none looks.
    fn none_looks(&self) -> bool {
        !self.others.iter().any(|other| other.looks.load(Ordering::Acquire))
    }

    /// Returns true if one of them has worked for a launch.
    fn worked(&self) -> bool {
        self.worked.load(Ordering::Relaxed)
    }

    /// Asks them, and returns true if they answer, but for a few.
    fn answer(&self) -> bool {
        let question = self.question.fetch_add(1, Ordering::AcqRel) + 1;
        let (begin, patience) = (Instant::now(), ANSWER + ANSWER_EACH * self.others.len() as u32);
        let answers = |other: &CachePadded<Other>| {
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

    /// Marks the time of a launch, for as long as the mark is kept.
    fn launching(&self) -> Launching<'_> {
        self.launching.store(true, Ordering::Release);
        Launching(&self.launching)
    }

    /// Looks for work on this thread, which is one of the others.
    fn look(&self, number: usize) {
        let other = &self.others[number];
        // A thread that is called while it looks finds this call, also beside a launch: no work of it.
        if other.looks.load(Ordering::Acquire) {
            other.called_again.store(true, Ordering::Relaxed);
            return;
        }
        // A thread that comes late finds this call within its part of a launch, which others wait for.
        if self.launching.load(Ordering::Acquire) {
            return;
        }
        other.looks.store(true, Ordering::Release);
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
        other.looks.store(false, Ordering::Release);
    }

    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
}

/// Holds for the time of a launch, also of one that panics.
struct Launching<'a>(&'a AtomicBool);

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// A launch that has left the other threads without work so many times never gives them any. They sleep, since a processor that
/// spins takes clock rate, and the caches of its core, from the ones that work.
const TRIES: usize = 16;
/// One of this length gives them work in so many tries.
const LONG: Duration = Duration::from_micros(100);
const TRIES_OF_LONG: usize = 3;
/// A launch that is longer than this does not need them: what they take to wake, 50 µs, is a small part of it.
const VERY_LONG: Duration = Duration::from_millis(20);
/// A launch begins without the threads that have not come by then: another program gives a processor back after a time slice or two.
const PATIENCE: Duration = Duration::from_millis(20);
/// Or within so many times the shortest launch so far, where launches follow one another, and within this at least. A launch of 2 µs that follows a
/// rest of milliseconds takes three times as long.
const PATIENCE_OF: u32 = 64;
const LEAST_PATIENCE: Duration = Duration::from_millis(1);
/// If more launches than this, and one in so many, began without them, all others do: the thread that measures would give its own processor
/// away for a time slice whenever it waits for one of the others.
const LATE: usize = 2;
const LATE_OF: usize = 16;
/// After so many times without them they are waited for again.
const AGAIN: usize = 64;

/// What is known of the launches of a case.
struct Need {
    /// The launches that began while the others were awake, and those that began without them.
    together: usize,
    alone: usize,
    /// The times that they were not waited for, since they do not come.
    without: usize,
    /// The shortest launch so far.
    shortest: Option<Duration>,
    /// True if launches follow one another.
    follow: bool,
}

impl Need {
    /// Begins before the first launch.
    fn of(cache: Cache) -> Self {
        Self { together: 0, alone: 0, without: 0, shortest: None, follow: cache == Cache::Hot }
    }

    /// Counts a launch that begins while the others are awake, or without them.
    fn begins(&mut self, awake: bool) {
        *(if awake { &mut self.together } else { &mut self.alone }) += 1;
    }

    /// Counts a launch for which nobody waits.
    fn begins_unprepared(&mut self) {
        if !self.they_come() {
            self.without += 1;
            if self.without == AGAIN {
                (self.without, self.together, self.alone) = (0, 0, 0);
            }
        }
    }

    /// Learns how long a launch took.
    fn took(&mut self, time: Duration) {
        self.shortest = Some(self.shortest.map_or(time, |shortest| shortest.min(time)));
    }

    /// Returns true if the next launch waits for the others. They had work before if `gave_work`.
    fn waits(&self, gave_work: bool) -> bool {
        let is_long = self.shortest.is_some_and(|shortest| shortest >= LONG);
        let tries = if is_long { TRIES_OF_LONG } else { TRIES };
        (gave_work || self.together < tries) && !self.is_very_long() && self.they_come()
    }

    /// Returns how long it waits for them.
    fn patience(&self) -> Duration {
        let of = |shortest: Duration| shortest.saturating_mul(PATIENCE_OF).clamp(LEAST_PATIENCE, PATIENCE);
        self.shortest.filter(|_| self.follow).map_or(PATIENCE, of)
    }

    /// Returns true if launches are so long that it does not count how long threads take to wake.
    fn is_very_long(&self) -> bool {
        self.shortest.is_some_and(|shortest| shortest > VERY_LONG)
    }

    fn they_come(&self) -> bool {
        self.alone <= LATE + self.together / LATE_OF
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
    fn on_a_pool(test: impl FnOnce(&PinnedPool) + Send) {
        thread::scope(|scope| {
            scope.spawn(|| test(&PinnedPool::of_this_thread().expect("the pool starts")));
        });
    }

    fn spin(time: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < time {}
    }

    /// Launches a part for each thread, and returns the threads that did them.
    fn launch(stream: &PinnedPool) -> HashSet<ThreadId> {
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

#[cfg(test)]
mod lookers_tests {
    use super::*;

    #[test]
    fn a_call_that_is_found_within_a_launch_returns_at_once() {
        let lookers = Lookers::new(1);
        lookers.stay();
        let launching = lookers.launching();
        lookers.look(0);
        assert!(lookers.none_looks());
        drop(launching);
        // It looks, on this thread, for as long as it may.
        let begin = Instant::now();
        lookers.look(0);
        assert!(begin.elapsed() > STAY / 2);
        assert!(lookers.none_looks() && !lookers.worked());
    }

    #[test]
    fn few_may_be_missing_and_nobody_is_asked_where_there_is_none() {
        assert!(Lookers::new(0).answer());
        assert!(!Lookers::new(1).answer());
        let lookers = Lookers::new(MISSING_OF);
        for other in &lookers.others[1..] {
            other.answer.store(1, Ordering::Release);
        }
        assert!(lookers.answer(), "one of sixteen");
        assert!(!lookers.answer(), "the next question has no answer yet");
    }
}

#[cfg(test)]
mod need_tests {
    use super::*;

    /// Launches of this length, until the others are not needed or for so many. Returns their number.
    fn until_alone(micros: u64, gave_work: bool, most: usize) -> usize {
        let mut need = Need::of(Cache::Hot);
        for number in 0..most {
            if !need.waits(gave_work) {
                return number;
            }
            need.begins(true);
            need.took(Duration::from_micros(micros));
        }
        most
    }

    #[test]
    fn launches_that_give_others_work_need_them_for_good() {
        assert_eq!(until_alone(2, true, 1_000), 1_000);
        assert_eq!(until_alone(10_000, true, 1_000), 1_000);
    }

    #[test]
    fn launches_that_give_none_need_them_no_more_after_some_tries() {
        assert_eq!(until_alone(2, false, 1_000), TRIES);
        assert_eq!(until_alone(10_000, false, 1_000), TRIES_OF_LONG);
    }

    #[test]
    fn launches_that_are_long_beside_what_waking_takes_do_not_need_them() {
        assert_eq!(until_alone(20_001, true, 1_000), 1);
    }

    #[test]
    fn those_who_do_not_come_are_not_waited_for_until_later() {
        let mut need = Need::of(Cache::Cold);
        for _ in 0..=LATE {
            assert!(need.waits(true));
            need.begins(false);
        }
        for _ in 0..AGAIN {
            assert!(!need.waits(true));
            need.begins_unprepared();
        }
        assert!(need.waits(true), "they may come now");
        // Of many launches some may begin without them.
        for number in 0..20 * LATE_OF {
            need.begins(number % (2 * LATE_OF) > 0);
            assert!(need.waits(true), "{number}");
        }
    }

    #[test]
    fn short_launches_that_follow_one_another_wait_for_a_short_time() {
        let patience = |cache, micros: &[u64]| {
            let mut need = Need::of(cache);
            micros.iter().for_each(|micros| need.took(Duration::from_micros(*micros)));
            need.patience()
        };
        assert_eq!(patience(Cache::Hot, &[]), PATIENCE);
        assert_eq!(patience(Cache::Hot, &[900, 2]), LEAST_PATIENCE);
        assert_eq!(patience(Cache::Hot, &[100, 140]), Duration::from_micros(6_400));
        assert_eq!(patience(Cache::Hot, &[5_000]), PATIENCE);
        assert_eq!(patience(Cache::Cold, &[2]), PATIENCE);
    }
}
