//! The outcome of measuring a case: its samples, how they were taken, and what a launch takes from the supply.

use gpubench_stats::units::{Joules, Nanoseconds, Watts};
use gpubench_stats::{Drift, Modes, Summary};
use serde::{Deserialize, Serialize};

use crate::conditions::{Conditions, DeviceClock};
use crate::method::{Method, Timer};

/// The samples of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// The event times in the order they ran.
    pub events: Vec<Nanoseconds>,
    /// The figures that describe the times: the event times less the timer's overhead.
    pub time: Summary,
    /// Their movement while they were taken, if there was one.
    pub drift: Option<Drift>,
    /// Their two kinds, if they are of two.
    pub modes: Option<Modes>,
    /// The way in which the samples were taken.
    pub method: Method,
    /// The timer on that path.
    pub timer: Timer,
    /// The launches that went before them.
    pub warm_up: WarmUp,
    /// The readings of the device's sensors meanwhile.
    pub conditions: Option<Conditions>,
    /// The clock behind their groups by the device's own counters.
    pub device_clock: Option<DeviceClock>,
    /// The time of one more back-to-back launch, where a launch alone is so short that its start and end count.
    pub back_to_back: Option<Nanoseconds>,
    /// The time of a launch of several kernels on the stream, where it was sampled in a graph.
    pub on_stream: Option<Nanoseconds>,
    /// In how many groups they were taken.
    pub groups: usize,
    /// The time of all groups on the device, flushes included.
    pub elapsed: Nanoseconds,
    /// The time of all groups by this machine's clock, from the end of the warm-up to the last sample's reading.
    pub wall: Nanoseconds,
    /// True where the stop rule was met, rather than a budget spent. A number of samples asked for is met when it is there.
    pub converged: bool,
}

/// The launches before the samples of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarmUp {
    /// The number of launches that were thrown away.
    pub launches: usize,
    /// The time that they took.
    pub elapsed: Nanoseconds,
    /// True where the medians of the last two groups agreed.
    pub steady: bool,
}

/// The energy of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Energy {
    /// The energy of a launch.
    Measured(EnergyMeasurement),
    /// Why that is not known.
    Refused(String),
}

impl Energy {
    /// Returns the energy of a launch, if it is known.
    #[must_use]
    pub fn per_launch(&self) -> Option<Joules> {
        match self {
            Self::Measured(measured) => Some(measured.per_launch),
            Self::Refused(_) => None,
        }
    }
}

/// The energy of back-to-back launches. All that the device drew meanwhile is theirs, what it draws when idle too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnergyMeasurement {
    /// The energy of one of them: the power over their number in a second.
    pub per_launch: Joules,
    /// The average power of the device, by its counter of energy.
    pub power: Watts,
    /// The mean of what its sensor of power said meanwhile, to hold against it.
    pub sensor: Option<Watts>,
    /// The number of launches.
    pub launches: usize,
    /// Their time by this machine's clock.
    pub elapsed: Nanoseconds,
    /// The number of updates of the counter between the first update and the last.
    pub updates: usize,
    /// The time between those two.
    pub counted: Nanoseconds,
}
