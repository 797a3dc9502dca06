//! The rules of sampling that settings ask for.

use super::{Settings, WarmUp};
use gpubench_records::comparison::Threshold;
use gpubench_records::sampling::Sampling;
use gpubench_stats::units::Nanoseconds;

/// The rules of `--quick`. A cold sample on a CPU with half a gigabyte of cache takes 40 ms: six of them take longer than 50 ms.
const QUICK: Sampling = Sampling {
    max_time: Nanoseconds::from_seconds(0.05),
    extended_max_time: Nanoseconds::from_seconds(0.3),
    energy: Some(false),
    ..Sampling::USUAL
};

impl Settings {
    /// Returns the rules of sampling.
    #[must_use]
    pub(crate) fn sampling(&self) -> Sampling {
        let is_quick = self.quick.unwrap_or_default();
        let usual = if is_quick { QUICK } else { Sampling::USUAL };
        let min_time = self.min_time.map_or(usual.min_time, Into::into);
        let band = match (self.equivalence_margin, self.fail_on_regression) {
            (Some(margin), _) => margin.fraction(),
            // A difference that is a regression matters.
            (None, Some(Threshold::Fraction(part))) => part.min(usual.equivalence_margin),
            (None, _) => usual.equivalence_margin,
        };
        let (warm_up, warm_up_launches) = match self.warmup {
            Some(WarmUp::Time(time)) => (time.into(), None),
            Some(WarmUp::Launches(launches)) => (usual.warm_up, Some(launches)),
            None => (usual.warm_up, None),
        };
        Sampling {
            precision: self.precision.map_or(usual.precision, super::Percent::fraction),
            samples: self.samples,
            warm_up,
            warm_up_launches,
            min_time,
            max_time: self.max_time.map_or(usual.max_time.max(min_time), Into::into),
            extended_max_time: self.max_time.map_or(usual.extended_max_time, |_| Nanoseconds::ZERO),
            benchmark_max_time: !is_quick && self.max_time.is_none() && self.min_time.is_none(),
            flush: self.flush.map(Into::into),
            path: self.path.and_then(super::PathChoice::path),
            energy: self.energy.or(usual.energy),
            equivalence_margin: band,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn other_settings_come_before_those_of_quick() {
        assert_eq!(Settings::default().sampling(), Sampling::USUAL);
        let max_time = Some(Duration::from_secs(1));
        let rules = Settings { quick: Some(true), max_time, ..Settings::default() }.sampling();
        assert_eq!((rules.max_time, rules.energy), (Nanoseconds::from_seconds(1.0), Some(false)));
        assert_eq!((rules.extended_max_time, rules.benchmark_max_time), (Nanoseconds::ZERO, false));
    }
}
