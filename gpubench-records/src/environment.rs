//! The environment of a run: the machine, the command, the settings outside of gpubench that can change times, and the run's task if a
//! scheduler starts several.

use std::{collections::BTreeMap, str::FromStr};

use crate::{Property, Value};
use gpubench_stats::format;

/// The environment variables that can change times, which a run stores. The CUDA driver and NVIDIA's libraries read them.
pub const TIME_VARIABLES: [&str; 5] = [
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_MPS_PIPE_DIRECTORY",
    "NVIDIA_TF32_OVERRIDE",
];

/// The name of [`Environment::cpu_quota`] in texts.
const CPU_QUOTA_NAME: &str = "CPU quota";

gpubench_stats::stored! {
    /// The environment of a run.
    #[derive(Default)]
    pub struct Environment {
        /// The machine's name.
        pub host: Option<String>,
        /// The operating system, such as `Debian GNU/Linux 12 (bookworm)`. In a container, that of its image.
        pub system: Option<String>,
        /// The kernel and its release, such as `Linux 6.1.0-18-amd64`.
        pub kernel: Option<String>,
        /// The model of the CPU.
        pub cpu: Option<String>,
        /// The set variables that can change times, such as `CUDA_LAUNCH_BLOCKING`, with their values; of a path, the last part.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub variables: BTreeMap<String, String>,
        /// The number of processors whose time the control groups of the process allow, if they limit it.
        pub cpu_quota: Option<f64>,
        /// The command line: the program without its folder, then its arguments.
        #[serde(default)]
        pub command: Vec<String>,
        /// The task that the run is, if it is one of several.
        pub task: Option<Task>,
    }
}

impl Environment {
    /// Returns the settings that can change times: the variables and the CPU quota.
    pub fn settings(&self) -> Vec<Property> {
        let quota = self.cpu_quota.map(|processors| (CPU_QUOTA_NAME, shown_quota(processors)));
        let variables = self.variables.iter().map(|(name, value)| (&**name, value.clone()));
        variables.chain(quota).map(|(name, value)| Property::new(name, Value::Text(value))).collect()
    }
}

/// Formats a CPU quota, such as `1.5 processors`.
pub fn shown_quota(processors: f64) -> String {
    format!("{} processors", format::number(processors))
}

/// Returns the effect on the times of launches that the setting `name` has with this value, sometimes with a
/// remedy. `None` if this value has no effect, or if the setting is not known.
pub fn effect_on_times(name: &str, value: &str) -> Option<&'static str> {
    match (name, value) {
        ("CUDA_LAUNCH_BLOCKING", "0") | ("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "100") => None,
        ("CUDA_LAUNCH_BLOCKING", _) => {
            Some("each launch waits for the GPU, so that times on a stream include gaps: unset it")
        }
        ("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", _) => Some(
            "launches use this percentage of the multiprocessors, while peaks are those of the whole GPU",
        ),
        ("CUDA_MPS_PIPE_DIRECTORY", _) => {
            Some("if an MPS server listens there, launches share the GPU with those of its other clients")
        }
        ("NVIDIA_TF32_OVERRIDE", _) => Some("it overrides whether NVIDIA's libraries compute FP32 in TF32"),
        (CPU_QUOTA_NAME, _) => Some(
            "the system stops a process that has used its part, also within a sample: give the container whole processors (`--cpuset-cpus`)",
        ),
        _ => None,
    }
}

gpubench_stats::stored! {
    /// The way in which the tasks of a set divide the work.
    #[derive(Copy, Default, Eq)]
    pub enum ShareMode {
        /// Each task measures every case, on its own GPUs.
        #[default]
        Replicate,
        /// The cases are distributed over the tasks.
        Split,
    }

    /// The place of a run among the tasks, such as those of a Slurm job, that divide the benchmarks.
    #[derive(Default, Eq, thiserror::Error)]
    #[error("task {number}/{of}{}", job.as_ref().map_or_else(String::new, |job| format!(" of job {job}")))]
    pub struct Task {
        /// The way in which the tasks divide the work.
        pub share: ShareMode,
        /// The number of this task, from 1.
        pub number: usize,
        /// The number of all tasks.
        pub of: usize,
        /// The number of cases of all tasks together, each counted once. Of a split alone.
        pub cases: Option<usize>,
        /// The scheduler, such as `slurm`; nothing if the user numbers the tasks.
        pub scheduler: Option<String>,
        /// The scheduler's number of the job, the same for all tasks and after each requeue.
        pub job: Option<String>,
        /// The scheduler's name of the node.
        pub node: Option<String>,
        /// The number of times that the job was started again.
        pub restarts: Option<u32>,
    }
}

