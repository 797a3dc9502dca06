//! The ratio of two launches' times with its confidence interval: as separate processes find it, or as
//! launches that alternate in rounds do. All of it is done on logarithms, so that twice as long and half as
//! long are equally far from equal.

use crate::estimators::{TrimmedMean, mean, median_of, moments, student_quantile, student_tail};
use crate::{summary::Median, units::Nanoseconds};

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
    /// Returns the ratio whose logarithm is `log`. `below` and `above` are the distances from `log` to the
    /// ends of its interval. Results beyond the range of `f64` are clamped, so that each end is finite.
    pub(super) fn from_log(log: f64, below: f64, above: f64, confidence: f64) -> Self {
        // Two rounds that differ much give an interval beyond the largest number, and a stored end must be a number.
        let exp = |log: f64| log.clamp(f64::MIN_POSITIVE.ln(), f64::MAX.ln()).exp();
        Self { value: exp(log), low: exp(log - below), high: exp(log + above), confidence }
    }

    /// Returns the ratio that `rounds` agree on. Each round is the natural logarithm of a ratio, and
    /// `resolution` the smallest difference of logarithms that rounds resolve. `None` for fewer than two
    /// pairs of rounds; a last round without a partner does not count.
    ///
    /// The first and the second round are a pair, the third and the fourth, and so on. In the second round of
    /// a pair, the launches swap the addresses of their inputs. So an address adds the same time to one
    /// launch in the first round and to the other in the second, and the mean of the pair is free of it.
    /// Pairs are at random addresses and thus independent of each other; rounds and samples are not.
    ///
    /// The ratio is the trimmed mean of the pairs, since disturbances may affect a few, with Student's
    /// interval, which is never narrower than ± `resolution`.
    pub fn from_rounds(rounds: &[f64], resolution: f64, confidence: f64) -> Option<Self> {
        Some(Self::from_mean(mean_of_rounds(rounds)?, resolution, confidence))
    }

    /// Returns the ratio whose logarithm is `mean`, with Student's interval of this `confidence`. The
    /// half-width of the interval is at least `resolution`.
    pub fn from_mean(mean: TrimmedMean, resolution: f64, confidence: f64) -> Self {
        let TrimmedMean { mean, error, freedom } = mean;
        let half = (student_quantile(confidence, freedom) * error).max(resolution);
        Self::from_log(mean, half, half, confidence)
    }
}

/// The degrees of freedom that the interval of one process's median is assumed to have. With a hundred samples or
/// more, this interval is about as wide as that of a normal distribution, which many degrees of freedom give.
const FREEDOM_WITHIN_A_PROCESS: usize = 200;

/// The ratio of a case's time in some processes to its time in other processes, each process with its median.
/// It keeps the logarithm of the ratio and the errors, from which intervals and p-values are computed.
///
/// The time of each side is the geometric mean of its medians. There are two intervals, and the wider one
/// counts. One is made of the intervals of the medians (Zou & Donner, *Construction of confidence limits
/// about effect measures*, Statistics in Medicine 27, 2008: distances to the ends add up as their squares).
/// With as many processes on both sides, the median distance of a side counts for all, since a disturbed
/// process may have an interval of any width. Otherwise the root mean square counts: the spread of the medians
/// may not show that the side with few processes is disturbed.
///
/// Where a side has several processes, the other is Student's, from the spread of the medians on each side:
/// it contains differences that no samples of one process show, such as where its buffers lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessRatio {
    /// The natural logarithm of the ratio.
    log: f64,
    /// The distance from `log` to the lower end of the interval that the processes' own intervals make;
    /// `above` is the distance to the upper end.
    below: f64,
    above: f64,
    /// The confidence of the processes' own intervals, and so of the ratio's.
    confidence: f64,
    /// The standard error between processes; `None` if each side has one process.
    between: Option<BetweenError>,
    /// The difference between processes that is assumed because none was measured, as a logarithm.
    assumed: f64,
    /// The geometric means of the medians, now and then; the ratio is the first divided by the second.
    pub times: [Nanoseconds; 2],
}

impl ProcessRatio {
    /// Computes the ratio of the medians `now` to the medians `then`. Each median comes from one process, and
    /// its interval has this `confidence`. Returns `None` if a side is empty, or if the lower end of a
    /// median's interval is not above zero.
    pub fn from_medians(now: &[Median], then: &[Median], confidence: f64) -> Option<Self> {
        let is_balanced = now.len() == then.len();
        let (now, then) =
            (LogMean::from_medians(now, is_balanced)?, LogMean::from_medians(then, is_balanced)?);
        Some(Self {
            log: now.log - then.log,
            below: now.below.hypot(then.above),
            above: now.above.hypot(then.below),
            confidence,
            between: BetweenError::from_logs(&now.logs, &then.logs),
            assumed: 0.0,
            times: [now.time, then.time],
        })
    }

