//! The share of a run as one of several tasks: the user gives it, or a scheduler numbers the tasks. Slurm's variables are read; with other
//! schedulers the user's script sets `GPUBENCH_SHARE`.

use std::env;

use super::SuiteError;
use crate::plan::{Plan, distinct_cases, share};
use crate::settings::{Settings, ShareChoice};
use gpubench_records::{Part, ShareMode, Task};

const NOT_SCHEDULED: &str = "--share `split`: no scheduler, such as Slurm, says which task this is; --share 3/8 or GPUBENCH_SHARE=3/8 says that it is task 3 of 8";
const GAPS: &str = "--share `split`: the numbers of this job array have gaps, so that some shares would have no task; submit \
    --array=1-N, or give --share NUMBER/N";

/// The share of a run, before its plan is known.
#[derive(Clone, Default)]
pub(super) struct Share {
    /// The task that the run is, if it is one of several.
    pub task: Option<Task>,
    /// The GPUs that this task was given, as its environment names them.
    given: Option<String>,
}

impl Share {
    /// Finds the share that `options` ask for.
    pub(super) fn new(options: &Settings) -> Result<Self, SuiteError> {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let task = task(options.share.unwrap_or_default(), slurm(&variable)).map_err(SuiteError::usage)?;
        let given = variable("CUDA_VISIBLE_DEVICES").filter(|_| task.is_some());
        Ok(Self { task, given })
    }

    /// Returns the GPUs that this task was given, and true if it measures on all of them: a share of the cases is measured on the
    /// first.
    pub(super) fn given(&self) -> Option<(&str, bool)> {
        Some((self.given.as_deref()?, self.task.as_ref()?.share == ShareMode::Replicate))
    }

    /// Returns the task's part of `plan`, and notes the number of cases of all tasks.
    pub(super) fn narrow(&mut self, plan: Plan) -> Plan {
        let Some(task) = self.task.as_mut().filter(|task| task.share == ShareMode::Split) else {
            return plan;
        };
        task.cases = Some(distinct_cases(&plan.jobs));
        match Part::new(task.number, task.of) {
            Some(part) => Plan { jobs: share(plan.jobs, part), ..plan },
            None => plan,
        }
    }
}

/// Returns the task of a run. `scheduled` is the scheduler's task, and true if the numbers of its array have gaps.
fn task(choice: ShareChoice, scheduled: Option<(Task, bool)>) -> Result<Option<Task>, &'static str> {
    Ok(match (choice, scheduled) {
        (ShareChoice::Whole, _) | (ShareChoice::Scheduled(ShareMode::Replicate), None) => None,
        (ShareChoice::Scheduled(ShareMode::Split), None) => return Err(NOT_SCHEDULED),
        (ShareChoice::Scheduled(ShareMode::Split), Some((_, true))) => return Err(GAPS),
        (ShareChoice::Scheduled(share), Some((task, _))) => Some(Task { share, ..task }),
        (ShareChoice::Given(share, part), scheduled) => {
            let (task, _) = scheduled.unwrap_or_default();
            Some(Task { share, number: part.number(), of: part.of(), ..task })
        }
    })
}

/// Reads Slurm's variables: the task, and true if the numbers of an array's tasks have gaps, so that some have no task. `None` outside of a job.
fn slurm(variable: &dyn Fn(&str) -> Option<String>) -> Option<(Task, bool)> {
    let number = |name: &str| variable(name)?.parse::<usize>().ok();
    let job = variable("SLURM_ARRAY_JOB_ID").or_else(|| variable("SLURM_JOB_ID"))?;
    let (array, has_gaps) = in_array(&number).unwrap_or((Part::WHOLE, false));
    let part = array.divided(in_step(&number).unwrap_or(Part::WHOLE));
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

/// The position in an array, and true if its numbers have gaps.
fn in_array(number: &dyn Fn(&str) -> Option<usize>) -> Option<(Part, bool)> {
    let [id, least, most] = ["ID", "MIN", "MAX"].map(|name| number(&format!("SLURM_ARRAY_TASK_{name}")));
    let (id, least, most) = (id?, least?, most?);
    let step = number("SLURM_ARRAY_TASK_STEP").filter(|step| *step > 0).unwrap_or(1);
    let (before, all) = (id.checked_sub(least)?, most.checked_sub(least)? / step + 1);
    let has_gaps = before % step != 0 || number("SLURM_ARRAY_TASK_COUNT").is_some_and(|count| count != all);
    Some((Part::new(before / step + 1, all)?, has_gaps))
}

/// The position in a step, which `srun` starts. A batch script has the number of tasks too, but is one process.
fn in_step(number: &dyn Fn(&str) -> Option<usize>) -> Option<Part> {
    number("SLURM_STEP_ID")?;
    Part::new(number("SLURM_PROCID")? + 1, number("SLURM_STEP_NUM_TASKS").or_else(|| number("SLURM_NTASKS"))?)
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
            let task = task(choice, scheduled).expect("a task")?;
            Some((task.share, task.number, task.of, task.job.is_some()))
        };
        let (replicate, split) = (ShareMode::Replicate, ShareMode::Split);
        let usual = ShareChoice::default();
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
        assert_eq!(task(splits, None), Err(NOT_SCHEDULED));
        assert_eq!(task(splits, scheduled(second, true)), Err(GAPS));
    }

    fn found(environment: &[(&str, &str)]) -> Option<(Task, bool)> {
        let of = |name: &str| environment.iter().find(|(other, _)| *other == name);
        slurm(&|name| of(name).map(|(_, value)| (*value).to_owned()))
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
