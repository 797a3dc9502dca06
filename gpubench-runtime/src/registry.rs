//! The registry of a binary: `#[gpu_bench]` leaves one [`Entry`] for each annotated function. An entry holds only data and function
//! pointers; the runtime has the protocol of a measurement.

use std::any::Any;
use std::borrow::Borrow;
use std::fmt::Display;
use std::rc::Rc;

use crate::catch::catch;
use crate::device::{Device, DeviceError, DeviceKind, DeviceType, LastParameter, LaunchStream, Memory};
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::id::Arg;
use gpubench_records::work::{Counts, Link};

pub use inventory;

/// One annotated launch function.
pub struct Entry {
    /// The function's name, or the name given by the attribute.
    pub name: &'static str,
    /// The path of its module, crate first.
    pub module: &'static str,
    /// The source file of the attribute.
    pub file: &'static str,
    /// The line of the attribute, from 1.
    pub line: u32,
    /// The column of the attribute, from 1.
    pub column: u32,
    /// The options of the attribute.
    pub options: BenchmarkOptions,
    /// The function's instances, one for each choice of its types and constants.
    pub variants: &'static [Variant],
}

inventory::collect!(Entry);

impl Entry {
    /// Returns the full name of the benchmark: its module's path, its group if it has one, and its own name.
    pub fn path(&self) -> String {
        match self.options.group {
            Some(group) => format!("{}::{group}::{}", self.module, self.name),
            None => format!("{}::{}", self.module, self.name),
        }
    }
}

/// One instance of an annotated function.
pub struct Variant {
    /// The kind of device that its stream belongs to, such as `host`.
    pub device: &'static str,
    /// That kind, if it says more of itself than its name.
    pub listed: Option<&'static DeviceKind>,
    /// The choices of its types and constants, in the order of its parameters.
    pub generics: &'static [Generic],
    /// Opens the device of that kind with this ordinal.
    pub open: fn(usize) -> Result<Box<dyn Device>, DeviceError>,
    /// Shows the axes and the case.
    pub visit: fn(&mut dyn Visitor),
}

/// A type or constant parameter with its choice.
pub struct Generic {
    /// The parameter's name.
    pub name: &'static str,
    /// Returns the type as written, or the constant's value.
    pub value: fn() -> String,
}

impl Generic {
    /// Returns the choice as an argument of a job.
    pub fn arg(&self) -> Arg {
        Arg { name: self.name.to_owned(), value: (self.value)() }
    }
}

impl Variant {
    /// Returns the instance with these `generics`, launched on a stream of type `S`.
    pub const fn of<S: LaunchStream>(generics: &'static [Generic], visit: fn(&mut dyn Visitor)) -> Self {
        Self {
            device: <S::Device as DeviceType>::KIND,
            listed: <S::Device as DeviceType>::LISTED,
            generics,
            open: |ordinal| Ok(Box::new(<S::Device as DeviceType>::open(ordinal)?)),
            visit,
        }
    }

    /// Returns true if `args` have its choices of types and constants.
    pub(crate) fn has(&self, args: &[Arg]) -> bool {
        self.generics.iter().all(|generic| args.contains(&generic.arg()))
    }

    /// Passes its axes and its case to `visit`, and returns the result.
    ///
    /// # Errors
    /// Returns an error if the user's code for the axes panics, or if `visit` fails.
    pub(crate) fn show<T>(
        &self,
        visit: impl FnOnce(&[&[&dyn ArgAxis]], &mut dyn Case) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let (mut visit, mut shown) = (Some(visit), None);
        let mut visitor = |sweeps: &[&[&dyn ArgAxis]], case: &mut dyn Case| {
            shown = visit.take().map(|visit| visit(sweeps, case));
        };
        catch(Stage::Args, || {
            (self.visit)(&mut visitor);
            Ok(())
        })?;
        shown.unwrap_or_else(|| Err(Failure::new(Stage::Args, "the benchmark shows no case")))
    }

