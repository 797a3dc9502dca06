//! A kind of device: what can be asked of it before one is opened.

use gpubench_records::files::ceilings::Ceiling;
use gpubench_records::id::DeviceId;
use gpubench_records::method::Cache;
use gpubench_records::record::Run;

use super::{Available, ClockTarget};
use crate::registry::Entry;

/// A kind of device.
pub struct Kind {
    /// The name on the command line and in records.
    pub name: &'static str,
    /// The devices of this kind that this machine has, or in a few words why there are none.
    pub list: fn() -> Result<Vec<Available>, String>,
    /// Explains to a user why there is no device of this kind, from the words of `list`.
    pub absent: fn(&str) -> String,
    /// How it is chosen where the user names no device.
    pub choice: Choice,
    /// The compute precisions whose peaks some device of this kind tells.
    pub precisions: fn() -> Vec<&'static str>,
    /// Locks its clocks, where that can be done.
    pub clocks: Option<Clocks>,
    /// Benchmarks of its own limits, where there are any.
    pub ceilings: Option<Ceilings>,
}

/// Which devices of a kind are measured where the user names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first one. A bare number on the command line is a device of such a kind.
    First,
    /// This machine itself, for want of any other.
    StandIn,
}

/// Locks and unlocks the clock of a device that its UUID names.
#[derive(Clone, Copy)]
pub struct Clocks {
    /// Locks it, and tells in words what it is locked to.
    pub lock: fn(&str, ClockTarget) -> Result<String, String>,
    /// Resets it to the driver's default.
    pub reset: fn(&str) -> Result<(), String>,
}

/// Benchmarks that go to the limits of a device.
#[derive(Clone, Copy)]
pub struct Ceilings {
    /// The benchmarks, in the order in which they are measured.
    pub entries: fn() -> Vec<&'static Entry>,
    /// The cache state in which this benchmark is measured on this device, or why it is left out; nothing of others.
    pub cache: fn(&str, &DeviceId<'_>) -> Option<Result<Cache, &'static str>>,
    /// The ceilings that this device reached in a run of them.
    pub reached: fn(&Run, &str) -> Vec<Ceiling>,
}
