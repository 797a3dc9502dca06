//! A kind of device: the questions that can be answered before a device is opened.

use gpubench_records::facts::Property;
use gpubench_records::files::ceilings::Ceiling;
use gpubench_records::method::Cache;
use gpubench_records::record::Run;

use super::finding::Finding;
use super::{Available, ClockTarget, DeviceError};
use crate::registry::Entry;

/// A kind of device.
pub(crate) struct DeviceKind {
    /// The name on the command line and in records.
    pub name: &'static str,
    /// Lists this machine's devices of this kind. The error says in a few words why there are none.
    pub list: fn() -> Result<Vec<Available>, DeviceError>,
    /// The words for a device of this kind, such as `CUDA device`.
    pub noun: &'static str,
    /// True if devices of this kind share nothing that a launch uses, unless its benchmark names a link: then several are
    /// measured side by side.
    pub beside_others: bool,
    /// Examines what measuring on such devices needs and is affected by, in a process of its own. Changes nothing.
    pub examine: fn() -> Vec<Finding>,
    /// The choice if the user names no device.
    pub choice: DefaultChoice,
    /// The compute precisions for which some device of this kind reports a peak.
    pub precisions: fn() -> Vec<&'static str>,
    /// Locks its clocks, if the kind supports that.
    pub clocks: Option<ClockControl>,
    /// True if Nsight Compute counts what launches on it do.
    pub profiled: bool,
    /// Benchmarks of its own limits, if it has any.
    pub ceilings: Option<Ceilings>,
}

/// The rule for choosing devices of a kind if the user names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultChoice {
    /// The first one. A bare number on the command line is a device of such a kind.
    First,
    /// This machine itself, if there is no other device.
    StandIn,
}

/// Locks, shows and resets the clock of a device, which its UUID names.
#[derive(Clone, Copy)]
pub(crate) struct ClockControl {
    /// Locks the clock, and returns the locked clock in words.
    pub lock: fn(&str, ClockTarget) -> Result<String, DeviceError>,
    /// Returns its clocks, their limits and what holds them down.
    pub show: fn(&str) -> Result<Vec<Property>, DeviceError>,
    /// Resets it to the driver's default.
    pub reset: fn(&str) -> Result<(), DeviceError>,
}

/// Benchmarks that measure the limits of a device.
#[derive(Clone, Copy)]
pub(crate) struct Ceilings {
    /// The benchmarks, in the order in which they are measured.
    pub entries: fn() -> Vec<&'static Entry>,
    /// Returns the cache state of this benchmark; `None` for other benchmarks.
    pub cache: fn(&str) -> Option<Cache>,
    /// Returns the ceilings that this device reached in a run of these benchmarks.
    pub reached: fn(&Run, &str) -> Vec<Ceiling>,
}
