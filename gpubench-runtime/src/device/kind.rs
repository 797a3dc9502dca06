//! A kind of device: its properties before a device is opened.

use super::{Available, ClockTarget, Device, DeviceError, DeviceType};

/// A kind of device: its name, and its properties before a device is opened.
pub struct DeviceKind {
    /// The name on the command line and in records.
    #[doc(hidden)]
    pub name: &'static str,
    /// Returns the devices of this kind in this machine. The error is the reason, as a short phrase, why
    /// there are none.
    #[doc(hidden)]
    pub list: fn() -> Result<Vec<Available>, DeviceError>,
    /// Opens the device with this ordinal.
    pub(crate) open: fn(usize) -> Result<Box<dyn Device>, DeviceError>,
    /// A noun phrase for a device of this kind, such as `CUDA device`.
    #[doc(hidden)]
    pub noun: &'static str,
    /// True if devices of this kind are measured concurrently. Their launches share no resources unless their
    /// benchmark names a link.
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
    /// Returns the kind of the device type `D`. One device of this kind is assumed to exist until opening it
    /// fails, unless [`Self::with_list`] sets another list.
    ///
    /// If the user names no device, the first device that works of each such kind is measured, in addition to
    /// those of other kinds.
    #[must_use]
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

    /// Sets the function that lists the devices, each named `name:number`, and the noun phrase for a device
    /// of this kind.
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
    /// The first device. A bare number on the command line also selects a device of such a kind.
    First,
    /// The first device that works, in addition to devices of other kinds.
    Additional,
    /// This machine itself, if there is no other device.
    Fallback,
}

/// Functions that lock and reset the clock of a device. The first argument of each is the UUID of the device.
#[derive(Clone, Copy)]
pub struct ClockControl {
    /// Locks the clock. Returns a phrase such as `locked to 1500 MHz`.
    pub lock: fn(&str, ClockTarget) -> Result<String, DeviceError>,
    /// Resets the clock to the default of the driver.
    pub reset: fn(&str) -> Result<(), DeviceError>,
}
