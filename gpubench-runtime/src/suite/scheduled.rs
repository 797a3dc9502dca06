//! The task that a scheduler started this process as. In: the environment; out: its job, its place among all tasks and its node.
//! Slurm's variables are read; of other schedulers the user's script gives the place by `GPUBENCH_SHARE`.

use gpubench_records::task::Part;

/// A variable of the environment.
pub(super) type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A task of a scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scheduled {
    /// The name of the scheduler.
    pub(super) scheduler: &'static str,
    /// The job, which keeps its number when it is started again.
    pub(super) job: String,
    /// The node.
    pub(super) node: Option<String>,
    /// The number of times that the job was started again.
    pub(super) restarts: Option<u32>,
    /// Its place among all tasks.
    pub(super) part: Part,
    /// True if the places of an array's tasks have gaps, so that some have no task.
    pub(super) has_gaps: bool,
}

/// Reads Slurm's variables. `None` outside of a job.
pub(super) fn slurm(variable: Variable<'_>) -> Option<Scheduled> {
    let number = |name: &str| variable(name)?.parse::<usize>().ok();
    let job = variable("SLURM_ARRAY_JOB_ID").or_else(|| variable("SLURM_JOB_ID"))?;
    let (array, has_gaps) = in_array(&number).unwrap_or((Part::WHOLE, false));
    Some(Scheduled {
        scheduler: "slurm",
        job,
        node: variable("SLURMD_NODENAME"),
        restarts: number("SLURM_RESTART_COUNT").and_then(|count| u32::try_from(count).ok()),
        part: array.divided(in_step(&number).unwrap_or(Part::WHOLE)),
        has_gaps,
    })
}

/// The place in an array, and true if its numbers have gaps.
fn in_array(number: &dyn Fn(&str) -> Option<usize>) -> Option<(Part, bool)> {
    let [id, least, most] = ["ID", "MIN", "MAX"].map(|name| number(&format!("SLURM_ARRAY_TASK_{name}")));
    let (id, least, most) = (id?, least?, most?);
    let step = number("SLURM_ARRAY_TASK_STEP").filter(|step| *step > 0).unwrap_or(1);
    let (before, all) = (id.checked_sub(least)?, most.checked_sub(least)? / step + 1);
    let has_gaps = before % step != 0 || number("SLURM_ARRAY_TASK_COUNT").is_some_and(|count| count != all);
    Some((Part::new(before / step + 1, all)?, has_gaps))
}

/// The place in a step, which `srun` starts. A batch script has the number of tasks too, but is one process.
fn in_step(number: &dyn Fn(&str) -> Option<usize>) -> Option<Part> {
    number("SLURM_STEP_ID")?;
    Part::new(number("SLURM_PROCID")? + 1, number("SLURM_STEP_NUM_TASKS").or_else(|| number("SLURM_NTASKS"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(environment: &[(&str, &str)]) -> Option<Scheduled> {
        let of = |name: &str| environment.iter().find(|(other, _)| *other == name);
        slurm(&|name| of(name).map(|(_, value)| (*value).to_owned()))
    }

    fn place(environment: &[(&str, &str)]) -> (String, bool) {
        let found = found(&[&[("SLURM_JOB_ID", "7")], environment].concat()).expect("a job");
        (found.part.to_string(), found.has_gaps)
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
        let restarted = restarted.expect("a job");
        assert_eq!(
            (&*restarted.job, restarted.restarts, restarted.node.as_deref()),
            ("11", Some(2), Some("n3"))
        );
    }
}