    /// Returns the same for a stream that is only assumed to be one.
    #[expect(
        clippy::needless_maybe_sized,
        reason = "of a slice the compiler then says this alone, and not that it is unsized too"
    )]
    pub const fn of_last<S: LastParameter + ?Sized>(
        generics: &'static [Generic],
        visit: fn(&mut dyn Visitor),
    ) -> Self {
        Self::of::<S>(generics, visit)
    }
}

/// Visits a variant: a listing reads its axes, a measurement its case.
pub trait Visitor {
    /// Called once. Each of `sweeps` is swept against all others; the axes within one go together. The case
    /// has the selected values.
    fn visit(&mut self, sweeps: &[&[&dyn ArgAxis]], case: &mut dyn Case);
}

impl<F: FnMut(&[&[&dyn ArgAxis]], &mut dyn Case)> Visitor for F {
    fn visit(&mut self, sweeps: &[&[&dyn ArgAxis]], case: &mut dyn Case) {
        self(sweeps, case);
    }
}

/// Selects the values of `args` on the axes.
pub(crate) fn select(args: &[Arg], sweeps: &[&[&dyn ArgAxis]]) -> Result<(), Failure> {
    for axis in sweeps.iter().copied().flatten() {
        if let Some(arg) = args.iter().find(|arg| arg.name == axis.name()) {
            axis.select(&arg.value).map_err(|error| Failure::new(Stage::Args, error))?;
        }
    }
    Ok(())
}

/// An argument that a benchmark sweeps.
pub trait ArgAxis {
    /// Returns the argument's name.
    fn name(&self) -> &'static str;
    /// Returns its listed values as they are shown.
    fn values(&self) -> Vec<String>;
    /// Selects the value with this shown form, or parses one that is not listed.
    ///
    /// # Errors
    /// Returns an error if `shown` is neither listed nor a value of the argument's type.
    fn select(&self, shown: &str) -> Result<(), UserError>;
}

/// A benchmark with its arguments chosen. Its methods are the steps of a measurement.
pub trait Case {
    /// Returns true if the benchmark may leave some arguments out.
    fn skips(&self) -> bool;
    /// Returns the reason if the selected arguments are left out. Needs no device.
    fn skipped(&self) -> Option<&'static str>;
    /// Creates the stream for the launches.
    ///
    /// # Errors
    /// Returns an error if the device is of another type or refuses the stream.
    fn open(&mut self, device: &mut dyn Device) -> Result<(), Failure>;
    /// Returns the stream, if there is one, for another case that launches on it.
    fn stream(&self) -> Option<Rc<dyn Any>>;
    /// Adopts the stream of another case.
    ///
    /// # Errors
    /// Returns an error if it is of another type.
    fn open_on(&mut self, stream: Rc<dyn Any>) -> Result<(), Failure>;
    /// Drops the inputs.
    fn clear(&mut self);
    /// Keeps the first inputs aside. Drops the inputs if that was done before.
    fn lay_aside(&mut self);
    /// Puts the first inputs, if they were laid aside, in the place of the others. The last of these are kept, since `setup` may have left
    /// their addresses elsewhere, as in a constant of a module.
    fn restore_inputs(&mut self);
    /// Makes fresh inputs, which replace any earlier ones but those that were laid aside.
    ///
    /// # Errors
    /// Returns an error if the user's `setup` fails.
    fn setup(&mut self) -> Result<(), Failure>;
    /// Returns true if the benchmark has a reset.
    fn resets(&self) -> bool;
    /// Enqueues the reset, if there is one, which makes the inputs fresh again.
    ///
    /// # Errors
    /// Returns an error if the user's `reset` fails.
    fn reset(&mut self) -> Result<(), Failure>;
    /// Calls the launch function once.
    ///
    /// # Errors
    /// Returns an error if the launch function does.
    fn launch(&mut self) -> Result<(), Failure>;
    /// Returns the work of one launch on these inputs.
    ///
    /// # Errors
    /// Returns an error if a count is not positive or does not fit 64 bits.
    fn counts(&mut self) -> Result<Counts, Failure>;
    /// Shows the memory of the inputs, if it is this machine's. Returns false if not all of it is known.
    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool;
    /// Checks the outputs. Returns `false` if the benchmark has no check.
    ///
    /// # Errors
    /// Returns an error if the user's `check` fails.
    fn check(&mut self) -> Result<bool, Failure>;
}

