//! What the expansion of `#[gpu_bench]` is written with: the user's values, closures and results come in, an
//! [`Axis`](registry::Axis) or a [`Case`](registry::Case) goes out. Here is all that an expansion need not spell out.

use std::any::Any;
use std::cell::RefCell;
use std::fmt::{Debug, Display};
use std::str::FromStr;

use crate::device::{Device, DeviceType, LaunchStream};
use crate::failure::{Failure, Stage};
use crate::registry::{self, Counts};

/// The values of one axis and the one that is selected, the first until told otherwise.
pub struct Values<T> {
    name: &'static str,
    listed: Vec<T>,
    selected: RefCell<Option<T>>,
}

impl<T: Clone> Values<T> {
    /// The axis `name` over `listed`.
    pub fn new(name: &'static str, listed: impl IntoIterator<Item = T>) -> Self {
        Self { name, listed: listed.into_iter().collect(), selected: RefCell::new(None) }
    }

    /// The selected value.
    ///
    /// # Panics
    /// If nothing is listed: such an axis has no cases, and nobody asks.
    pub fn value(&self) -> T {
        let selected = self.selected.borrow();
        selected.as_ref().or_else(|| self.listed.first()).expect("an axis with a case has a value").clone()
    }
}

/// An axis together with how its type is shown and parsed.
pub struct Shown<'a, T> {
    values: &'a Values<T>,
    show: fn(&T) -> String,
    parse: fn(&str) -> Option<T>,
}

impl<T: Clone> registry::Axis for Shown<'_, T> {
    fn name(&self) -> &'static str {
        self.values.name
    }

    fn values(&self) -> Vec<String> {
        self.values.listed.iter().map(self.show).collect()
    }

    fn select(&self, shown: &str) -> Result<(), String> {
        let listed = self.values.listed.iter().find(|value| (self.show)(value) == shown);
        let Some(value) = listed.cloned().or_else(|| (self.parse)(shown)) else {
            let listed = self.values().join(", ");
            return Err(format!("`{shown}` is not a value of `{}` (it has {listed})", self.values.name));
        };
        *self.values.selected.borrow_mut() = Some(value);
        Ok(())
    }
}

/// Shows the axis `$values` to `$visitor`. Which traits its type has is found by autoref: method lookup tries the
/// receiver with more `&` first, so that `Display` goes before `Debug`, and `FromStr` before no parsing.
#[doc(hidden)]
#[macro_export]
macro_rules! __show_axis {
    ($visitor:expr, $values:expr) => {{
        #[allow(unused_imports)]
        use $crate::bind::{ByDebug as _, ByDisplay as _, ByFromStr as _, ByListing as _};
        let values = &$values;
        let (show, parse) = ((&&values).show(), (&&values).parse());
        $crate::registry::Visitor::axis($visitor, &$crate::bind::Shown::of(values, show, parse));
    }};
}
pub use crate::__show_axis as show_axis;

impl<'a, T> Shown<'a, T> {
    /// `values`, shown and parsed by these functions.
    pub fn of(values: &'a Values<T>, show: fn(&T) -> String, parse: fn(&str) -> Option<T>) -> Self {
        Self { values, show, parse }
    }
}

/// Values shown by their `Display`.
pub trait ByDisplay<T> {
    /// How.
    fn show(&self) -> fn(&T) -> String;
}
impl<T: Display> ByDisplay<T> for &&Values<T> {
    fn show(&self) -> fn(&T) -> String {
        T::to_string
    }
}

/// Values shown by their `Debug`, for want of `Display`.
pub trait ByDebug<T> {
    /// How.
    fn show(&self) -> fn(&T) -> String;
}
impl<T: Debug> ByDebug<T> for &Values<T> {
    fn show(&self) -> fn(&T) -> String {
        |value| format!("{value:?}")
    }
}

/// Values that can be given on the command line without being listed.
pub trait ByFromStr<T> {
    /// How.
    fn parse(&self) -> fn(&str) -> Option<T>;
}
impl<T: FromStr> ByFromStr<T> for &&Values<T> {
    fn parse(&self) -> fn(&str) -> Option<T> {
        |text| text.parse().ok()
    }
}

/// Values that must be listed.
pub trait ByListing<T> {
    /// How.
    fn parse(&self) -> fn(&str) -> Option<T>;
}
impl<T> ByListing<T> for &Values<T> {
    fn parse(&self) -> fn(&str) -> Option<T> {
        |_| None
    }
}

/// What a launch function may return: nothing, or a `Result` whose error can be displayed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a launch function returns",
    label = "expected `()` or a `Result` whose error implements `Display`"
)]
pub trait Launched {
    /// The error in words.
    fn launched(self) -> Result<(), String>;
}

impl Launched for () {
    fn launched(self) -> Result<(), String> {
        Ok(())
    }
}

impl<T, E: Display> Launched for Result<T, E> {
    fn launched(self) -> Result<(), String> {
        self.map(drop).map_err(|error| error.to_string())
    }
}

/// What a check may return: nothing, or a `Result` of nothing, so that the type of a bare `Err("…")` follows.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a check returns",
    label = "expected `()` or a `Result<(), E>` whose error implements `Display`"
)]
pub trait Checked {
    /// The error in words.
    fn checked(self) -> Result<(), String>;
}

