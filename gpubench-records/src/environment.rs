//! The circumstances of a run: the program that measured, the machine, and the earlier run that it goes on with. Fields that the
//! system does not report are left out.

use std::fmt::{self, Display};

use crate::task::Task;
use gpubench_stats::format;

gpubench_stats::stored! {
    /// The build that measured.
    #[derive(Default, Eq)]
    pub struct Program {
        /// The version of gpubench.
        pub version: String,
        /// The commit that gpubench was built from, if it is known.
        pub commit: Option<String>,
        /// True if files of gpubench had changed since that commit.
        pub dirty: Option<bool>,
        /// Its `opt-level`: host cases of an unoptimised program say little.
        pub opt_level: String,
        /// The target triple it was built for.
        pub target: String,
        /// The suite: the package, and its target that has the `main`.
        #[serde(default)]
        pub suite: String,
        /// The hash of this build's file, if runs are kept.
        pub fingerprint: Option<String>,
        /// The package that has the `main`. Nothing in an old run, or in one of a program that cargo did not build.
        pub package: Option<Package>,
    }
}

impl Program {
    /// Returns the commit of the package, if no file of its checkout had changed since.
    pub fn whole_commit(&self) -> Option<&str> {
        let package = self.package.as_ref().filter(|package| package.dirty == Some(false))?;
        package.commit.as_deref()
    }
}

gpubench_stats::stored! {
    /// The user's package that has the `main`.
    #[derive(Default, Eq)]
    pub struct Package {
        /// Its name.
        pub name: String,
        /// Its version.
        pub version: String,
        /// The commit that the program was built from. Nothing if that is not certain: without a checkout or git, or if sources
        /// have changed since the build.
        pub commit: Option<String>,
        /// True if tracked files of the checkout had changed since that commit.
        pub dirty: Option<bool>,
        /// Its folder when it was built. Not stored, because it describes a machine and not the program.
        #[serde(skip)]
        pub folder: String,
    }
}

gpubench_stats::stored! {
    /// The environment of a run.
    #[derive(Default, Eq)]
    pub struct Environment {
        /// The machine's name.
        pub host: Option<String>,
        /// The operating system, such as `Debian GNU/Linux 12 (bookworm)`. In a container, that of its image.
        pub system: Option<String>,
        /// The kernel and its release, such as `Linux 6.1.0-18-amd64`.
        pub kernel: Option<String>,
        /// The model of the CPU.
        pub cpu: Option<String>,
        /// The command line: the program without its folder, then its arguments.
        #[serde(default)]
        pub command: Vec<String>,
        /// The task that the run is, if it is one of several.
        pub task: Option<Task>,
    }
}

gpubench_stats::stored! {
    /// The cases of a resumed run that the earlier run measured.
    #[derive(Eq)]
    pub struct Resumed {
        /// The name of the earlier run.
        pub run: String,
        /// The number of cases that it measured.
        pub kept: usize,
        /// The number of all cases that are planned.
        pub planned: usize,
    }
}

impl Display for Resumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, kept, planned } = self;
        let cases = format::counted(*planned, "case");
        write!(f, "resumed: {kept} of {cases} were measured by the run of {run}")
    }
}
