//! The time that is left of a run. In: its cases, the time that each took in an earlier run, and those that are done. Out: an
//! estimate.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::plan::{Fate, Job, Plan, Shares};
use gpubench_records::id::PlannedCase;
use gpubench_records::record::Record;

/// The cases of a run that are left, and the time that the others took.
#[derive(Debug)]
pub(super) struct Estimate {
    /// In their order, each with true if it runs beside those of other devices.
    cases: Vec<(PlannedCase, bool)>,
    done: usize,
    began: Instant,
    /// The end of the case before.
    last: Instant,
    earlier: HashMap<PlannedCase, Duration>,
}

impl Estimate {
    /// An estimate for `plan`, measured `runs` times.
    pub(super) fn of(plan: &Plan, runs: usize) -> Self {
        let jobs = plan.jobs.iter().filter(|(_, fate)| !matches!(fate, Fate::Skipped(_)));
        let of_job = |(job, _): &(Job, Fate)| {
            job.caches
                .iter()
                .map(|cache| (job.case(*cache), job.shares != Shares::Machine))
                .collect::<Vec<_>>()
        };
        let cases_of_a_run: Vec<_> = jobs.flat_map(of_job).collect();
        let cases = (0..runs).flat_map(|_| cases_of_a_run.iter().cloned()).collect();
        let now = Instant::now();
        Self { cases, done: 0, began: now, last: now, earlier: HashMap::new() }
    }

    /// Learns the time that cases took in an earlier run.
    pub(super) fn learn(&mut self, earlier: HashMap<PlannedCase, Duration>) {
        self.earlier = earlier;
    }

    /// Begins the first case. Those in `resumed` are done.
    pub(super) fn begin(&mut self, resumed: &[&Record]) {
        self.cases.retain(|(case, _)| !resumed.iter().any(|record| record.planned() == *case));
        (self.began, self.last) = (Instant::now(), Instant::now());
    }

    /// Counts a case as done.
    pub(super) fn count(&mut self, done: &PlannedCase) {
        let place = self.cases.iter().position(|(case, _)| case == done);
        place.map(|place| self.cases.remove(place));
        self.done += 1;
        self.last = Instant::now();
    }

    /// Returns the time that is left: for each case the time that it took earlier, else what cases took on average so far;
    /// of devices that are measured side by side that of the slowest. Nothing if neither is known.
    pub(super) fn left(&self) -> Option<Duration> {
        let Some((first, _)) = self.cases.first() else { return Some(Duration::ZERO) };
        let mut side_by_side: HashMap<&str, Duration> = HashMap::new();
        let mut alone = Duration::ZERO;
        let devices = self.cases.iter().filter(|(_, beside)| *beside).map(|(case, _)| &*case.device);
        let lanes = devices.collect::<HashSet<_>>().len().max(1);
        // Of several lanes, each worked all the time.
        let worked = self.began.elapsed() * u32::try_from(lanes).unwrap_or(1);
        let average = u32::try_from(self.done).ok().and_then(|done| worked.checked_div(done));
        for (case, beside) in &self.cases {
            let took = self.earlier.get(case).copied().or(average)?;
            // The case in progress is partly done.
            let left = if case == first { took.saturating_sub(self.last.elapsed()) } else { took };
            if *beside {
                *side_by_side.entry(&case.device).or_default() += left;
            } else {
                alone += left;
            }
        }
        Some(alone + side_by_side.into_values().max().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::method::Cache;

    fn case(cache: Cache) -> PlannedCase {
        PlannedCase { benchmark: "copy".to_owned(), args: Vec::new(), device: "host".to_owned(), cache }
    }

    #[test]
    fn what_took_long_will_take_long() {
        let [hot, cold] = [Cache::Hot, Cache::Cold].map(|cache| (case(cache), false));
        let cases = vec![hot.clone(), cold.clone(), hot, cold];
        let now = Instant::now();
        let mut estimate = Estimate { cases, done: 0, began: now, last: now, earlier: HashMap::new() };
        assert_eq!(estimate.left(), None);
        let seconds = Duration::from_secs;
        estimate.learn(HashMap::from([(case(Cache::Hot), seconds(1)), (case(Cache::Cold), seconds(3))]));
        // Less what the current case has taken so far.
        let left = |estimate: &Estimate| estimate.left().map(|left| left.as_secs_f64().round());
        assert_eq!(left(&estimate), Some(8.0));
        estimate.count(&case(Cache::Hot));
        assert_eq!(left(&estimate), Some(7.0));
        // Of cases that are new, those so far are all that is known.
        estimate.learn(HashMap::new());
        assert!(estimate.left() < Some(seconds(1)));
    }
    /// Two devices with two cases each, one of which runs alone.
    #[test]
    fn of_devices_side_by_side_the_slowest_counts() {
        let on = |device: &str, cache| PlannedCase { device: device.to_owned(), ..case(cache) };
        let cases = ["cuda:0", "cuda:1"]
            .iter()
            .flat_map(|device| [(on(device, Cache::Hot), true), (on(device, Cache::Cold), false)]);
        let now = Instant::now();
        let mut estimate =
            Estimate { cases: cases.collect(), done: 0, began: now, last: now, earlier: HashMap::new() };
        let seconds = Duration::from_secs;
        estimate.learn(HashMap::from([
            (on("cuda:0", Cache::Hot), seconds(10)),
            (on("cuda:1", Cache::Hot), seconds(30)),
            (on("cuda:0", Cache::Cold), seconds(2)),
            (on("cuda:1", Cache::Cold), seconds(5)),
        ]));
        let left = |estimate: &Estimate| estimate.left().map(|left| left.as_secs_f64().round());
        assert_eq!(left(&estimate), Some(37.0));
        estimate.count(&on("cuda:1", Cache::Hot));
        assert_eq!(left(&estimate), Some(17.0));
    }
}
