//! Checked driver calls. In: the return code of a call; out: nothing, or an error that names the call, the driver's
//! name and text for the code (also for codes that `cust` does not know), and the call's place in the source or purpose.

pub(crate) mod current;
pub(crate) mod event;

use std::panic::Location;

use cust::error::CudaError;
use cust::sys::CUresult;
use gpubench_driver::Call;

use crate::device::DeviceError;
use gpubench_records::failure::{Failure, Stage};

/// A driver call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// A call of gpubench's own.
    #[error("{cause}, at {}:{}", place.file(), place.line())]
    Direct {
        /// The driver's result.
        cause: Cause,
        /// The place of the call in the source.
        place: &'static Location<'static>,
    },
    /// A call that `cust` made.
    #[error("{purpose}: {cause}")]
    ByCust {
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
    /// An error of `cust`, which made no call that they saw.
    #[error("{0}")]
    Cust(CudaError),
}

impl Cause {
    /// Returns the cause of an error of `cust`.
    pub(crate) fn of(error: CudaError) -> Self {
        gpubench_driver::take_failure().map_or(Self::Cust(error), Self::Call)
    }
}

/// Returns an error unless the call succeeded.
#[track_caller]
pub(crate) fn check(result: CUresult) -> Result<(), CallError> {
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let cause = gpubench_driver::take_failure().map_or(Cause::Code(result as u32), Cause::Call);
    Err(CallError::Direct { cause, place: Location::caller() })
}

/// Returns the driver's error for a failed call of `cust`, which was to make or to read `purpose`.
pub(crate) fn driver_error(purpose: &str, error: CudaError) -> DeviceError {
    CallError::ByCust { purpose: purpose.to_owned(), cause: Cause::of(error) }.into()
}

impl CallError {
    /// Returns the driver's code.
    pub(crate) fn code(&self) -> u32 {
        let (Self::Direct { cause, .. } | Self::ByCust { cause, .. }) = self;
        match cause {
            Cause::Call(call) => call.code,
            Cause::Code(code) => *code,
            Cause::Cust(error) => *error as u32,
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
