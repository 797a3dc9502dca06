//! The arguments that a benchmark sweeps: the user's values, of any type that can be shown.

use std::cell::RefCell;
use std::fmt::{Debug, Display};
use std::str::FromStr;

use crate::registry::{self, UserError};

/// The values of one axis and the selected one, initially the first.
pub struct Values<T> {
    name: &'static str,
    listed: Vec<T>,
    selected: RefCell<Option<T>>,
}

impl<T: Clone> Values<T> {
    /// Returns the axis `name` over `listed`.
    pub fn new(name: &'static str, listed: impl IntoIterator<Item = T>) -> Self {
        Self { name, listed: listed.into_iter().collect(), selected: RefCell::new(None) }
    }

    /// Returns the selected value.
    ///
    /// # Panics
    /// Panics if nothing is listed. Such an axis has no cases, so nobody asks.
    pub fn value(&self) -> T {
        let selected = self.selected.borrow();
        selected.as_ref().or_else(|| self.listed.first()).expect("an axis with a case has a value").clone()
    }
}

/// The longest list that is searched first. In a longer one, a value that parses and shows the same needs no search.
const LONG: usize = 100;

/// An axis with the functions that show and parse its values.
pub struct Shown<'a, T> {
    values: &'a Values<T>,
    show: fn(&T) -> String,
    parse: fn(&str) -> Option<T>,
}

impl<T: Clone> registry::ArgAxis for Shown<'_, T> {
    fn name(&self) -> &'static str {
        self.values.name
    }

    fn values(&self) -> Vec<String> {
        self.values.listed.iter().map(self.show).collect()
    }

    fn select(&self, shown: &str) -> Result<(), UserError> {
        let search = || self.values.listed.iter().find(|value| (self.show)(value) == shown).cloned();
        let read = || (self.parse)(shown);
        // Each case of a sweep selects its value: searching a long list each time would take longer than the cases do.
        let long = self.values.listed.len() > LONG;
        let again = || read().filter(|value| long && (self.show)(value) == shown);
        let Some(value) = again().or_else(search).or_else(read) else {
            let (name, listed) = (self.values.name, self.values().join(", "));
            return Err(UserError::new(format_args!("`{shown}` is not a value of `{name}` (it has {listed})")));
        };
        *self.values.selected.borrow_mut() = Some(value);
        Ok(())
    }
}

/// Makes the axis over `$values`. Autoref finds the traits of its type: method lookup tries the receiver with
/// more `&` first, so that `Display` precedes `Debug`, and text and `FromStr` precede no parsing.
#[doc(hidden)]
#[macro_export]
macro_rules! __axis {
    ($values:expr) => {{
        #[allow(unused_imports)]
        use $crate::bind::{ByDebug as _, ByDisplay as _, ByFromStr as _, ByListing as _, ByText as _};
        let values = &$values;
        let (show, parse) = ((&&values).show(), (&&&values).parse());
        $crate::bind::Shown::of(values, show, parse)
    }};
}
pub use __axis as axis;

impl<'a, T> Shown<'a, T> {
    /// Returns an axis over `values`, shown and parsed by these functions.
    pub fn of(values: &'a Values<T>, show: fn(&T) -> String, parse: fn(&str) -> Option<T>) -> Self {
        Self { values, show, parse }
    }
}

/// Values shown by their `Display`.
pub trait ByDisplay<T> {
    /// Returns the function that shows a value.
    fn show(&self) -> fn(&T) -> String;
}
impl<T: Display> ByDisplay<T> for &&Values<T> {
    fn show(&self) -> fn(&T) -> String {
        T::to_string
    }
}

/// Values shown by their `Debug`, for want of `Display`.
pub trait ByDebug<T> {
    /// Returns the function that shows a value.
    fn show(&self) -> fn(&T) -> String;
}
impl<T: Debug> ByDebug<T> for &Values<T> {
    fn show(&self) -> fn(&T) -> String {
        |value| format!("{value:?}")
    }
}

/// Values that the command line can give even if they are not listed.
pub trait ByFromStr<T> {
    /// Returns the function that parses a value.
    fn parse(&self) -> fn(&str) -> Option<T>;
}
impl<T: FromStr> ByFromStr<T> for &&Values<T> {
    fn parse(&self) -> fn(&str) -> Option<T> {
        |text| text.parse().ok()
    }
}

/// Texts, which are values without any parsing.
pub trait ByText {
    /// Returns the function that parses a value.
    fn parse(&self) -> fn(&str) -> Option<&'static str>;
}
impl ByText for &&&Values<&'static str> {
    fn parse(&self) -> fn(&str) -> Option<&'static str> {
        // Leaks a few bytes for each value that the command line gives.
        |text| Some(text.to_owned().leak())
    }
}

/// Values that must be listed.
pub trait ByListing<T> {
    /// Returns the function that parses a value: it finds none.
    fn parse(&self) -> fn(&str) -> Option<T>;
}
impl<T> ByListing<T> for &Values<T> {
    fn parse(&self) -> fn(&str) -> Option<T> {
        |_| None
    }
}

/// Returns the powers of two of these `exponents`: the sizes 2ⁿ.
///
/// In `args` it needs no path: `args(n = pow2(10..=28))`. Sizes of another type are a step away:
/// `pow2(10..=20).map(|n| n as u32)`.
///
/// # Panics
/// Panics if 2ⁿ does not fit a `usize`. Within `args` that is the benchmark's failure.
pub fn pow2(exponents: impl IntoIterator<Item = u32>) -> impl Iterator<Item = usize> {
    exponents.into_iter().map(|exponent| {
        let size = 1usize.checked_shl(exponent);
        size.unwrap_or_else(|| panic!("pow2: 2 to the power of {exponent} does not fit a usize"))
    })
}
