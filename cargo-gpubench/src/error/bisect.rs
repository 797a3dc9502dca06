//! The errors of a search for a commit.

use gpubench_records::exit::Exit;

use super::revision::listed;

/// A search that does not begin, by the first comparison, of the commits that the user named.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BisectError {
    #[error("no case that {good} and {bad} both have matches `{case}`{}", listed(rows))]
    NoCase { case: String, good: String, bad: String, rows: Vec<String> },
    #[error("there is nothing to search for: {bad} is not slower or faster than {good}{}", listed(rows))]
    Unchanged { good: String, bad: String, rows: Vec<String> },
    #[error("it is not decided whether {bad} is slower or faster than {good}{}", listed(rows))]
    Undecided { good: String, bad: String, rows: Vec<String> },
}

impl BisectError {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NoCase { .. } | Self::Unchanged { .. } => Exit::Nothing,
            Self::Undecided { .. } => Exit::Failed,
        }
    }
}
