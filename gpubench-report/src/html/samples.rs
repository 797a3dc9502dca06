//! The samples of a row for the page's script, small enough for a page with thousands of rows: quantiles and a histogram of all of
//! them, and the samples to draw.

use gpubench_stats::{Nanoseconds, quantile};

/// The number of bins of a histogram.
const BINS: usize = 60;
/// The most and the fewest samples that are drawn of a row, and the most of all rows together.
const MOST: usize = 600;
const FEWEST: usize = 64;
const TOGETHER: usize = 1_200_000;

/// The samples of a row, as they are drawn.
#[derive(Debug, PartialEq)]
pub(super) struct Drawn {
    /// The number of all samples.
    pub all: usize,
    /// The minimum, the quartiles with the median between them, and the maximum, in nanoseconds, of all samples.
    pub quantiles: [f64; 5],
    /// The number of samples in each of [`BINS`] equal parts from the minimum to the 99th percentile, beyond which there are few, as two
    /// hexadecimal digits; the largest is 255.
    pub histogram: String,
    /// Samples in the order they ran, each a part of 65535 from the minimum to the maximum, as four hexadecimal digits.
    pub order: String,
}

/// The number of samples that are drawn of each row, in a run of this number of rows.
pub(super) fn drawn_of(rows: usize) -> usize {
    (TOGETHER / rows.max(1)).clamp(FEWEST, MOST)
}

impl Drawn {
    /// The drawing of these times, with at most `most` of them in order; nothing if there are none.
    pub(super) fn new(times: &[Nanoseconds], most: usize) -> Option<Self> {
        let times: Vec<f64> =
            times.iter().copied().map(Nanoseconds::as_f64).filter(|time| time.is_finite()).collect();
        let mut sorted = times.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let at = |part| quantile(&sorted, part);
        let quantiles = [min, at(0.25), at(0.5), at(0.75), max];
        let part = |time| if max > min { f64::from(u16::MAX) * (time - min) / (max - min) } else { 0.0 };
        let order =
            thinned(&times, most).into_iter().map(|time| format!("{:04x}", part(time).round() as u16));
        Some(Self {
            all: times.len(),
            quantiles,
            histogram: histogram(&sorted, min, at(0.99)),
            order: order.collect(),
        })
    }
}

/// All samples, or of more than `most` the lowest and the highest of each stretch, in their order, so that no outlier is
/// missing.
fn thinned(times: &[f64], most: usize) -> Vec<f64> {
    if times.len() <= most {
        return times.to_vec();
    }
    let stretch = times.len().div_ceil(most / 2);
    let mut thinned = Vec::with_capacity(most);
    for part in times.chunks(stretch) {
        let lowest = (0..part.len()).min_by(|a, b| part[*a].total_cmp(&part[*b])).unwrap_or_default();
        let highest = (0..part.len()).max_by(|a, b| part[*a].total_cmp(&part[*b])).unwrap_or_default();
        thinned.extend([part[lowest.min(highest)], part[lowest.max(highest)]]);
    }
    thinned
}

/// The samples in each part from `low` to `high`, those beyond in the last.
fn histogram(sorted: &[f64], low: f64, high: f64) -> String {
    let mut counts = [0_usize; BINS];
    for time in sorted {
        let part = if high > low { (time - low) / (high - low) } else { 0.0 };
        if part <= 1.0 {
            counts[((part * BINS as f64) as usize).min(BINS - 1)] += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    counts.iter().map(|count| format!("{:02x}", (count * 255).div_ceil(most))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values: impl IntoIterator<Item = f64>) -> Vec<Nanoseconds> {
        values.into_iter().map(Nanoseconds).collect()
    }

    #[test]
    fn few_samples_are_all_drawn_and_of_many_those_that_are_far_out() {
        let drawn = Drawn::new(&times([1.0, 3.0, 2.0]), 64).expect("there are some");
        assert_eq!((drawn.all, drawn.quantiles), (3, [1.0, 1.5, 2.0, 2.5, 3.0]));
        assert_eq!(drawn.order, "0000ffff8000");
        let mut many: Vec<f64> = (0..1000).map(|number| f64::from(number % 10)).collect();
        many[517] = 99.0;
        let thin = thinned(&many, 64);
        assert!(thin.len() <= 64 && thin.contains(&99.0), "{thin:?}");
    }

    #[test]
    fn samples_that_are_all_the_same_have_a_histogram() {
        let drawn = Drawn::new(&times([5.0; 40]), 64).expect("there are some");
        assert_eq!((drawn.histogram.len(), &drawn.histogram[..2]), (2 * BINS, "ff"));
        assert_eq!(Drawn::new(&[], 64), None);
    }

    #[test]
    fn rows_share_the_room_for_samples() {
        assert_eq!([1, 5_000, 10_000, 1_000_000].map(drawn_of), [600, 240, 120, 64]);
    }
}
