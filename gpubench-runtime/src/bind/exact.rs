//! Whole numbers that do not wrap, to check counts whose own type may wrap.

use std::ops::{Add, Div, Mul, Rem, Shl, Shr, Sub};

/// A whole number, or an unknown one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact(Option<i128>);

impl Exact {
    /// Returns this number.
    #[must_use]
    pub const fn of(number: i128) -> Self {
        Self(Some(number))
    }

    /// Returns the number, if it is known.
    #[must_use]
    pub const fn value(self) -> Option<i128> {
        self.0
    }
}

macro_rules! operators {
    ($($operator:ident $function:ident = $checked:expr;)*) => {$(
        impl $operator for Exact {
            type Output = Self;

            fn $function(self, other: Self) -> Self {
                let checked: fn(i128, i128) -> Option<i128> = $checked;
                Self(self.0.zip(other.0).and_then(|(one, other)| checked(one, other)))
            }
        }
    )*};
}
operators! {
    Add add = i128::checked_add;
    Sub sub = i128::checked_sub;
    Mul mul = i128::checked_mul;
    Div div = i128::checked_div;
    Rem rem = i128::checked_rem;
    Shl shl = |one, other| one.checked_mul(1i128.checked_shl(u32::try_from(other).ok()?)?);
    Shr shr = |one, other| one.checked_shr(u32::try_from(other).ok()?);
}

/// A value of any type, as [`exact!`] handles it.
pub struct Leaf<'a, T>(pub &'a T);

/// Returns the value of `$value` if it is a whole number. Autoref finds out which: see
/// [`axis!`](super::axis).
#[doc(hidden)]
#[macro_export]
macro_rules! __exact {
    ($value:expr) => {{
        #[allow(unused_imports)]
        use $crate::bind::{NotWhole as _, Whole as _};
        (&&$crate::bind::Leaf(&$value)).exact()
    }};
}
pub use __exact as exact;

/// A type of numbers, some of which are whole.
pub trait WholeNumber: Copy {
    /// Returns the number, if it fits.
    fn whole(self) -> Option<i128>;
}

macro_rules! whole_numbers {
    ($($integer:ty)*) => {$(
        impl WholeNumber for $integer {
            fn whole(self) -> Option<i128> {
                i128::try_from(self).ok()
            }
        }
    )*};
}
whole_numbers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

impl WholeNumber for f32 {
    fn whole(self) -> Option<i128> {
        None
    }
}

impl WholeNumber for f64 {
    fn whole(self) -> Option<i128> {
        None
    }
}

impl<T: WholeNumber> WholeNumber for &T {
    fn whole(self) -> Option<i128> {
        (*self).whole()
    }
}

/// Values that are whole numbers.
pub trait Whole {
    /// Returns the number.
    fn exact(&self) -> Exact;
}
impl<T: WholeNumber> Whole for &Leaf<'_, T> {
    fn exact(&self) -> Exact {
        Exact(self.0.whole())
    }
}

/// Values that are no whole numbers.
pub trait NotWhole {
    /// Returns an unknown number.
    fn exact(&self) -> Exact;
}
impl<T> NotWhole for Leaf<'_, T> {
    fn exact(&self) -> Exact {
        Exact(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_whole_is_found_by_its_type() {
        let (n, reference) = (3usize, &7u8);
        assert_eq!(
            [exact!(n), exact!(reference), exact!(n as i64)].map(Exact::value),
            [Some(3), Some(7), Some(3)]
        );
        assert_eq!([exact!(1.5), exact!("4"), exact!(u128::MAX)], [Exact(None); 3]);
    }

    #[test]
    fn arithmetic_goes_beyond_64_bits_and_ends_in_nothing() {
        let big = Exact::of(i128::from(u64::MAX));
        assert_eq!((big * Exact::of(4)).value(), Some(i128::from(u64::MAX) * 4));
        assert_eq!((Exact::of(3) << Exact::of(40)).value(), Some(3 << 40));
        assert_eq!((Exact::of(17) / Exact::of(5) + Exact::of(17) % Exact::of(5)).value(), Some(5));
        for nothing in
            [big * big * big, Exact::of(1) / Exact::of(0), Exact::of(1) << Exact::of(-1), Exact(None) + big]
        {
            assert_eq!(nothing.value(), None);
        }
    }
}
