//! The ratio of two launches' times, as separate processes find it; `rounds` finds that of launches that alternate. In: the
//! medians of the processes; out: a [`Ratio`] with its confidence interval. All of it is done on logarithms, so that twice as
//! long and half as long are equally far from equal.

use crate::autocorrelation::effective_samples;
use crate::median_ci::{Interval, interval};
use crate::quantile::{ascending, quantile};
use crate::student;
use crate::trimmed::moments;
use crate::units::Nanoseconds;

crate::stored! {
    /// The time of one launch over that of another, each a median.
    #[derive(Copy)]
    pub struct Ratio {
        /// The ratio: 1.02 where the first takes 2 % longer.
        pub value: f64,
        /// The lower end of its interval.
        pub low: f64,
        /// The upper end.
        pub high: f64,
        /// The probability with which such an interval holds the true ratio.
        pub confidence: f64,
    }
}

impl Ratio {
    /// The ratio of the medians of the processes `now` to those of the processes `then`; see [`ProcessRatio`].
    pub fn of_processes(now: &[Median], then: &[Median], confidence: f64) -> Option<Self> {
        ProcessRatio::of(now, then, confidence).map(|found| found.ratio())
    }

    pub(super) fn around(log: f64, below: f64, above: f64, confidence: f64) -> Self {
        // Two rounds that differ much give an interval beyond the largest number, and a stored end must be a number.
        let exp = |log: f64| log.clamp(f64::MIN_POSITIVE.ln(), f64::MAX.ln()).exp();
        Self { value: exp(log), low: exp(log - below), high: exp(log + above), confidence }
    }
}

/// The degrees of freedom of an interval of one process's median. It comes of ranks, as far out as a normal distribution's or
/// little further: of a hundred samples and more.
const WITHIN_A_PROCESS: usize = 200;

/// The ratio of the medians of processes, with the errors that its interval and its tests are made of.
///
/// Each side counts by the mean logarithm of its medians. There are two errors, and the wider interval counts. One is made of the
/// intervals of the medians (Zou & Donner, *Construction of confidence limits about effect measures*, Statistics in Medicine 27,
/// 2008: distances to the ends add up as their squares). Where a side has several processes, the other is Student's, from the
/// spread of the medians on each side: it contains differences that no samples of one process show, such as where its buffers lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessRatio {
    log: f64,
    /// The distances to the ends of the interval that the processes' own intervals make.
    below: f64,
    above: f64,
    confidence: f64,
    between: Option<Between>,
    /// The difference between processes that is assumed because none was measured, as a logarithm.
    assumed: f64,
}

impl ProcessRatio {
    /// The ratio of the medians of the processes `now` to those of the processes `then`, whose intervals have this
    /// `confidence`. `None` if a side has no process, or a time is not above zero.
    pub fn of(now: &[Median], then: &[Median], confidence: f64) -> Option<Self> {
        let (now, then) = (Side::of(now)?, Side::of(then)?);
        Some(Self {
            log: now.log - then.log,
            below: now.below.hypot(then.above),
            above: now.above.hypot(then.below),
            confidence,
            between: Between::of(&now.logs, &then.logs),
            assumed: 0.0,
        })
    }

    /// Allows for processes of one program that differ by up to the fraction `difference`: both ends of the interval move out by
    /// it, and the tests count only the distance beyond it.
    #[must_use]
    pub fn allowing_for(self, difference: f64) -> Self {
        Self { assumed: difference.ln_1p(), ..self }
    }

    /// The ratio with its interval.
    pub fn ratio(&self) -> Ratio {
        let between = self
            .between
            .map_or(0.0, |Between { error, freedom }| student::quantile(self.confidence, freedom) * error);
        let [below, above] = [self.below, self.above].map(|own| own.max(between) + self.assumed);
        Ratio::around(self.log, below, above, self.confidence)
    }

    /// The probability that a ratio which is not above `limit` gives an interval as far above it as this, or as far below a limit
    /// of the same distance: an interval with the confidence 1 − p ends at `limit`. One if the ratio is not above it.
    pub fn p_above(&self, limit: f64) -> f64 {
        self.p(self.log - limit.ln(), self.below)
    }

    /// The same of a ratio that is not below `limit`.
    pub fn p_below(&self, limit: f64) -> f64 {
        self.p(limit.ln() - self.log, self.above)
    }

    /// The probability of a distance from a limit, towards which the interval of the processes' own is so long.
    fn p(&self, distance: f64, half: f64) -> f64 {
        let distance = distance - self.assumed;
        if distance <= 0.0 {
            return 1.0;
        }
        let own = if half > 0.0 {
            let scale = student::quantile(self.confidence, WITHIN_A_PROCESS);
            2.0 * student::above(distance / half * scale, WITHIN_A_PROCESS)
        } else {
            0.0
        };
        let between = self.between.filter(|between| between.error > 0.0);
        let between =
            between.map_or(0.0, |Between { error, freedom }| 2.0 * student::above(distance / error, freedom));
        own.max(between)
    }
}

