//! The confidence interval of a median. In: samples in ascending order and the timer's step; out: an interval
//! that holds the true median in 95 of 100 repetitions, whatever the shape of the distribution.

use crate::quantile::at_fractional_index;
use crate::units::Nanoseconds;

/// The confidence of every interval of a single case. Comparisons use a higher one.
pub const CONFIDENCE: f64 = 0.95;

/// The fewest samples whose order statistics can hold the median with a [`CONFIDENCE`] of 95 %: all of n
/// samples lie on one side of it with probability 2·½ⁿ, which is 6.3 % for five samples and 3.1 % for six.
pub const SMALLEST_SAMPLE: usize = 6;

crate::stored! {
    /// A range of times, both ends included.
    #[derive(Copy)]
    pub struct Interval {
        /// The lower end, in nanoseconds.
        pub low: Nanoseconds,
        /// The upper end, in nanoseconds.
        pub high: Nanoseconds,
    }
}

impl Interval {
    /// Half the distance between the two ends, in nanoseconds.
    pub fn half_width(&self) -> Nanoseconds {
        (self.high - self.low) / 2.0
    }

    /// Returns true if `time` lies within the interval or on one of its ends.
    pub fn contains(&self, time: Nanoseconds) -> bool {
        self.low <= time && time <= self.high
    }

    /// The same interval, with both ends moved outwards by the same amount until its half-width is
    /// `half_width`.
    fn at_least(self, half_width: Nanoseconds) -> Self {
        let missing = (half_width - self.half_width()).max(Nanoseconds::ZERO);
        Self { low: self.low - missing, high: self.high + missing }
    }
}

/// The interval that holds the median of `sorted` (ascending, not empty) with `confidence`, where they are worth
/// `effective` independent samples; never narrower than ± one `step`.
pub(super) fn interval(sorted: &[f64], effective: f64, step: Nanoseconds, confidence: f64) -> Interval {
    rank_interval(sorted, effective, step, confidence).at_least(step)
}

/// The interval between two order statistics of `sorted` (ascending, not empty) that holds the median with
/// `confidence`, where they are worth `effective` independent samples.
///
/// Ranks are found as if there were `effective` samples. The lower end is then the same quantile of all n: the
/// rank r stands for the probability (r − ½)/`effective`, between r − 1 and r samples, and so for the rank
/// ½ + (r − ½)·n/`effective`. With `effective` = n that is r itself, to the last bit.
///
/// Between neighbouring ticks of the timer there is nothing to interpolate: there the end is the outer
/// sample, which keeps the coverage of quantised times. That holds where the time stamps fall anywhere within
/// a step. Were they always to fall on the same place, every time would be off by up to a step, and nothing
/// in the samples would tell.
///
/// Too few samples ([`SMALLEST_SAMPLE`] for 95 %) have no such interval; what comes back is the smallest to the
/// largest of them, which covers less than its name says. The stop rule takes no notice of it where there are
/// no more samples; where there are, but correlated ones, it says what all of them agree on.
pub(super) fn rank_interval(sorted: &[f64], effective: f64, step: Nanoseconds, confidence: f64) -> Interval {
    // Ranks count from one, from either end; indices from zero.
    let last = sorted.len() - 1;
    let stretch = sorted.len() as f64 / effective;
    let rank = fractional_rank(effective, confidence).map_or(1.0, |rank| (rank - 0.5) * stretch + 0.5);
    let index = rank - 1.0;
    // Half a step of slack, because a correction of the times may have moved them off the timer's multiples.
    let neighbours = |a: usize, b: usize| Nanoseconds(sorted[a] - sorted[b]).abs() < 1.5 * step;
    let end = |interpolated: f64, outer: usize, inner: usize| {
        if neighbours(outer, inner) { sorted[outer] } else { at_fractional_index(sorted, interpolated) }
    };

    let outer = index as usize;
    let inner = (outer + 1).min(last);
    let low = end(index, outer, inner);
    let high = end(last as f64 - index, last - outer, last - inner);
    Interval { low: Nanoseconds(low), high: Nanoseconds(high) }
}

/// [`lower_rank`] of a `count` that need not be whole: on the straight line between the whole ones beside it.
fn fractional_rank(count: f64, confidence: f64) -> Option<f64> {
    let below = lower_rank(count as usize, confidence)?;
    let above = lower_rank(count.ceil() as usize, confidence)?;
    Some(below + count.fract() * (above - below))
}

