//! Devices before they are opened.

use serde::{Deserialize, Serialize};

/// A device that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Available {
    /// The device as [`DeviceId`](gpubench_records::id::DeviceId) reads it.
    pub device: String,
    /// Its kind, as [`DeviceType::KIND`](super::StreamSource::KIND), which a process that it is sent to knows.
    #[serde(skip)]
    #[doc(hidden)]
    pub kind: &'static str,
    /// The name its maker gave it; empty if only the opened device knows it.
    pub name: String,
    /// The UUID, if the device has one.
    #[doc(hidden)]
    pub uuid: Option<String>,
    /// The reason that the driver says nothing of it, though it lists it.
    #[doc(hidden)]
    pub fault: Option<String>,
}

impl Available {
    /// Returns a device of this kind. Only the opened device knows its name.
    pub fn new(device: impl Into<String>, kind: &'static str) -> Self {
        Self { device: device.into(), kind, name: String::new(), uuid: None, fault: None }
    }

    /// States the name that its maker gave it.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// States its UUID.
    #[must_use]
    pub fn with_uuid(self, uuid: impl Into<String>) -> Self {
        Self { uuid: Some(uuid.into()), ..self }
    }

    /// States the reason that the driver says nothing of it.
    #[must_use]
    pub fn with_fault(self, fault: impl Into<String>) -> Self {
        Self { fault: Some(fault.into()), ..self }
    }

    /// Returns the device and the name its maker gave it, in words.
    #[doc(hidden)]
    pub fn describe(&self) -> String {
        if self.name.is_empty() {
            format!("`{}`", self.device)
        } else {
            format!("`{}` ({})", self.device, self.name)
        }
    }
}
