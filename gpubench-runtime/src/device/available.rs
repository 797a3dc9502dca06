//! Devices before they are opened.

use serde::{Deserialize, Serialize};

/// A device of this machine that a kind of device lists, before it is opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Available {
    /// The name of the device, such as `cuda:0`, which [`DeviceId`](gpubench_records::id::DeviceId) parses.
    pub device: String,
    /// The kind of the device: the [`KIND`](super::StreamSource::KIND) of its type. It is not serialised.
    #[serde(skip)]
    #[doc(hidden)]
    pub kind: &'static str,
    /// The name that the maker gave the device; empty if only the opened device knows it.
    pub name: String,
    /// The UUID, if the device has one.
    #[doc(hidden)]
    pub uuid: Option<String>,
    /// The reason why the driver cannot open the device, although it lists the device; `None` for a working
    /// device.
    #[doc(hidden)]
    pub fault: Option<String>,
}

impl Available {
    /// Returns an available device of this kind, such as `cuda:0`, without a name, a UUID or a fault.
    pub fn new(device: impl Into<String>, kind: &'static str) -> Self {
        Self { device: device.into(), kind, name: String::new(), uuid: None, fault: None }
    }

    /// Sets the name that the maker gave the device.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Sets the UUID of the device.
    #[must_use]
    pub fn with_uuid(self, uuid: impl Into<String>) -> Self {
        Self { uuid: Some(uuid.into()), ..self }
    }

    /// Sets the reason why the driver cannot open the device, although it lists the device.
    #[must_use]
    pub fn with_fault(self, fault: impl Into<String>) -> Self {
        Self { fault: Some(fault.into()), ..self }
    }

    /// Returns the device and the name that its maker gave it, such as `` `cuda:0` (NVIDIA H200) ``.
    #[doc(hidden)]
    pub fn describe(&self) -> String {
        if self.name.is_empty() {
            format!("`{}`", self.device)
        } else {
            format!("`{}` ({})", self.device, self.name)
        }
    }
}
