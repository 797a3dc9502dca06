//! What a device is called. In: the words of the command line and of records; out: its kind and number.

/// A device as it is named on the command line and in records: its kind, and its number where a kind has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceId<'a> {
    /// As [`DeviceType::KIND`](super::DeviceType::KIND).
    pub kind: &'a str,
    /// Which of that kind, from 0.
    pub ordinal: usize,
}

impl<'a> DeviceId<'a> {
    /// Reads `host` or `cuda:1`.
    #[must_use]
    pub fn parse(device: &'a str) -> Self {
        let numbered = device.split_once(':').and_then(|(kind, ordinal)| Some((kind, ordinal.parse().ok()?)));
        let (kind, ordinal) = numbered.unwrap_or((device, 0));
        Self { kind, ordinal }
    }
}

/// A device that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The device as [`DeviceId`] reads it.
    pub device: String,
    /// Its kind, as [`DeviceType::KIND`](super::DeviceType::KIND).
    pub kind: &'static str,
    /// The name its maker gave it; empty where only the device itself knows it.
    pub name: String,
    /// What tells it from every other device, where it has such a thing.
    pub uuid: Option<String>,
}

impl Found {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_a_kind_and_a_number() {
        assert_eq!(DeviceId::parse("cuda:3"), DeviceId { kind: "cuda", ordinal: 3 });
        assert_eq!(DeviceId::parse("host"), DeviceId { kind: "host", ordinal: 0 });
    }
}
