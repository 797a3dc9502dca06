//! The order of two interleaved launches.

/// Returns true if the second launch goes first in A/B pair number `pair`, counted from zero: the pair is BA
/// instead of AB.
///
/// This is the Thue–Morse sequence AB BA BA AB BA AB AB BA …, not an alternation of odd and even pairs. A
/// steady drift over a group then affects both launches equally. So does the error of a slot: in two
/// successive groups of 2ⁿ pairs, each launch has in the second group exactly the slots that the other launch
/// had in the first.
#[must_use]
pub const fn swapped(pair: usize) -> bool {
    pair.count_ones() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaving_begins_as_abba() {
        let order: String = (0..4).map(|pair| if swapped(pair) { "BA" } else { "AB" }).collect();
        assert_eq!(order, "ABBABAAB");
    }

    /// Checks the sums of the slots, and of their squares, over 64 samples; and that each graph of 64 swaps
    /// the slots of the previous one.
    #[test]
    fn both_have_the_same_slots() {
        let (mut sums, mut squares) = ([0, 0], [0, 0]);
        for slot in 0..64_usize {
            let launch = usize::from(swapped(slot / 2) != (slot % 2 == 1));
            sums[launch] += slot;
            squares[launch] += slot * slot;
        }
        assert_eq!((sums[0], squares[0]), (sums[1], squares[1]));
        assert!((0..32).all(|pair| swapped(pair) != swapped(32 + pair)));
    }
}
