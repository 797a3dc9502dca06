//! A kind of device, and what is known of a device before it is opened.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::device::{Device, DeviceError, DeviceType};

/// A kind of device: its name, and its properties before a device is opened.
pub struct DeviceKind {
    /// The name on the command line and in records.
    #[doc(hidden)]
    pub name: &'static str,
    /// Returns the devices of this kind in this machine. The error is a short phrase with the reason that
    /// there are none.
    #[doc(hidden)]
    pub list: fn() -> Result<Vec<Available>, DeviceError>,
    /// Opens the device with this ordinal.
    pub(crate) open: fn(usize) -> Result<Box<dyn Device>, DeviceError>,
    /// A noun phrase for a device of this kind, such as `CUDA device`.
    #[doc(hidden)]
    pub noun: &'static str,
    /// True if devices of this kind are measured at the same time as other devices. Their launches then share
    /// nothing with those of other devices, except for a link that the benchmark declares.
    #[doc(hidden)]
    pub runs_concurrently: bool,
    /// The devices that are measured if the user names no device.
    #[doc(hidden)]
    pub choice: DefaultChoice,
    /// The compute data types for which some device of this kind reports a peak.
    #[doc(hidden)]
    pub data_types: &'static [&'static str],
    /// Functions that lock and reset the clock of a device; `None` if the kind does not support that.
    #[doc(hidden)]
    pub clocks: Option<ClockControl>,
    /// True if Nsight Compute can profile launches on devices of this kind.
    #[doc(hidden)]
    pub profiled: bool,
}

impl DeviceKind {
    /// Returns the kind of the device type `D`. Unless [`Self::with_list`] sets another list, one device of
    /// this kind is listed, whether it exists or not.
    ///
    /// If the user names no device, the first device of this kind that works is measured, in addition to
    /// devices of other kinds.
    pub const fn new<D: DeviceType>() -> Self {
        Self {
            name: D::KIND,
            list: || Ok(vec![Available::new(D::KIND, D::KIND)]),
            open: |ordinal| Ok(Box::new(D::open(ordinal)?)),
            noun: D::KIND,
            runs_concurrently: false,
            choice: DefaultChoice::Additional,
            data_types: &[],
            clocks: None,
            profiled: false,
        }
    }

    /// Sets the function that lists the devices, each with a name such as `name:0`, and the noun phrase for a
    /// device of this kind.
    #[must_use]
    pub const fn with_list(
        self,
        noun: &'static str,
        list: fn() -> Result<Vec<Available>, DeviceError>,
    ) -> Self {
        Self { noun, list, ..self }
    }
}

// Sent to the runtime by the crate that has such a device.
gpubench_core::inventory::collect!(DeviceKind);

/// The devices of a kind that are measured if the user names no device.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DefaultChoice {
    /// The first device that works, among the devices of all such kinds. A bare number on the command line
    /// also selects one of them.
    First,
    /// The first device that works, in addition to devices of other kinds.
    Additional,
    /// This machine itself, if no device of a kind with [`Self::First`] works.
    Fallback,
}

/// Functions that lock and reset the clock of a device. The first argument of each is the UUID of the device.
#[derive(Clone, Copy)]
pub struct ClockControl {
    /// Locks the clock to a target. Returns a phrase such as `locked to 1500 MHz`.
    pub lock: fn(&str, ClockTarget) -> Result<String, DeviceError>,
    /// Resets the clock to the default of the driver.
    pub reset: fn(&str) -> Result<(), DeviceError>,
}

/// A device that its kind lists, before it is opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Available {
    /// The name of the device, such as `cuda:0`, in a form that [`DeviceId`](gpubench_records::id::DeviceId)
    /// parses.
    pub device: String,
    /// The kind of the device: the [`KIND`](super::StreamSource::KIND) of its type. It is not serialised, so
    /// it is empty after deserialisation.
    #[serde(skip)]
    #[doc(hidden)]
    pub kind: &'static str,
    /// The name that the maker gave the device; empty if only the opened device knows it.
    pub name: String,
    /// The UUID; `None` if the device has none.
    #[doc(hidden)]
    pub uuid: Option<String>,
    /// The reason why the driver cannot open the device, although it lists the device; `None` for a working
    /// device.
    #[doc(hidden)]
    pub fault: Option<String>,
}

impl Available {
    /// Returns a device of this kind with a name such as `cuda:0`, without the maker's name, a UUID or a
    /// fault.
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

    /// Returns the name of the device, followed by the maker's name if it is known, such as `` `cuda:0`
    /// (NVIDIA H200) ``.
    #[doc(hidden)]
    pub fn describe(&self) -> String {
        if self.name.is_empty() {
            format!("`{}`", self.device)
        } else {
            format!("`{}` ({})", self.device, self.name)
        }
    }
}

/// The clock to which the multiprocessors of a GPU are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClockTarget {
    /// The base clock, at which the GPU stays within its power limit under any load.
    #[error("base")]
    Base,
    /// The highest clock of the GPU.
    #[error("max")]
    Max,
    /// A clock in megahertz; the GPU uses the nearest one that it supports.
    #[error("{0}")]
    Megahertz(u32),
}

impl FromStr for ClockTarget {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "base" => Ok(Self::Base),
            "max" => Ok(Self::Max),
            _ => match text.trim_end_matches("MHz").trim_end().parse() {
                Ok(clock @ 1..) => Ok(Self::Megahertz(clock)),
                _ => Err("give `base`, `max`, or a clock in MHz such as 1500"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_they_are_shown() {
        for target in [ClockTarget::Base, ClockTarget::Max, ClockTarget::Megahertz(1500)] {
            assert_eq!(target.to_string().parse(), Ok(target));
        }
        assert_eq!("1500 MHz".parse(), Ok(ClockTarget::Megahertz(1500)));
        for wrong in ["", "0", "-5", "boost", "1.5", "1500 GHz"] {
            assert!(wrong.parse::<ClockTarget>().is_err(), "{wrong}");
        }
    }
}
