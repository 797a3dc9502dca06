//! The time that is left of a run. In: its cases, the time that each took in an earlier run, and those that are done. Out: an
//! estimate.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use crate::plan::{Fate, Job, Plan, Shares};
use gpubench_records::id::PlannedCase;
use gpubench_records::record::Record;

/// The cases of a run that are left, and the time that the others took. To count a case and to ask for the time that is left
/// take as long with many cases as with few.
#[derive(Debug)]
pub(super) struct Estimate {
    /// The cases in their order, as often as they are measured. The first is not done.
    order: VecDeque<PlannedCase>,
    cases: HashMap<PlannedCase, Left>,
    /// The cases that run beside those of other devices, by device.
    side_by_side: HashMap<String, Sum>,
    /// The cases that run alone.
    alone: Sum,
    done: usize,
    began: Instant,
    /// The end of the case before.
    last: Instant,
    earlier: HashMap<PlannedCase, Duration>,
}

/// A case that is to be measured once or several times.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// True if it runs beside those of other devices.
    beside: bool,
    /// The number of times that are left.
    times: usize,
    /// The number of times that it is done and still stands in the order, since others before it are not.
    passed: usize,
}

/// The time that cases take together.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    cases: usize,
    known: Duration,
    /// The number of those whose time nobody knows.
    unknown: u32,
}

impl Sum {
    fn add(&mut self, took: Option<Duration>) {
        self.cases += 1;
        self.known += took.unwrap_or_default();
        self.unknown += u32::from(took.is_none());
    }

    fn take(&mut self, took: Option<Duration>) {
        self.cases -= 1;
        self.known -= took.unwrap_or_default();
        self.unknown -= u32::from(took.is_none());
    }

    /// Returns the time, if each of unknown time takes `average`. Nothing if that is not known either.
    fn time(&self, average: Option<Duration>) -> Option<Duration> {
        if self.unknown == 0 { Some(self.known) } else { Some(self.known + average? * self.unknown) }
    }
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
        Self::of_cases((0..runs).flat_map(|_| cases_of_a_run.iter().cloned()))
    }

    /// An estimate for these cases, each with true if it runs beside those of other devices.
    fn of_cases(all: impl Iterator<Item = (PlannedCase, bool)>) -> Self {
        let (mut order, mut cases) = (VecDeque::new(), HashMap::new());
        for (case, beside) in all {
            cases.entry(case.clone()).or_insert(Left { beside, times: 0, passed: 0 }).times += 1;
            order.push_back(case);
        }
        let (side_by_side, alone, now) = (HashMap::new(), Sum::default(), Instant::now());
        let earlier = HashMap::new();
        let mut estimate =
            Self { order, cases, side_by_side, alone, done: 0, began: now, last: now, earlier };
        estimate.sum_up();
        estimate
    }

    fn sum_up(&mut self) {
        self.alone = Sum::default();
        self.side_by_side.clear();
        for (case, Left { beside, times, .. }) in &self.cases {
            let sum = match beside {
                true => self.side_by_side.entry(case.device.clone()).or_default(),
                false => &mut self.alone,
            };
            (0..*times).for_each(|_| sum.add(self.earlier.get(case).copied()));
        }
    }

    /// Learns the time that cases took in an earlier run.
    pub(super) fn learn(&mut self, earlier: HashMap<PlannedCase, Duration>) {
        self.earlier = earlier;
        self.sum_up();
    }

    /// Begins the first case. Those in `resumed` are done.
    pub(super) fn begin(&mut self, resumed: &[&Record]) {
        let resumed: HashSet<PlannedCase> = resumed.iter().map(|record| record.planned()).collect();
        self.order.retain(|case| !resumed.contains(case));
        self.cases.retain(|case, _| !resumed.contains(case));
        self.sum_up();
        (self.began, self.last) = (Instant::now(), Instant::now());
    }

    /// Counts a case as done.
    pub(super) fn count(&mut self, done: &PlannedCase) {
        if let Some(left) = self.cases.get_mut(done).filter(|left| left.times > 0) {
            left.times -= 1;
            left.passed += 1;
            let sum =
                if left.beside { self.side_by_side.get_mut(&done.device) } else { Some(&mut self.alone) };
            sum.into_iter().for_each(|sum| sum.take(self.earlier.get(done).copied()));
        }
        while let Some(first) = self.order.front()
            && let Some(left) = self.cases.get_mut(first).filter(|left| left.passed > 0)
        {
            left.passed -= 1;
            self.order.pop_front();
        }
        self.done += 1;
        self.last = Instant::now();
    }

    /// Returns the time that is left: for each case the time that it took earlier, else what cases took on average so far;
    /// of devices that are measured side by side that of the slowest. Nothing if neither is known.
    pub(super) fn left(&self) -> Option<Duration> {
        let Some(first) = self.order.front() else { return Some(Duration::ZERO) };
        let lanes = self.side_by_side.values().filter(|sum| sum.cases > 0).count().max(1);
        // Of several lanes, each worked all the time.
        let worked = self.began.elapsed() * u32::try_from(lanes).unwrap_or(1);
        let average = u32::try_from(self.done).ok().and_then(|done| worked.checked_div(done));
        // The case in progress is partly done.
        let took = self.earlier.get(first).copied().or(average)?;
        let partly = took.min(self.last.elapsed());
        let is_beside = self.cases.get(first).is_some_and(|left| left.beside);
        let alone = self.alone.time(average)?.saturating_sub(if is_beside { Duration::ZERO } else { partly });
        let mut slowest = Duration::ZERO;
        for (device, sum) in &self.side_by_side {
            let is_first = is_beside && *device == first.device;
            let time = sum.time(average)?.saturating_sub(if is_first { partly } else { Duration::ZERO });
            slowest = slowest.max(time);
        }
        Some(alone + slowest)
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
        let mut estimate = Estimate::of_cases([hot.clone(), cold.clone(), hot, cold].into_iter());
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
        // Whatever order they end in.
        [Cache::Cold, Cache::Cold, Cache::Hot].iter().for_each(|cache| estimate.count(&case(*cache)));
        assert_eq!(estimate.left(), Some(Duration::ZERO));
        estimate.count(&case(Cache::Hot));
        assert_eq!(estimate.left(), Some(Duration::ZERO), "one that nobody has planned");
    }

    /// Two devices with two cases each, one of which runs alone.
    #[test]
    fn of_devices_side_by_side_the_slowest_counts() {
        let on = |device: &str, cache| PlannedCase { device: device.to_owned(), ..case(cache) };
        let cases = ["cuda:0", "cuda:1"]
            .iter()
            .flat_map(|device| [(on(device, Cache::Hot), true), (on(device, Cache::Cold), false)]);
        let mut estimate = Estimate::of_cases(cases);
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