impl Checked for () {
    fn checked(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: Display> Checked for Result<(), E> {
    fn checked(self) -> Result<(), String> {
        self.map_err(|error| error.to_string())
    }
}

/// What the user's `setup` returned, its error in words.
pub fn set_up<T, E: Display>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// A number that `bytes`, `reads`, `writes` or `flops` may be.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a count",
    label = "expected an integer such as `usize` or `u64`, or a float"
)]
pub trait Count: Copy + Display {
    /// The number, where it is at least 1 and fits 64 bits.
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

/// A count option's value, or what is wrong with it.
pub fn count(option: &str, value: impl Count) -> Result<Option<u64>, String> {
    match value.count() {
        Some(count) => Ok(Some(count)),
        None => Err(format!("`{option}` is {value}: it must be at least 1 and fit 64 bits")),
    }
}

/// The steps of a case as an expansion writes them: each tells its error in words.
type Setup<'a, S, T> = Box<dyn Fn(&S) -> Result<T, String> + 'a>;
type Enqueue<'a, S, T> = Box<dyn Fn(&mut T, &S) -> Result<(), String> + 'a>;
type Look<'a, T, R> = Box<dyn Fn(&T) -> Result<R, String> + 'a>;

/// A launch function with its arguments chosen, on a stream `S` over the inputs `T` that `setup` returns.
pub struct Bound<'a, S, T> {
    setup: Setup<'a, S, T>,
    launch: Enqueue<'a, S, T>,
    reset: Option<Enqueue<'a, S, T>>,
    counts: Look<'a, T, Counts>,
    check: Option<Look<'a, T, ()>>,
    // Dropped in this order: inputs may need their stream's device.
    inputs: Option<T>,
    stream: Option<S>,
}

impl<'a, S: LaunchStream, T> Bound<'a, S, T> {
    /// A case that makes its inputs with `setup` and runs `launch` on them.
    pub fn new(
        setup: impl Fn(&S) -> Result<T, String> + 'a,
        launch: impl Fn(&mut T, &S) -> Result<(), String> + 'a,
    ) -> Self {
        Self {
            setup: Box::new(setup),
            launch: Box::new(launch),
            reset: None,
            counts: Box::new(|_| Ok(Counts::default())),
            check: None,
            inputs: None,
            stream: None,
        }
    }

    /// The same case, whose launches do this much work.
    #[must_use]
    pub fn counts(self, counts: impl Fn(&T) -> Result<Counts, String> + 'a) -> Self {
        Self { counts: Box::new(counts), ..self }
    }

    /// The same case, whose inputs `reset` makes fresh again before each sample.
    #[must_use]
    pub fn reset(self, reset: impl Fn(&mut T, &S) -> Result<(), String> + 'a) -> Self {
        Self { reset: Some(Box::new(reset)), ..self }
    }

    /// The same case, whose outputs are looked at by `check`.
    #[must_use]
    pub fn check(self, check: impl Fn(&T) -> Result<(), String> + 'a) -> Self {
        Self { check: Some(Box::new(check)), ..self }
    }

    fn inputs(&self, stage: Stage) -> Result<&T, Failure> {
        self.inputs.as_ref().ok_or_else(|| not_set_up(stage))
    }
}

impl<S: LaunchStream, T> registry::Case for Bound<'_, S, T> {
    fn open(&mut self, device: &mut dyn Device) -> Result<(), Failure> {
        let kind = <S::Device as DeviceType>::KIND;
        let device = (device as &mut dyn Any).downcast_mut::<S::Device>();
        let device =
            device.ok_or_else(|| Failure::new(Stage::Device, format_args!("not a `{kind}` device")))?;
        self.stream = Some(S::over(device).map_err(|error| Failure::new(Stage::Device, error))?);
        Ok(())
    }

    fn setup(&mut self) -> Result<(), Failure> {
        let stream = self.stream.as_ref().ok_or_else(|| Failure::new(Stage::Setup, "there is no stream"))?;
        // Earlier inputs go first, so that two sets never need to fit.
        self.inputs = None;
        self.inputs = Some(guarded(Stage::Setup, || (self.setup)(stream))?);
        Ok(())
    }

    fn resets(&self) -> bool {
        self.reset.is_some()
    }

    fn reset(&mut self) -> Result<(), Failure> {
        match (&self.reset, &mut self.inputs, &self.stream) {
            (None, ..) => Ok(()),
            (Some(reset), Some(inputs), Some(stream)) => {
                reset(inputs, stream).map_err(|error| Failure::new(Stage::Reset, error))
            }
            _ => Err(not_set_up(Stage::Reset)),
        }
    }

    fn launch(&mut self) -> Result<(), Failure> {
        match (&mut self.inputs, &self.stream) {
            (Some(inputs), Some(stream)) => {
                (self.launch)(inputs, stream).map_err(|error| Failure::new(Stage::Launch, error))
            }
            _ => Err(not_set_up(Stage::Launch)),
        }
    }

    fn counts(&mut self) -> Result<Counts, Failure> {
        let inputs = self.inputs(Stage::Counts)?;
        let counts = guarded(Stage::Counts, || (self.counts)(inputs))?;
        let split = counts.reads.is_some() || counts.writes.is_some();
        let sum = counts.reads.unwrap_or(0).checked_add(counts.writes.unwrap_or(0));
        match sum {
            Some(sum) if split => Ok(Counts { bytes: Some(sum), ..counts }),
            Some(_) => Ok(counts),
            None => Err(Failure::new(Stage::Counts, "`reads` and `writes` together do not fit 64 bits")),
        }
    }

    fn check(&mut self) -> Result<bool, Failure> {
        let Some(check) = &self.check else { return Ok(false) };
        let inputs = self.inputs(Stage::Check)?;
        guarded(Stage::Check, || check(inputs))?;
        Ok(true)
    }
}

fn not_set_up(stage: Stage) -> Failure {
    Failure::new(stage, "the inputs are not set up")
}

fn guarded<T>(stage: Stage, code: impl FnOnce() -> Result<T, String>) -> Result<T, Failure> {
    Failure::catch(stage, || code().map_err(|message| Failure::new(stage, message)))
}