/// Returns every linked annotated function, in the order of crate, file, line and column. Functions written
/// by the same macro call share a place; they are ordered by module and name.
pub fn entries() -> Vec<&'static Entry> {
    let mut entries: Vec<&Entry> = inventory::iter::<Entry>().collect();
    entries.sort_by_key(|entry| {
        let krate = entry.module.split("::").next();
        (krate, entry.file, entry.line, entry.column, entry.module, entry.name)
    });
    entries
}

/// An error of the user's `setup`, launch function, `reset` or `check`, or of a count or an argument, as text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UserError(String);

impl UserError {
    /// Returns the error with this text.
    pub fn new(error: impl Display) -> Self {
        Self(error.to_string())
    }
}

/// The options of an attribute that are plain data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BenchmarkOptions {
    /// Measures cold as well as hot.
    pub cold: bool,
    /// Measures the energy of a launch too.
    pub energy: bool,
    /// The compute peak to compare the function with, such as `f32` or `f64`.
    pub data_type: &'static str,
    /// The sampling budget of a case in seconds, if the function overrides the run's.
    pub max_time: Option<f64>,
    /// The wall limit of a case in seconds, if the function overrides the run's.
    pub timeout: Option<f64>,
    /// Leaves the benchmark out unless ignored ones are requested.
    pub ignore: bool,
    /// The group, which precedes the name in the benchmark's path.
    pub group: Option<&'static str>,
    /// Words that select the benchmark.
    pub tags: &'static [&'static str],
    /// The tags of its group.
    pub group_tags: &'static [&'static str],
    /// The arguments, types and constants that are variants of one problem; the others are the problem.
    pub tune: &'static [&'static str],
    /// The unit of `items`.
    pub item: Option<&'static str>,
    /// The link that the bytes move over, if it is not the device's memory.
    pub link: Option<Link>,
    /// The host's part belongs to the launch: its waits, its allocations and the functions that the device calls.
    pub host_work: bool,
    /// Launches leave other outputs each time: they build on each other, or the order of their additions varies.
    pub accumulates: bool,
}

impl BenchmarkOptions {
    /// The options of an attribute without any.
    pub const DEFAULT: Self = Self {
        cold: false,
        energy: false,
        data_type: "f32",
        max_time: None,
        timeout: None,
        ignore: false,
        group: None,
        tags: &[],
        group_tags: &[],
        tune: &[],
        item: None,
        link: None,
        host_work: false,
        accumulates: false,
    };

    /// Returns true if the benchmark or its group has the tag `tag`.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.contains(&tag) || self.group_tags.contains(&tag)
    }
}

/// Defaults that the benchmarks of a group share. Made by `gpubench::group!`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group(BenchmarkOptions);

impl Group {
    /// Makes the group whose benchmarks start from these options.
    #[doc(hidden)]
    pub const fn new(options: BenchmarkOptions) -> Self {
        Self(options)
    }

    /// Returns the options that its benchmarks start from.
    #[doc(hidden)]
    pub const fn options(&self) -> BenchmarkOptions {
        self.0
    }
}

/// The steps of a case as an expansion writes them.
type Setup<'a, S, T> = Box<dyn Fn(&S) -> Result<T, UserError> + 'a>;
type Enqueue<'a, S, T> = Box<dyn Fn(&mut T, &S) -> Result<(), UserError> + 'a>;
type CountWork<'a, T> = Box<dyn Fn(&T) -> Result<Counts, UserError> + 'a>;
type CheckOutputs<'a, T> = Box<dyn Fn(&T) -> Result<(), UserError> + 'a>;
type ShowMemory<'a, T> = Box<dyn Fn(&T, &mut dyn FnMut(Memory<'_>)) -> bool + 'a>;
/// The stream of a case, and perhaps of the one that it is compared with.
type KeptStream<S> = Rc<dyn Borrow<S>>;
type Condition<'a> = Box<dyn Fn() -> bool + 'a>;

