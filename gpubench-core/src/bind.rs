//! The building blocks of an expansion of `#[gpu_bench]`. An expansion spells out only the rest.

use std::fmt::{Debug, Display};
use std::ops::{Add, Div, Mul, Rem, Shl, Shr, Sub};
use std::{cell::RefCell, str::FromStr};

use crate::{ArgAxis, CaseError, UserMetric};

/// The listed values of one axis, and the value that the current case uses: initially the first.
pub struct Values<T> {
    name: &'static str,
    listed: Vec<T>,
    selected: RefCell<Option<T>>,
}

impl<T: Clone> Values<T> {
    /// Returns the axis `name` with these values. The first one is selected.
    pub fn new(name: &'static str, listed: impl IntoIterator<Item = T>) -> Self {
        Self { name, listed: listed.into_iter().collect(), selected: RefCell::new(None) }
    }

    /// Returns the selected value.
    ///
    /// # Panics
    /// Panics if no values are listed. Such an axis has no cases, so that no code requests its value.
    pub fn value(&self) -> T {
        let selected = self.selected.borrow();
        selected.as_ref().or_else(|| self.listed.first()).expect("an axis with a case has a value").clone()
    }
}

/// An axis with the functions that convert its values to and from text.
pub struct TextAxis<'a, T> {
    /// The values.
    pub values: &'a Values<T>,
    /// Converts a value to text.
    pub show: fn(&T) -> String,
    /// Converts text to a value; `None` if that fails.
    pub parse: fn(&str) -> Option<T>,
}

impl<T: Clone> ArgAxis for TextAxis<'_, T> {
    fn name(&self) -> &'static str {
        self.values.name
    }

    fn values(&self) -> Vec<String> {
        self.values.listed.iter().map(self.show).collect()
    }

    fn select(&self, shown: &str) -> Result<(), CaseError> {
        let mut listed = self.values.listed.iter();
        let found = listed.find(|value| (self.show)(value) == shown).cloned();
        let Some(value) = found.or_else(|| (self.parse)(shown)) else {
            let (name, listed) = (self.values.name, self.values().join(", "));
            return Err(CaseError::new(format_args!(
                "`{shown}` cannot be read as a value of `{name}`; the benchmark's own values are {listed}"
            )));
        };
        *self.values.selected.borrow_mut() = Some(value);
        Ok(())
    }
}

/// Creates the [`TextAxis`] over `$values`. Autoref selects [`Show`] and [`Parse`] for the type of the
/// values: method lookup tries the receiver with more `&` first. `Display` precedes `Debug`. For parsing,
/// `&str` precedes types with `FromStr`, which precede types that cannot be parsed.
#[doc(hidden)]
#[macro_export]
macro_rules! __axis {
    ($values:expr) => {{
        #[allow(unused_imports)]
        use $crate::bind::{Parse as _, Show as _};
        let values = &$values;
        let (show, parse) = ((&&values).show(), (&&&values).parse());
        $crate::bind::TextAxis { values, show, parse }
    }};
}
pub use __axis as axis;

/// Selects the conversion of axis values to text at compile time: by `Display`, or else by `Debug`.
pub trait Show<T> {
    /// Returns the function that converts a value to text.
    fn show(&self) -> fn(&T) -> String;
}

impl<T: Display> Show<T> for &&Values<T> {
    fn show(&self) -> fn(&T) -> String {
        T::to_string
    }
}

impl<T: Debug> Show<T> for &Values<T> {
    fn show(&self) -> fn(&T) -> String {
        |value| format!("{value:?}")
    }
}

/// Selects the parser of axis values at compile time: `&str` takes any text as it is, and types with
/// `FromStr` use that. Values of other types cannot be parsed; they must be listed.
pub trait Parse<T> {
    /// Returns the function that parses a value; its result is `None` for text that is no value.
    fn parse(&self) -> fn(&str) -> Option<T>;
}

