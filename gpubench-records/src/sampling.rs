//! The rules of sampling: precision, numbers of samples, budgets. Given by the command line, kept in every run.

use serde::{Deserialize, Serialize};

use crate::comparison::USUAL_BAND;
use crate::method::{Flush, Path};
use gpubench_stats::units::Nanoseconds;

/// The most samples that a user may ask for: a case's record is one line of the run's file, and a reader takes no longer one.
pub const MOST_SAMPLES: usize = 1_000_000;

/// The rules by which a case is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sampling {
    /// The relative half-width that the confidence interval of the median must reach.
    pub precision: f64,
    /// The exact number of samples, if the user fixed it, whatever the interval and however long they take.
    pub samples: Option<usize>,
    /// The shortest warm-up of a case.
    pub warm_up: Nanoseconds,
    /// The exact number of warm-up launches, if the user fixed it, however long they take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_launches: Option<usize>,
    /// The shortest sampling of a case.
    pub min_time: Nanoseconds,
    /// The longest sampling of a case.
    pub max_time: Nanoseconds,
    /// The longest sampling of a case whose `max_time` has no room for the fewest samples that have an interval, if that is enough for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub extended_max_time: Nanoseconds,
    /// True if a benchmark's own `max_time` overrides that.
    pub benchmark_max_time: bool,
    /// The flush of cold samples; nothing for the device's own choice.
    pub flush: Option<Flush>,
    /// The path that times samples; nothing for the one that suits the launch.
    pub path: Option<Path>,
    /// True to measure the energy of launches, whatever their attributes say; nothing to follow the attributes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<bool>,
    /// The difference of two times that does not matter, as a fraction.
    pub equivalence_margin: f64,
}

impl Sampling {
    /// The default rules.
    pub const USUAL: Self = Self {
        precision: 0.005,
        samples: None,
        warm_up: Nanoseconds::from_seconds(0.002),
        warm_up_launches: None,
        min_time: Nanoseconds::ZERO,
        max_time: Nanoseconds::from_seconds(3.0),
        extended_max_time: Nanoseconds::ZERO,
        benchmark_max_time: true,
        flush: None,
        path: None,
        energy: None,
        equivalence_margin: USUAL_BAND,
    };
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(time: &Nanoseconds) -> bool {
    *time == Nanoseconds::ZERO
}