    /// Returns the ratio with an assumed error between processes: two processes of the same program may
    /// differ by up to the fraction `difference`. Both ends of the interval move outwards by it, and
    /// [`Self::p_above`] and [`Self::p_below`] count only the distance beyond it.
    #[must_use]
    pub fn allowing_for(self, difference: f64) -> Self {
        Self { assumed: difference.ln_1p(), ..self }
    }

    /// Returns the ratio with its confidence interval.
    pub fn ratio(&self) -> Ratio {
        let between = self.between.map_or(0.0, |BetweenError { error, freedom }| {
            student_quantile(self.confidence, freedom) * error
        });
        let [below, above] = [self.below, self.above].map(|own| own.max(between) + self.assumed);
        Ratio::from_log(self.log, below, above, self.confidence)
    }

    /// Returns the two-sided p-value of the hypothesis that the true ratio is not above `limit`: the interval
    /// with the confidence 1 − p ends at `limit`. Returns 1 if the measured ratio does not exceed `limit` by
    /// more than the assumed difference.
    pub fn p_above(&self, limit: f64) -> f64 {
        self.tail_probability(self.log - limit.ln(), self.below)
    }

    /// Returns the two-sided p-value of the hypothesis that the true ratio is not below `limit`. Returns 1 if
    /// the measured ratio is not below `limit` by more than the assumed difference.
    pub fn p_below(&self, limit: f64) -> f64 {
        self.tail_probability(limit.ln() - self.log, self.above)
    }

    /// Returns the two-sided p-value of the `distance` from the ratio's logarithm to that of a limit; 1 if
    /// the distance is not above the assumed difference. `half` is the distance from the ratio's logarithm to
    /// the end towards the limit, in the interval that the medians' own intervals make.
    fn tail_probability(&self, distance: f64, half: f64) -> f64 {
        let distance = distance - self.assumed;
        if distance <= 0.0 {
            return 1.0;
        }
        let own = if half > 0.0 {
            let scale = student_quantile(self.confidence, FREEDOM_WITHIN_A_PROCESS);
            2.0 * student_tail(distance / half * scale, FREEDOM_WITHIN_A_PROCESS)
        } else {
            0.0
        };
        let between = self.between.filter(|between| between.error > 0.0);
        let between = between
            .map_or(0.0, |BetweenError { error, freedom }| 2.0 * student_tail(distance / error, freedom));
        own.max(between)
    }
}

/// One side of a comparison of processes: the logarithms of the medians, their mean `log`, and the distances
/// from the mean to the ends of its interval.
struct LogMean {
    logs: Vec<f64>,
    log: f64,
    /// The same mean as a time.
    time: Nanoseconds,
    below: f64,
    above: f64,
}

impl LogMean {
    /// Computes the mean of the medians' logarithms, with its interval, from the median of the distances if
    /// `is_balanced`, else from their root mean square. `None` if there are no medians, if one is not above
    /// zero, or if the interval reaches zero.
    fn from_medians(medians: &[Median], is_balanced: bool) -> Option<Self> {
        if medians.iter().any(|median| median.time <= Nanoseconds::ZERO) {
            return None;
        }
        let count = medians.len() as f64;
        let logs: Vec<f64> = medians.iter().map(|median| median.time.as_f64().ln()).collect();
        let end = |end: fn(&Median) -> Nanoseconds| {
            let distance = |median: &Median| (end(median) / median.time).max(0.0).ln().abs();
            let mut distances: Vec<f64> = medians.iter().map(distance).collect();
            let usual = match is_balanced {
                true => median_of(&mut distances)?,
                false => (distances.iter().map(|it| it.powi(2)).sum::<f64>() / count).sqrt(),
            };
            Some(usual / count.sqrt()).filter(|distance| distance.is_finite())
        };
        let log = mean(&logs);
        // One median is its own mean, to the last bit.
        let time = if let [only] = medians { only.time } else { Nanoseconds(log.exp()) };
        let (below, above) = (end(|median| median.interval.low)?, end(|median| median.interval.high)?);
        Some(Self { logs, log, time, below, above })
    }
}

