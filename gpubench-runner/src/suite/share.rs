//! The cases that a run measures as one of several tasks. The user states the task, or Slurm's variables number it; for other schedulers, the
//! user's script sets `GPUBENCH_SHARE`. Tasks do not communicate: each computes the same distribution, which depends on the plan alone.

use std::{cmp::Reverse, env};

use super::Error;
use crate::plan::Plan;
use crate::settings::{Settings, ShareChoice};
use gpubench_records::{BenchmarkId, DeviceId, Part, ShareMode, Task};
use gpubench_runtime::{Job, JobStatus};
use gpubench_stats::{Map, Set};

/// The error if the cases should be split and no scheduler numbers the tasks.
const NO_SCHEDULER_ERROR: &str = "--share `split`: no scheduler, such as Slurm, says which task this is; --share 3/8 or GPUBENCH_SHARE=3/8 says that it is task 3 of 8";
/// The error if the task numbers of a job array have gaps.
const ARRAY_GAPS_ERROR: &str = "--share `split`: the numbers of this job array have gaps, so that some shares would have no task; submit \
    --array=1-N, or give --share NUMBER/N";

/// The task that a run is, and the GPUs that the scheduler gave it.
#[derive(Clone, Default)]
pub(super) struct TaskShare {
    /// The task that the run is, if it is one of several.
    pub task: Option<Task>,
    /// The GPUs that this task was given, as `CUDA_VISIBLE_DEVICES` names them.
    given: Option<String>,
}

impl TaskShare {
    /// Determines from `--share` and from Slurm's variables whether the run is one of several tasks, and
    /// which.
    ///
    /// # Errors
    /// Returns a usage error as [`choose_task`] does.
    pub(super) fn new(options: &Settings) -> Result<Self, Error> {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let task = choose_task(
            options.share.unwrap_or(ShareChoice::Scheduled(ShareMode::Replicate)),
            slurm_task(&variable),
        )
        .map_err(Error::usage)?;
        let given = variable("CUDA_VISIBLE_DEVICES").filter(|_| task.is_some());
        Ok(Self { task, given })
    }

    /// Returns the GPUs that this task was given, and true if it measures on all of them: a task that measures a part of the cases uses the
    /// first. `None` if the run is no task, or if no GPUs were given.
    pub(super) fn given_gpus(&self) -> Option<(&str, bool)> {
        Some((self.given.as_deref()?, self.task.as_ref()?.share == ShareMode::Replicate))
    }

    /// Returns the part of `plan` that this task measures, and stores the number of cases of all tasks.
    /// Returns the whole plan if nothing is split.
    pub(super) fn keep_own_part(&mut self, plan: Plan) -> Plan {
        let Some(task) = self.task.as_mut().filter(|task| task.share == ShareMode::Split) else {
            return plan;
        };
        task.cases = Some(distinct_cases(&plan.jobs));
        match Part::new(task.number, task.of) {
            Some(part) => Plan { jobs: jobs_of_part(plan.jobs, part), ..plan },
            None => plan,
        }
    }
}

/// Returns the task of a run; `None` if the run is no task and measures everything. `scheduled` is the
/// scheduler's task, and true if the numbers of its array have gaps. Returns an error if the cases should be
/// split by the scheduler's numbers, and there are none or they have gaps.
fn choose_task(choice: ShareChoice, scheduled: Option<(Task, bool)>) -> Result<Option<Task>, &'static str> {
    Ok(match (choice, scheduled) {
        (ShareChoice::Whole, _) | (ShareChoice::Scheduled(ShareMode::Replicate), None) => None,
        (ShareChoice::Scheduled(ShareMode::Split), None) => return Err(NO_SCHEDULER_ERROR),
        (ShareChoice::Scheduled(ShareMode::Split), Some((_, true))) => return Err(ARRAY_GAPS_ERROR),
        (ShareChoice::Scheduled(share), Some((task, _))) => Some(Task { share, ..task }),
        (ShareChoice::Given(share, part), scheduled) => {
            let (task, _) = scheduled.unwrap_or_default();
            Some(Task { share, number: part.number(), of: part.of(), ..task })
        }
    })
}

/// Reads Slurm's variables: the task, and true if the numbers of an array's tasks have gaps, so that some
/// shares would have no task. `None` outside of a job.
fn slurm_task(variable: &dyn Fn(&str) -> Option<String>) -> Option<(Task, bool)> {
    let number = |name: &str| variable(name)?.parse::<usize>().ok();
    let job = variable("SLURM_ARRAY_JOB_ID").or_else(|| variable("SLURM_JOB_ID"))?;
    let (array, has_gaps) = array_part(&number).unwrap_or((Part::WHOLE, false));
    let part = array.divided(step_part(&number).unwrap_or(Part::WHOLE));
    let task = Task {
        number: part.number(),
        of: part.of(),
        scheduler: Some("slurm".to_owned()),
        job: Some(job),
        node: variable("SLURMD_NODENAME"),
        restarts: number("SLURM_RESTART_COUNT").and_then(|count| u32::try_from(count).ok()),
        ..Task::default()
    };
    Some((task, has_gaps))
}