/// A launch function with its arguments chosen, on a stream `S` over the inputs `T` that `setup` returns.
pub struct Bound<'a, S: ?Sized, T> {
    setup: Setup<'a, S, T>,
    launch: Enqueue<'a, S, T>,
    reset: Option<Enqueue<'a, S, T>>,
    counts: CountWork<'a, T>,
    check: Option<CheckOutputs<'a, T>>,
    memory: Option<ShowMemory<'a, T>>,
    skip_if: Option<(Condition<'a>, &'static str)>,
    // Dropped in this order, because inputs may need their stream's device.
    inputs: Option<T>,
    /// The first inputs while others are in their place; then the last of those.
    others: Option<T>,
    first_are_aside: bool,
    stream: Option<KeptStream<S>>,
}

impl<'a, S: LaunchStream, T> Bound<'a, S, T> {
    /// Makes a case that creates its inputs with `setup` and runs `launch` on them.
    pub fn new(
        setup: impl Fn(&S) -> Result<T, UserError> + 'a,
        launch: impl Fn(&mut T, &S) -> Result<(), UserError> + 'a,
    ) -> Self {
        Self {
            setup: Box::new(setup),
            launch: Box::new(launch),
            reset: None,
            counts: Box::new(|_| Ok(Counts::default())),
            check: None,
            memory: None,
            skip_if: None,
            inputs: None,
            others: None,
            first_are_aside: false,
            stream: None,
        }
    }
}

#[expect(
    clippy::needless_maybe_sized,
    reason = "of a slice the compiler then says this alone, and not that it is unsized too"
)]
impl<'a, S: LastParameter + ?Sized, T> Bound<'a, S, T> {
    /// Does the same as [`Bound::new`] for a stream that is only assumed to be one.
    pub fn new_on_last(
        setup: impl Fn(&S) -> Result<T, UserError> + 'a,
        launch: impl Fn(&mut T, &S) -> Result<(), UserError> + 'a,
    ) -> Self {
        Self::new(setup, launch)
    }
}

// For any `S`: if it is no stream, the constructor has already reported that, and one error is enough.
impl<'a, S: ?Sized, T> Bound<'a, S, T> {
    /// Adds the work that each launch does.
    pub fn counts(self, counts: impl Fn(&T) -> Result<Counts, UserError> + 'a) -> Self {
        Self { counts: Box::new(counts), ..self }
    }

    /// Adds a `reset`, which makes the inputs fresh again before each sample.
    pub fn reset(self, reset: impl Fn(&mut T, &S) -> Result<(), UserError> + 'a) -> Self {
        Self { reset: Some(Box::new(reset)), ..self }
    }

    /// Adds a `check` of the outputs.
    pub fn check(self, check: impl Fn(&T) -> Result<(), UserError> + 'a) -> Self {
        Self { check: Some(Box::new(check)), ..self }
    }

    /// Adds where the memory of the inputs lies. Returns false if not all of it is known.
    pub fn memory(self, memory: impl Fn(&T, &mut dyn FnMut(Memory<'_>)) -> bool + 'a) -> Self {
        Self { memory: Some(Box::new(memory)), ..self }
    }

    /// Leaves the case out for arguments that meet `condition`, for the reason `why`.
    pub fn skip_if(self, condition: impl Fn() -> bool + 'a, why: &'static str) -> Self {
        Self { skip_if: Some((Box::new(condition), why)), ..self }
    }

    fn inputs(&self, stage: Stage) -> Result<&T, Failure> {
        self.inputs.as_ref().ok_or_else(|| not_set_up(stage))
    }
}

impl<S: LaunchStream, T> Case for Bound<'_, S, T> {
    fn skips(&self) -> bool {
        self.skip_if.is_some()
    }

    fn skipped(&self) -> Option<&'static str> {
        self.skip_if.as_ref().filter(|(condition, _)| condition()).map(|(_, why)| *why)
    }

    fn open(&mut self, device: &mut dyn Device) -> Result<(), Failure> {
        let kind = <S::Device as DeviceType>::KIND;
        let device = (device as &mut dyn Any).downcast_mut::<S::Device>();
        let device =
            device.ok_or_else(|| Failure::new(Stage::Device, format_args!("not a `{kind}` device")))?;
        self.stream = Some(Rc::new(S::over(device).map_err(|error| Failure::new(Stage::Device, error))?));
        Ok(())
    }

