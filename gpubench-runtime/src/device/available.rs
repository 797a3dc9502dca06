//! Devices before they are opened: those that are there, and kinds that are missing.

/// A device that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    /// The device as [`DeviceId`](gpubench_records::id::DeviceId) reads it.
    pub device: String,
    /// Its kind, as [`DeviceType::KIND`](super::DeviceType::KIND).
    pub kind: &'static str,
    /// The name its maker gave it; empty where only the device itself knows it.
    pub name: String,
    /// What tells it from every other device, where it has such a thing.
    pub uuid: Option<String>,
}

impl Available {
    /// The device and the name its maker gave it, in words.
    #[must_use]
    pub(super) fn describe(&self) -> String {
        if self.name.is_empty() {
            format!("`{}`", self.device)
        } else {
            format!("`{}` ({})", self.device, self.name)
        }
    }
}

/// A kind of device that benchmarks are written for and this machine has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The kind.
    pub kind: &'static str,
    /// Which device there is not, and why.
    pub why: String,
}
