//! How often a comparison may be looked at, and among how many: the schedule of stopping checks, and findings among many tests.

/// The share of comparisons that may be decided wrongly.
pub const DECISION_ERROR: f64 = 0.01;

/// The rounds after which there is a look, and the part of [`DECISION_ERROR`] that it may take.
const ANALYSES: [(usize, f64); 4] = [(8, 0.1), (16, 0.15), (32, 0.25), (64, 0.3)];

/// The most rounds of a comparison: those of the last look.
pub const MAX_ROUNDS: usize = ANALYSES[ANALYSES.len() - 1].0;

/// The confidence of the look after this number of rounds, if there is one.
pub fn analysis_confidence(rounds: usize) -> Option<f64> {
    ANALYSES.iter().find(|(look, _)| *look == rounds).map(|(_, part)| 1.0 - DECISION_ERROR * part)
}

/// The confidence of the last look if a budget ends the comparison after this number of rounds: that of the next look.
pub fn final_analysis_confidence(rounds: usize) -> f64 {
    let next = ANALYSES.iter().find(|(look, _)| rounds <= *look).unwrap_or(&ANALYSES[ANALYSES.len() - 1]);
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

#[cfg(test)]
mod looks_tests {
    use super::*;

    #[test]
    fn looks_share_the_error() {
        let all: f64 =
            (0..=MAX_ROUNDS).filter_map(analysis_confidence).map(|confidence| 1.0 - confidence).sum();
        assert!(all < DECISION_ERROR && all > 0.79 * DECISION_ERROR, "{all}");
    }

    #[test]
    fn a_look_that_comes_early_takes_the_place_of_the_next() {
        for (rounds, look) in [(4, 8), (8, 8), (10, 16), (34, 64), (64, 64)] {
            assert_eq!(Some(final_analysis_confidence(rounds)), analysis_confidence(look), "{rounds}");
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
