//! The registry of a binary: `#[gpu_bench]` leaves one [`Entry`] for each annotated function. An entry holds only data and function
//! pointers; the runtime has the protocol of a measurement.

use std::any::Any;
use std::rc::Rc;

use crate::catch::catch;
use crate::device::{Device, DeviceError, DeviceKind, DeviceType, LastParameter, LaunchStream, Memory};
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::id::Arg;

pub use inventory;

mod bound;
mod error;
mod options;

pub use self::bound::Bound;
pub(crate) use self::error::UserError;
pub use self::options::{BenchmarkOptions, Group};
use gpubench_records::work::Counts;

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
    #[must_use]
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
    #[must_use]
    pub fn arg(&self) -> Arg {
        Arg { name: self.name.to_owned(), value: (self.value)() }
    }
}

impl Variant {
    /// Returns the instance with these `generics`, launched on a stream of type `S`.
    #[must_use]
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
    #[must_use]
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
#[must_use]
pub fn entries() -> Vec<&'static Entry> {
    let mut entries: Vec<&Entry> = inventory::iter::<Entry>().collect();
    entries.sort_by_key(|entry| {
        let krate = entry.module.split("::").next();
        (krate, entry.file, entry.line, entry.column, entry.module, entry.name)
    });
    entries
}
