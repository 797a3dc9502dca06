//! The machine that a run was measured on, the command that began it, and its place among the tasks of a scheduler. Fields that the system does not report are left
//! out.

use crate::task::Task;

gpubench_stats::stored! {
    /// The environment of a run.
    #[derive(Default, Eq)]
    pub struct Environment {
        /// The machine's name.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub host: Option<String>,
        /// The operating system, such as `Debian GNU/Linux 12 (bookworm)`. In a container, that of its image.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub system: Option<String>,
        /// The kernel and its release, such as `Linux 6.1.0-18-amd64`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub kernel: Option<String>,
        /// The model of the CPU.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub cpu: Option<String>,
        /// The command line: the program without its folder, then its arguments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub command: Vec<String>,
        /// The task that the run is, if it is one of several.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub task: Option<Task>,
    }
}
