//! The pairs of processes of two programs: when their results are checked, and which process of a pair goes first.

use gpubench_stats::random;

/// A program of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The program that was there before.
    Then,
    /// The one that is compared with it.
    Now,
}

/// The pairs before the first look. Fewer processes do not show what processes differ by.
const FIRST_LOOK: usize = 4;

/// Returns the numbers of pairs after which there is a look: each twice as many as the one before, and `most` at the end. The looks
/// share the error, so that there must be few.
pub(super) fn process_looks(most: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(FIRST_LOOK), |pairs| pairs.checked_mul(2));
    doubled.take_while(|pairs| *pairs < most).chain([most]).collect()
}

/// Returns the order within the pair of this number, from 0. Of each two pairs the first is drawn, and the second has it reversed: a
/// steady drift, such as of a device that warms up, adds the same to both sides.
pub(super) fn process_order(seed: u64, pair: usize) -> [Side; 2] {
    let is_drawn = random(seed ^ (pair as u64 / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15)) & 1 == 1;
    if is_drawn == pair.is_multiple_of(2) { [Side::Then, Side::Now] } else { [Side::Now, Side::Then] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_double_until_the_last_pair() {
        assert_eq!(process_looks(16), [4, 8, 16]);
        assert_eq!(process_looks(20), [4, 8, 16, 20]);
        assert_eq!(process_looks(2), [2]);
        assert_eq!(process_looks(4), [4]);
    }

    /// The places of a side, in the order of processes, add up to the same: that is what a steady drift adds.
    #[test]
    fn a_steady_drift_adds_the_same_to_both_sides() {
        for seed in 0..50 {
            let sides: Vec<Side> = (0..8).flat_map(|pair| process_order(seed, pair)).collect();
            let places =
                |side| sides.iter().zip(0..).filter(|(is, _)| **is == side).map(|(_, at)| at).sum::<i32>();
            assert_eq!(places(Side::Then), places(Side::Now), "{seed}: {sides:?}");
        }
    }

    #[test]
    fn each_side_goes_first_as_often_by_chance() {
        let first = (0..1000).filter(|seed| process_order(*seed, 0)[0] == Side::Then).count();
        assert!((430..570).contains(&first), "{first}");
        let pairs = (0..1000).filter(|pair| process_order(1, 2 * pair)[0] == Side::Then).count();
        assert!((430..570).contains(&pairs), "{pairs}");
    }
}
