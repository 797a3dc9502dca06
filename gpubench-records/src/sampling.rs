//! The rules of sampling: precision, numbers of samples, budgets. Given by the command line, kept in every run.

use crate::{Flush, HeatLevel, Path, comparison::DEFAULT_EQUIVALENCE_MARGIN};
use gpubench_stats::Nanoseconds;

/// The most samples of a case whose number the user does not fix: more would cost memory and tell nothing new.
pub const MAX_AUTOMATIC_SAMPLES: usize = 1 << 16;

/// The most samples that a user may ask for: a case's record is one line of the run's file, and a reader takes no longer one.
pub const MOST_SAMPLES: usize = 1_000_000;

gpubench_stats::stored! {
    /// The rules by which a case is sampled.
    #[derive(Copy)]
    pub struct Sampling {
        /// The relative half-width that the confidence interval of the median must reach.
        pub precision: f64,
        /// The same on a CPU, if it is larger: other programs use the CPU too.
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
        #[serde(default, skip_serializing_if = "Option::is_none")]
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

    /// Returns the relative half-width that launches timed on `path` must reach.
    #[must_use]
    pub fn precision_on(&self, path: Path) -> f64 {
        if path == Path::Host { self.precision.max(self.cpu_precision) } else { self.precision }
    }

    /// Returns the rules for launches timed on `path`. Other programs use a CPU too, so that its cases may take the extended time.
    #[must_use]
    pub fn on(&self, path: Path) -> Self {
        let max_time =
            if path == Path::Host { self.max_time.max(self.extended_max_time) } else { self.max_time };
        Self { precision: self.precision_on(path), max_time, ..*self }
    }

    /// Returns the first setting that differs from `earlier`, such as `--precision`.
    pub fn difference(&self, earlier: &Self) -> Option<&'static str> {
        let differ = [
            (
                "--precision",
                (self.precision, self.cpu_precision) != (earlier.precision, earlier.cpu_precision),
            ),
            ("--samples", self.samples != earlier.samples),
            (
                "--max-time or --quick",
                (self.max_time, self.extended_max_time) != (earlier.max_time, earlier.extended_max_time),
            ),
            (
                "--warmup",
                (self.min_warm_up_time, self.warm_up_launches)
                    != (earlier.min_warm_up_time, earlier.warm_up_launches),
            ),
            (
                "equivalence-margin or --fail-on-regression",
                self.equivalence_margin != earlier.equivalence_margin,
            ),
            ("--min-time", self.min_time != earlier.min_time),
            ("--flush", self.flush != earlier.flush),
            ("--path", self.path != earlier.path),
            ("--energy", self.energy != earlier.energy),
            ("--cool-down", self.cool_down != earlier.cool_down),
            ("--max-time", self != earlier),
        ];
        differ.iter().find(|(_, differs)| *differs).map(|(setting, _)| *setting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each setting is named by its flag.
    #[test]
    fn a_different_setting_is_named() {
        const THEN: Sampling = Sampling::USUAL;
        let time = Nanoseconds(5e8);
        for (now, flag) in [
            (Sampling { precision: 0.01, ..THEN }, "--precision"),
            (Sampling { cpu_precision: 0.0, ..THEN }, "--precision"),
            (Sampling { samples: Some(40), ..THEN }, "--samples"),
            (Sampling { max_time: time, ..THEN }, "--max-time or --quick"),
            (Sampling { benchmark_max_time: false, ..THEN }, "--max-time"),
            (Sampling { min_warm_up_time: time, ..THEN }, "--warmup"),
            (Sampling { warm_up_launches: Some(2), ..THEN }, "--warmup"),
            (Sampling { min_time: time, ..THEN }, "--min-time"),
            (Sampling { flush: Some(Flush::Write), ..THEN }, "--flush"),
            (Sampling { path: Some(Path::Stream), ..THEN }, "--path"),
            (Sampling { energy: Some(true), ..THEN }, "--energy"),
            (Sampling { cool_down: Some(HeatLevel::Temperature(60)), ..THEN }, "--cool-down"),
            (Sampling { equivalence_margin: 0.2, ..THEN }, "equivalence-margin or --fail-on-regression"),
        ] {
            assert_eq!(now.difference(&THEN), Some(flag));
        }
        assert_eq!(THEN.difference(&THEN), None);
    }

    #[test]
    fn the_precision_on_a_cpu_is_never_finer_than_the_one_asked_for() {
        let on = |asked: Sampling| [Path::Host, Path::Graph].map(|path| asked.precision_on(path));
        assert_eq!(on(Sampling::USUAL), [0.02, 0.005]);
        assert_eq!(on(Sampling { precision: 0.001, cpu_precision: 0.0, ..Sampling::USUAL }), [0.001, 0.001]);
    }
}
