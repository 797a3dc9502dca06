//! Quantities that are a whole number of some unit. In: counts; out: sums, multiples and parts in the same unit.

use std::iter::Sum;
use std::ops::{Add, Div, Mul};

use super::{BytesPerSecond, Nanoseconds};

crate::stored! {
    /// An amount of memory in bytes.
    #[derive(Copy, Default, Eq, PartialOrd, Ord)]
    #[serde(transparent)]
    pub struct Bytes(pub u64);

    /// A clock in hertz.
    #[derive(Copy, Default, Eq, PartialOrd, Ord)]
    #[serde(transparent)]
    pub struct Hertz(pub u64);
}

/// Defines the arithmetic of quantities that are a whole number of some unit.
macro_rules! whole_quantities {
    ($($name:ident)+) => {$(
        impl $name {
            /// The bare number, for formulas, axes and files that name the unit elsewhere.
            pub const fn as_f64(self) -> f64 {
                self.0 as f64
            }
        }

        impl Add for $name {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl Mul<$name> for u64 {
            type Output = $name;

            fn mul(self, quantity: $name) -> $name {
                $name(self * quantity.0)
            }
        }

        impl Div<u64> for $name {
            type Output = Self;

            fn div(self, divisor: u64) -> Self {
                Self(self.0 / divisor)
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
                Self(amounts.map(|amount| amount.0).sum())
            }
        }
    )+};
}

whole_quantities! { Bytes Hertz }

impl Bytes {
    /// Nothing of it.
    pub const ZERO: Self = Self(0);

    /// The same amount as the length of a buffer.
    pub const fn as_usize(self) -> usize {
        self.0 as usize
    }

    /// The number of whole pieces of this size that fit into the amount.
    ///
    /// # Panics
    /// If the piece is of no bytes.
    pub const fn pieces(self, piece: Self) -> u64 {
        self.0 / piece.0
    }

    /// The rate at which this amount moved, had it taken `time`.
    pub fn per(self, time: Nanoseconds) -> BytesPerSecond {
        BytesPerSecond(self.0 as f64 / time.as_seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_keeps_the_unit() {
        assert_eq!([Bytes(3), 2 * Bytes(4)].into_iter().sum::<Bytes>() / 4, Bytes(2));
        assert_eq!(Bytes(11).pieces(Bytes(4)), 2);
    }
}
