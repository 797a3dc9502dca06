//! Threads of a pool that look for work without ever giving their processors away. In: a question from the thread that measures; out: their
//! answers, which tell that each has a processor.

use std::hint::spin_loop;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rayon::Yield;

/// A thread looks for so long behind the last question: longer than what lies between two samples, mostly.
pub(super) const STAY: Duration = Duration::from_millis(20);
/// A thread that looks answers within this and so much for each thread, which all read what one writes, unless another program has its processor.
const ANSWER: Duration = Duration::from_micros(20);
const ANSWER_EACH: Duration = Duration::from_nanos(500);
/// Of so many threads, one may be missing.
const MISSING_OF: usize = 16;

/// What the thread that measures and the others tell each other.
pub(super) struct Lookers {
    /// The beginning of all times.
    origin: Instant,
    /// They look until then, in nanoseconds.
    until: Apart<AtomicU64>,
    launching: Apart<AtomicBool>,
    /// True once one of them has worked for a launch.
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
    looks: AtomicBool,
    called_again: AtomicBool,
    answer: AtomicU64,
}

impl Lookers {
    /// Makes room for so many threads, none of which looks yet.
    pub(super) fn new(others: usize) -> Self {
        Self {
            origin: Instant::now(),
            until: Apart::default(),
            launching: Apart::default(),
            worked: Apart::default(),
            question: Apart::default(),
            others: (0..others).map(|_| Apart::default()).collect(),
        }
    }

    /// Returns true if there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.others.is_empty()
    }

    /// Has them look for a while from now on.
    pub(super) fn stay(&self) {
        self.until.store(self.now() + STAY.as_nanos() as u64, Ordering::Release);
    }

    /// Has them end.
    pub(super) fn end(&self) {
        self.until.store(0, Ordering::Release);
    }

    /// Returns true if all look.
    pub(super) fn all_look(&self) -> bool {
        self.others.iter().all(|other| other.looks.load(Ordering::Acquire))
    }

    /// Returns true if none looks.
    pub(super) fn none_looks(&self) -> bool {
        !self.others.iter().any(|other| other.looks.load(Ordering::Acquire))
    }

    /// Returns true if one of them has worked for a launch.
    pub(super) fn worked(&self) -> bool {
        self.worked.load(Ordering::Relaxed)
    }

    /// Asks them, and returns true if they answer, but for a few.
    pub(super) fn answer(&self) -> bool {
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

    /// Marks the time of a launch, for as long as the mark is kept.
    pub(super) fn launching(&self) -> Launching<'_> {
        self.launching.store(true, Ordering::Release);
        Launching(&self.launching)
    }

    /// Looks for work on this thread, which is one of the others.
    pub(super) fn look(&self, number: usize) {
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
pub(super) struct Launching<'a>(&'a AtomicBool);

impl Drop for Launching<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
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
