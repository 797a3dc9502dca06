//! The figures that describe a case's samples: a [`Summary`], and the confidence interval of a median,
//! whatever the shape of the distribution and whether or not samples come in groups.
//!
//! Samples of a group have a graph and its place in memory in common, and those move all of them together: on
//! an H200 a graph that is made anew moves a time by some 50 ns. So the samples of one group, however many,
//! agree with each other better than with those of the next, and the number that narrows an interval is that
//! of the groups.

use crate::estimators::{
    TrimmedMean, ascending, at_fractional_index, bisect, effective_samples, moments, quantile,
    student_quantile, variance,
};
use crate::{modes::Modes, units::Nanoseconds};

crate::stored! {
    /// The figures that describe a case's samples. Times are in nanoseconds; quantiles are those of Hyndman &
    /// Fan (1996), type 7.
    #[derive(Default)]
    pub struct Summary {
        /// The number of samples.
        pub samples: usize,
        /// The number of independent samples that would give the median with the same precision: fewer than
        /// all if successive samples are alike (Geyer's initial monotone sequence estimator on the signs of
        /// their distances from the median). Nothing in an old record, whose interval takes its samples for
        /// independent.
        pub effective_samples: Option<f64>,
        /// The number of groups whose medians the interval is made of; nothing if it is made of the samples.
        pub groups: Option<usize>,
        /// The middle of the samples: the time of the case. Below the step of the timer if samples come in
        /// groups.
        pub median: Nanoseconds,
        /// The 95 % confidence interval of the median. If samples come in groups, that for the medians of
        /// other processes ([`Median::of_groups`]).
        ///
        /// Otherwise it is made of interpolated order statistics (Hettmansperger & Sheather 1986) for the
        /// effective number of samples, never narrower than ± one step of the timer: two quantised time
        /// stamps can hide up to that much. Below
        /// [`SMALLEST_SAMPLE`](crate::SMALLEST_SAMPLE) effective samples there is no such interval, and this is the range of the
        /// samples.
        pub median_ci: Interval,
        /// The fastest sample.
        pub min: Nanoseconds,
        /// The slowest sample.
        pub max: Nanoseconds,
        /// The arithmetic mean.
        pub mean: Nanoseconds,
        /// The standard deviation with divisor n − 1, in two passes (first the mean, then the squares of the
        /// distances from it), so that no digits cancel; zero for one sample.
        pub standard_deviation: Nanoseconds,
        /// The coefficient of variation: standard deviation over mean, as a fraction. Zero where the mean is
        /// not above zero and the ratio has no meaning.
        pub cv: f64,
        /// The interquartile range, 75th less 25th percentile: the spread that outliers do not move.
        pub iqr: Nanoseconds,
        /// The 5th percentile.
        pub p5: Nanoseconds,
        /// The 95th percentile.
        pub p95: Nanoseconds,
        /// The 99th percentile.
        pub p99: Nanoseconds,
    }
}

impl Summary {
    /// Summarises `samples`, in the order they ran, which a timer read in steps of `step` nanoseconds; `None`
    /// if there are none.
    ///
    /// Every sample must be finite. One that is not makes the figures meaningless (they may be infinite or
    /// not a number), but causes no panic. The order of samples changes only the effective number of samples
    /// and with it the interval of the median.
    pub fn of(samples: &[Nanoseconds], step: Nanoseconds) -> Option<Self> {
        let sorted = ascending(samples);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let (mean, variance) = moments(&sorted).unwrap_or((min, 0.0));
        let standard_deviation = variance.sqrt();
        let at = |p| Nanoseconds(quantile(&sorted, p));
        let effective = effective_samples(samples, at(0.5));

        Some(Self {
            samples: sorted.len(),
            effective_samples: Some(effective),
            groups: None,
            median: at(0.5),
            median_ci: rank_interval(&sorted, effective, step, CONFIDENCE).widened_to(step),
            min: Nanoseconds(min),
            max: Nanoseconds(max),
            mean: Nanoseconds(mean),
            standard_deviation: Nanoseconds(standard_deviation),
            cv: if mean > 0.0 { standard_deviation / mean } else { 0.0 },
            iqr: at(0.75) - at(0.25),
            p5: at(0.05),
            p95: at(0.95),
            p99: at(0.99),
        })
    }

    /// Summarises `samples` that come in `groups`. Median and interval are those of [`Median::of_groups`];
    /// all other figures are as in [`Self::of`]. If there are fewer than six groups with samples, or the
    /// sizes of groups do not add up to the number of samples, all figures are as in [`Self::of`]. `None` if
    /// there are no samples.
    pub fn of_groups(samples: &[Nanoseconds], groups: Groups<'_>, step: Nanoseconds) -> Option<Self> {
        let summary = Self::of(samples, step)?;
        let Some(grouped) = Median::of_groups(samples, groups, step, CONFIDENCE) else {
            return Some(summary);
        };
        let count = groups.sizes.iter().filter(|size| **size > 0).count();
        Some(Self { groups: Some(count), median: grouped.time, median_ci: grouped.interval, ..summary })
    }

