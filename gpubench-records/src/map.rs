//! A map and a set of few entries. std compiles about 3 KB for each type of a hash map.

use std::{borrow::Borrow, mem, ops::Deref};

use gpubench_stats::sort_by;

/// A map in the order of its keys. Adding an entry moves those after it: box keys of which there are thousands.
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

impl<'a, K> IntoIterator for &'a Set<K> {
    type Item = &'a K;
    type IntoIter = std::slice::Iter<'a, K>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
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

    #[test]
    fn entries_are_sorted_and_the_last_value_of_a_key_counts() {
        let pairs = [(3, 'a'), (1, 'b'), (3, 'c'), (2, 'd'), (1, 'e'), (3, 'f')];
        let map: Map<_, _> = pairs.into_iter().collect();
        assert_eq!(*map, [(1, 'e'), (2, 'd'), (3, 'f')]);
        let set: Set<_> = pairs.into_iter().map(|(key, _)| key).collect();
        assert_eq!(*set, [1, 2, 3]);
    }
}
