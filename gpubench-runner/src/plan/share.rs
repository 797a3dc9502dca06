//! Selects a task's share of a plan. Tasks do not communicate: each computes the same distribution, because it depends on nothing else.

use std::collections::{HashMap, HashSet};

use gpubench_records::{BenchmarkId, DeviceId, Part};
use gpubench_runtime::{Job, JobStatus};

/// The cases that are never apart: those of a benchmark with its arguments on devices of a kind, hot and cold.
type Unit = (String, BenchmarkId);

fn unit(job: &Job) -> Unit {
    let id = BenchmarkId { benchmark: job.benchmark.clone(), args: job.args.clone() };
    (DeviceId::parse(&job.device).kind.to_owned(), id)
}

/// Returns the jobs of `part`. Units with the most cases go first, each to the task with the fewest cases so far, and of several such tasks to
/// the first. What is measured on one kind of device is distributed by itself, so that a task without such a device does not
/// change the shares of the others.
pub(crate) fn share(mut jobs: Vec<(Job, JobStatus)>, part: Part) -> Vec<(Job, JobStatus)> {
    let mut units: Vec<(usize, Unit)> = Vec::new();
    let mut seen = HashSet::new();
    for (job, status) in &jobs {
        let unit = unit(job);
        if seen.insert(unit.clone()) {
            let cases = if matches!(status, JobStatus::Skipped(_)) { 0 } else { job.caches.len() };
            units.push((cases, unit));
        }
    }
    units.sort_by(|(one, first), (other, second)| other.cmp(one).then_with(|| first.cmp(second)));
    // With more tasks than cases, the last ones get none.
    let tasks = part.of().min(units.len());
    let mut loads: HashMap<String, Vec<usize>> = HashMap::new();
    let mut own = HashSet::new();
    for (cases, unit) in units {
        let loads = loads.entry(unit.0.clone()).or_insert_with(|| vec![0; tasks]);
        let Some(task) = (0..loads.len()).min_by_key(|task| loads[*task]) else { continue };
        loads[task] += cases;
        if task + 1 == part.number() {
            own.insert(unit);
        }
    }
    jobs.retain(|(job, _)| own.contains(&unit(job)));
    jobs
}

/// Returns the number of cases of `jobs`, each counted once however many devices measure it.
pub(crate) fn distinct_cases(jobs: &[(Job, JobStatus)]) -> usize {
    let mut seen = HashSet::new();
    let measured = jobs
        .iter()
        .filter(|(job, status)| !matches!(status, JobStatus::Skipped(_)) && seen.insert(unit(job)));
    measured.map(|(job, _)| job.caches.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::method::Cache;
    use proptest::prelude::*;

    fn job(name: &str, device: &str, caches: &[Cache]) -> (Job, JobStatus) {
        let (benchmark, device) = (name.to_owned(), device.to_owned());
        (Job::new(benchmark, Vec::new(), device, caches.to_vec()), JobStatus::Measured)
    }

    const BOTH: [Cache; 2] = [Cache::Hot, Cache::Cold];

    fn names(jobs: &[(Job, JobStatus)]) -> Vec<&str> {
        jobs.iter().map(|(job, _)| &*job.benchmark).collect()
    }

    fn part(number: usize, of: usize) -> Part {
        Part::new(number, of).expect("a part")
    }

    #[test]
    fn the_most_cases_go_first_to_the_task_with_the_fewest() {
        let caches = |name: &str| if name < "c" { &BOTH[..1] } else { &BOTH[..] };
        let jobs = ["a", "b", "c", "d", "e"].map(|name| job(name, "cuda:0", caches(name))).to_vec();
        // Two of `c` and `d` each; then two of `e` to the first, and one of `a` and `b` each to the second.
        assert_eq!(names(&share(jobs.clone(), part(1, 2))), ["c", "e"]);
        assert_eq!(names(&share(jobs, part(2, 2))), ["a", "b", "d"]);
    }

    #[test]
    fn of_more_tasks_than_cases_the_last_get_none() {
        let jobs = ["a", "b"].map(|name| job(name, "cuda:0", &[Cache::Hot])).to_vec();
        let of = |number| share(jobs.clone(), part(number, usize::MAX));
        assert_eq!([names(&of(1)), names(&of(2))], [["a"], ["b"]]);
        assert!(of(3).is_empty() && of(usize::MAX).is_empty());
    }

    #[test]
    fn hot_and_cold_stay_together_and_so_do_the_devices_of_a_task() {
        let mut jobs = vec![job("a", "cuda:0", &BOTH), job("b", "cuda:0", &BOTH)];
        jobs.extend([job("a", "cuda:1", &BOTH), job("b", "cuda:1", &BOTH)]);
        assert_eq!(distinct_cases(&jobs), 4);
        let second = share(jobs, part(2, 2));
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
            let alone = share(gpu.clone(), part(number, 3));
            let mut with_host = share(both.clone(), part(number, 3));
            with_host.retain(|(job, _)| job.device != "host");
            assert_eq!(alone, with_host);
        }
    }

    proptest! {
        /// Every case is in one share, in the order of the plan; no task has more than its mean and one benchmark.
        #[test]
        fn shares_are_disjoint_complete_and_balanced(
            hot_and_cold in proptest::collection::vec(proptest::bool::ANY, 0..40),
            of in 1_usize..12,
        ) {
            let caches = |both: bool| if both { &BOTH[..] } else { &BOTH[..1] };
            let jobs = hot_and_cold.iter().enumerate().map(|(number, both)| job(&format!("k{number}"), "cuda:0", caches(*both)));
            let mut jobs: Vec<_> = jobs.collect();
            let shares: Vec<_> = (1..=of).map(|number| share(jobs.clone(), part(number, of))).collect();
            let mut all: Vec<_> = shares.iter().flatten().cloned().collect();
            for share in &shares {
                let places = share.iter().map(|own| jobs.iter().position(|job| job == own));
                prop_assert!(places.is_sorted());
                prop_assert!(distinct_cases(share) <= distinct_cases(&jobs) / of + BOTH.len());
            }
            let order = |(one, _): &(Job, JobStatus), (other, _): &(Job, JobStatus)| one.benchmark.cmp(&other.benchmark);
            all.sort_by(order);
            jobs.sort_by(order);
            prop_assert_eq!(all, jobs);
        }
    }
}
