//! Quantities that carry their unit in their type. Plain numbers come in where something is measured, and
//! arithmetic keeps the unit: times add up to a time, and a time over a time is a number.
//! [`format`](crate::format) writes them for people.

use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::{cmp::Ordering, iter::Sum, time::Duration};

use serde::{Deserialize, Serialize};

/// Implements the arithmetic of quantities that are a `$number` of some unit: they can be added, and multiplied and divided by numbers.
macro_rules! arithmetic {
    ($number:ident, $zero:literal: $($name:ident)+) => {$(
        impl $name {
            /// An amount of zero.
            pub const ZERO: Self = Self($zero);
        }

        impl Add for $name {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl Mul<$name> for $number {
            type Output = $name;

            fn mul(self, quantity: $name) -> $name {
                $name(self * quantity.0)
            }
        }

        impl Div<$number> for $name {
            type Output = Self;

            fn div(self, divisor: $number) -> Self {
                Self(self.0 / divisor)
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
                // The empty sum of floating numbers is -0.0.
                amounts.fold(Self::ZERO, Self::add)
            }
        }
    )+};
}

/// Defines quantities that are a floating-point number of some unit. They can also be subtracted, and divided by each other.
macro_rules! quantities {
    ($($(#[$doc:meta])+ $name:ident;)+) => {
        arithmetic! { f64, 0.0: $($name)+ }
        $(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl $name {
            /// Returns the number without the unit.
            pub const fn as_f64(self) -> f64 {
                self.0
            }

            /// Returns the amount without its sign.
            #[must_use]
            pub const fn abs(self) -> Self {
                Self(self.0.abs())
            }

            /// Returns true if the amount is a number, and not infinite.
            pub const fn is_finite(self) -> bool {
                self.0.is_finite()
            }

            /// Returns the smaller amount.
            #[must_use]
            pub const fn min(self, other: Self) -> Self {
                Self(self.0.min(other.0))
            }

            /// Returns the larger amount.
            #[must_use]
            pub const fn max(self, other: Self) -> Self {
                Self(self.0.max(other.0))
            }

            /// Compares as [`f64::total_cmp`] does, which also orders NaNs.
            pub fn total_cmp(&self, other: &Self) -> Ordering {
                self.0.total_cmp(&other.0)
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl Sub for $name {
            type Output = Self;

            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl Mul<f64> for $name {
            type Output = Self;

            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }

        /// The ratio of two amounts.
        impl Div for $name {
            type Output = f64;

            fn div(self, other: Self) -> f64 {
                self.0 / other.0
            }
        }
        )+
    };
}

quantities! {
    /// A span of time in nanoseconds. It may be negative where a correction took more than was read.
    Nanoseconds;
    /// A rate of memory traffic in bytes per second.
    BytesPerSecond;
    /// A rate of arithmetic in floating-point operations per second.
    FlopsPerSecond;
    /// A rate of whatever a benchmark counts, in items per second.
    ItemsPerSecond;
    /// A limit per second, of bytes or of floating-point operations: the quantity that it limits says which.
    Rate;
    /// Energy in joules.
    Joules;
    /// Power in watts.
    Watts;
}

impl Nanoseconds {
    /// Returns the span of this number of seconds.
    pub const fn from_seconds(seconds: f64) -> Self {
        Self(seconds * 1e9)
    }

    /// Returns the span in seconds.
    pub fn as_seconds(self) -> f64 {
        self.0 * 1e-9
    }
}

impl From<Duration> for Nanoseconds {
    fn from(duration: Duration) -> Self {
        Self::from_seconds(duration.as_secs_f64())
    }
}

impl BytesPerSecond {
    /// Returns the rate in gibibytes per second.
    pub fn as_gibibytes(self) -> f64 {
        self.0 / f64::from(1 << 30)
    }
}

/// Defines conversions between a rate with its own unit and [`Rate`].
macro_rules! rates {
    ($($name:ident)+) => {$(
        impl From<$name> for Rate {
            fn from(rate: $name) -> Self {
                Self(rate.0)
            }
        }

        impl From<Rate> for $name {
            fn from(rate: Rate) -> Self {
                Self(rate.0)
            }
        }
    )+};
}

rates! { BytesPerSecond FlopsPerSecond }

impl Joules {
    /// Returns the mean power at which this energy is drawn in `time`.
    pub fn over(self, time: Nanoseconds) -> Watts {
        Watts(self.0 / time.as_seconds())
    }
}

impl Watts {
    /// Returns the energy that this power draws in `time`.
    pub fn during(self, time: Nanoseconds) -> Joules {
        Joules(self.0 * time.as_seconds())
    }
}

impl Rate {
    /// Returns the time that `work`, in bytes or operations, takes at this rate.
    pub fn time_for(self, work: u64) -> Nanoseconds {
        Nanoseconds(work as f64 / self.0 * 1e9)
    }
}

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
    /// Returns the range from the lowest to the highest of `values`; `None` if there are no values.
    pub fn of(values: impl IntoIterator<Item = T>) -> Option<Self> {
        values.into_iter().fold(None, |range, value| {
            let Self { low, high } = range.unwrap_or(Self { low: value, high: value });
            let low = if value < low { value } else { low };
            Some(Self { low, high: if value > high { value } else { high } })
        })
    }
}

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

arithmetic! { u64, 0: Bytes Hertz }

impl Hertz {
    /// Returns the number without the unit.
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

impl Bytes {
    /// Returns the number without the unit.
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Returns the amount as the length of a buffer.
    pub const fn as_usize(self) -> usize {
        self.0 as usize
    }

    /// Returns the rate at which this amount moves in `time`.
    pub fn per(self, time: Nanoseconds) -> BytesPerSecond {
        BytesPerSecond(self.0 as f64 / time.as_seconds())
    }
}

#[cfg(test)]
mod units_tests {
    use super::*;

    #[test]
    fn a_rate_is_work_over_time_and_keeps_its_number_in_other_units() {
        let rate = Rate(4e12);
        assert_eq!(rate.time_for(2_000_000_000), Nanoseconds(500_000.0));
        assert_eq!((BytesPerSecond::from(rate).0, FlopsPerSecond::from(rate).0), (4e12, 4e12));
        assert_eq!(
            (Rate::from(BytesPerSecond(7.0)), Rate::from(FlopsPerSecond(8.0))),
            (Rate(7.0), Rate(8.0))
        );
    }

    #[test]
    fn arithmetic_keeps_the_unit() {
        let time = Nanoseconds(1500.0) + Nanoseconds(500.0) - Nanoseconds(1000.0);
        assert_eq!((time, time * 2.5, 2.0 * time), (Nanoseconds(1e3), Nanoseconds(2.5e3), Nanoseconds(2e3)));
        assert_eq!((time / Nanoseconds(250.0), time / 4.0), (4.0, Nanoseconds(250.0)));
        assert_eq!([1.0, 2.0, 4.0].map(Nanoseconds).into_iter().sum::<Nanoseconds>(), Nanoseconds(7.0));
        assert_eq!((-1.0 * time).abs().max(Nanoseconds(3.0)), time);
        assert_eq!(BytesPerSecond(1024.0 * 1024.0 * 512.0).as_gibibytes(), 0.5);
    }

    #[test]
    fn power_and_energy_are_each_others() {
        assert_eq!(Watts(700.0).during(Nanoseconds::from_seconds(0.5)), Joules(350.0));
        assert_eq!(Joules(350.0).over(Nanoseconds::from_seconds(0.5)), Watts(700.0));
    }
}

#[cfg(test)]
mod range_tests {
    use super::*;

    #[test]
    fn a_range_has_all_values_in_it() {
        assert_eq!(Range::of([3, 1, 2]), Some(Range { low: 1, high: 3 }));
        assert_eq!(Range::<u8>::of([]), None);
    }
}

#[cfg(test)]
mod whole_tests {
    use super::*;

    #[test]
    fn arithmetic_keeps_the_unit() {
        assert_eq!([Bytes(3), 2 * Bytes(4)].into_iter().sum::<Bytes>() / 4, Bytes(2));
    }
}