/// The standard error between processes: that of the difference of two means of logarithms, with its degrees
/// of freedom. Both sides share one variance, pooled from both.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BetweenError {
    error: f64,
    freedom: usize,
}

impl BetweenError {
    /// Computes the error from the logarithms of both sides. `None` if each side has only one value.
    fn from_logs(now: &[f64], then: &[f64]) -> Option<Self> {
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

/// The fraction of a timer step that the mean of pairs counts as resolving, if the launches' own noise
/// spreads the readings over several steps. In measurements, the error of such means was a twentieth of a
/// step.
const RESOLVED_STEP_FRACTION: f64 = 1.0 / 16.0;

/// The middle three quarters of a launch's readings must spread over more than this many timer steps for its
/// noise to count as large. Readings are whole steps less a correction, so that half a step is slack.
const MIN_SPREAD_STEPS: f64 = 1.5;

/// Returns the natural logarithm of the ratio of pairs of times, the first time over the second. `None` if
/// there are no pairs, or if a time is not above zero.
///
/// The result is the interquartile mean of the pairs' logarithms. Disturbances of up to a quarter of the
/// pairs do not move it. It resolves less than a step of the timer, which the median of readings does not.
pub fn log_ratio_of_pairs(pairs: &[[Nanoseconds; 2]]) -> Option<f64> {
    if pairs.is_empty() || pairs.iter().flatten().any(|time| *time <= Nanoseconds::ZERO) {
        return None;
    }
    let mut logs: Vec<f64> = pairs.iter().map(|[a, b]| (*a / *b).ln()).collect();
    logs.sort_unstable_by(f64::total_cmp);
    Some(mean(without_ends(&logs, 4)))
}

/// Returns `sorted` (not empty) without the first and the last of `parts` equal parts: for 4, the middle
/// half. A part is rounded up to whole values, but one or two values in the middle are always left.
fn without_ends(sorted: &[f64], parts: usize) -> &[f64] {
    let cut = sorted.len().div_ceil(parts).min((sorted.len() - 1) / 2);
    &sorted[cut..sorted.len() - cut]
}

/// Returns the smallest difference of natural logarithms that [`log_ratio_of_pairs`] resolves for such
/// `pairs`. `step` is the resolution of the timer. Infinite if there are no pairs.
///
/// Noise of half a step or more makes each reading a random choice between neighbouring ticks. The mean of
/// many readings is then right to a twentieth of a step, even if all launches begin at the same place within
/// a step. With less noise the mean is wherever rounding puts it, and the resolution is a whole step. Noise
/// counts as large enough if the middle three quarters of each launch's times spread over more than 1.5
/// steps.
pub fn resolution_of_pairs(pairs: &[[Nanoseconds; 2]], step: Nanoseconds) -> f64 {
    let of = |whose: usize| {
        let mut times: Vec<f64> = pairs.iter().map(|pair| pair[whose].as_f64()).collect();
        times.sort_unstable_by(f64::total_cmp);
        let kept = without_ends(&times, 8);
        let is_spread = kept[kept.len() - 1] - kept[0] > MIN_SPREAD_STEPS * step.as_f64();
        let part = if is_spread { RESOLVED_STEP_FRACTION } else { 1.0 };
        part * (step / Nanoseconds(kept[kept.len() / 2]))
    };
    if pairs.is_empty() { f64::INFINITY } else { of(0).max(of(1)) }
}

/// Returns the trimmed mean of pairs of `rounds`, each the natural logarithm of a ratio. The first and the
/// second round are a pair, and so on; a last round without a partner does not count. `None` for fewer than
/// two pairs.
pub fn mean_of_rounds(rounds: &[f64]) -> Option<TrimmedMean> {
    let (pairs, _) = rounds.as_chunks::<2>();
    let means: Vec<f64> = pairs.iter().map(|[one, swapped]| f64::midpoint(*one, *swapped)).collect();
    TrimmedMean::from_values(&means)
}

#[cfg(test)]
mod ratio_tests {
    use super::*;
    use crate::summary::Interval;

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
        let ratio = ProcessRatio::from_medians(&[now], &[then], 0.99).expect("one each").ratio();
        near(ratio.value, 2.0);
        near(ratio.low, 2.0 * (-0.05_f64).exp());
        near(ratio.high, 2.0 * 0.05_f64.exp());
        assert_eq!(ProcessRatio::from_medians(&[now], &[], 0.99), None);
        assert_eq!(ProcessRatio::from_medians(&[median(10.0, -1.0, 20.0)], &[then], 0.99), None);
    }

    #[test]
    fn the_ratio_is_that_of_the_mean_times() {
        let [now, then] = [[1000.0, 1100.0, 1500.0], [400.0, 500.0, 450.0]]
            .map(|times| times.map(|time: f64| median(time, 0.99 * time, 1.01 * time)));
        let found = ProcessRatio::from_medians(&now, &then, 0.99).expect("three each");
        near(found.ratio().value, found.times[0] / found.times[1]);
        let exact = median(326_400.0, 326_368.0, 326_432.0);
        let times = |now: &[Median]| Some(ProcessRatio::from_medians(now, &[exact], 0.99)?.times);
        assert_eq!(times(&[exact]), Some([exact.time; 2]), "to the last bit");
        assert_eq!((times(&[]), times(&[median(-1.0, -2.0, 1.0)])), (None, None));
    }

    /// Other programs that use a process's core widen its interval, and hardly move its median.
    #[test]
    fn one_disturbed_process_widens_no_comparison() {
        let around = |time: f64| median(time, 0.99 * time, 1.01 * time);
        let now = [around(10.0), median(10.1, 9.0, 40.0), around(10.2), around(10.1), around(10.0)];
        let then = [around(10.1), around(10.0), around(10.2), around(10.0), around(10.1)];
        let ratio = ProcessRatio::from_medians(&now, &then, 0.99).expect("five each").ratio();
        assert!(ratio.low > 0.98 && ratio.high < 1.02, "{ratio:?}");
    }

    /// The pooled spread of few noisy processes and many quiet ones is too small. The intervals of the noisy
    /// processes then set the width.
    #[test]
    fn few_noisy_processes_against_many_quiet_ones_widen_it() {
        let around = |part: f64| median(10.0, 10.0 * (1.0 - part), 10.0 * (1.0 + part));
        let now = [0.1, 0.1, 0.001, 0.001, 0.001].map(around);
        let half = |count| {
            ProcessRatio::from_medians(&now, &vec![around(0.001); count], 0.99).expect("enough").ratio().high
                - 1.0
        };
        assert!(half(40) > 0.026 && half(5) < 0.001, "{} {}", half(40), half(5));
    }

    /// Five processes ± 1 % and one now: t(99 %, 4) = 4.604 deviations, times √(1 + 1/5).
    #[test]
    fn processes_that_differ_widen_it() {
        let exact = |log: f64| median(log.exp(), log.exp(), log.exp());
        let then: Vec<Median> = [-0.01, -0.01, 0.0, 0.01, 0.01].map(exact).to_vec();
        let ratio =
            ProcessRatio::from_medians(&[exact(0.05)], &then, 0.99).expect("there are enough").ratio();
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
            let found = ProcessRatio::from_medians(&now, &then, 0.99).expect("there are some on both sides");
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
        let own = ProcessRatio::from_medians(&[blurred(0.5)], &[blurred(0.0)], 0.99).expect("one each");
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
        let two =
            ProcessRatio::from_medians(&[around(100.0), around(400.0)], &[around(1.0)], 0.99).expect("two");
        near(two.times[0].0, 200.0);
        let ratio = ProcessRatio::from_medians(&[around(30.0); 2], &[around(10.0); 2], 0.99)
            .expect("two each")
            .ratio();
        near(ratio.value, 3.0);
        near(ratio.high.ln(), 3.0_f64.ln() + 0.02);
        near(ratio.low.ln(), 3.0_f64.ln() - 0.02);
    }
}

#[cfg(test)]
mod rounds_tests {
    use super::*;

