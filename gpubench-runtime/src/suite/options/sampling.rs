//! The sampling that a user asks for: only what differs from the usual rules. In: flags or calls of a program. Out: the
//! [`Sampling`] rules of a run.

use super::OptionsError;
use gpubench_records::comparison::Threshold;
use gpubench_records::method::{Flush, Path};
use gpubench_records::sampling::{MOST_SAMPLES, Sampling};
use gpubench_stats::units::Nanoseconds;

/// Settings of the sampling. `None` leaves the usual rule, or that of [`quick`](Self::quick).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub(crate) struct SamplingOptions {
    /// Take a rough look: short warm-ups and sampling, no energy.
    pub quick: bool,
    /// The relative half-width of the median's 95 % confidence interval to reach, as a fraction.
    pub precision: Option<f64>,
    /// The exact number of samples.
    pub samples: Option<usize>,
    /// The shortest warm-up.
    pub warm_up: Option<Nanoseconds>,
    /// The exact number of warm-up launches.
    pub warm_up_launches: Option<usize>,
    /// The shortest sampling of a case.
    pub min_time: Option<Nanoseconds>,
    /// The longest sampling of a case.
    pub max_time: Option<Nanoseconds>,
    /// The flush before cold samples.
    pub flush: Option<Flush>,
    /// The path that times samples.
    pub path: Option<Path>,
    /// True to measure energy, whatever benchmarks ask for.
    pub energy: Option<bool>,
    /// The difference of two times that does not matter, as a fraction.
    pub band: Option<f64>,
}

/// A cold sample on a CPU with half a gigabyte of cache takes 40 ms: an interval there takes longer than a rough look elsewhere.
const QUICK: Sampling = Sampling {
    max_time: Nanoseconds::from_seconds(0.05),
    interval_time: Nanoseconds::from_seconds(0.3),
    energy: Some(false),
    ..Sampling::USUAL
};

impl SamplingOptions {
    /// Returns the rules of a run that has this `threshold` for regressions.
    #[must_use]
    pub(crate) fn rules(&self, threshold: Option<Threshold>) -> Sampling {
        let usual = if self.quick { QUICK } else { Sampling::USUAL };
        let min_time = self.min_time.unwrap_or(usual.min_time);
        let band = match (self.band, threshold) {
            (Some(band), _) => band,
            // A difference that is a regression matters.
            (None, Some(Threshold::Part(part))) => part.min(usual.band),
            (None, _) => usual.band,
        };
        Sampling {
            precision: self.precision.unwrap_or(usual.precision),
            samples: self.samples,
            warm_up: self.warm_up.unwrap_or(usual.warm_up),
            warm_up_launches: self.warm_up_launches,
            min_time,
            max_time: self.max_time.unwrap_or(usual.max_time.max(min_time)),
            interval_time: self.max_time.map_or(usual.interval_time, |_| Nanoseconds::ZERO),
            own_max_time: !self.quick && self.max_time.is_none() && self.min_time.is_none(),
            flush: self.flush,
            path: self.path,
            energy: self.energy.or(usual.energy),
            band,
        }
    }

    pub(super) fn validate(&self) -> Result<(), OptionsError> {
        for (flag, fraction) in [("--precision", self.precision), ("--band", self.band)] {
            if let Some(fraction) = fraction.filter(|fraction| !is_fraction(*fraction)) {
                return Err(OptionsError::Percentage { flag, given: format!("{}%", 100.0 * fraction) });
            }
        }
        if self.samples == Some(0) {
            return Err(OptionsError::Zero { flag: "--samples" });
        }
        if let Some(given) = self.samples.filter(|given| *given > MOST_SAMPLES) {
            return Err(OptionsError::TooManySamples { given });
        }
        if self.warm_up.is_some() && self.warm_up_launches.is_some() {
            return Err(OptionsError::WarmUpTwice);
        }
        let times =
            [("--warmup", self.warm_up), ("--min-time", self.min_time), ("--max-time", self.max_time)];
        // As the flags give them.
        let seconds = |time: Nanoseconds| time / Nanoseconds::from_seconds(1.0);
        for (flag, time) in times {
            let wrong = |given: &f64| !(given.is_finite() && *given >= 0.0);
            if let Some(given) = time.map(seconds).filter(wrong) {
                return Err(OptionsError::Duration { flag, given });
            }
        }
        let Sampling { min_time, max_time, .. } = self.rules(None);
        if min_time > max_time {
            return Err(OptionsError::MinAboveMax { min: seconds(min_time), max: seconds(max_time) });
        }
        Ok(())
    }
}

/// Returns true if `part` is a fraction that a percentage above 0 stands for.
pub(crate) fn is_fraction(part: f64) -> bool {
    part.is_finite() && part > 0.0
}
