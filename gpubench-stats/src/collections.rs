//! Sorting, a map and a set in little code, for benchmark binaries. std compiles its sort, of about 8 KB, and a hash map, of about 3 KB, for
//! each type.

use std::{borrow::Borrow, cmp::Ordering, mem, ops::Deref};

/// Sorts `items` as [`slice::sort_by`] does, by their indices.
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

/// A map in the order of its keys. Adding an entry moves those after it: box keys of which there are thousands.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq)]
pub struct Map<K, V>(Vec<(K, V)>);

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord, V> Map<K, V> {
    /// Returns the place of `key`, or the one where it would be.
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.0.binary_search_by(|(own, _)| own.borrow().cmp(key))
    }

    /// Returns the value of `key`, if it has one.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| &self.0[place].1)
    }

    /// Returns the value of `key`; `value` becomes it if it has none.
    pub fn or_insert(&mut self, key: K, value: V) -> &mut V {
        let place = self.place(&key).unwrap_or_else(|place| {
            self.0.insert(place, (key, value));
            place
        });
        &mut self.0[place].1
    }

    /// Sets the value of `key`. Returns the value that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(place) => Some(mem::replace(&mut self.0[place].1, value)),
            Err(place) => {
                self.0.insert(place, (key, value));
                None
            }
        }
    }

    /// Removes `key`. Returns its value, if it had one.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| self.0.remove(place).1)
    }
}

impl<K, V> Deref for Map<K, V> {
    type Target = [(K, V)];

    fn deref(&self) -> &[(K, V)] {
        &self.0
    }
}

impl<K, V> IntoIterator for Map<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Ord, V> Extend<(K, V)> for Map<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        pairs.into_iter().for_each(|(key, value)| _ = self.insert(key, value));
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Self::default();
        map.extend(pairs);
        map
    }
}

/// A set in the order of its items. Adding an item takes time in proportion to their number.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Set<K>(Vec<K>);

impl<K> Default for Set<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord> Set<K> {
    /// Adds `item`. Returns false if the set has it.
    pub fn insert(&mut self, item: K) -> bool {
        self.0.binary_search(&item).map_err(|place| self.0.insert(place, item)).is_err()
    }

    /// Returns true if the set has `item`.
    pub fn contains(&self, item: &K) -> bool {
        self.0.binary_search(item).is_ok()
    }
}

impl<K> Deref for Set<K> {
    type Target = [K];

    fn deref(&self) -> &[K] {
        &self.0
    }
}

impl<K: Ord> Extend<K> for Set<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, items: I) {
        items.into_iter().for_each(|item| _ = self.insert(item));
    }
}

impl<K: Ord> FromIterator<K> for Set<K> {
    fn from_iter<I: IntoIterator<Item = K>>(items: I) -> Self {
        let mut items: Vec<_> = items.into_iter().collect();
        sort_by(&mut items, K::cmp);
        items.dedup();
        Self(items)
    }
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

    #[test]
    fn entries_are_sorted_and_the_last_value_of_a_key_counts() {
        let pairs = [(3, 'a'), (1, 'b'), (3, 'c'), (2, 'd'), (1, 'e'), (3, 'f')];
        let map: Map<_, _> = pairs.into_iter().collect();
        assert_eq!(*map, [(1, 'e'), (2, 'd'), (3, 'f')]);
        let set: Set<_> = pairs.into_iter().map(|(key, _)| key).collect();
        assert_eq!(*set, [1, 2, 3]);
    }
}