/// The median of a case in one process, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Median {
    /// The median of its samples.
    pub time: Nanoseconds,
    /// The median's interval.
    pub interval: Interval,
}

impl Median {
    /// The median of `times`, in the order they ran, with its interval of this `confidence`; a [`Summary`](crate::Summary)
    /// has that of 95 %. `None` if there are no times.
    pub fn of(times: &[Nanoseconds], step: Nanoseconds, confidence: f64) -> Option<Self> {
        if times.is_empty() {
            return None;
        }
        let sorted = ascending(times);
        let time = Nanoseconds(quantile(&sorted, 0.5));
        let effective = effective_samples(times, time);
        Some(Self { time, interval: interval(&sorted, effective, step, confidence) })
    }
}

impl Median {
    /// The geometric mean of the medians of several processes; [`Ratio::of_processes`] is the ratio of two such means.
    /// `None` if there are no medians, or a time is not above zero.
    pub fn mean(medians: &[Self]) -> Option<Nanoseconds> {
        match medians {
            [only] => Some(only.time).filter(|time| *time > Nanoseconds::ZERO),
            several => Side::of(several).map(|side| Nanoseconds(side.log.exp())),
        }
    }
}

/// One side of a comparison of processes: the mean of the logarithms, and the distances to the ends of its interval.
struct Side {
    logs: Vec<f64>,
    log: f64,
    below: f64,
    above: f64,
}

impl Side {
    fn of(medians: &[Median]) -> Option<Self> {
        if medians.is_empty() || medians.iter().any(|median| median.interval.low <= Nanoseconds::ZERO) {
            return None;
        }
        let count = medians.len() as f64;
        let logs: Vec<f64> = medians.iter().map(|median| median.time.as_f64().ln()).collect();
        let end = |end: fn(&Median) -> Nanoseconds| {
            let distances = medians.iter().map(|median| (end(median) / median.time).ln().powi(2));
            distances.sum::<f64>().sqrt() / count
        };
        Some(Self {
            log: logs.iter().sum::<f64>() / count,
            below: end(|median| median.interval.low),
            above: end(|median| median.interval.high),
            logs,
        })
    }
}

/// The standard error of the difference of two means, of values that are equally far apart on both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Between {
    error: f64,
    freedom: usize,
}

impl Between {
    /// `None` where neither side has two values.
    fn of(now: &[f64], then: &[f64]) -> Option<Self> {
        let freedom = now.len() + then.len() - 2;
        if freedom == 0 {
            return None;
        }
        let squares = |values: &[f64]| {
            moments(values).map_or(0.0, |(_, variance)| variance * (values.len() - 1) as f64)
        };
        let variance = (squares(now) + squares(then)) / freedom as f64;
        let counts = 1.0 / now.len() as f64 + 1.0 / then.len() as f64;
        Some(Self { error: (variance * counts).sqrt(), freedom })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn median(time: f64, low: f64, high: f64) -> Median {
        let interval = Interval { low: Nanoseconds(low), high: Nanoseconds(high) };
        Median { time: Nanoseconds(time), interval }
    }

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, {expected} expected");
    }

    /// 3 and 4 in a hundred add up to 5.
    #[test]
    fn intervals_of_two_medians_add_as_squares() {
        let now = median(1000.0, 1000.0 * (-0.03_f64).exp(), 1000.0 * 0.04_f64.exp());
        let then = median(500.0, 500.0 * (-0.03_f64).exp(), 500.0 * 0.04_f64.exp());
        let ratio = Ratio::of_processes(&[now], &[then], 0.99).expect("one each");
        near(ratio.value, 2.0);
        near(ratio.low, 2.0 * (-0.05_f64).exp());
        near(ratio.high, 2.0 * 0.05_f64.exp());
        assert_eq!(Ratio::of_processes(&[now], &[], 0.99), None);
        assert_eq!(Ratio::of_processes(&[median(10.0, -1.0, 20.0)], &[then], 0.99), None);
    }

    #[test]
    fn the_ratio_is_that_of_the_mean_times() {
        let [now, then] = [[1000.0, 1100.0, 1500.0], [400.0, 500.0, 450.0]]
            .map(|times| times.map(|time: f64| median(time, 0.99 * time, 1.01 * time)));
        let ratio = Ratio::of_processes(&now, &then, 0.99).expect("three each");
        let [now, then] = [now, then].map(|medians| Median::mean(&medians).expect("above zero").0);
        near(ratio.value, now / then);
        let exact = median(326_400.0, 326_368.0, 326_432.0);
        assert_eq!(Median::mean(&[exact]), Some(exact.time), "to the last bit");
        assert_eq!((Median::mean(&[]), Median::mean(&[median(-1.0, -2.0, 1.0)])), (None, None));
    }

