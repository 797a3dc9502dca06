//! Reads the value of `bytes`, `reads`, `writes`, `flops` or `items`: a number of at least 1 that fits 64 bits.

use std::any::type_name;
use std::fmt::Display;

use super::{Exact, WholeNumber};
use crate::registry::UserError;

/// A number type that `bytes`, `reads`, `writes`, `flops` and `items` accept.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a count",
    label = "expected an integer such as `usize` or `u64`, or a float"
)]
pub trait Count: WholeNumber + Display {
    /// Returns the number if it is at least 1 and fits 64 bits.
    fn count(self) -> Option<u64>;
}

macro_rules! count_integers {
    ($($integer:ty)*) => {$(
        impl Count for $integer {
            fn count(self) -> Option<u64> {
                u64::try_from(self).ok().filter(|count| *count > 0)
            }
        }
    )*};
}
count_integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

macro_rules! count_floats {
    ($($float:ty)*) => {$(
        impl Count for $float {
            fn count(self) -> Option<u64> {
                let rounded = f64::from(self).round();
                // 2^64 is the first float that does not fit.
                (1.0..18_446_744_073_709_551_616.0).contains(&rounded).then_some(rounded as u64)
            }
        }
    )*};
}
count_floats!(f32 f64);

/// Returns a count option's value, or the mistake in it.
pub fn count(option: &'static str, value: impl Count) -> Result<Option<u64>, UserError> {
    let refused = || UserError::new(format_args!("`{option}` is {value}: it must be at least 1 and fit 64 bits"));
    value.count().map(Some).ok_or_else(refused)
}

/// Returns the same for a value whose arithmetic was also done in exact numbers.
pub fn count_exact<T: Count>(
    option: &'static str,
    value: T,
    exact: Exact,
) -> Result<Option<u64>, UserError> {
    match (value.whole(), exact.value()) {
        (Some(wrapped), Some(exact)) if wrapped != exact => {
            let number = type_name::<T>();
            Err(UserError::new(format_args!(
                "`{option}` is {exact}, and came out as {wrapped}: `{number}` does not hold it. Count in `usize` or `u64`"
            )))
        }
        _ => count(option, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bind::exact;

    #[test]
    fn counts_are_at_least_one_and_fit_64_bits() {
        assert_eq!(count("flops", 7i8), Ok(Some(7)));
        assert_eq!(count("flops", 2.6), Ok(Some(3)));
        for refused in [count("flops", 0), count("flops", -1), count("flops", 0.4), count("flops", f64::NAN)]
        {
            assert!(refused.is_err_and(|error| error.to_string().contains("must be at least 1")));
        }
        assert!(count("flops", u128::from(u64::MAX) + 1).is_err());
        assert!(count("flops", 18_446_744_073_709_551_616.0).is_err());
    }

    #[test]
    fn a_value_that_wrapped_is_told_by_the_exact_one() {
        let n = 100_000u32;
        let exact = exact!(n) * exact!(n);
        let error = count_exact("flops", n.wrapping_mul(n), exact).expect_err("it wrapped");
        assert_eq!(
            error.to_string(),
            "`flops` is 10000000000, and came out as 1410065408: `u32` does not hold it. Count in `usize` or `u64`"
        );
        assert_eq!(count_exact("flops", u64::from(n) * u64::from(n), exact), Ok(Some(10_000_000_000)));
    }
}
