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
        /// The median of its measurements.
        per_launch: Joules,
        /// The median of the device's power meanwhile.
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
        let median = |of: fn(&EnergyMeasurement) -> f64| {
            let mut values: Vec<f64> = measured.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
        };
        Some(Self::Measured {
            per_launch: Joules(median(|one| one.per_launch.0)),
            power: Watts(median(|one| one.power.0)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_stats::units::Nanoseconds;

    #[test]
    fn one_disturbed_measurement_moves_no_energy() {
        let measured = |joules: f64| EnergyMeasurement {
            per_launch: Joules(joules),
            power: Watts(100.0 * joules),
            sensor: None,
            launches: 100,
            elapsed: Nanoseconds(1e9),
            updates: 10,
            counted: Nanoseconds(1e9),
        };
        let of = |joules: &[f64]| {
            let measured: Vec<EnergyMeasurement> = joules.iter().copied().map(measured).collect();
            TunedEnergy::of(&measured, FrontPlacing { standing: FrontStanding::Front, energy: None })
        };
        let Some(TunedEnergy::Measured { per_launch, power, measurements, .. }) = of(&[3.0, 1.0, 99.0, 2.0])
        else {
            panic!("it was measured")
        };
        assert_eq!((per_launch, power, measurements), (Joules(2.5), Watts(250.0), 4));
        assert_eq!(of(&[]), None);
    }
}
