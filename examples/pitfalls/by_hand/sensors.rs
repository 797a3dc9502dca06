//! A reading of the sensors (row B8). In: a GPU's number; out: the reading, if it has sensors.

use gpubench::cuda::Cuda;
use gpubench::device::{Device as _, Reading};

use crate::common::Result;

/// Reads them once.
pub(crate) fn read(ordinal: usize) -> Result<Option<Reading>> {
    Ok(Cuda::open(ordinal)?.monitor().ok().map(|mut monitor| monitor.read()))
}