/// One of several equal parts of the work, as the number of a task and the number of all tasks. `3/8` is the
/// third of eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[error("{number}/{of}")]
pub struct Part {
    /// The number of this part, from 1.
    number: usize,
    /// The number of all parts.
    of: usize,
}

/// The error for text that is not a [`Part`].
const PART_USAGE: &str = "give a task's number, from 1, and the number of all, such as 3/8";

impl Part {
    /// The only part: `1/1`.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// Returns the part with this number of `of` parts; `None` unless `number` is from 1 to `of`.
    pub fn new(number: usize, of: usize) -> Option<Self> {
        (1..=of).contains(&number).then_some(Self { number, of })
    }

    /// Returns the number of this part, from 1.
    pub fn number(self) -> usize {
        self.number
    }

    /// Returns the number of all parts.
    pub fn of(self) -> usize {
        self.of
    }

    /// Divides this part into `part.of` parts and returns the one with the number `part.number`, as a part of the whole: 3/4 of 2/2 is 7/8.
    pub fn divided(self, part: Self) -> Self {
        Self { number: (self.number - 1) * part.of + part.number, of: self.of * part.of }
    }
}

impl FromStr for Part {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, of) = text.split_once('/').ok_or(PART_USAGE)?;
        let count = |text: &str| text.trim().parse::<usize>().map_err(|_| PART_USAGE);
        Self::new(count(number)?, count(of)?).ok_or(PART_USAGE)
    }
}

impl Task {
    /// Returns true if `other` is the same task of the same job, possibly started again or on another node.
    pub fn is(&self, other: &Self) -> bool {
        let identity =
            |task: &Self| (task.share, task.number, task.of, task.scheduler.clone(), task.job.clone());
        identity(self) == identity(other)
    }

    /// Returns the part of a run's name that identifies the task, such as `4711.3`: the job, or `share`
    /// without one, then the task's number.
    pub(crate) fn label(&self) -> String {
        format!("{}.{}", file_name_part(self.job.as_deref().unwrap_or("share")), self.number)
    }
}

/// Replaces each character of `text` that some system does not allow in file names by `_`: all but ASCII
/// letters, digits, `.` and `_`.
pub(crate) fn file_name_part(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '.' || letter == '_';
    text.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect()
}

#[cfg(test)]
mod task_tests {
    use super::*;

    #[test]
    fn parts_are_counted_from_one() {
        for right in ["1/1", "3/8", "8/8"] {
            assert_eq!(right.parse::<Part>().map(|part| part.to_string()), Ok(right.to_owned()));
        }
        for wrong in ["", "3", "0/8", "9/8", "-1/8", "3/0", "0/0", "3/8/9", "a/8", "3/", "/8", "3.0/8"] {
            assert_eq!(wrong.parse::<Part>(), Err(PART_USAGE), "{wrong}");
        }
    }

    #[test]
    fn the_tasks_of_an_arrays_tasks_are_numbered_through() {
        let part = |text: &str| text.parse::<Part>().expect("a part");
        let numbers: Vec<String> = ["1/3", "2/3", "3/3"]
            .iter()
            .flat_map(|task| ["1/2", "2/2"].map(|step| part(task).divided(part(step)).to_string()))
            .collect();
        assert_eq!(numbers, ["1/6", "2/6", "3/6", "4/6", "5/6", "6/6"]);
    }

    #[test]
    fn a_task_is_the_same_on_another_node() {
        let task = Task {
            share: ShareMode::Split,
            number: 3,
            of: 8,
            cases: Some(20),
            scheduler: Some("slurm".to_owned()),
            job: Some("4711".to_owned()),
            node: Some("n1".to_owned()),
            restarts: None,
        };
        let moved = Task { node: Some("n2".to_owned()), restarts: Some(1), ..task.clone() };
        assert!(task.is(&moved));
        for other in [
            Task { number: 4, ..task.clone() },
            Task { of: 9, ..task.clone() },
            Task { job: Some("4712".to_owned()), ..task.clone() },
            Task { share: ShareMode::Replicate, ..task.clone() },
        ] {
            assert!(!task.is(&other), "{other:?}");
        }
        assert_eq!(
            (task.label(), task.to_string()),
            ("4711.3".to_owned(), "task 3/8 of job 4711".to_owned())
        );
    }
}