impl Parse<&'static str> for &&&Values<&'static str> {
    fn parse(&self) -> fn(&str) -> Option<&'static str> {
        // Leaks a few bytes for each value that the command line gives.
        |text| Some(text.to_owned().leak())
    }
}

impl<T: FromStr> Parse<T> for &&Values<T> {
    fn parse(&self) -> fn(&str) -> Option<T> {
        |text| text.parse().ok()
    }
}

impl<T> Parse<T> for &Values<T> {
    fn parse(&self) -> fn(&str) -> Option<T> {
        |_| None
    }
}

pub use crate::inputs::{InputOperand, ShowMemory};

/// Calls `$visit` with each range of memory of `$input`. Returns false if the input may have other memory,
/// which its type does not show. Autoref selects [`ShowMemory`] for its type: see [`axis!`](self::axis).
#[doc(hidden)]
#[macro_export]
macro_rules! __memory {
    ($input:expr, $visit:expr) => {{
        #[allow(unused_imports)]
        use $crate::bind::ShowMemory as _;
        (&&&&$crate::bind::InputOperand($input)).memory($visit)
    }};
}
pub use __memory as memory;

/// Returns the powers of two of these `exponents`: the sizes 2ⁿ.
///
/// In `args` it needs no path: `args(n = pow2(10..=28))`. Convert sizes of another type yourself:
/// `pow2(10..=20).map(|n| n as u32)`.
///
/// # Panics
/// Panics if 2ⁿ does not fit a `usize`. If that happens within `args`, the benchmark fails.
pub fn pow2(exponents: impl IntoIterator<Item = u32>) -> impl Iterator<Item = usize> {
    exponents.into_iter().map(|exponent| {
        let size = 1usize.checked_shl(exponent);
        size.unwrap_or_else(|| panic!("pow2: 2 to the power of {exponent} does not fit a usize"))
    })
}

/// A number type that `bytes`, `reads`, `writes`, `flops`, `items` and `metric` accept.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a count",
    label = "expected an integer such as `usize` or `u64`, or a float"
)]
pub trait Count: Copy + Display {
    /// Returns the number as an `i128`; `None` for a `u128` beyond that type, and for every float.
    fn whole(self) -> Option<i128>;

    /// Returns the nearest `f64`.
    fn number(self) -> f64;
}

/// Implements [`Count`] for number types. `$whole` is the function [`Count::whole`].
macro_rules! counts {
    ($whole:expr, $($number:ty)*) => {$(
        impl Count for $number {
            #[allow(clippy::unnecessary_fallible_conversions, clippy::useless_conversion, reason = "some types need it")]
            fn whole(self) -> Option<i128> {
                let whole: fn(Self) -> Option<i128> = $whole;
                whole(self)
            }

            fn number(self) -> f64 {
                self as f64
            }
        }
    )*};
}
counts!(|number| i128::try_from(number).ok(), u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);
counts!(|_| None, f32 f64);

impl<T: Count> Count for &T {
    fn whole(self) -> Option<i128> {
        (*self).whole()
    }

    fn number(self) -> f64 {
        (*self).number()
    }
}

/// The only count option that may be zero: the smallest size of a benchmark may need a single pass, which
/// leaves no intermediates.
const MAY_BE_ZERO: &str = "intermediates";

/// Converts the value of the count option `option`, such as `flops`, to a whole number: a float from 0.5 on
/// is rounded. Returns `None` for `intermediates` of zero. Any other result that is below 1 or exceeds 64
/// bits is an error that names the option.
pub fn count(option: &'static str, value: impl Count) -> Result<Option<u64>, CaseError> {
    let number = value.number();
    if option == MAY_BE_ZERO && number == 0.0 {
        return Ok(None);
    }
    let count = match value.whole() {
        Some(whole) => u64::try_from(whole).ok(),
        // 2^64 is the first float that does not fit.
        None => (0.5..18_446_744_073_709_551_616.0).contains(&number).then(|| number.round() as u64),
    };
    let refused =
        || CaseError::new(format_args!("`{option}` is {value}: it must be at least 1 and fit 64 bits"));
    count.filter(|count| *count > 0).map(Some).ok_or_else(refused)
}

