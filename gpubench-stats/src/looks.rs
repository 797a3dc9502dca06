//! The schedule of looks at a comparison, which keeps repeated looking within one wrong decision in a hundred. In: the
//! number of rounds so far; out: the confidence that their interval must have.
//!
//! An interval of 99 % that is looked at after every pair of rounds misses the truth at some look more often than once in a hundred
//! comparisons. So there are four looks, after twice the rounds each time, and the hundredth is shared out among them: 0.1,
//! 0.15, 0.25 and 0.3 %. By Bonferroni's inequality the truth then lies outside of any of the four intervals at most once in
//! a hundred comparisons, however they depend on each other; a fifth of it is kept back, since the interval of a trimmed mean
//! has its confidence only nearly.

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

#[cfg(test)]
mod tests {
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