/// Returns the part that this task has in a Slurm job array, and true if the numbers of the array have gaps;
/// `None` outside of an array.
fn array_part(number: &dyn Fn(&str) -> Option<usize>) -> Option<(Part, bool)> {
    let [id, least, most] = ["ID", "MIN", "MAX"].map(|name| number(&format!("SLURM_ARRAY_TASK_{name}")));
    let (id, least, most) = (id?, least?, most?);
    let step = number("SLURM_ARRAY_TASK_STEP").filter(|step| *step > 0).unwrap_or(1);
    let (before, all) = (id.checked_sub(least)?, most.checked_sub(least)? / step + 1);
    let has_gaps = before % step != 0 || number("SLURM_ARRAY_TASK_COUNT").is_some_and(|count| count != all);
    Some((Part::new(before / step + 1, all)?, has_gaps))
}

/// Returns the part that this process has in a step of `srun`. Returns `None` outside of a step, such as in a
/// batch script: Slurm gives it the number of tasks, but it is one process.
fn step_part(number: &dyn Fn(&str) -> Option<usize>) -> Option<Part> {
    number("SLURM_STEP_ID")?;
    Part::new(number("SLURM_PROCID")? + 1, number("SLURM_STEP_NUM_TASKS").or_else(|| number("SLURM_NTASKS"))?)
}

/// The key of cases that one task measures together: a kind of device such as `cuda`, and a benchmark with its arguments. Hot and cold cases
/// have the same key.
type CaseGroup = (String, BenchmarkId);

/// Returns the kind of device, the benchmark and the arguments of a job. Jobs that differ only in the number of their device have the
/// same group, and one task measures them all.
fn case_group(job: &Job) -> CaseGroup {
    let id = BenchmarkId { benchmark: job.benchmark.clone(), args: job.args.clone() };
    (DeviceId::parse(&job.device).kind.to_owned(), id)
}

/// Returns the number of cases of each group that are not skipped.
fn cases_by_group(jobs: &[(Job, JobStatus)]) -> Map<CaseGroup, usize> {
    let mut groups = Map::default();
    for (job, status) in jobs {
        let cases = if matches!(status, JobStatus::Skipped(_)) { 0 } else { job.caches.len() };
        let most = groups.or_insert(case_group(job), cases);
        *most = cases.max(*most);
    }
    groups
}

/// Returns the jobs of `part`. Groups with the most cases are distributed first, each to the first of the tasks with the fewest cases so far. Each
/// kind of device is distributed separately, so that a task without such a device does not change the jobs of the others.
fn jobs_of_part(mut jobs: Vec<(Job, JobStatus)>, part: Part) -> Vec<(Job, JobStatus)> {
    let mut groups: Vec<_> = cases_by_group(&jobs).into_iter().collect();
    gpubench_stats::sort_by_key(&mut groups, |(_, cases)| Reverse(*cases));
    // With more tasks than cases, the last ones get none.
    let tasks = part.of().min(groups.len());
    let mut loads: Map<String, Vec<usize>> = Map::default();
    let mut own = Set::default();
    for (group, cases) in groups {
        let loads = loads.or_insert(group.0.clone(), vec![0; tasks]);
        let Some(task) = (0..loads.len()).min_by_key(|task| loads[*task]) else { continue };
        loads[task] += cases;
        if task + 1 == part.number() {
            own.insert(group);
        }
    }
    jobs.retain(|(job, _)| own.contains(&case_group(job)));
    jobs
}

