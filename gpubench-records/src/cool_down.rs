//! The wait before a case until its device is cool: the threshold, and what was read.

use std::str::FromStr;

use gpubench_stats::{Nanoseconds, Watts};

use crate::Reading;

gpubench_stats::stored! {
    /// A temperature or a power: a threshold, or a reading that is compared with it.
    #[derive(Copy, PartialOrd, thiserror::Error)]
    pub enum HeatLevel {
        /// The temperature of the chip, in degrees Celsius.
        #[error("{0} °C")]
        Temperature(u32),
        /// The power that the device draws.
        #[error("{0}")]
        Power(Watts),
    }

    /// The wait before a case.
    #[derive(Copy)]
    pub struct CoolDown {
        /// The level that the device should have at most.
        pub threshold: HeatLevel,
        /// The reading before the wait.
        pub before: HeatLevel,
        /// The last reading, after which the case began.
        pub after: HeatLevel,
        /// The time of the wait.
        pub waited: Nanoseconds,
    }
}

impl HeatLevel {
    /// Returns the level of the same kind in a reading, if the sensors have it.
    pub fn read(self, reading: &Reading) -> Option<Self> {
        match self {
            Self::Temperature(_) => reading.temperature.map(Self::Temperature),
            Self::Power(_) => reading.power.map(Self::Power),
        }
    }
}

/// Reads `60C`, `60 °C` or `150W`.
impl FromStr for HeatLevel {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "give a temperature or a power, such as 60C or 150W";
        let number = |unit| Some(text.trim().strip_suffix(unit)?.trim_end_matches('°').trim_end());
        let temperature = number('C').and_then(|number| number.parse().ok()).map(Self::Temperature);
        let power = number('W').and_then(|number| number.parse().ok());
        let power = power
            .filter(|watts: &f64| watts.is_finite() && *watts > 0.0)
            .map(|watts| Self::Power(Watts(watts)));
        temperature.or(power).ok_or(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_with_their_unit() {
        for text in ["60C", " 60 °C", "60°C"] {
            assert_eq!(text.parse(), Ok(HeatLevel::Temperature(60)), "{text}");
        }
        assert_eq!("150 W".parse(), Ok(HeatLevel::Power(Watts(150.0))));
        for wrong in ["", "60", "C", "-1C", "0W", "-5W", "infW", "60F", "60.5C", "60CW"] {
            assert!(wrong.parse::<HeatLevel>().is_err(), "{wrong}");
        }
    }
}
