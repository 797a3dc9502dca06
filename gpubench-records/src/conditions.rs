//! The conditions of a measurement: clocks, power and temperature from the device's sensors or its own counters, and the wait before a case
//! until its device is cool.

use std::str::FromStr;

use gpubench_stats::{Hertz, Nanoseconds, Set, Watts, units::Range};

gpubench_stats::stored! {
    /// The readings of a device's sensors at one moment.
    #[derive(Default)]
    pub struct Reading {
        /// The clock of the multiprocessors.
        pub sm_clock: Option<Hertz>,
        /// The clock of the memory's commands.
        pub memory_clock: Option<Hertz>,
        /// The temperature of the chip, in degrees Celsius.
        pub temperature: Option<u32>,
        /// The power it draws.
        pub power: Option<Watts>,
        /// The causes that hold its clocks down, in the words of the driver's own tools. Idling is none of them.
        #[serde(default)]
        pub throttle_reasons: Vec<String>,
        /// The number of other processes that have work on it.
        pub other_processes: Option<u32>,
    }

    /// The readings of the sensors over a period.
    #[derive(Default)]
    #[non_exhaustive]
    pub struct SensorRange {
        /// The number of readings.
        pub readings: usize,
        /// The clock of the multiprocessors.
        pub sm_clock: Option<Range<Hertz>>,
        /// The clock of the memory's commands.
        pub memory_clock: Option<Range<Hertz>>,
        /// The temperature of the chip, in degrees Celsius.
        pub temperature: Option<Range<u32>>,
        /// The power it draws.
        pub power: Option<Range<Watts>>,
        /// The causes that held its clocks down at any time.
        pub throttle_reasons: Vec<String>,
        /// The largest number of other processes that had work on it.
        pub other_processes: Option<u32>,
    }

    /// The readings of a device's sensors before, during and after a case.
    pub struct SensorReadings {
        /// Before its warm-up.
        pub before: Reading,
        /// While its samples were taken; if that was too short for a reading, the last one before.
        pub during: SensorRange,
        /// After its last sample.
        pub after: Reading,
        /// The readings while samples were taken, at most as many as there were groups of them.
        #[serde(default)]
        pub over_time: Vec<TimedReading>,
    }

    /// A reading of the sensors and its time.
    pub struct TimedReading {
        /// The time since the first sample began, by the measuring machine's clock.
        pub at: Nanoseconds,
        /// The reading.
        pub reading: Reading,
    }

    /// The clock of the multiprocessors by the device's own counters: the cycles of one of them over nanoseconds, counted
    /// right after groups of launches. It needs no library, and there is a reading for each group.
    pub struct DeviceClock {
        /// Read after each group of the warm-up.
        pub before: Option<Range<Hertz>>,
        /// Read after each group of samples.
        pub during: Range<Hertz>,
        /// The mean of those.
        pub mean: Hertz,
        /// Read after the last group of samples.
        pub after: Hertz,
        /// The number of readings.
        pub readings: usize,
        /// The reading after each group of samples.
        #[serde(default)]
        pub over_time: Vec<GroupClock>,
    }

    /// The clock after a group of samples.
    #[derive(Copy)]
    pub struct GroupClock {
        /// The number of samples taken so far, this group's among them.
        pub samples: usize,
        /// The time since the first sample began, by the measuring machine's clock.
        pub at: Nanoseconds,
        /// The clock of the multiprocessors.
        pub clock: Hertz,
    }
}

impl SensorRange {
    /// Summarises `readings`: the range of each quantity, the largest number of other processes, and every
    /// throttle reason once. A quantity that no reading has is `None`.
    pub fn of(readings: &[Reading]) -> Self {
        let slowed_by: Set<String> =
            readings.iter().flat_map(|reading| reading.throttle_reasons.iter().cloned()).collect();
        Self {
            readings: readings.len(),
            sm_clock: Range::of(readings.iter().filter_map(|reading| reading.sm_clock)),
            memory_clock: Range::of(readings.iter().filter_map(|reading| reading.memory_clock)),
            temperature: Range::of(readings.iter().filter_map(|reading| reading.temperature)),
            power: Range::of(readings.iter().filter_map(|reading| reading.power)),
            throttle_reasons: slowed_by.to_vec(),
            other_processes: readings.iter().filter_map(|reading| reading.other_processes).max(),
        }
    }
}

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
    /// Returns the temperature of `reading` if this level is a temperature, or its power if this level is a
    /// power. `None` if the sensors do not report it.
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
mod conditions_tests {
    use super::*;

    #[test]
    fn a_span_goes_from_the_lowest_to_the_highest_of_what_was_told() {
        let reading = |sm_clock: Option<u64>, slowed_by: &[&str]| Reading {
            sm_clock: sm_clock.map(Hertz),
            throttle_reasons: slowed_by.iter().map(ToString::to_string).collect(),
            ..Reading::default()
        };
        let readings = [
            reading(Some(1_980), &[]),
            reading(None, &["power cap"]),
            reading(Some(1_410), &["heat", "power cap"]),
        ];
        let span = SensorRange::of(&readings);
        assert_eq!(
            (span.readings, span.sm_clock),
            (3, Some(Range { low: Hertz(1_410), high: Hertz(1_980) }))
        );
        assert_eq!(span.throttle_reasons, ["heat", "power cap"]);
        assert_eq!((span.power, span.other_processes), (None, None));
    }
}

#[cfg(test)]
mod cool_down_tests {
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
