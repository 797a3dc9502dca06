//! The part of a run that an earlier one measured. In: how many of its cases; out: the note that a reader sees first. In old
//! runs it is the last of the notes, from which it is read.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use gpubench_stats::format;

/// The cases of a resumed run that the earlier run measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resumed {
    /// The name of the earlier run.
    pub run: String,
    /// The number of cases that it measured.
    pub kept: usize,
    /// The number of all cases that are planned.
    pub planned: usize,
}

impl Display for Resumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, kept, planned } = self;
        let cases = format::counted(*planned, "case");
        write!(f, "resumed: {kept} of {cases} were measured by the run of {run}")
    }
}

impl Resumed {
    /// Reads the note that an older run has instead.
    pub(crate) fn of_note(note: &str) -> Option<Self> {
        let (kept, rest) = note.strip_prefix("resumed: ")?.split_once(" of ")?;
        let (cases, run) = rest.split_once(" were measured by the run of ")?;
        let planned = cases.strip_suffix(" cases").or_else(|| cases.strip_suffix(" case"))?;
        Some(Self { run: run.to_owned(), kept: kept.parse().ok()?, planned: planned.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_of_an_older_run_is_read() {
        for planned in [1, 14] {
            let resumed = Resumed { run: "2026-08-01T12-33-10Z".to_owned(), kept: 1, planned };
            assert_eq!(Resumed::of_note(&resumed.to_string()), Some(resumed));
        }
        for other in ["no CUDA device", "resumed: yes", "resumed: x of 2 cases were lost"] {
            assert_eq!(Resumed::of_note(other), None, "{other}");
        }
    }
}
