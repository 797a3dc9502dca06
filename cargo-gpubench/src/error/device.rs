//! The errors of commands that look at this machine's devices, which they do on Linux.

/// Devices that cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeviceCommandError {
    #[cfg(target_os = "linux")]
    #[error("no process can be started to ask the drivers: {0}")]
    NotExamined(std::io::Error),
    #[cfg(target_os = "linux")]
    #[error("the answer is no JSON: {0}")]
    NotJson(serde_json::Error),
    #[cfg(target_os = "linux")]
    #[error("there is no GPU whose clocks could be shown: {0}")]
    NoDevice(gpubench_runtime::device::DeviceError),
    #[cfg(target_os = "linux")]
    #[error("there is no device `{name}`, but {}", known.join(", "))]
    Unknown { name: String, known: Vec<String> },
    #[cfg(target_os = "linux")]
    #[error("{device}: {error}")]
    Refused { device: String, error: gpubench_runtime::device::DeviceError },
    #[cfg(not(target_os = "linux"))]
    #[error("devices are looked at on Linux only: here suites can be built and run, and stored runs be read")]
    LinuxOnly,
}

impl DeviceCommandError {
    pub(crate) fn exit(&self) -> gpubench_records::exit::Exit {
        use gpubench_records::exit::Exit;
        match self {
            #[cfg(target_os = "linux")]
            Self::NoDevice(_) | Self::Unknown { .. } => Exit::NoDevice,
            #[cfg(target_os = "linux")]
            Self::NotExamined(_) | Self::NotJson(_) | Self::Refused { .. } => Exit::Failed,
            #[cfg(not(target_os = "linux"))]
            Self::LinuxOnly => Exit::NoDevice,
        }
    }
}
