//! Stable sorting in little code. std compiles its sort, of about 8 KB, for each type; this one sorts indices of any items.

use std::cmp::Ordering;

/// Sorts `items` as [`slice::sort_by`] does.
#[doc(hidden)]
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut order = sorted_indices(items.len(), &|one, other| compare(&items[one], &items[other]));
    // Each item moves to its place along the cycles of the permutation.
    for begin in 0..order.len() {
        let (mut place, mut from) = (begin, order[begin]);
        while from != begin {
            items.swap(place, from);
            order[place] = place;
            (place, from) = (from, order[from]);
        }
        order[place] = place;
    }
}

/// Sorts `items` as [`slice::sort_by_key`] does.
#[doc(hidden)]
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |one, other| key(one).cmp(&key(other)));
}

/// Returns the numbers below `len` in the order of `compare`.
fn sorted_indices(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<_> = (0..len).collect();
    order.sort_by(|one, other| compare(*one, *other));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Equal keys keep their order.
        #[test]
        fn items_are_sorted_as_std_sorts_them(keys in proptest::collection::vec(0_u8..20, 0..100)) {
            let mut items: Vec<_> = keys.into_iter().enumerate().collect();
            let mut expected = items.clone();
            expected.sort_by_key(|(_, key)| *key);
            sort_by_key(&mut items, |(_, key)| *key);
            prop_assert_eq!(items, expected);
        }
    }
}
