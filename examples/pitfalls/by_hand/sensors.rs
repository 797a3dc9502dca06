//! B8: a reading of the sensors.

use gpubench::cuda::Cuda;
use gpubench::device::{Device as _, Reading};

use crate::common::Result;

/// Reads the sensors of this GPU once, if it has any.
pub(crate) fn read(ordinal: usize) -> Result<Option<Reading>> {
    Ok(Cuda::open(ordinal)?.monitor().ok().map(|mut monitor| monitor.read()))
}
