//! The errors of a suite, in their only table: each has its sentence and its exit code. In: the error of a step.
//! Out: the line to print and the code to end with, for the edge or for a program around the engine.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;

use gpubench_records::baseline::BaselineError;
use gpubench_records::files::ceilings::UnwrittenCeilings;
use gpubench_records::files::{LoadRunError, NoRun};
use gpubench_records::history::AddError;
use gpubench_records::record::Run;
use gpubench_table::export::Export;

use super::cli::Exit;
use super::sharing::ShareError;
use crate::device::ClockTarget;
use crate::devices::select::NoSuchDevice;
use crate::plan::PlanError;
use crate::runner::RunError;
use crate::runner::lock::{BusyDevice, NotLocked};
use crate::settings::SettingsError;

/// Anything that keeps a suite from doing what was asked of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteError {
    /// A setting is impossible, or excludes another.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The environment or the user's file has a wrong setting.
    #[error(transparent)]
    Environment(clap::Error),
    /// There is nothing to measure, or not in this way.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A task has no share.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// A device that is named is missing.
    #[error(transparent)]
    NoSuchDevice(#[from] NoSuchDevice),
    /// Devices are named for a list, and no benchmark is for any of their kinds.
    #[error(
        "--device {device}: no benchmark of this program runs on such a device: leave out --device and GPUBENCH_DEVICE to list all"
    )]
    NothingFor {
        /// The devices, as the user named them.
        device: String,
    },
    /// Ceilings of a GPU are requested, and there is none.
    #[error(
        "--measure-peaks is for GPUs, and there is none: no benchmark of this program runs on the CPU either"
    )]
    NoGpu,
    /// A device is busy, and the user does not want to wait.
    #[error(transparent)]
    Busy(#[from] BusyDevice),
    /// The run to resume cannot be used.
    #[error("--resume: {0}")]
    Resume(#[from] NoRun),
    /// The folder for runs cannot be used.
    #[error(transparent)]
    RunsFolder(#[from] RunsFolderError),
    /// A baseline cannot be used.
    #[error(transparent)]
    Baseline(BaselineError),
    /// There is no run for `--baseline last`.
    #[error("--baseline last: {0}")]
    NoLastRun(#[from] LoadRunError),
    /// A baseline cannot be stored.
    #[error(transparent)]
    BaselineNotSaved(BaselineError),
    /// A run could not be added to this history. Nothing is measured then.
    #[error("history: {0}")]
    History(AddError),
    /// The run cannot be added to a history.
    #[error("history: {0}")]
    HistoryNotAdded(AddError),
    /// Clocks cannot be locked.
    #[error("--lock-clocks {target}: {why}")]
    ClocksNotLocked {
        /// The requested clock.
        target: ClockTarget,
        /// The reason.
        why: Box<dyn StdError + Send + Sync>,
    },
    /// Clocks may still be locked.
    #[error("{0}")]
    ClocksNotReset(Box<dyn StdError + Send + Sync>),
    /// A run ended before its plan did.
    #[error("{cause}")]
    Ended {
        /// The reason.
        cause: RunError,
        /// The signal that interrupted it.
        signal: Option<u8>,
        /// True if [`Settings::resume`](crate::Settings::resume) can measure the rest.
        resumable: bool,
    },
    /// Measured ceilings cannot be stored.
    #[error(transparent)]
    CeilingsNotStored(#[from] UnwrittenCeilings),
    /// There is no folder for measured ceilings.
    #[error("there is no folder to store measured peaks in: set GPUBENCH_CACHE_DIR to one")]
    NoCeilingsFolder,
    /// A destination of results cannot be opened. Nothing is measured then.
    #[error("{export}: {}", unopened(error))]
    OutputNotOpened {
        /// The format and its destination.
        export: Export,
        /// The reason.
        error: io::Error,
    },
    /// Results cannot be written.
    #[error("{export}: {error}")]
    OutputNotWritten {
        /// The format and its destination.
        export: Export,
        /// The reason.
        error: io::Error,
    },
    /// The action of an extension failed.
    #[error("{message}")]
    Extension {
        /// The reason.
        message: String,
        /// The exit code.
        exit: Exit,
    },
    /// Results cannot be printed.
    #[error("the results cannot be printed: {0}")]
    NotPrinted(io::Error),
    /// A process that serves another one of this program failed.
    #[error(transparent)]
    Child(io::Error),
    /// The run has ended, and not all went well. Nothing that was measured is lost.
    #[error("{}", problems.iter().map(Self::to_string).collect::<Vec<_>>().join("; "))]
    Incomplete {
        /// Everything that was measured.
        run: Box<Run>,
        /// The problems, in the order in which they happened.
        problems: Vec<Self>,
    },
}

/// Says that the folder of a file is missing, where the system says that the file is.
fn unopened(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "its folder does not exist: make the folder, or give another file".to_owned()
        }
        _ => error.to_string(),
    }
}

/// The reason that runs cannot be stored while they are measured.
#[derive(Debug, thiserror::Error)]
pub enum RunsFolderError {
    /// This program has no folder by default.
    #[error("this program has no folder for its runs: --runs-dir names one")]
    Unknown,
    /// The folder cannot be made.
    #[error("--runs-dir {}: {error}", folder.display())]
    Unusable {
        /// The folder.
        folder: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

impl SuiteError {
    /// Returns the exit code of a program that ends with this error.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Ended { cause: RunError::Interrupted, signal, .. } => {
                Exit::Interrupted(signal.unwrap_or(signal_hook::consts::SIGINT as u8))
            }
            Self::Ended { cause: RunError::Device { .. } | RunError::LostLock(_), .. }
            | Self::NoSuchDevice(_)
            | Self::NothingFor { .. }
            | Self::NoGpu
            | Self::Busy(_) => Exit::NoDevice,
            Self::Plan(error) => of_plan(error),
            Self::Extension { exit, .. } => *exit,
            Self::Settings(_)
            | Self::Environment(_)
            | Self::Resume(_)
            | Self::Share(_)
            | Self::RunsFolder(_)
            | Self::Baseline(_)
            | Self::NoLastRun(_)
            | Self::ClocksNotLocked { .. }
            | Self::History(_)
            | Self::OutputNotOpened { .. } => Exit::Usage,
            Self::Ended { cause: RunError::NoWorker(_) | RunError::OtherRecords(_), .. }
            | Self::BaselineNotSaved(_)
            | Self::HistoryNotAdded(_)
            | Self::ClocksNotReset(_)
            | Self::CeilingsNotStored(_)
            | Self::NoCeilingsFolder
            | Self::OutputNotWritten { .. }
            | Self::NotPrinted(_)
            | Self::Child(_) => Exit::Failed,
            Self::Incomplete { run, problems } => {
                // A problem explains why a run has no records.
                let of_run = Some(Exit::of(run)).filter(|exit| *exit != Exit::Nothing);
                problems.iter().map(Self::exit).chain(of_run).min().unwrap_or(Exit::Failed)
            }
        }
    }

    /// Returns advice that names a flag of a suite's command line.
    pub(super) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Ended { resumable: true, .. } => Some("--resume goes on with what is left"),
            _ => None,
        }
    }

    /// Returns what was measured, if this error came after the run had begun.
    #[must_use]
    pub fn into_run(self) -> Option<Run> {
        match self {
            Self::Incomplete { run, .. } => Some(*run),
            _ => None,
        }
    }

    /// Returns the error of an extension whose action failed with this exit code.
    pub fn of_extension(message: impl ToString, exit: Exit) -> Self {
        Self::Extension { message: message.to_string(), exit }
    }

    /// Returns the error of a run that waited for a device in vain, until `signal` came.
    pub(super) fn of_lock(error: NotLocked, signal: Option<u8>) -> Self {
        match error {
            NotLocked::Busy(busy) => busy.into(),
            NotLocked::Interrupted => Self::Ended { cause: RunError::Interrupted, signal, resumable: false },
        }
    }
}

/// The error of an extension. The suite adds the signal, if one came.
impl From<RunError> for SuiteError {
    fn from(cause: RunError) -> Self {
        Self::Ended { cause, signal: None, resumable: false }
    }
}

fn of_plan(error: &PlanError) -> Exit {
    match error {
        PlanError::Empty | PlanError::Nothing { .. } => Exit::Nothing,
        PlanError::NoDevice { .. } => Exit::NoDevice,
        PlanError::Duplicate { .. }
        | PlanError::NoPartner(_)
        | PlanError::Ambiguous { .. }
        | PlanError::Unpaired { .. }
        | PlanError::Twice { .. }
        | PlanError::NoSuchAxis(_)
        | PlanError::BadArg { .. } => Exit::Usage,
    }
}
