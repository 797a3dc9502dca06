//! What `#[gpu_bench]` leaves in a binary: one [`Entry`] for each annotated function, found by [`entries`]. An entry
//! holds data and function pointers only; the protocol of a measurement is the runtime's. Comes in: whatever is
//! linked. Goes out: the entries in the order of the source, and through [`Variant::visit`] their axes and cases.

use std::any::Any;
use std::rc::Rc;

use crate::device::{Device, DeviceError, DeviceType, LastParameter, LaunchStream};
use gpubench_records::failure::Failure;

pub use inventory;

mod bound;
mod options;

pub use self::bound::Bound;
pub use self::options::{Group, Options};
use gpubench_records::work::Counts;

/// One annotated launch function.
pub struct Entry {
    /// The function's name, or the one that the attribute gives it.
    pub name: &'static str,
    /// The path of the module it stands in, crate first.
    pub module: &'static str,
    /// The source file of the attribute.
    pub file: &'static str,
    /// The line of the attribute, from 1.
    pub line: u32,
    /// The column of the attribute, from 1.
    pub column: u32,
    /// What the attribute's options say.
    pub options: Options,
    /// The function's instances, one for each choice of its types and constants.
    pub variants: &'static [Variant],
}

inventory::collect!(Entry);

impl Entry {
    /// The name by which the benchmark is known: its module's path, its group if it has one, and its own name.
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
    /// The types and constants that were chosen for it, in the order of its parameters.
    pub generics: &'static [Generic],
    /// Opens the device of that kind with this ordinal.
    pub open: fn(usize) -> Result<Box<dyn Device>, DeviceError>,
    /// Shows the axes and the case.
    pub visit: fn(&mut dyn Visitor),
}

/// A type or constant parameter with what was chosen for it.
pub struct Generic {
    /// The parameter's name.
    pub name: &'static str,
    /// The type as it is written, or the constant's value.
    pub value: fn() -> String,
}

impl Variant {
    /// The instance with these `generics` that is launched on a stream of type `S`.
    #[must_use]
    pub const fn of<S: LaunchStream>(generics: &'static [Generic], visit: fn(&mut dyn Visitor)) -> Self {
        Self {
            device: <S::Device as DeviceType>::KIND,
            generics,
            open: |ordinal| Ok(Box::new(<S::Device as DeviceType>::open(ordinal)?)),
            visit,
        }
    }

    /// The same for a stream that is only assumed to be one.
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

/// Looks at a variant: a listing at its axes, a measurement at its case.
pub trait Visitor {
    /// Called once. Each of `sweeps` is swept against all others; the axes within one go together. The case has the
    /// values that are selected.
    fn visit(&mut self, sweeps: &[&[&dyn Axis]], case: &mut dyn Case);
}

/// An argument that a benchmark sweeps.
pub trait Axis {
    /// The argument's name.
    fn name(&self) -> &'static str;
    /// Its listed values as they are shown.
    fn values(&self) -> Vec<String>;
    /// Takes the value that is shown so, or parses one that is not listed.
    ///
    /// # Errors
    /// In words, where `shown` is neither listed nor a value of the argument's type.
    fn select(&self, shown: &str) -> Result<(), String>;
}

/// A benchmark with its arguments chosen, step by step as a measurement goes through it.
pub trait Case {
    /// Whether the benchmark says of some arguments that they are left out.
    fn skips(&self) -> bool;
    /// Why the selected arguments are left out, where they are. Needs no device.
    fn skipped(&self) -> Option<&'static str>;
    /// Makes the stream that the launches go to.
    ///
    /// # Errors
    /// Where the device is of another type or refuses the stream.
    fn open(&mut self, device: &mut dyn Device) -> Result<(), Failure>;
    /// The stream, where one is made, for another case that is launched on the same.
    fn stream(&self) -> Option<Rc<dyn Any>>;
    /// Takes the stream of another case for its own.
    ///
    /// # Errors
    /// Where it is of another type.
    fn open_on(&mut self, stream: Rc<dyn Any>) -> Result<(), Failure>;
    /// Lets go of the inputs.
    fn clear(&mut self);
    /// Makes fresh inputs, in place of any earlier ones.
    ///
    /// # Errors
    /// What the user's `setup` returned.
    fn setup(&mut self) -> Result<(), Failure>;
    /// Whether the benchmark has a reset.
    fn resets(&self) -> bool;
    /// Enqueues what makes the inputs fresh again, where there is such a thing.
    ///
    /// # Errors
    /// What the user's `reset` returned.
    fn reset(&mut self) -> Result<(), Failure>;
    /// Calls the launch function once.
    ///
    /// # Errors
    /// What it returned.
    fn launch(&mut self) -> Result<(), Failure>;
    /// How much work one launch does on these inputs.
    ///
    /// # Errors
    /// A count that is not positive or does not fit 64 bits.
    fn counts(&mut self) -> Result<Counts, Failure>;
    /// Looks at the outputs; `false` where the benchmark has no check.
    ///
    /// # Errors
    /// What the user's `check` returned.
    fn check(&mut self) -> Result<bool, Failure>;
}

/// Every annotated function that is linked, in the order of crate, file, line and column. Those that one call of a macro
/// wrote stand in one place: they follow by module and name.
#[must_use]
pub fn entries() -> Vec<&'static Entry> {
    let mut entries: Vec<&Entry> = inventory::iter::<Entry>().collect();
    entries.sort_by_key(|entry| {
        let krate = entry.module.split("::").next();
        (krate, entry.file, entry.line, entry.column, entry.module, entry.name)
    });
    entries
}
