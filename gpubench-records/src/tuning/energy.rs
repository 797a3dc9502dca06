//! The energy of a variant. In: measurements of back-to-back launches, with a placing beside the front; out: a [`TunedEnergy`].

use serde::{Deserialize, Serialize};

use crate::samples::EnergyMeasurement;
use gpubench_stats::Ratio;
use gpubench_stats::race::{FrontPlacing, FrontStanding};
use gpubench_stats::units::{Joules, Watts};

/// The energy of a launch of a variant, back-to-back with others like it, so that it is hot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TunedEnergy {
    /// It was measured.
    Measured {
        /// The mean of its measurements.
        per_launch: Joules,
        /// The mean power of the device meanwhile.
        power: Watts,
        /// Its energy over that of the fastest variant, with an interval. All of these of a problem hold together.
        ratio: Option<Ratio>,
        /// Its place beside the front of time and energy.
        standing: FrontStanding,
        /// The number of measurements, of a second and more each.
        measurements: usize,
    },
    /// The reason that it is not known.
    Refused(String),
}

impl TunedEnergy {
    /// The result of these measurements; nothing without any.
    #[must_use]
    pub fn of(measured: &[EnergyMeasurement], placing: FrontPlacing) -> Option<Self> {
        if measured.is_empty() {
            return None;
        }
        let number = measured.len() as f64;
        Some(Self::Measured {
            per_launch: Joules(measured.iter().map(|one| one.per_launch.0).sum::<f64>() / number),
            power: Watts(measured.iter().map(|one| one.power.0).sum::<f64>() / number),
            ratio: placing.energy,
            standing: placing.standing,
            measurements: measured.len(),
        })
    }

    /// Returns its place beside the front, if it was measured.
    #[must_use]
    pub fn standing(&self) -> Option<FrontStanding> {
        match self {
            Self::Measured { standing, .. } => Some(*standing),
            Self::Refused(_) => None,
        }
    }
}
