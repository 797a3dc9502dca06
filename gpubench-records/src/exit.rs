//! The exit codes of a program, in their only table.

use std::process::ExitCode;

use crate::{Run, State};

/// The end of a run, from the most to the least important: if several apply, the first one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("exit code {}", self.code())]
pub enum Exit {
    /// 129, 130 or 143: SIGHUP, SIGINT or SIGTERM ended the run early; 128 + its number.
    Interrupted(u8),
    /// 2: the command line asks for something impossible.
    Usage,
    /// 5: the requested device is missing, or busy and the user does not want to wait.
    NoDevice,
    /// 4: no benchmark matches, or a run has no records.
    Nothing,
    /// 1: a benchmark failed or is invalid, a gate could not judge a case, or results could not be written.
    Failed,
    /// 3: a case is slower than allowed.
    Regression,
    /// 0: everything requested was done, even if some rows are suspect.
    Done,
}

impl Exit {
    /// Returns the end of a program that reports `run`: an empty run, an invalid case or the gate decides it.
    pub fn of(run: &Run) -> Self {
        // Planned cases that were not measured are nothing, whatever else was skipped.
        if run.records.is_empty() && (run.skipped.is_empty() || run.planned_cases > 0) {
            return Self::Nothing;
        }
        let verdicts = run.records.iter().flat_map(|record| {
            let compared = record.compared.iter().map(|compared| &compared.verdict);
            std::iter::once(&record.verdict).chain(compared)
        });
        let invalid = verdicts.into_iter().any(|verdict| verdict.state == State::Invalid);
        let failed = if invalid { Self::Failed } else { Self::Done };
        failed.min(run.gate().map_or(Self::Done, |gate| gate.exit()))
    }

    /// Returns the number that the process ends with.
    pub fn code(self) -> u8 {
        match self {
            Self::Interrupted(signal) => 128 + signal,
            Self::Usage => 2,
            Self::NoDevice => 5,
            Self::Nothing => 4,
            Self::Failed => 1,
            Self::Regression => 3,
            Self::Done => 0,
        }
    }

    /// Returns the end that a program ended with as this number; `None` for a number that no program here ends with.
    pub fn of_code(code: u8) -> Option<Self> {
        let named = [Self::Usage, Self::NoDevice, Self::Nothing, Self::Failed, Self::Regression, Self::Done];
        let interrupted = [1, 2, 15].map(Self::Interrupted);
        named.into_iter().chain(interrupted).find(|exit| exit.code() == code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
