//! Checked driver calls. In: the return code of a call; out: nothing, or an error that names the call, the driver's
//! name and text for the code, and the call's place in the source or its purpose.

pub(crate) mod current;
pub(crate) mod event;
pub(crate) mod memory;

use std::panic::Location;

use gpubench_driver::Call;
use gpubench_driver::sys::{CUDA_SUCCESS, CUresult};

use crate::device::DeviceError;
use gpubench_records::failure::{Failure, Stage};

/// A driver call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// A call that should not fail.
    #[error("{cause}, at {}:{}", place.file(), place.line())]
    At {
        /// The driver's result.
        cause: Cause,
        /// The place of the call in the source.
        place: &'static Location<'static>,
    },
    /// A call that may fail for a reason of the user's machine.
    #[error("{purpose}: {cause}")]
    For {
        /// The thing that the call was to make or to read.
        purpose: String,
        /// The driver's result.
        cause: Cause,
    },
}

/// The result of a driver call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Cause {
    /// The call as the driver's forwarders saw it.
    #[error("{0}")]
    Call(Call),
    /// The code of a call that they did not see.
    #[error("a driver call returned {0}")]
    Code(u32),
}

impl Cause {
    /// Returns the cause of a call that returned `code`.
    pub(crate) fn of(code: CUresult) -> Self {
        gpubench_driver::take_failure().map_or(Self::Code(code), Self::Call)
    }
}

/// Returns an error unless the call succeeded.
#[track_caller]
pub(crate) fn check(result: CUresult) -> Result<(), CallError> {
    if result == CUDA_SUCCESS {
        return Ok(());
    }
    Err(CallError::At { cause: Cause::of(result), place: Location::caller() })
}

/// Returns an error unless the call succeeded, which was to make or to read `purpose`.
pub(crate) fn check_for(purpose: &str, result: CUresult) -> Result<(), DeviceError> {
    if result == CUDA_SUCCESS {
        return Ok(());
    }
    Err(CallError::For { purpose: purpose.to_owned(), cause: Cause::of(result) }.into())
}

impl CallError {
    /// Returns the driver's code.
    pub(crate) fn code(&self) -> u32 {
        let (Self::At { cause, .. } | Self::For { cause, .. }) = self;
        match cause {
            Cause::Call(call) => call.code,
            Cause::Code(code) => *code,
        }
    }
}

impl From<CallError> for DeviceError {
    fn from(error: CallError) -> Self {
        Self::new(error)
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self::new(Stage::Sampling, error)
    }
}
