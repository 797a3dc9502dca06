//! The spread of samples as a bar of seven cells, one for each band around the median.

use gpubench_records::record::Measurement;
use gpubench_stats::units::Nanoseconds;

/// The name of the column.
pub(super) const TITLE: &str = "spread";
/// The number of cells.
pub(super) const CELLS: usize = 7;

/// The bands end at these distances from the median: the cell in the middle has what is within 0.2 % of it.
const BANDS: [f64; CELLS - 1] = [-0.05, -0.01, -0.002, 0.002, 0.01, 0.05];

/// The sentence that explains the bar.
pub(super) const MEANING: &str = "spread: the shares of the samples within 0.2 % of the median (the cell in the middle), \
                                  within 1 %, within 5 % and beyond, faster ones on the left";

const EMPTY: char = '·';
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The bar of a measurement; nothing if its median is not above zero.
pub(super) fn bar(measured: &Measurement) -> String {
    let median = measured.median();
    // The memory's stalls are told of the device, and not in each row.
    let times = measured.samples.stall_corrected();
    if median <= Nanoseconds::ZERO || times.is_empty() {
        return String::new();
    }
    let mut counts = [0_usize; CELLS];
    for time in &times {
        let off = *time / median - 1.0;
        counts[BANDS.partition_point(|band| *band < off)] += 1;
    }
    counts.iter().map(|count| height(*count, times.len())).collect()
}

/// The character for `count` of `all`.
fn height(count: usize, all: usize) -> char {
    let eighths = (HEIGHTS.len() * count).div_ceil(all);
    eighths.checked_sub(1).map_or(EMPTY, |height| HEIGHTS[height])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_samples_are_seen_and_all_are_the_highest() {
        let heights = [0, 1, 13, 50, 100].map(|count| height(count, 100));
        assert_eq!(heights, ['·', '▁', '▂', '▄', '█']);
    }
}
