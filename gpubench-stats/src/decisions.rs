//! The schedule of interim analyses of an A/B comparison, and the selection of findings among many tests.

/// The maximum probability that the decision about one comparison is wrong: 1 %.
pub const DECISION_ERROR: f64 = 0.01;

/// The interim analyses of a comparison: the number of rounds before each, and the fraction of
/// [`DECISION_ERROR`] that it spends.
const ANALYSES: [(usize, f64); 4] = [(8, 0.1), (16, 0.15), (32, 0.25), (64, 0.3)];

/// The maximum number of rounds of a comparison: the last interim analysis follows them.
pub const MAX_ROUNDS: usize = ANALYSES[ANALYSES.len() - 1].0;

/// Returns the confidence of the interim analysis after this number of rounds. `None` if no analysis is
/// scheduled after this number.
pub fn analysis_confidence(rounds: usize) -> Option<f64> {
    ANALYSES.iter().find(|(look, _)| *look == rounds).map(|(_, part)| 1.0 - DECISION_ERROR * part)
}

/// Returns the confidence of the final analysis if a budget ends the comparison after this number of rounds:
/// the confidence of the next scheduled analysis, or of the last one if there is no next.
pub fn final_analysis_confidence(rounds: usize) -> f64 {
    let next = ANALYSES.iter().find(|(look, _)| rounds <= *look).unwrap_or(&ANALYSES[ANALYSES.len() - 1]);
    1.0 - DECISION_ERROR * next.1
}

/// Selects the significant tests by the procedure of Benjamini & Hochberg (*Controlling the false discovery
/// rate*, JRSS B 57, 1995). Each test is a number that identifies it and its p-value. Returns the numbers of
/// the selected tests, by ascending p-value.
///
/// On average at most the fraction `rate` of the selected tests is false. If all null hypotheses hold, any
/// test is selected with a probability of at most `rate`. Both hold for independent tests, and for tests with
/// positively dependent errors, such as cases that one process measures (Benjamini & Yekutieli, Annals of
/// Statistics 29, 2001).
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