/// Converts a count as [`count`] does: the value is `exact`, which was computed without overflow, or
/// `value()` if `exact` is unknown.
pub fn exact_count<T: Count>(
    option: &'static str,
    exact: Exact,
    value: impl FnOnce() -> T,
) -> Result<Option<u64>, CaseError> {
    exact.0.map_or_else(|| count(option, value()), |exact| count(option, exact))
}

/// Returns the benchmark's own metric `name` in `unit`, or an error if its value is not finite.
pub fn metric(name: &str, unit: &str, value: impl Count) -> Result<UserMetric, CaseError> {
    let (number, unit) = (value.number(), unit.to_owned());
    match number.is_finite() {
        true => Ok(UserMetric { name: name.to_owned(), unit, value: number }),
        false => Err(CaseError::new(format_args!("metric `{name}` is {value}: it must be finite"))),
    }
}

/// Returns the metric as [`metric`] does: its value is `exact`, which was computed without overflow, or
/// `value()` if `exact` is unknown.
pub fn exact_metric<T: Count>(
    name: &str,
    unit: &str,
    exact: Exact,
    value: impl FnOnce() -> T,
) -> Result<UserMetric, CaseError> {
    exact.0.map_or_else(|| metric(name, unit, value()), |exact| metric(name, unit, exact))
}

/// A whole number whose arithmetic never wraps. It becomes unknown if a result exceeds 128 bits, a division
/// is by zero, or an operand is no whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact(Option<i128>);

/// Implements arithmetic operators for [`Exact`] by checked functions. The result is unknown if an operand is
/// unknown or the function returns `None`.
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

/// An operand of [`exact!`], of any type. The macro wraps it, so that autoref selects its [`ExactValue`].
pub struct ExactOperand<'a, T>(pub &'a T);

/// Returns `$value` as an [`Exact`] number, which is unknown if the value is no whole number. Autoref selects
/// [`ExactValue`] for its type: see [`axis!`](self::axis).
#[doc(hidden)]
#[macro_export]
macro_rules! __exact {
    ($value:expr) => {{
        #[allow(unused_imports)]
        use $crate::bind::ExactValue as _;
        (&&$crate::bind::ExactOperand(&$value)).exact()
    }};
}
pub use __exact as exact;

/// Conversion of an operand of any type to an [`Exact`] number.
pub trait ExactValue {
    /// Returns the number; unknown if the operand is no whole number.
    fn exact(&self) -> Exact;
}

impl<T: Count> ExactValue for &ExactOperand<'_, T> {
    fn exact(&self) -> Exact {
        Exact(self.0.whole())
    }
}

impl<T> ExactValue for ExactOperand<'_, T> {
    fn exact(&self) -> Exact {
        Exact(None)
    }
}

/// A type that a launch function may return: `()`, or a `Result` whose error implements `Display`.
#[diagnostic::on_unimplemented(
    message = "a launch function cannot return `{Self}`: return `()`, or `Ok(value)` in a `Result` whose error implements `Display`",
    label = "neither `()` nor such a `Result`"
)]
pub trait Launched: Sized {
    /// The value that a `check` gets.
    type Output;

    /// Returns the value of a successful launch, or the error as text.
    fn output(self) -> Result<Self::Output, CaseError>;

    /// Drops the value of a successful launch, or returns the error as text.
    fn launched(self) -> Result<(), CaseError> {
        self.output().map(drop)
    }
}

#[diagnostic::do_not_recommend]
impl Launched for () {
    type Output = ();