    fn pairs(times: &[(f64, f64)]) -> Vec<[Nanoseconds; 2]> {
        times.iter().map(|&(a, b)| [Nanoseconds(a), Nanoseconds(b)]).collect()
    }

    /// Pairs of rounds with these means, in which places are worth ± 3 %.
    fn rounds(means: &[f64]) -> Vec<f64> {
        means.iter().flat_map(|mean| [mean + 0.03, mean - 0.03]).collect()
    }

    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, {expected} expected");
    }

    #[test]
    fn a_pair_that_was_interrupted_does_not_move_the_mean() {
        let log = log_ratio_of_pairs(&pairs(&[(102.0, 100.0), (51.0, 50.0), (900.0, 100.0)]));
        near(log.expect("three pairs"), 1.02_f64.ln());
        assert_eq!(log_ratio_of_pairs(&[]), None);
        assert_eq!(log_ratio_of_pairs(&pairs(&[(1.0, 1.0), (0.0, 1.0)])), None);
    }

    /// What slows both launches of a pair is in neither's favour: over the medians of each the ratio would be
    /// 0.55.
    #[test]
    fn each_time_is_held_against_that_of_its_own_pair() {
        let log = log_ratio_of_pairs(&pairs(&[(110.0, 100.0), (220.0, 200.0), (90.0, 300.0)]));
        near(log.expect("three pairs"), 1.1_f64.ln());
    }