    /// Returns this summary with four figures of `other`: the median, its interval, its number of groups, and
    /// the effective number of samples.
    #[must_use]
    pub fn with_median_of(self, other: Self) -> Self {
        let Self { effective_samples, groups, median, median_ci, .. } = other;
        Self { effective_samples, groups, median, median_ci, ..self }
    }

    /// Returns [`relative_half_width`](Self::relative_half_width), or infinity if there are fewer than
    /// [`SMALLEST_SAMPLE`] samples.
    pub fn half_width_or_infinity(&self) -> f64 {
        if self.samples < SMALLEST_SAMPLE { f64::INFINITY } else { self.relative_half_width() }
    }

    /// Returns the half-width of the median's interval as a fraction of the median, such as 0.005 for ± 0.5
    /// %. Infinite if the median is not above zero.
    pub fn relative_half_width(&self) -> f64 {
        if self.median > Nanoseconds::ZERO {
            self.median_ci.half_width() / self.median
        } else {
            f64::INFINITY
        }
    }
}

/// The confidence of each interval of a single case. Comparisons use a higher confidence.
pub const CONFIDENCE: f64 = 0.95;

/// The minimum number of samples for an interval of the median with the [`CONFIDENCE`] of 95 %. All of n
/// samples lie on one side of the median with probability 2·½ⁿ: 6.3 % for five samples and 3.1 % for six.
pub const SMALLEST_SAMPLE: usize = 6;

crate::stored! {
    /// A range of times, both ends included.
    #[derive(Copy, Default)]
    pub struct Interval {
        /// The lower end, in nanoseconds.
        pub low: Nanoseconds,
        /// The upper end, in nanoseconds.
        pub high: Nanoseconds,
    }
}

impl Interval {
    /// Returns half of the distance between both ends.
    pub fn half_width(&self) -> Nanoseconds {
        (self.high - self.low) / 2.0
    }

    /// Returns true if `time` lies within the interval or on one of its ends.
    pub fn contains(&self, time: Nanoseconds) -> bool {
        self.low <= time && time <= self.high
    }

    /// Returns the interval with a half-width of at least `half_width`: if it is narrower, both ends move
    /// outwards equally.
    fn widened_to(self, half_width: Nanoseconds) -> Self {
        let missing = (half_width - self.half_width()).max(Nanoseconds::ZERO);
        Self { low: self.low - missing, high: self.high + missing }
    }
}

/// Returns the interval between two order statistics of `sorted` (ascending, not empty) that contains the
/// median with this `confidence`. `effective` is the effective number of samples, and `step` the resolution
/// of the timer.
///
/// 1. Computes the rank r of the lower end as if there were `effective` samples.
/// 2. Converts r to the rank of the same quantile among all n samples: ½ + (r − ½)·n/`effective`. The upper
///    end has this rank from the other side.
/// 3. Interpolates between the two samples around each end. If these are neighbouring ticks of the timer,
///    takes the outer sample instead, which keeps the coverage of quantised times.
///
/// Step 3 assumes that time stamps occur anywhere within a step. If they always occurred at the same phase,
/// every time would be wrong by up to a step, and the samples would not show it.
///
/// Too few effective samples (fewer than [`SMALLEST_SAMPLE`] for 95 %) have no such interval. The function
/// then returns the range from the smallest to the largest sample, whose confidence is lower. The stop rule
/// does not accept this range if the number of all samples is below [`SMALLEST_SAMPLE`] too.
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

/// Returns the rank of the interval's lower end for a fractional number of samples: interpolates linearly
/// between [`lower_rank`] of the whole numbers below and above `count`. `None` if either has no rank.
fn fractional_rank(count: f64, confidence: f64) -> Option<f64> {
    let below = lower_rank(count as usize, confidence)?;
    let above = lower_rank(count.ceil() as usize, confidence)?;
    Some(below + count.fract() * (above - below))
}