    fn output(self) -> Result<(), CaseError> {
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<T, E: Display> Launched for Result<T, E> {
    type Output = T;

    fn output(self) -> Result<T, CaseError> {
        self.map_err(CaseError::new)
    }
}

/// A type that a check or a reset may return: `()`, or a `Result<(), E>`. Since the value is `()`, the
/// compiler can infer the type of a bare `Err("…")`.
#[diagnostic::on_unimplemented(
    message = "a check or a reset cannot return `{Self}`: return `()` or a `Result<(), E>` whose error implements `Display`; use `assert!` for a condition",
    label = "neither `()` nor such a `Result`"
)]
pub trait Checked {
    /// Returns the error as text.
    fn checked(self) -> Result<(), CaseError>;
}

#[diagnostic::do_not_recommend]
impl Checked for () {
    fn checked(self) -> Result<(), CaseError> {
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<E: Display> Checked for Result<(), E> {
    fn checked(self) -> Result<(), CaseError> {
        self.map_err(CaseError::new)
    }
}

/// Returns the inputs that the user's `setup` made, or its error as text: `$made` is a `Result` of them, or the
/// inputs themselves. Method lookup tries the type's own method before that of the trait.
#[doc(hidden)]
#[macro_export]
macro_rules! __set_up {
    ($made:expr) => {{
        #[allow(unused_imports)]
        use $crate::bind::PlainSetup as _;
        $crate::bind::SetupValue($made).inputs()
    }};
}
pub use __set_up as set_up;

/// The value of the user's `setup`, of any type. [`set_up!`](self::set_up) wraps it.
pub struct SetupValue<T>(pub T);

impl<T, E> SetupValue<Result<T, E>> {
    /// Returns the inputs, or the error as text.
    pub fn inputs(self) -> Result<T, CaseError>
    where
        E: SetupError,
    {
        self.0.map_err(CaseError::new)
    }
}

/// An error that a `setup` may return.
#[diagnostic::on_unimplemented(
    message = "the error of this `setup` cannot be displayed: implement `Display` for `{Self}`, or convert it with `map_err`",
    label = "it returns a `Result` with this error"
)]
pub trait SetupError: Display {}

#[diagnostic::do_not_recommend]
impl<E: Display> SetupError for E {}

/// Conversion of the value of a `setup` that returns no `Result`.
pub trait PlainSetup<T> {
    /// Returns the inputs.
    fn inputs(self) -> Result<T, CaseError>;
}

impl<T> PlainSetup<T> for SetupValue<T> {
    fn inputs(self) -> Result<T, CaseError> {
        Ok(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn metrics_are_finite() {
        let metric = |value: f64| metric("fill", "%", value).map(|metric| metric.value);
        assert_eq!([metric(-0.5), metric(0.0)], [Ok(-0.5), Ok(0.0)]);
        let refused = metric(f64::NAN).expect_err("it is no number").to_string();
        assert_eq!(refused, "metric `fill` is NaN: it must be finite");
        assert!(metric(f64::INFINITY).is_err());
    }

    #[test]
    fn what_is_whole_is_found_by_its_type() {
        let (n, reference) = (3usize, &7u8);
        assert_eq!(
            [exact!(n), exact!(reference), exact!(n as i64)].map(|exact| exact.0),
            [Some(3), Some(7), Some(3)]
        );
        assert_eq!([exact!(1.5), exact!("4"), exact!(u128::MAX)], [Exact(None); 3]);
    }

    #[test]
    fn arithmetic_goes_beyond_64_bits_and_ends_in_nothing() {
        let big = Exact(Some(i128::from(u64::MAX)));
        assert_eq!((big * Exact(Some(4))).0, Some(i128::from(u64::MAX) * 4));
        assert_eq!((Exact(Some(3)) << Exact(Some(40))).0, Some(3 << 40));
        assert_eq!((Exact(Some(17)) / Exact(Some(5)) + Exact(Some(17)) % Exact(Some(5))).0, Some(5));
        for nothing in [
            big * big * big,
            Exact(Some(1)) / Exact(Some(0)),
            Exact(Some(1)) << Exact(Some(-1)),
            Exact(None) + big,
        ] {
            assert_eq!(nothing.0, None);
        }
    }
}
