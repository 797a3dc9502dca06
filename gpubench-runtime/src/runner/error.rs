//! The reasons that a run ends before its plan does. In: what a supervisor or a worker says; out: errors, which the suite turns
//! into a message and an exit code.

use std::io;

use super::audit::OtherRecords;
use super::lock::LostLock;
use super::supervisor::Ended;
use gpubench_records::failure::Failure;

/// The reason that a run ended before its plan did.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// A found device cannot be used.
    #[error("device `{device}`: {why}")]
    Device {
        /// The device.
        device: String,
        /// The reason.
        why: DeviceRefusal,
    },
    /// Another suite measures on a device too.
    #[error(transparent)]
    LostLock(#[from] LostLock),
    /// The records are not those of the plan.
    #[error(transparent)]
    OtherRecords(#[from] OtherRecords),
    /// No worker process can be started.
    #[error("cannot start a process to measure in: {0}")]
    NoWorker(io::Error),
}

/// The reason that no case can be measured on a device.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeviceRefusal {
    /// The worker cannot open it.
    #[error("{0}")]
    NotOpened(String),
    /// The worker was lost while it opened it.
    #[error("{}", .0.message)]
    WorkerLost(Failure),
    /// The worker answered without its facts.
    #[error("the worker did not tell what is known of it")]
    NoFacts,
}

impl From<Ended> for RunError {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Interrupted => Self::Interrupted,
            Ended::NoWorker(error) => Self::NoWorker(error),
        }
    }
}
