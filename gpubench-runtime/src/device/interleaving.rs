//! The order in which two launches take turns. In: the number of a pair; out: the one of the two that goes first.

/// Returns true if the second of the two goes first in this pair, counted from zero.
///
/// Uses the Thue–Morse sequence: AB BA, then BA AB, then both the other way round, and so on. A steady drift over a
/// group then affects both alike. So does an error that belongs to a place: in each of two successive groups of 2ⁿ
/// pairs, one case has exactly the places that it lacks in the other.
#[must_use]
pub const fn swapped(pair: usize) -> bool {
    pair.count_ones() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_begin_as_abba() {
        let order: String = (0..4).map(|pair| if swapped(pair) { "BA" } else { "AB" }).collect();
        assert_eq!(order, "ABBABAAB");
    }

    /// Checks the sums of the places, and of their squares, over 64 samples; and that each graph of 64 mirrors the one
    /// before.
    #[test]
    fn both_have_the_same_places() {
        let (mut sums, mut squares) = ([0, 0], [0, 0]);
        for place in 0..64_usize {
            let whose = usize::from(swapped(place / 2) != (place % 2 == 1));
            sums[whose] += place;
            squares[whose] += place * place;
        }
        assert_eq!((sums[0], squares[0]), (sums[1], squares[1]));
        assert!((0..32).all(|pair| swapped(pair) != swapped(32 + pair)));
    }
}
