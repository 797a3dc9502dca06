//! The range of several quantities. In: amounts; out: the lowest and the highest.

crate::stored! {
    /// The lowest and the highest of several quantities.
    #[derive(Copy)]
    pub struct Range<T> {
        /// The lowest.
        pub low: T,
        /// The highest.
        pub high: T,
    }
}

impl<T: PartialOrd + Copy> Range<T> {
    /// `range`, if there is one, extended to contain `value`.
    pub fn including(range: Option<Self>, value: T) -> Self {
        let Self { low, high } = range.unwrap_or(Self { low: value, high: value });
        let low = if value < low { value } else { low };
        Self { low, high: if value > high { value } else { high } }
    }

    /// The range of all `values`; nothing if there are none.
    pub fn of(values: impl IntoIterator<Item = T>) -> Option<Self> {
        values.into_iter().fold(None, |range, value| Some(Self::including(range, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_all_values_in_it() {
        assert_eq!(Range::of([3, 1, 2]), Some(Range { low: 1, high: 3 }));
        assert_eq!(Range::<u8>::of([]), None);
    }
}
