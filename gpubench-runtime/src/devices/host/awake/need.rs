//! Whether a launch needs the other threads of its pool awake. In: how launches went so far; out: whether the next one waits for them, and for
//! how long.

use std::time::Duration;

use gpubench_records::method::Cache;

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
pub(super) struct Need {
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
    pub(super) fn of(cache: Cache) -> Self {
        Self { together: 0, alone: 0, without: 0, shortest: None, follow: cache == Cache::Hot }
    }

    /// Counts a launch that begins while the others are awake, or without them.
    pub(super) fn begins(&mut self, awake: bool) {
        *(if awake { &mut self.together } else { &mut self.alone }) += 1;
    }

    /// Counts a launch for which nobody waits.
    pub(super) fn begins_unprepared(&mut self) {
        if !self.they_come() {
            self.without += 1;
            if self.without == AGAIN {
                (self.without, self.together, self.alone) = (0, 0, 0);
            }
        }
    }

    /// Learns how long a launch took.
    pub(super) fn took(&mut self, time: Duration) {
        self.shortest = Some(self.shortest.map_or(time, |shortest| shortest.min(time)));
    }

    /// Returns true if the next launch waits for the others. They had work before if `gave_work`.
    pub(super) fn waits(&self, gave_work: bool) -> bool {
        let is_long = self.shortest.is_some_and(|shortest| shortest >= LONG);
        let tries = if is_long { TRIES_OF_LONG } else { TRIES };
        (gave_work || self.together < tries) && !self.is_very_long() && self.they_come()
    }

    /// Returns how long it waits for them.
    pub(super) fn patience(&self) -> Duration {
        let of = |shortest: Duration| shortest.saturating_mul(PATIENCE_OF).clamp(LEAST_PATIENCE, PATIENCE);
        self.shortest.filter(|_| self.follow).map_or(PATIENCE, of)
    }

    /// Returns true if launches are so long that it does not count how long threads take to wake.
    pub(super) fn is_very_long(&self) -> bool {
        self.shortest.is_some_and(|shortest| shortest > VERY_LONG)
    }

    fn they_come(&self) -> bool {
        self.alone <= LATE + self.together / LATE_OF
    }
}

#[cfg(test)]
mod tests {
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
