//! Checked driver calls. In: the return code of a call; out: nothing, or an error that names the call, the driver's
//! name and text for the code (also for codes that `cust` does not know), and the call's place in the source.

pub(crate) mod current;
pub(crate) mod event;

use std::fmt::{self, Display};
use std::panic::Location;

use cust::sys::CUresult;

use crate::device::DeviceError;
use gpubench_records::failure::{Failure, Stage};

/// A driver call that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallError {
    code: u32,
    call: String,
    place: &'static Location<'static>,
}

/// Returns an error unless the call succeeded.
#[track_caller]
pub(crate) fn check(result: CUresult) -> Result<(), CallError> {
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let told = gpubench_driver::take_failure();
    let code = told.as_ref().map_or(result as u32, |call| call.code);
    let call = told.map_or_else(|| format!("a driver call returned {code}"), |call| call.to_string());
    Err(CallError { code, call, place: Location::caller() })
}

impl CallError {
    /// Returns the driver's code.
    pub(crate) fn code(&self) -> u32 {
        self.code
    }
}

impl Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at {}:{}", self.call, self.place.file(), self.place.line())
    }
}

impl From<CallError> for DeviceError {
    fn from(error: CallError) -> Self {
        Self(error.to_string())
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self::new(Stage::Sampling, error)
    }
}