    fn stream(&self) -> Option<Rc<dyn Any>> {
        self.stream.clone().map(|stream| Rc::new(stream) as Rc<dyn Any>)
    }

    fn open_on(&mut self, stream: Rc<dyn Any>) -> Result<(), Failure> {
        let of_another_type = |_| {
            let message =
                "it is launched on a stream of another type than the benchmark that it is compared with";
            Failure::new(Stage::Device, message)
        };
        self.stream = Some(Rc::clone(&*stream.downcast::<KeptStream<S>>().map_err(of_another_type)?));
        Ok(())
    }

    fn clear(&mut self) {
        self.inputs = None;
        self.others = None;
        self.first_are_aside = false;
    }

    fn lay_aside(&mut self) {
        let inputs = self.inputs.take();
        if !self.first_are_aside {
            self.first_are_aside = true;
            // What is replaced is dropped last, since that may panic.
            drop(std::mem::replace(&mut self.others, inputs));
        }
    }

    fn restore_inputs(&mut self) {
        if std::mem::take(&mut self.first_are_aside) {
            std::mem::swap(&mut self.inputs, &mut self.others);
        }
    }

    fn setup(&mut self) -> Result<(), Failure> {
        let stream = self.stream.clone().ok_or_else(|| Failure::new(Stage::Setup, "there is no stream"))?;
        // Earlier inputs are dropped first, so that no two sets need to fit that way.
        self.inputs = None;
        self.inputs = Some(guarded(Stage::Setup, || (self.setup)((*stream).borrow()))?);
        Ok(())
    }

    fn resets(&self) -> bool {
        self.reset.is_some()
    }

    fn reset(&mut self) -> Result<(), Failure> {
        match (&self.reset, &mut self.inputs, &self.stream) {
            (None, ..) => Ok(()),
            (Some(reset), Some(inputs), Some(stream)) => {
                reset(inputs, (**stream).borrow()).map_err(|error| Failure::new(Stage::Reset, error))
            }
            _ => Err(not_set_up(Stage::Reset)),
        }
    }

    fn launch(&mut self) -> Result<(), Failure> {
        match (&mut self.inputs, &self.stream) {
            (Some(inputs), Some(stream)) => {
                (self.launch)(inputs, (**stream).borrow()).map_err(|error| Failure::new(Stage::Launch, error))
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

    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool {
        let Some((memory, inputs)) = self.memory.as_ref().zip(self.inputs.as_ref()) else { return false };
        let mut size = 0;
        let known = memory(inputs, &mut |memory| {
            size += memory.bytes().0;
            visit(memory);
        });
        known && guarded(Stage::Counts, || (self.counts)(inputs)).is_ok_and(|counts| fits(&counts, size))
    }
}

/// Returns true if a launch that reads and writes so much may do so in memory of this size. If not, it has memory that its inputs do not tell of.
fn fits(counts: &Counts, size: u64) -> bool {
    let [reads, writes, bytes] = [counts.reads, counts.writes, counts.bytes].map(Option::unwrap_or_default);
    reads.max(writes).max(bytes / 2) <= size
}

fn not_set_up(stage: Stage) -> Failure {
    Failure::new(stage, "the inputs are not set up")
}

fn guarded<T, E: Display>(stage: Stage, code: impl FnOnce() -> Result<T, E>) -> Result<T, Failure> {
    catch(stage, || code().map_err(|error| Failure::new(stage, error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_that_reads_more_than_its_inputs_has_other_memory() {
        let counts = |reads, writes, bytes| Counts { reads, writes, bytes, ..Counts::default() };
        for (counts, size, expected) in [
            (counts(None, None, None), 0, true),
            (counts(Some(8), Some(4), Some(12)), 8, true),
            (counts(Some(9), None, Some(9)), 8, false),
            (counts(None, Some(9), Some(9)), 8, false),
            (counts(None, None, Some(16)), 8, true),
            (counts(None, None, Some(18)), 8, false),
        ] {
            assert_eq!(fits(&counts, size), expected, "{counts:?} in {size}");
        }
    }
}