    /// Five processes ± 1 % and one now: t(99 %, 4) = 4.604 deviations, times √(1 + 1/5).
    #[test]
    fn processes_that_differ_widen_it() {
        let exact = |log: f64| median(log.exp(), log.exp(), log.exp());
        let then: Vec<Median> = [-0.01, -0.01, 0.0, 0.01, 0.01].map(exact).to_vec();
        let ratio = Ratio::of_processes(&[exact(0.05)], &then, 0.99).expect("there are enough");
        near(ratio.value, 0.05_f64.exp());
        let half = 4.604_095 * 0.01 * 1.2_f64.sqrt();
        assert!((ratio.high.ln() - 0.05 - half).abs() < 1e-6, "{ratio:?}");
        assert!((0.05 - ratio.low.ln() - half).abs() < 1e-6, "{ratio:?}");
    }

    /// The interval of this confidence ends where the probability says.
    #[test]
    fn probabilities_are_those_of_the_interval() {
        let exact = |log: f64| median(log.exp(), log.exp(), log.exp());
        let blurred = |log: f64| median(log.exp(), (log - 0.002).exp(), (log + 0.003).exp());
        for (now, then) in [
            (vec![exact(0.05)], [-0.01, -0.01, 0.0, 0.01, 0.01].map(exact).to_vec()),
            (vec![blurred(0.05)], vec![blurred(0.0)]),
            (vec![blurred(-0.05), blurred(-0.052)], vec![blurred(0.0)]),
        ] {
            let found = ProcessRatio::of(&now, &then, 0.99).expect("there are some on both sides");
            let ratio = found.ratio();
            assert!((found.p_above(ratio.low) - 0.01).abs() < 1e-9, "{}", found.p_above(ratio.low));
            assert!((found.p_below(ratio.high) - 0.01).abs() < 1e-9, "{}", found.p_below(ratio.high));
            assert!(found.p_above(ratio.low * 1.001) > 0.01 && found.p_above(ratio.low * 0.999) < 0.01);
            assert!(found.p_above(ratio.value) > 0.999 && found.p_below(ratio.value) > 0.999);
        }
    }

    /// The same holds with an assumed difference, by which both ends move out.
    #[test]
    fn an_assumed_difference_moves_both_ends_and_the_tests() {
        let blurred = |log: f64| median(log.exp(), (log - 0.002).exp(), (log + 0.003).exp());
        let own = ProcessRatio::of(&[blurred(0.5)], &[blurred(0.0)], 0.99).expect("one each");
        let wide = own.allowing_for(0.25);
        near(wide.ratio().value, own.ratio().value);
        near(wide.ratio().low, own.ratio().low / 1.25);
        near(wide.ratio().high, own.ratio().high * 1.25);
        near(wide.p_above(wide.ratio().low), 0.01);
        near(wide.p_below(wide.ratio().high), 0.01);
        near(wide.p_above(0.5_f64.exp() / 1.2), 1.0);
    }

    #[test]
    fn a_median_has_the_interval_of_its_confidence() {
        let times: Vec<_> = (0..1000).map(|i| Nanoseconds(1000.0 + f64::from(i * 149 % 1000))).collect();
        let half = |confidence| {
            let median = Median::of(&times, Nanoseconds(1.0), confidence).expect("many");
            median.interval.half_width().0
        };
        let summary = crate::Summary::of(&times, Nanoseconds(1.0)).expect("many");
        assert_eq!(half(0.95), summary.median_ci.half_width().0);
        let wider = half(0.99) / half(0.95);
        assert!((wider - 2.576 / 1.96).abs() < 0.02, "{wider}");
    }

    /// By hand: of 100 and 400 it is 200; √(0.02² + 0.02²) over two on each side, twice.
    #[test]
    fn several_medians_have_their_geometric_mean_and_a_narrower_interval() {
        let [low, high] = [-0.02, 0.02_f64].map(f64::exp);
        let around = |time: f64| median(time, time * low, time * high);
        near(Median::mean(&[around(100.0), around(400.0)]).expect("above zero").0, 200.0);
        let ratio = Ratio::of_processes(&[around(30.0); 2], &[around(10.0); 2], 0.99).expect("two each");
        near(ratio.value, 3.0);
        near(ratio.high.ln(), 3.0_f64.ln() + 0.02);
        near(ratio.low.ln(), 3.0_f64.ln() - 0.02);
    }
}