/// The rank (from one, fractional) of the interval's lower end among `count` samples; the upper end has the
/// same rank from above. `None` where not even the extremes reach the confidence.
///
/// The samples of ranks d and n + 1 − d hold the median with probability γ(d) = P(d ≤ B ≤ n − d), B binomial
/// (n, ½). No d gives the confidence c exactly: the largest d with γ(d) ≥ c gives too much and d + 1 too little.
/// Between the two the end is interpolated after Hettmansperger & Sheather, *Confidence intervals based on
/// interpolated order statistics* (Statistics & Probability Letters 4, 1986), with the weight λ = (n − d)·I /
/// (d + (n − 2d)·I), where I = (γ(d) − c) / (γ(d) − γ(d + 1)).
fn lower_rank(count: usize, confidence: f64) -> Option<f64> {
    let weights = central_weights(count);
    let twice = |sum: f64| 2.0 * sum;
    // With an even count the middle term stands alone; all others come in pairs.
    let unpaired = if count.is_multiple_of(2) { 1.0 } else { 0.0 };
    let total = twice(weights.iter().sum()) - unpaired;

    let mut sum = 0.0;
    let mut inner = 0.0; // γ(d + 1)
    for (distance, weight) in weights.iter().enumerate() {
        sum += weight;
        let outer = (twice(sum) - unpaired) / total; // γ(d)
        let rank = count / 2 - distance; // d
        if outer >= confidence && rank > 0 {
            let (n, d) = (count as f64, rank as f64);
            let excess = (outer - confidence) / (outer - inner);
            return Some(d + (n - d) * excess / (d + (n - 2.0 * d) * excess));
        }
        inner = outer;
    }
    None
}