    /// Of eight pairs the four in the middle count: of these, one reads a step more.
    #[test]
    fn readings_are_averaged_between_steps() {
        let same = (3200.0, 3200.0);
        let times =
            [(32.0, 3200.0), same, same, same, (3232.0, 3200.0), (3264.0, 3200.0), same, (9e9, 3200.0)];
        let log = log_ratio_of_pairs(&pairs(&times)).expect("eight pairs");
        near(log, 1.01_f64.ln() / 4.0);
    }

    /// By hand: mean 0.02, standard deviation 0.01, and t(99 %, 3) = 5.841.
    #[test]
    fn pairs_of_rounds_have_students_interval() {
        let deviation = 0.01 * 1.5_f64.sqrt();
        let logs = rounds(&[0.02 - deviation, 0.02, 0.02, 0.02 + deviation]);
        let ratio = Ratio::from_rounds(&logs, 0.0, 0.99).expect("four pairs");
        near(ratio.value, 0.02_f64.exp());
        assert!((ratio.high.ln() - (0.02 + 5.8409 * 0.01 / 2.0)).abs() < 1e-6, "{ratio:?}");
        near(ratio.low * ratio.high, ratio.value * ratio.value);
        assert_eq!(Ratio::from_rounds(&logs[..3], 0.0, 0.99), None);
        let without_its_second = &[&logs[..], &[0.5]].concat();
        assert_eq!(Ratio::from_rounds(without_its_second, 0.0, 0.99), Some(ratio));
    }

    /// By hand, of eight pairs −1 … 1 and one far out on each side: six are kept, the others count as ± 1.
    #[test]
    fn pairs_of_rounds_that_were_disturbed_are_cut_off() {
        let logs = rounds(&[-0.01, 0.0, 0.01, -0.5, 0.9, 0.0, 0.01, -0.01]);
        let ratio = Ratio::from_rounds(&logs, 0.0, 0.99).expect("eight pairs");
        near(ratio.value, 1.0);
        // Six squares of 0.0001; t(99 %, 5) = 4.032.
        let error = (6e-4_f64 / 30.0).sqrt();
        assert!((ratio.high.ln() - 4.032_143 * error).abs() < 1e-7, "{ratio:?}");
    }

    #[test]
    fn rounds_that_agree_are_no_finer_than_what_they_resolve() {
        let ratio = Ratio::from_rounds(&[0.0; 8], 0.005, 0.99).expect("four pairs");
        near(ratio.low, (-0.005_f64).exp());
        near(ratio.high, 0.005_f64.exp());
    }

    #[test]
    fn noise_over_several_steps_resolves_a_part_of_one() {
        let step = Nanoseconds(32.0);
        let spread =
            |readings: &[f64]| -> Vec<(f64, f64)> { readings.iter().map(|time| (*time, 640.0)).collect() };
        let both =
            |readings: &[f64]| -> Vec<(f64, f64)> { readings.iter().map(|time| (*time, *time)).collect() };
        let resolution = |times: &[(f64, f64)]| resolution_of_pairs(&pairs(times), step);
        let three = [608.0, 608.0, 640.0, 640.0, 640.0, 640.0, 672.0, 672.0];
        near(resolution(&both(&three)), 0.05 * RESOLVED_STEP_FRACTION);
        near(resolution(&spread(&three)), 0.05);
        near(resolution(&both(&[608.0, 608.0, 608.0, 640.0, 640.0, 640.0, 640.0, 9000.0])), 0.05);
        near(resolution(&both(&[640.0; 8])), 0.05);
        assert_eq!(resolution(&[]), f64::INFINITY);
    }

    /// JSON gives back all that is stored but infinity.
    #[test]
    fn two_pairs_that_differ_much_have_a_finite_interval() {
        let ratio = Ratio::from_rounds(&rounds(&[-3.0, 4.0]), 0.0, 0.999).expect("two pairs");
        assert!(ratio.low > 0.0 && ratio.high.is_finite(), "{ratio:?}");
        let json = serde_json::to_string(&ratio).expect("JSON");
        assert!(serde_json::from_str::<Ratio>(&json).is_ok_and(|ratio| ratio.high.is_finite()), "{json}");
    }
}