/// Returns the number of cases of `jobs` that are not skipped. A case counts once for each kind of device, however many devices measure it.
fn distinct_cases(jobs: &[(Job, JobStatus)]) -> usize {
    cases_by_group(jobs).iter().map(|(_, cases)| cases).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduled(part: Part, has_gaps: bool) -> Option<(Task, bool)> {
        let (number, of, job) = (part.number(), part.of(), Some("7".to_owned()));
        Some((Task { number, of, job, ..Task::default() }, has_gaps))
    }

    #[test]
    fn the_scheduler_numbers_tasks_unless_the_user_does() {
        let (second, third) = (Part::new(2, 4).expect("a part"), Part::new(3, 8).expect("a part"));
        let told = |choice, scheduled| {
            let task = choose_task(choice, scheduled).expect("a task")?;
            Some((task.share, task.number, task.of, task.job.is_some()))
        };
        let (replicate, split) = (ShareMode::Replicate, ShareMode::Split);
        let usual = ShareChoice::Scheduled(ShareMode::Replicate);
        assert_eq!(told(usual, None), None, "a run on a desk");
        assert_eq!(told(usual, scheduled(second, true)), Some((replicate, 2, 4, true)));
        let splits = ShareChoice::Scheduled(split);
        assert_eq!(told(splits, scheduled(second, false)), Some((split, 2, 4, true)));
        assert_eq!(
            told(ShareChoice::Given(split, third), scheduled(second, true)),
            Some((split, 3, 8, true))
        );
        assert_eq!(told(ShareChoice::Given(replicate, third), None), Some((replicate, 3, 8, false)));
        assert_eq!(told(ShareChoice::Whole, scheduled(second, false)), None);
        assert_eq!(choose_task(splits, None), Err(NO_SCHEDULER_ERROR));
        assert_eq!(choose_task(splits, scheduled(second, true)), Err(ARRAY_GAPS_ERROR));
    }

    fn found(environment: &[(&str, &str)]) -> Option<(Task, bool)> {
        let of = |name: &str| environment.iter().find(|(other, _)| *other == name);
        slurm_task(&|name| of(name).map(|(_, value)| (*value).to_owned()))
    }

    fn place(environment: &[(&str, &str)]) -> (String, bool) {
        let (task, has_gaps) = found(&[&[("SLURM_JOB_ID", "7")], environment].concat()).expect("a job");
        (format!("{}/{}", task.number, task.of), has_gaps)
    }

    const STEP: [(&str, &str); 4] =
        [("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "4"), ("SLURM_STEP_NUM_TASKS", "6"), ("SLURM_NTASKS", "8")];

    /// As slurm 22.05 sets them.
    fn array(
        id: &'static str,
        range: [&'static str; 3],
        count: &'static str,
    ) -> Vec<(&'static str, &'static str)> {
        let [least, most, step] = range;
        vec![
            ("SLURM_ARRAY_TASK_ID", id),
            ("SLURM_ARRAY_TASK_MIN", least),
            ("SLURM_ARRAY_TASK_MAX", most),
            ("SLURM_ARRAY_TASK_STEP", step),
            ("SLURM_ARRAY_TASK_COUNT", count),
        ]
    }

    #[test]
    fn a_task_of_a_step_has_its_number() {
        assert_eq!(found(&[]), None);
        assert_eq!(place(&[]), ("1/1".to_owned(), false));
        assert_eq!(place(&STEP), ("5/6".to_owned(), false));
        // The batch script, which is one process of a job for 8.
        let script = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")];
        assert_eq!(place(&script), ("1/1".to_owned(), false));
    }

    #[test]
    fn an_arrays_tasks_are_numbered_from_one() {
        for (task, is) in [
            (array("0", ["0", "5", "1"], "6"), ("1/6", false)),
            (array("6", ["1", "6", "1"], "6"), ("6/6", false)),
            (array("5", ["2", "8", "3"], "3"), ("2/3", false)),
            // `--array=1,4,7-9`, and one of its tasks that was submitted again.
            (array("4", ["1", "9", "1"], "5"), ("4/9", true)),
            (array("4", ["4", "4", "1"], "1"), ("1/1", false)),
        ] {
            assert_eq!(place(&task), (is.0.to_owned(), is.1), "{task:?}");
        }
        let both = [&array("6", ["5", "7", "1"], "3")[..], &STEP].concat();
        assert_eq!(place(&both), ("11/18".to_owned(), false));
    }

    #[test]
    fn a_job_keeps_its_number_and_tells_its_restarts() {
        let restarted = found(&[
            ("SLURM_JOB_ID", "12"),
            ("SLURM_ARRAY_JOB_ID", "11"),
            ("SLURM_RESTART_COUNT", "2"),
            ("SLURMD_NODENAME", "n3"),
        ]);
        let (restarted, _) = restarted.expect("a job");
        assert_eq!(
            (restarted.job.as_deref(), restarted.restarts, restarted.node.as_deref()),
            (Some("11"), Some(2), Some("n3"))
        );
    }
}

#[cfg(test)]
mod distribution_tests {
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
        assert_eq!(names(&jobs_of_part(jobs.clone(), part(1, 2))), ["c", "e"]);
        assert_eq!(names(&jobs_of_part(jobs, part(2, 2))), ["a", "b", "d"]);
    }

    #[test]
    fn of_more_tasks_than_cases_the_last_get_none() {
        let jobs = ["a", "b"].map(|name| job(name, "cuda:0", &[Cache::Hot])).to_vec();
        let of = |number| jobs_of_part(jobs.clone(), part(number, usize::MAX));
        assert_eq!([names(&of(1)), names(&of(2))], [["a"], ["b"]]);
        assert!(of(3).is_empty() && of(usize::MAX).is_empty());
    }

    #[test]
    fn hot_and_cold_stay_together_and_so_do_the_devices_of_a_task() {
        let mut jobs = vec![job("a", "cuda:0", &BOTH), job("b", "cuda:0", &BOTH)];
        jobs.extend([job("a", "cuda:1", &BOTH), job("b", "cuda:1", &BOTH)]);
        assert_eq!(distinct_cases(&jobs), 4);
        let second = jobs_of_part(jobs, part(2, 2));
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
            let alone = jobs_of_part(gpu.clone(), part(number, 3));
            let mut with_host = jobs_of_part(both.clone(), part(number, 3));
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
            let shares: Vec<_> = (1..=of).map(|number| jobs_of_part(jobs.clone(), part(number, of))).collect();
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
