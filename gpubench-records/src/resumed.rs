//! The part of a run that an earlier one measured. In: how many of its cases; out: the note that a reader sees first.

use std::fmt::{self, Display};

use gpubench_stats::format;

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