/// Returns the rank (from one, fractional) of the interval's lower end among `count` samples. The upper end
/// has the same rank, counted from the largest sample. `None` if not even the extremes reach the confidence.
///
/// The samples of ranks d and n + 1 − d hold the median with probability γ(d) = P(d ≤ B ≤ n − d), B binomial
/// (n, ½). No d gives the confidence c exactly: the largest d with γ(d) ≥ c gives too much and d + 1 too
/// little. Between the two the end is interpolated after Hettmansperger & Sheather, *Confidence intervals
/// based on interpolated order statistics* (Statistics & Probability Letters 4, 1986), with the weight λ = (n
/// − d)·I / (d + (n − 2d)·I), where I = (γ(d) − c) / (γ(d) − γ(d + 1)).
fn lower_rank(count: usize, confidence: f64) -> Option<f64> {
    let weights = central_weights(count);
    // With an even count the middle term stands alone; all others come in pairs.
    let unpaired = if count.is_multiple_of(2) { 1.0 } else { 0.0 };
    let total = 2.0 * weights.iter().sum::<f64>() - unpaired;

    let mut sum = 0.0;
    let mut inner = 0.0; // γ(d + 1)
    for (distance, weight) in weights.iter().enumerate() {
        sum += weight;
        let outer = (2.0 * sum - unpaired) / total; // γ(d)
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

/// Returns P(B = k) for B binomial (`count`, ½), from the middle k = ⌊count / 2⌋ downwards, in units of the
/// middle term.
///
/// In these units nothing underflows, however many samples there are. Terms that are too small to change
/// their sum are left out, so that about 4·√n terms are computed, and no normal approximation is needed.
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

/// Returns the half-width of the 95 % prediction interval for the median of one more process. `medians` are those of at least two
/// processes. `prior` is a standard deviation of processes that is known beforehand, with its degrees of freedom; 0 degrees if
/// nothing is known (Hahn & Meeker, *Statistical Intervals*, 1991, chapter 4; Gelman et al., *Bayesian Data Analysis*, 2013,
/// section 3.3).
pub fn prediction_half_width(medians: &[Nanoseconds], prior: (Nanoseconds, usize)) -> Nanoseconds {
    let (known, freedom) = (prior.0.as_f64(), prior.1 + medians.len() - 1);
    let squares = prior.1 as f64 * known.powi(2) + (medians.len() - 1) as f64 * variance(medians);
    let next = (1.0 + 1.0 / medians.len() as f64).sqrt();
    student_quantile(CONFIDENCE, freedom) * next * Nanoseconds((squares / freedom as f64).sqrt())
}

/// The division of samples into groups. A group is the samples that were enqueued together, such as the
/// launches of one CUDA graph.
#[derive(Clone, Copy, Debug)]
pub struct Groups<'a> {
    /// The number of samples of each group, in the order they ran.
    pub sizes: &'a [usize],
    /// The standard error that all groups of a process have in common, such as that of the overhead.
    pub shared_error: Nanoseconds,
}

/// The median of a case in one process, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Median {
    /// The median of the samples.
    pub time: Nanoseconds,
    /// The median's interval.
    pub interval: Interval,
}

impl Median {
    /// Returns the median of `times`, in the order they ran, with its interval of this `confidence` from
    /// order statistics. `step` is the resolution of the timer. `None` if there are no times.
    pub fn of(times: &[Nanoseconds], step: Nanoseconds, confidence: f64) -> Option<Self> {
        if times.is_empty() {
            return None;
        }
        let sorted = ascending(times);
        let time = Nanoseconds(quantile(&sorted, 0.5));
        let effective = effective_samples(times, time);
        let interval = rank_interval(&sorted, effective, step, confidence).widened_to(step);
        Some(Self { time, interval })
    }

    /// Returns the median of `times`, in the order they ran, with the interval of this `confidence` for the
    /// medians of other processes. `step` is the resolution of the timer; the median is
    /// [interpolated within a step](interpolated_median).
    ///
    /// The interval is Student's, around the median. Its standard error is that of the trimmed mean of the
    /// groups' medians, to which the shared error is added in quadrature. If groups have two [`Modes`], the
    /// interval includes that of [`Self::of`]: medians of groups with equal shares of both agree in the middle,
    /// where no sample is. `None` for fewer than six groups that have samples, or if the sizes do not add up to
    /// the number of times.
    pub fn of_groups(
        times: &[Nanoseconds],
        groups: Groups<'_>,
        step: Nanoseconds,
        confidence: f64,
    ) -> Option<Self> {
        let Groups { sizes, shared_error } = groups;
        let mut rest = times;
        let mut medians = Vec::with_capacity(sizes.len());
        // The times without the differences between groups.
        let mut aligned = Vec::with_capacity(times.len());
        for size in sizes.iter().filter(|size| **size > 0) {
            let (group, others) = rest.split_at_checked(*size)?;
            rest = others;
            let median = median_within_step(&ascending(group), step);
            medians.push(median);
            aligned.extend(group.iter().map(|time| *time - Nanoseconds(median)));
        }
        if medians.len() < SMALLEST_SAMPLE || !rest.is_empty() {
            return None;
        }
        let TrimmedMean { error, freedom, .. } = TrimmedMean::from_values(&medians)?;
        let half = Nanoseconds(student_quantile(confidence, freedom) * error.hypot(shared_error.as_f64()));
        let time = Nanoseconds(median_within_step(&ascending(times), step));
        let (mut low, mut high) = (time - half, time + half);
        aligned.iter_mut().for_each(|aligned| *aligned += time);
        if Modes::find(&aligned, step).is_some() {
            let Interval { low: first, high: last } = Self::of(times, step, confidence)?.interval;
            (low, high) = (low.min(first), high.max(last));
        }
        Some(Self { time, interval: Interval { low, high } })
    }
}

