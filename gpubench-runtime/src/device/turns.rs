//! In which order two launches take turns. In: the number of a pair; out: which of the two goes first.

/// Whether the second of the two goes first in this pair, counted from zero.
///
/// The Thue–Morse sequence: AB BA, then BA AB, then both the other way round, and so on. Whatever grows evenly over a group
/// falls on both alike, and so does what belongs to a place: of two successive groups of 2ⁿ pairs, each has at every place
/// what the other has not.
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

    /// The sums of the places, and of their squares, over 64 samples; and each graph of 64 mirrors the one before.
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
