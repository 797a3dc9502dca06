//! A task's share of a plan. In: jobs, the time that each case takes, and the task's place among all; out: its jobs, in their
//! order. Tasks do not talk: each comes to the same distribution, because it depends on nothing else.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use super::{Fate, Job};
use gpubench_records::id::{BenchmarkId, DeviceId};
use gpubench_records::method::Cache;
use gpubench_records::record::Run;
use gpubench_records::task::Part;
use gpubench_stats::units::Nanoseconds;

/// The times that cases are expected to take.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CaseTimes {
    known: HashMap<(BenchmarkId, Cache), Nanoseconds>,
    /// The time of all others: the mean of those that are known.
    other: Option<Nanoseconds>,
}

impl CaseTimes {
    /// The times that the cases of `run` took: their warm-up and their samples.
    #[must_use]
    pub(crate) fn of(run: &Run) -> Self {
        let mut known = HashMap::new();
        for record in &run.records {
            let Some(measured) = &record.measurement else { continue };
            let (benchmark, args) = (record.case.benchmark.clone(), record.case.args.clone());
            let took = measured.samples.warm_up.elapsed + measured.samples.wall;
            known.insert((BenchmarkId { benchmark, args }, record.case.cache), took);
        }
        let sum: Nanoseconds = known.values().copied().sum();
        let other = (!known.is_empty()).then(|| sum / known.len() as f64);
        Self { known, other }
    }

    /// The time of a job; the number of its cases, as if each took as long, if none is known.
    fn of_job(&self, job: &Job) -> f64 {
        let Some(other) = self.other else { return job.caches.len() as f64 };
        let id = BenchmarkId { benchmark: job.benchmark.clone(), args: job.args.clone() };
        let of = |cache: &Cache| self.known.get(&(id.clone(), *cache)).copied().unwrap_or(other);
        job.caches.iter().map(of).sum::<Nanoseconds>() / Nanoseconds::from_seconds(1.0)
    }
}

/// The cases that are never apart: those of a benchmark with its arguments on devices of a kind, hot and cold.
type Unit = (String, BenchmarkId);

fn unit(job: &Job) -> Unit {
    let id = BenchmarkId { benchmark: job.benchmark.clone(), args: job.args.clone() };
    (DeviceId::parse(&job.device).kind.to_owned(), id)
}

/// Returns the jobs of `part`. The longest goes first, each to the task that has the least so far, and of several such tasks to the
/// first. What is measured on one kind of device is distributed by itself, so that a task without such a device does not
/// change the shares of the others.
pub(super) fn share(mut jobs: Vec<(Job, Fate)>, part: Part, times: &CaseTimes) -> Vec<(Job, Fate)> {
    let mut units: Vec<(f64, Unit)> = Vec::new();
    let mut seen = BTreeSet::new();
    for (job, fate) in &jobs {
        let unit = unit(job);
        if seen.insert(unit.clone()) {
            let time = if matches!(fate, Fate::Skipped(_)) { 0.0 } else { times.of_job(job) };
            units.push((time, unit));
        }
    }
    units.sort_by(|(one, first), (other, second)| other.total_cmp(one).then_with(|| first.cmp(second)));
    // With more tasks than cases, the last ones get none.
    let tasks = part.of().min(units.len());
    let mut loads: HashMap<String, Vec<f64>> = HashMap::new();
    let mut own = BTreeSet::new();
    for (time, unit) in units {
        let loads = loads.entry(unit.0.clone()).or_insert_with(|| vec![0.0; tasks]);
        // The last of the maxima is the first task with the least load.
        let least = (0..loads.len()).max_by(|one, other| {
            loads[*other].total_cmp(&loads[*one]).then_with(|| Reverse(*one).cmp(&Reverse(*other)))
        });
        let Some(task) = least else { continue };
        loads[task] += time;
        if task + 1 == part.number() {
            own.insert(unit);
        }
    }
    jobs.retain(|(job, _)| own.contains(&unit(job)));
    jobs
}

