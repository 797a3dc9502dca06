//! What measuring a case brings: its samples, how they were taken, and what a launch takes from the supply.

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
    /// What is said of the times: the event times less the timer's overhead.
    pub time: Summary,
    /// Whether they moved while they were taken.
    pub drift: Option<Drift>,
    /// Whether they are of two kinds.
    pub modes: Option<Modes>,
    /// How the samples were taken.
    pub method: Method,
    /// The timer on that path.
    pub timer: Timer,
    /// What went before them.
    pub warm_up: WarmUp,
    /// What the device's sensors said meanwhile.
    pub conditions: Option<Conditions>,
    /// The clock behind their groups by the device's own counters.
    pub device_clock: Option<DeviceClock>,
    /// The time of one more launch in a row of launches, where a launch alone is so short that its start and end count.
    pub in_a_row: Option<Nanoseconds>,
    /// The time of a launch of several kernels on the stream, where it was sampled in a graph.
    pub on_stream: Option<Nanoseconds>,
    /// In how many groups they were taken.
    pub groups: usize,
    /// What all groups took on the device, flushes included.
    pub elapsed: Nanoseconds,
    /// What all groups took by this machine's clock, from the end of the warm-up to the last sample's reading.
    pub wall: Nanoseconds,
    /// Whether the stop rule was met, rather than a budget spent. A number of samples asked for is met when it is there.
    pub converged: bool,
}

/// What preceded the samples of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarmUp {
    /// How many launches were thrown away.
    pub launches: usize,
    /// What they took.
    pub elapsed: Nanoseconds,
    /// Whether the medians of the last two groups agreed.
    pub steady: bool,
}

/// What was measured of a case's energy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Energy {
    /// What a launch takes.
    Measured(Measured),
    /// Why that is not known.
    Refused(String),
}

impl Energy {
    /// What a launch takes, if that is known.
    #[must_use]
    pub fn per_launch(&self) -> Option<Joules> {
        match self {
            Self::Measured(measured) => Some(measured.per_launch),
            Self::Refused(_) => None,
        }
    }
}

/// What launches that follow one another take. All that the device drew meanwhile is theirs, what it draws when idle too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// What one of them takes: the power over their number in a second.
    pub per_launch: Joules,
    /// What the device drew on average, by its counter of energy.
    pub power: Watts,
    /// The mean of what its sensor of power said meanwhile, to hold against it.
    pub sensor: Option<Watts>,
    /// How many launches there were.
    pub launches: usize,
    /// What they took by this machine's clock, in nanoseconds.
    pub elapsed: Nanoseconds,
    /// How often the counter was updated between the first update and the last.
    pub updates: usize,
    /// How long that was, in nanoseconds.
    pub counted: Nanoseconds,
}
