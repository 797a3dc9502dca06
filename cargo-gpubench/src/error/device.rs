//! The errors of commands that look at this machine's devices.

/// Devices that cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeviceCommandError {
    #[error("no process can be started to ask the drivers: {0}")]
    NotExamined(std::io::Error),
    #[error("the answer is no JSON: {0}")]
    NotJson(serde_json::Error),
    #[error("there is no GPU whose clocks could be reset: {0}")]
    NoDevice(gpubench_runtime::device::DeviceError),
    #[error("there is no device `{name}`, but {}", known.join(", "))]
    Unknown { name: String, known: Vec<String> },
    #[error("{device}: {error}")]
    Refused { device: String, error: gpubench_runtime::device::DeviceError },
}

impl DeviceCommandError {
    pub(crate) fn exit(&self) -> gpubench_records::exit::Exit {
        use gpubench_records::exit::Exit;
        match self {
            Self::NoDevice(_) | Self::Unknown { .. } => Exit::NoDevice,
            Self::NotExamined(_) | Self::NotJson(_) | Self::Refused { .. } => Exit::Failed,
        }
    }
}