/// Returns the number of cases of `jobs`, each counted once however many devices measure it.
pub(super) fn cases(jobs: &[(Job, Fate)]) -> usize {
    let mut seen = BTreeSet::new();
    let measured =
        jobs.iter().filter(|(job, fate)| !matches!(fate, Fate::Skipped(_)) && seen.insert(unit(job)));
    measured.map(|(job, _)| job.caches.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Shares;
    use proptest::prelude::*;

    fn job(name: &str, device: &str, caches: &[Cache]) -> (Job, Fate) {
        let (benchmark, device) = (name.to_owned(), device.to_owned());
        let job = Job {
            benchmark,
            args: Vec::new(),
            device,
            caches: caches.to_vec(),
            timeout: None,
            with: None,
            shares: Shares::Nothing,
        };
        (job, Fate::Measured)
    }

    const BOTH: [Cache; 2] = [Cache::Hot, Cache::Cold];

    fn names(jobs: &[(Job, Fate)]) -> Vec<&str> {
        jobs.iter().map(|(job, _)| &*job.benchmark).collect()
    }

    fn part(number: usize, of: usize) -> Part {
        Part::new(number, of).expect("a part")
    }

    fn times(known: &[(&str, f64)]) -> CaseTimes {
        let known = known.iter().map(|(name, seconds)| {
            let id = BenchmarkId { benchmark: (*name).to_owned(), args: Vec::new() };
            ((id, Cache::Hot), Nanoseconds::from_seconds(*seconds))
        });
        CaseTimes { known: known.collect(), other: Some(Nanoseconds::from_seconds(2.0)) }
    }

    #[test]
    fn the_longest_goes_first_to_the_task_with_the_least() {
        let jobs = ["a", "b", "c", "d", "e"].map(|name| job(name, "cuda:0", &[Cache::Hot])).to_vec();
        let times = times(&[("a", 1.0), ("b", 3.0), ("c", 5.0), ("d", 4.0)]);
        // 5 and 4; then 3 to the second, 2 (the mean, of `e`) to the first, 1 to the first of two equal ones.
        assert_eq!(names(&share(jobs.clone(), part(1, 2), &times)), ["a", "c", "e"]);
        assert_eq!(names(&share(jobs.clone(), part(2, 2), &times)), ["b", "d"]);
        // Without times all are the same.
        assert_eq!(names(&share(jobs, part(1, 2), &CaseTimes::default())), ["a", "c", "e"]);
    }

    #[test]
    fn of_more_tasks_than_cases_the_last_get_none() {
        let jobs = ["a", "b"].map(|name| job(name, "cuda:0", &[Cache::Hot])).to_vec();
        let of = |number| share(jobs.clone(), part(number, usize::MAX), &CaseTimes::default());
        assert_eq!([names(&of(1)), names(&of(2))], [["a"], ["b"]]);
        assert!(of(3).is_empty() && of(usize::MAX).is_empty());
    }

    #[test]
    fn hot_and_cold_stay_together_and_so_do_the_devices_of_a_task() {
        let mut jobs = vec![job("a", "cuda:0", &BOTH), job("b", "cuda:0", &BOTH)];
        jobs.extend([job("a", "cuda:1", &BOTH), job("b", "cuda:1", &BOTH)]);
        assert_eq!(cases(&jobs), 4);
        let second = share(jobs, part(2, 2), &CaseTimes::default());
        assert_eq!(names(&second), ["b", "b"]);
        assert_eq!(second[1].0.caches, BOTH);
    }

    /// A host without a GPU has other jobs: what the others measure on theirs does not change.
    #[test]
    fn each_kind_of_device_is_distributed_by_itself() {
        let gpu = vec![job("a", "cuda:0", &BOTH), job("b", "cuda:0", &BOTH), job("c", "cuda:0", &BOTH)];
        let mut both = gpu.clone();
        both.extend([job("a", "host", &BOTH), job("x", "host", &[Cache::Hot])]);
        for number in 1..=3 {
            let alone = share(gpu.clone(), part(number, 3), &CaseTimes::default());
            let mut beside = share(both.clone(), part(number, 3), &CaseTimes::default());
            beside.retain(|(job, _)| job.device != "host");
            assert_eq!(alone, beside);
        }
    }

    proptest! {
        /// Every case is in one share, in the order of the plan; no task has more than its mean and the longest job.
        #[test]
        fn shares_are_disjoint_complete_and_balanced(
            seconds in proptest::collection::vec(0.1_f64..9.0, 0..40),
            of in 1_usize..12,
        ) {
            let named: Vec<String> = (0..seconds.len()).map(|number| format!("k{number}")).collect();
            let jobs: Vec<_> = named.iter().map(|name| job(name, "cuda:0", &[Cache::Hot])).collect();
            let known: Vec<_> = named.iter().map(|name| &**name).zip(seconds.iter().copied()).collect();
            let times = times(&known);
            let shares: Vec<_> = (1..=of).map(|number| share(jobs.clone(), part(number, of), &times)).collect();
            let mut all: Vec<_> = shares.iter().flatten().cloned().collect();
            for share in &shares {
                let places = share.iter().map(|own| jobs.iter().position(|job| job == own));
                prop_assert!(places.is_sorted());
                let load: f64 = share.iter().map(|(job, _)| times.of_job(job)).sum();
                let longest = seconds.iter().copied().fold(0.0, f64::max);
                prop_assert!(load <= seconds.iter().sum::<f64>() / of as f64 + longest + 1e-9);
            }
            let order = |(one, _): &(Job, Fate), (other, _): &(Job, Fate)| one.benchmark.cmp(&other.benchmark);
            let mut jobs = jobs;
            all.sort_by(order);
            jobs.sort_by(order);
            prop_assert_eq!(all, jobs);
        }
    }
}
