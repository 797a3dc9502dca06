//! The error of any device, which `worker` and the command line report. The typed error of the device's own
//! module stays its source.

use std::{error::Error, sync::Arc};

use gpubench_records::{Failure, Stage};

/// The reason why a device cannot be used, as a sentence or as the error of the device.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub struct DeviceError(Arc<dyn Error + Send + Sync>);

impl DeviceError {
    /// Returns an error from a sentence or from an error type of the device.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Arc::from(error.into()))
    }
}

/// The failure of a case whose device failed while it was sampled.
impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        Self::new(Stage::Sampling, error)
    }
}
