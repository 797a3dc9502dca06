//! The environment of a run: the machine, the command, and the settings outside of gpubench that can change times.

use std::collections::BTreeMap;

use gpubench_stats::format;

use crate::{Property, Task, Value};

/// The variables that can change times. The CUDA driver and NVIDIA's libraries read them.
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

/// Returns a CPU quota in words, such as `1.5 processors`.
pub fn shown_quota(processors: f64) -> String {
    format!("{} processors", format::number(processors))
}

/// Returns the effect of a setting on the times of launches; `None` if it has none with this value.
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
