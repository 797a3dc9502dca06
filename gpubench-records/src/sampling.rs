//! The rules of sampling: precision, numbers of samples, budgets. Given by the command line, kept in every run.

use crate::{Flush, HeatLevel, Path, comparison::DEFAULT_EQUIVALENCE_MARGIN};
use gpubench_stats::Nanoseconds;

/// The most samples of a case unless the user fixes the number. Sampling ends there, since more samples would
/// cost memory and improve nothing.
pub const MAX_AUTOMATIC_SAMPLES: usize = 1 << 16;

/// The most samples that a user may ask for; more are refused. All samples of a case are in one line of the
/// run's file, and a line with this many samples is known to be readable.
pub const MOST_SAMPLES: usize = 1_000_000;

gpubench_stats::stored! {
    /// The rules by which a case is sampled.
    #[derive(Copy)]
    pub struct Sampling {
        /// The relative half-width that the confidence interval of the median must reach.
        pub precision: f64,
        /// The same on a CPU, which other programs use too; 0 if it is `precision`.
        #[serde(default)]
        pub cpu_precision: f64,
        /// The exact number of samples, if the user fixed it, whatever the interval and however long they take.
        pub samples: Option<usize>,
        /// The shortest warm-up of a case.
        pub min_warm_up_time: Nanoseconds,
        /// The exact number of warm-up launches, if the user fixed it, however long they take.
        pub warm_up_launches: Option<usize>,
        /// The shortest sampling of a case.
        pub min_time: Nanoseconds,
        /// The longest sampling of a case.
        pub max_time: Nanoseconds,
        /// The longest sampling of a case on a CPU, and of a case whose `max_time` has no room for the fewest samples that have an interval,
        /// if that is enough for them. Only where it is more than `max_time`.
        #[serde(default)]
        pub extended_max_time: Nanoseconds,
        /// True if a benchmark's own `max_time` overrides this `max_time`.
        pub benchmark_max_time: bool,
        /// The flush of cold samples; nothing for the device's own choice.
        pub flush: Option<Flush>,
        /// The path that times samples; nothing for the one that suits the launch.
        pub path: Option<Path>,
        /// True to measure the energy of launches, whatever their attributes say; nothing to follow the attributes.
        pub energy: Option<bool>,
        /// The level that a device's temperature or power should have at most before a case; nothing to begin at once.
        pub cool_down: Option<HeatLevel>,
        /// The difference of two times that does not matter, as a fraction.
        pub equivalence_margin: f64,
    }
}

impl Sampling {
    /// The default rules.
    pub const USUAL: Self = Self {
        precision: 0.005,
        cpu_precision: 0.02,
        samples: None,
        min_warm_up_time: Nanoseconds::from_seconds(0.002),
        warm_up_launches: None,
        min_time: Nanoseconds::ZERO,
        max_time: Nanoseconds::from_seconds(3.0),
        extended_max_time: Nanoseconds::ZERO,
        benchmark_max_time: true,
        flush: None,
        path: None,
        energy: None,
        cool_down: None,
        equivalence_margin: DEFAULT_EQUIVALENCE_MARGIN,
    };

    /// Returns the rules for launches timed on `path`. On the host path, the precision is that of a CPU and
    /// the time may be the extended one, because other programs use the CPU too. On other paths, the rules
    /// stay as they are.
    pub fn on(&self, path: Path) -> Self {
        if path != Path::Host {
            return *self;
        }
        let precision = if self.cpu_precision > 0.0 { self.cpu_precision } else { self.precision };
        Self { precision, max_time: self.max_time.max(self.extended_max_time), ..*self }
    }

    /// Returns the names of the rules that differ from those of `earlier`, with dashes for underscores, such
    /// as `max-time`.
    pub fn differences(&self, earlier: &Self) -> Vec<String> {
        let read = |json: Vec<u8>| serde_json::from_slice::<serde_json::Value>(&json);
        let [now, then] =
            [self, earlier].map(|rules| serde_json::to_vec(rules).and_then(read).unwrap_or_default());
        let rules = now.as_object().into_iter().flatten();
        rules
            .filter(|(name, rule)| then.get(name) != Some(rule))
            .map(|(name, _)| name.replace('_', "-"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_rules_are_named() {
        const THEN: Sampling = Sampling::USUAL;
        let time = Nanoseconds(5e8);
        for (now, rule) in [
            (Sampling { precision: 0.01, ..THEN }, "precision"),
            (Sampling { cpu_precision: 0.0, ..THEN }, "cpu-precision"),
            (Sampling { samples: Some(40), ..THEN }, "samples"),
            (Sampling { max_time: time, ..THEN }, "max-time"),
            (Sampling { benchmark_max_time: false, ..THEN }, "benchmark-max-time"),
            (Sampling { min_warm_up_time: time, ..THEN }, "min-warm-up-time"),
            (Sampling { warm_up_launches: Some(2), ..THEN }, "warm-up-launches"),
            (Sampling { min_time: time, ..THEN }, "min-time"),
            (Sampling { flush: Some(Flush::Write), ..THEN }, "flush"),
            (Sampling { path: Some(Path::Stream), ..THEN }, "path"),
            (Sampling { energy: Some(true), ..THEN }, "energy"),
            (Sampling { cool_down: Some(HeatLevel::Temperature(60)), ..THEN }, "cool-down"),
            (Sampling { equivalence_margin: 0.2, ..THEN }, "equivalence-margin"),
        ] {
            assert_eq!(
                (now.differences(&THEN), THEN.differences(&now)),
                (vec![rule.to_owned()], vec![rule.to_owned()])
            );
        }
        assert!(THEN.differences(&THEN).is_empty());
    }

    #[test]
    fn the_precision_on_a_cpu_is_never_finer_than_the_one_asked_for() {
        let on = |asked: Sampling| [Path::Host, Path::Graph].map(|path| asked.on(path).precision);
        assert_eq!(on(Sampling::USUAL), [0.02, 0.005]);
        assert_eq!(on(Sampling { precision: 0.001, cpu_precision: 0.0, ..Sampling::USUAL }), [0.001, 0.001]);
    }
}
