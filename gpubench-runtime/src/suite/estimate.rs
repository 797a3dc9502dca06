//! The time that is left of a run. In: its cases, the time that each took in an earlier run, and those that are done. Out: an
//! estimate.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::plan::{Fate, Plan};
use gpubench_records::id::CaseId;
use gpubench_records::record::Record;

/// The cases of a run in their order, and how many of them are done.
#[derive(Debug)]
pub(super) struct Estimate {
    cases: Vec<CaseId>,
    done: usize,
    began: Instant,
    /// The end of the case before.
    last: Instant,
    earlier: HashMap<CaseId, Duration>,
}

impl Estimate {
    /// An estimate for `plan`, measured `runs` times.
    pub(super) fn of(plan: &Plan, runs: usize) -> Self {
        let jobs = plan.jobs.iter().filter(|(_, fate)| !matches!(fate, Fate::Skipped(_)));
        let cases_of_a_run: Vec<CaseId> =
            jobs.flat_map(|(job, _)| job.caches.iter().map(|cache| job.case(*cache))).collect();
        let cases = (0..runs).flat_map(|_| cases_of_a_run.iter().cloned()).collect();
        let now = Instant::now();
        Self { cases, done: 0, began: now, last: now, earlier: HashMap::new() }
    }

    /// Learns the time that cases took in an earlier run.
    pub(super) fn learn(&mut self, earlier: HashMap<CaseId, Duration>) {
        self.earlier = earlier;
    }

    /// Begins the first case. Those in `resumed` are done.
    pub(super) fn begin(&mut self, resumed: &[&Record]) {
        self.cases.retain(|case| !resumed.iter().any(|record| record.case == *case));
        (self.began, self.last) = (Instant::now(), Instant::now());
    }

    /// Counts a case.
    pub(super) fn count(&mut self) {
        self.done += 1;
        self.last = Instant::now();
    }

    /// Returns the time that is left: for each case the time that it took earlier, else what cases took on average so far.
    /// Nothing if neither is known.
    pub(super) fn left(&self) -> Option<Duration> {
        let average = u32::try_from(self.done).ok().and_then(|done| self.began.elapsed().checked_div(done));
        let of = |case: &CaseId| self.earlier.get(case).copied().or(average);
        let Some((current, others)) = self.cases.get(self.done..)?.split_first() else {
            return Some(Duration::ZERO);
        };
        let current = of(current)?.saturating_sub(self.last.elapsed());
        others.iter().map(of).sum::<Option<Duration>>().map(|others| current + others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::method::Cache;

    fn case(cache: Cache) -> CaseId {
        CaseId { benchmark: "copy".to_owned(), args: Vec::new(), device: "host".to_owned(), cache }
    }

    #[test]
    fn what_took_long_will_take_long() {
        let cases = vec![case(Cache::Hot), case(Cache::Cold), case(Cache::Hot), case(Cache::Cold)];
        let now = Instant::now();
        let mut estimate = Estimate { cases, done: 0, began: now, last: now, earlier: HashMap::new() };
        assert_eq!(estimate.left(), None);
        let seconds = Duration::from_secs;
        estimate.learn(HashMap::from([(case(Cache::Hot), seconds(1)), (case(Cache::Cold), seconds(3))]));
        // Less what the current case has taken so far.
        let left = |estimate: &Estimate| estimate.left().map(|left| left.as_secs_f64().round());
        assert_eq!(left(&estimate), Some(8.0));
        estimate.count();
        assert_eq!(left(&estimate), Some(7.0));
        // Of cases that are new, those so far are all that is known.
        estimate.learn(HashMap::new());
        assert!(estimate.left() < Some(seconds(1)));
    }
}
