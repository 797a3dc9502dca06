//! The share of a run. In: the user's choice, the scheduler's task and the plan; out: the task that the run is, and its part of
//! the plan.

use std::env;

use super::scheduled::{Scheduled, slurm};
use crate::plan::Plan;
use crate::settings::{Settings, ShareChoice};
use gpubench_records::task::{Part, ShareMode, Task};

/// The share of a run, before its plan is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Sharing {
    task: Option<Task>,
    /// The GPUs that this task was given, as its environment names them.
    given: Option<String>,
}

/// The reason that a task has no share.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// No scheduler is there.
    #[error(
        "--share split: no scheduler numbers this task; give its number of how many, such as --share 3/8 or \
         GPUBENCH_SHARE=3/8"
    )]
    NotScheduled,
    /// The array has gaps.
    #[error(
        "--share split: the numbers of this job array have gaps, so that some shares would have no task; submit \
         --array=1-N, or give --share NUMBER/N"
    )]
    Gaps,
}

impl Sharing {
    /// Finds the share that `options` ask for.
    pub(super) fn of(options: &Settings) -> Result<Self, ShareError> {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let task = task(options.share.unwrap_or_default(), slurm(&variable))?;
        let given = variable("CUDA_VISIBLE_DEVICES").filter(|_| task.is_some());
        Ok(Self { task, given })
    }

    /// Returns the task that the run is, if it is one of several.
    pub(super) fn task(&self) -> Option<&Task> {
        self.task.as_ref()
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
        task.cases = Some(plan.distinct_cases());
        match Part::new(task.number, task.of) {
            Some(part) => plan.share(part),
            None => plan,
        }
    }
}

/// Returns the task of a run.
fn task(choice: ShareChoice, scheduled: Option<Scheduled>) -> Result<Option<Task>, ShareError> {
    let (share, part) = match (choice, &scheduled) {
        (ShareChoice::Whole, _) | (ShareChoice::Scheduled(ShareMode::Replicate), None) => return Ok(None),
        (ShareChoice::Scheduled(ShareMode::Split), None) => return Err(ShareError::NotScheduled),
        (ShareChoice::Scheduled(ShareMode::Split), Some(task)) if task.has_gaps => {
            return Err(ShareError::Gaps);
        }
        (ShareChoice::Scheduled(share), Some(task)) => (share, task.part),
        (ShareChoice::Given(share, part), _) => (share, part),
    };
    let of = |tell: fn(&Scheduled) -> Option<String>| scheduled.as_ref().and_then(tell);
    Ok(Some(Task {
        share,
        number: part.number(),
        of: part.of(),
        cases: None,
        scheduler: of(|task| Some(task.scheduler.to_owned())),
        job: of(|task| Some(task.job.clone())),
        node: of(|task| task.node.clone()),
        restarts: scheduled.as_ref().and_then(|task| task.restarts),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduled(part: Part, has_gaps: bool) -> Option<Scheduled> {
        let (node, restarts) = (None, None);
        Some(Scheduled { scheduler: "slurm", job: "7".to_owned(), node, restarts, part, has_gaps })
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
        assert!(matches!(task(splits, None), Err(ShareError::NotScheduled)));
        assert!(matches!(task(splits, scheduled(second, true)), Err(ShareError::Gaps)));
    }
}