/// P(B = k) for B binomial (`count`, ½), from the middle k = ⌊count / 2⌋ downwards, in units of the middle
/// term.
///
/// Relative to the middle nothing underflows, however many samples there are; terms too small to change their
/// sum are left out, so that about 4·√n are computed and no normal approximation is needed.
fn central_weights(count: usize) -> Vec<f64> {
    let mut weights = Vec::new();
    let mut weight = 1.0;
    for k in (0..=count / 2).rev() {
        weights.push(weight);
        weight *= k as f64 / (count - k + 1) as f64;
        if weight < f64::EPSILON * 1e-3 {
            break;
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn median_ci(sorted: &[f64], effective: f64, step: f64) -> Interval {
        interval(sorted, effective, Nanoseconds(step), CONFIDENCE)
    }

    /// γ(d) from Pascal's triangle, in exact integers.
    fn coverage_exact(count: u32, rank: u32) -> f64 {
        let mut term: u128 = 1; // C(n, 0)
        let mut below: u128 = 0;
        for k in 0..rank {
            below += term;
            term = term * u128::from(count - k) / u128::from(k + 1);
        }
        1.0 - 2.0 * below as f64 / 2f64.powi(count as i32)
    }

    /// The published table of the ranks (no interpolation): the largest d with at least 95 %.
    #[test]
    fn whole_ranks_are_those_of_the_sign_test_table() {
        for (count, rank) in [(6, 1), (8, 1), (9, 2), (12, 3), (20, 6), (30, 10), (50, 18), (100, 40)] {
            let found = lower_rank(count, CONFIDENCE).expect("six samples or more");
            assert_eq!(found.floor(), f64::from(rank), "n = {count}: {found}");
        }
    }

    #[test]
    fn ranks_bracket_the_confidence_exactly() {
        for count in 6..=120_u32 {
            let rank = lower_rank(count as usize, CONFIDENCE).expect("six samples or more").floor() as u32;
            assert!(coverage_exact(count, rank) >= CONFIDENCE, "n = {count}");
            assert!(coverage_exact(count, rank + 1) < CONFIDENCE, "n = {count}");
        }
    }

    /// By hand for n = 10: γ(2) = 1002/1024, γ(3) = 912/1024.
    #[test]
    fn interpolates_as_hettmansperger_and_sheather_do() {
        let excess = (1002.0 - 0.95 * 1024.0) / (1002.0 - 912.0);
        let lambda = 8.0 * excess / (2.0 + 6.0 * excess);
        let rank = lower_rank(10, CONFIDENCE).expect("six samples or more");
        assert!((rank - (2.0 + lambda)).abs() < 1e-9, "{rank}");
    }

    /// With many samples the rank approaches n/2 + ½ − z·√n/2.
    #[test]
    fn many_samples_agree_with_the_normal_approximation() {
        for count in [2_000, 2_001, 100_000, 1_000_000, 10_000_000_usize] {
            let n = count as f64;
            let normal = n / 2.0 + 0.5 - 1.959_963_985 * n.sqrt() / 2.0;
            let rank = lower_rank(count, CONFIDENCE).expect("six samples or more");
            assert!((rank - normal).abs() < 0.02, "n = {count}: {rank} against {normal}");
        }
    }

    #[test]
    fn a_million_samples_cost_a_few_thousand_terms() {
        assert!(central_weights(1_000_000).len() < 6_000);
    }

    #[test]
    fn five_samples_have_no_interval_and_show_their_range() {
        for count in 1..SMALLEST_SAMPLE {
            assert_eq!(lower_rank(count, CONFIDENCE), None);
        }
        assert!(lower_rank(SMALLEST_SAMPLE, CONFIDENCE).is_some());
        let interval = median_ci(&[1.0, 2.0, 3.0, 4.0, 90.0], 5.0, 0.5);
        assert_eq!((interval.low.0, interval.high.0), (1.0, 90.0));
    }

    #[test]
    fn ties_are_as_wide_as_the_timer_is_coarse() {
        let interval = median_ci(&[320.0; 100], 100.0, 32.0);
        assert_eq!((interval.low.0, interval.high.0), (288.0, 352.0));
        assert_eq!(interval.half_width().0, 32.0);
    }

    /// Ten samples end at rank 2 + λ. Two ticks apart, that lies between them; one tick apart, it is the
    /// outer one.
    #[test]
    fn neighbouring_ticks_are_not_interpolated() {
        let ticks = |gap: f64| (0..10).map(|i| 1000.0 + gap * f64::from(i)).collect::<Vec<_>>();
        let apart = median_ci(&ticks(64.0), 10.0, 32.0);
        assert!(apart.low.0 > 1064.0 && apart.high.0 < 1512.0, "{apart:?}");
        let neighbours = median_ci(&ticks(32.0), 10.0, 32.0);
        assert_eq!((neighbours.low.0, neighbours.high.0), (1032.0, 1256.0));
    }

    /// 1000 samples worth 100: ten times the ranks to either side of the middle.
    #[test]
    fn correlated_samples_widen_it_as_if_there_were_fewer() {
        let even = |count: i32| (0..count).map(f64::from).collect::<Vec<_>>();
        let (hundred, thousand) = (median_ci(&even(100), 100.0, 0.0), median_ci(&even(1000), 100.0, 0.0));
        assert!((thousand.half_width().0 - 10.0 * hundred.half_width().0).abs() < 1e-9, "{thousand:?}");
        assert!((thousand.low.0 + thousand.high.0 - 999.0).abs() < 1e-9, "{thousand:?}");
    }

    #[test]
    fn fewer_effective_samples_make_it_wider() {
        let samples: Vec<f64> = (0..300).map(|i| f64::from(i).powi(3)).collect();
        let width = |effective| median_ci(&samples, effective, 0.0).half_width().0;
        let effective = [300.0, 299.5, 250.3, 100.0, 30.7, 10.1, 6.0, 5.9];
        assert!(effective.is_sorted_by(|&more, &fewer| width(more) < width(fewer)));
        assert_eq!(width(5.9), width(1.0), "the range of all samples");
    }

    /// The ends as they were before samples were weighed: those of the rank itself.
    #[test]
    fn independent_samples_keep_their_ranks_to_the_last_bit() {
        for count in SMALLEST_SAMPLE..500 {
            let samples: Vec<f64> = (0..count).map(|i| (i as f64).sqrt()).collect();
            let index = lower_rank(count, CONFIDENCE).expect("six samples or more") - 1.0;
            let interval = median_ci(&samples, count as f64, 0.0);
            assert_eq!(interval.low.0, at_fractional_index(&samples, index), "{count}");
            assert_eq!(interval.high.0, at_fractional_index(&samples, (count - 1) as f64 - index), "{count}");
        }
    }

    #[test]
    fn a_wide_interval_is_left_alone() {
        let samples: Vec<f64> = (0..100).map(|i| 1000.0 * f64::from(i)).collect();
        assert_eq!(median_ci(&samples, 100.0, 32.0), median_ci(&samples, 100.0, 0.0));
    }

    #[test]
    fn both_ends_belong_to_an_interval() {
        let interval = Interval { low: Nanoseconds(1.0), high: Nanoseconds(2.0) };
        assert!(interval.contains(interval.low) && interval.contains(interval.high));
        assert!(!interval.contains(Nanoseconds(0.99)) && !interval.contains(Nanoseconds(2.01)));
    }
}