/// Returns the resolution of a timer: the greatest common divisor of all event `readings`, which are cut to
/// whole nanoseconds and taken without their sign. 1 ns if all are zero, or if there are none.
pub fn timer_step<'a>(readings: impl Iterator<Item = &'a Nanoseconds>) -> Nanoseconds {
    let divisor = readings.map(|reading| reading.abs().as_f64() as u64).fold(0, greatest_common_divisor);
    Nanoseconds(divisor.max(1) as f64)
}

/// Returns the greatest common divisor of two numbers; the other number if one of them is 0.
pub fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Returns the median of `times`, which may be in any order, interpolated within the timer's resolution of
/// `step`. `None` if there are no times.
pub fn interpolated_median(times: &[Nanoseconds], step: Nanoseconds) -> Option<Nanoseconds> {
    (!times.is_empty()).then(|| Nanoseconds(median_within_step(&ascending(times), step)))
}

/// Returns the median of `sorted` (ascending, not empty), interpolated within the timer's resolution of
/// `step`.
///
/// A reading stands for all times within half a step of it. So each sample is spread evenly over that width,
/// and the median is the time below which half of all samples lie: the median of grouped data of the
/// textbooks. Samples need not be on the ticks of the timer. The median resolves a part of a step as long as
/// the readings of a time fall on two ticks or more, as on an H200, whose samples scatter over some seven
/// steps.
///
/// Readings of a coarse timer fall on two ticks, where this median would be off by up to 0.09 steps. There
/// the result is that of [`huber_location`], which is not off.
fn median_within_step(sorted: &[f64], step: Nanoseconds) -> f64 {
    if step > COARSE_TIMER_STEP && step.is_finite() {
        return huber_location(sorted, step.as_f64());
    }
    let (middle, half) = (quantile(sorted, 0.5), step.as_f64() / 2.0);
    if !(half > 0.0 && half.is_finite() && middle.is_finite()) {
        return middle;
    }
    let wanted = sorted.len() as f64 / 2.0;
    let below = |time: f64| {
        let whole = sorted.partition_point(|sample| sample + half <= time);
        let begun = sorted.partition_point(|sample| sample - half < time);
        let parts = sorted[whole..begun].iter().map(|sample| (time - sample + half) / (2.0 * half));
        whole as f64 + parts.sum::<f64>()
    };
    // Between samples far apart lies a range below which half of them lie. Its middle is the usual median.
    let ends = (sorted[0] - half, sorted[sorted.len() - 1] + half);
    let end =
        |is_left: &dyn Fn(f64) -> bool| bisect(ends, SEARCH_TOLERANCE * half, |time| is_left(below(time)));
    f64::midpoint(end(&|below| below < wanted), end(&|below| below <= wanted))
}

/// Returns Huber's M-estimate of the location of `sorted` (ascending, not empty): the point at which the
/// distances of all samples add up to zero, if each counts for at most [`CLIP_STEPS`] steps (*Robust
/// Estimation of a Location Parameter*, Annals of Mathematical Statistics 35, 1964). If the times scatter
/// over less than a step, it is the mean of the readings, which is right if rounding is at random places of a
/// step. If they scatter over many steps, it is close to the median.
fn huber_location(sorted: &[f64], step: f64) -> f64 {
    let balance = |at: f64| {
        sorted.iter().map(|time| (time - at).clamp(-CLIP_STEPS * step, CLIP_STEPS * step)).sum::<f64>()
    };
    bisect((sorted[0], sorted[sorted.len() - 1]), SEARCH_TOLERANCE * step, |time| balance(time) > 0.0)
}

/// A timer whose step is larger than this is coarse: times scatter over few steps, and Huber's estimate
/// replaces the median. The timer of an H200 has a step of 32 ns, and times scatter over several.
pub const COARSE_TIMER_STEP: Nanoseconds = Nanoseconds(100.0);

/// The maximum distance from Huber's location with which a reading counts, in steps of a coarse timer.
/// Readings further away count as if they were at this distance.
const CLIP_STEPS: f64 = 1.5;

/// The width to which bisection narrows the result: Huber's location as a fraction of a step, and the median
/// as a fraction of half a step.
const SEARCH_TOLERANCE: f64 = 1e-6;

#[cfg(test)]
mod tests;
