//! The samples of a row, small enough for a page with thousands of rows. In: all times of a case; out: quantiles and a
//! histogram of all of them, and the samples to draw, in base64, for the page's script.

use gpubench_stats::quantile;
use gpubench_stats::units::Nanoseconds;

/// The number of bins of a histogram.
const BINS: usize = 60;
/// The most and the fewest samples that are drawn of a row, and the most of all rows together.
const MOST: usize = 600;
const FEWEST: usize = 64;
const TOGETHER: usize = 1_200_000;

/// The samples of a row, as they are drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drawn {
    /// The number of all samples.
    pub(super) all: usize,
    /// The minimum, the quartiles with the median between them, and the maximum, in nanoseconds, of all samples.
    pub(super) quantiles: [f64; 5],
    /// The number of samples in each of [`BINS`] equal parts from the minimum to the 99th percentile, beyond which there are
    /// few; the largest is 255.
    pub(super) histogram: Vec<u8>,
    /// Samples in the order they ran, each a part of 65535 from the minimum to the maximum, in base64 of little-endian numbers.
    pub(super) order: String,
}

/// The number of samples that are drawn of each row, in a run of this number of rows.
pub(super) fn drawn_of(rows: usize) -> usize {
    (TOGETHER / rows.max(1)).clamp(FEWEST, MOST)
}

impl Drawn {
    /// The drawing of these times, with at most `most` of them in order; nothing if there are none.
    pub(super) fn of(times: &[Nanoseconds], most: usize) -> Option<Self> {
        let times: Vec<f64> =
            times.iter().copied().map(Nanoseconds::as_f64).filter(|time| time.is_finite()).collect();
        let mut sorted = times.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let at = |part| quantile(&sorted, part);
        let quantiles = [min, at(0.25), at(0.5), at(0.75), max];
        let parts = thinned(&times, most).into_iter().map(|time| part_of(time, min, max));
        let bytes: Vec<u8> = parts.flat_map(u16::to_le_bytes).collect();
        Some(Self {
            all: times.len(),
            quantiles,
            histogram: histogram(&sorted, min, at(0.99)),
            order: base64(&bytes),
        })
    }
}

fn part_of(time: f64, min: f64, max: f64) -> u16 {
    if max > min { (f64::from(u16::MAX) * (time - min) / (max - min)).round() as u16 } else { 0 }
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
fn histogram(sorted: &[f64], low: f64, high: f64) -> Vec<u8> {
    let mut counts = [0_usize; BINS];
    for time in sorted {
        let part = if high > low { (time - low) / (high - low) } else { 0.0 };
        let beyond = part > 1.0;
        if !beyond {
            counts[((part * BINS as f64) as usize).min(BINS - 1)] += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    counts.iter().map(|count| (count * 255).div_ceil(most) as u8).collect()
}

/// Bytes as base64 (RFC 4648) with padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |place: usize| u32::from(three.get(place).copied().unwrap_or_default());
        let all = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[(all >> (18 - 6 * place) & 63) as usize];
            text.push(if place > three.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values: impl IntoIterator<Item = f64>) -> Vec<Nanoseconds> {
        values.into_iter().map(Nanoseconds).collect()
    }

    #[test]
    fn base64_is_that_of_the_standard() {
        let shown = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(shown, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn few_samples_are_all_drawn_and_of_many_those_that_are_far_out() {
        let drawn = Drawn::of(&times([1.0, 3.0, 2.0]), 64).expect("there are some");
        assert_eq!((drawn.all, drawn.quantiles), (3, [1.0, 1.5, 2.0, 2.5, 3.0]));
        // 0, 65535 and 32768 as bytes.
        assert_eq!(drawn.order, base64(&[0, 0, 255, 255, 0, 128]));
        let mut many: Vec<f64> = (0..1000).map(|number| f64::from(number % 10)).collect();
        many[517] = 99.0;
        let thin = thinned(&many, 64);
        assert!(thin.len() <= 64 && thin.contains(&99.0), "{thin:?}");
    }

    #[test]
    fn samples_that_are_all_the_same_have_a_histogram() {
        let drawn = Drawn::of(&times([5.0; 40]), 64).expect("there are some");
        assert_eq!((drawn.histogram.len(), drawn.histogram[0]), (BINS, 255));
        assert_eq!(Drawn::of(&[], 64), None);
    }

    #[test]
    fn rows_share_the_room_for_samples() {
        assert_eq!([1, 5_000, 10_000, 1_000_000].map(drawn_of), [600, 240, 120, 64]);
    }
}
