//! A kind of device: its properties before a device is opened.

use super::{Available, ClockTarget, Device, DeviceError, DeviceType};

/// A kind of device: its name, and its properties before a device is opened.
pub struct DeviceKind {
    /// The name on the command line and in records.
    #[doc(hidden)]
    pub name: &'static str,
    /// Lists this machine's devices of this kind. The error says in a few words why there are none.
    #[doc(hidden)]
    pub list: fn() -> Result<Vec<Available>, DeviceError>,
    /// Opens the device of this kind with this number.
    pub(crate) open: fn(usize) -> Result<Box<dyn Device>, DeviceError>,
    /// The noun for a device of this kind, such as `CUDA device`.
    #[doc(hidden)]
    pub noun: &'static str,
    /// True if several devices of this kind are measured concurrently, since launches share no resources unless their benchmark names a
    /// link.
    #[doc(hidden)]
    pub runs_concurrently: bool,
    /// The choice if the user names no device.
    #[doc(hidden)]
    pub choice: DefaultChoice,
    /// The compute data types for which some device of this kind reports a peak.
    #[doc(hidden)]
    pub data_types: &'static [&'static str],
    /// Locks its clocks, if the kind supports that.
    #[doc(hidden)]
    pub clocks: Option<ClockControl>,
    /// True if Nsight Compute profiles launches on it.
    #[doc(hidden)]
    pub profiled: bool,
}

impl DeviceKind {
    /// Returns the kind of a device type. One device of this kind is assumed to exist until opening it fails.
    ///
    /// If the user names no device, the first working one of each such kind is measured, in addition to those of other kinds.
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

    /// Lists the devices of this kind with `list`, each as `name:number`. `noun` is a device of this kind in words.
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

/// The rule for choosing devices of a kind if the user names none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DefaultChoice {
    /// The first one. A bare number on the command line is a device of such a kind.
    First,
    /// The first one that works, in addition to devices of other kinds.
    Additional,
    /// This machine itself, if there is no other device.
    Fallback,
}

/// Locks and resets the clock of a device, which its UUID names.
#[derive(Clone, Copy)]
pub struct ClockControl {
    /// Locks the clock, and returns the locked clock in words.
    pub lock: fn(&str, ClockTarget) -> Result<String, DeviceError>,
    /// Resets it to the driver's default.
    pub reset: fn(&str) -> Result<(), DeviceError>,
}
