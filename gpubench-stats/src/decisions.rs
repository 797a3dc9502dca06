//! How often a comparison may be looked at, and among how many: the schedule of stopping checks, findings among many tests, and the
//! order of the processes of two programs.

use crate::random::random;

/// The share of comparisons that may be decided wrongly.
pub const DECISION_ERROR: f64 = 0.01;

/// The rounds after which there is a look, and the part of [`DECISION_ERROR`] that it may take.
const LOOKS: [(usize, f64); 4] = [(8, 0.1), (16, 0.15), (32, 0.25), (64, 0.3)];

/// The most rounds of a comparison: those of the last look.
pub const MOST_ROUNDS: usize = LOOKS[LOOKS.len() - 1].0;

/// The confidence of the look after this number of rounds, if there is one.
pub fn look_after(rounds: usize) -> Option<f64> {
    LOOKS.iter().find(|(look, _)| *look == rounds).map(|(_, part)| 1.0 - DECISION_ERROR * part)
}

/// The confidence of the last look if a budget ends the comparison after this number of rounds: that of the next look.
pub fn last_look(rounds: usize) -> f64 {
    let next = LOOKS.iter().find(|(look, _)| rounds <= *look).unwrap_or(&LOOKS[LOOKS.len() - 1]);
    1.0 - DECISION_ERROR * next.1
}

/// Returns the numbers of the tests that find something, of which at most the part `rate` does so by chance on average: the
/// procedure of Benjamini & Hochberg (*Controlling the false discovery rate*, JRSS B 57, 1995). If no test has anything to find,
/// any is found with this probability at most. Each test is a number and its probability.
///
/// It holds for independent tests, and for those whose errors go the same way, as of cases that one process measures (Benjamini &
/// Yekutieli, Annals of Statistics 29, 2001).
pub fn benjamini_hochberg(tests: &[(usize, f64)], rate: f64) -> Vec<usize> {
    let mut sorted = tests.to_vec();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let limit = |rank: usize| rate * rank as f64 / sorted.len() as f64;
    let found = (1..=sorted.len()).rev().find(|rank| sorted[rank - 1].1 <= limit(*rank)).unwrap_or(0);
    sorted.into_iter().take(found).map(|(number, _)| number).collect()
}

/// A program of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The program that was there before.
    Then,
    /// The one that is compared with it.
    Now,
}

/// The pairs before the first look. Fewer processes do not show what processes differ by.
const FIRST_LOOK: usize = 4;

/// Returns the numbers of pairs after which there is a look: each twice as many as the one before, and `most` at the end. The looks
/// share the error, so that there must be few.
pub fn process_looks(most: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(FIRST_LOOK), |pairs| pairs.checked_mul(2));
    doubled.take_while(|pairs| *pairs < most).chain([most]).collect()
}

/// Returns the order within the pair of this number, from 0. Of each two pairs the first is drawn, and the second has it reversed: a
/// steady drift, such as of a device that warms up, adds the same to both sides.
pub fn process_order(seed: u64, pair: usize) -> [Side; 2] {
    let is_drawn = random(seed ^ (pair as u64 / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15)) & 1 == 1;
    if is_drawn == pair.is_multiple_of(2) { [Side::Then, Side::Now] } else { [Side::Now, Side::Then] }
}

#[cfg(test)]
mod looks_tests {
    use super::*;

    #[test]
    fn looks_share_the_error() {
        let all: f64 = (0..=MOST_ROUNDS).filter_map(look_after).map(|confidence| 1.0 - confidence).sum();
        assert!(all < DECISION_ERROR && all > 0.79 * DECISION_ERROR, "{all}");
    }

    #[test]
    fn a_look_that_comes_early_takes_the_place_of_the_next() {
        for (rounds, look) in [(4, 8), (8, 8), (10, 16), (34, 64), (64, 64)] {
            assert_eq!(Some(last_look(rounds)), look_after(look), "{rounds}");
        }
    }
}

#[cfg(test)]
mod multiple_tests {
    use super::*;

    /// The example of Benjamini & Hochberg (1995), section 3.2: at 5 %, four of fifteen.
    #[test]
    fn the_procedure_finds_what_its_authors_found() {
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let tests: Vec<(usize, f64)> = p.into_iter().enumerate().collect();
        assert_eq!(benjamini_hochberg(&tests, 0.05), [0, 1, 2, 3]);
    }

    #[test]
    fn one_test_is_held_against_the_rate_itself() {
        assert_eq!(benjamini_hochberg(&[(7, 0.01)], 0.01), [7]);
        assert_eq!(benjamini_hochberg(&[(7, 0.0101)], 0.01), [0; 0]);
        assert_eq!(benjamini_hochberg(&[], 0.01), [0; 0]);
    }
}

#[cfg(test)]
mod process_pairs_tests {
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
