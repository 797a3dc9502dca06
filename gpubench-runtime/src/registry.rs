//! What `#[gpu_bench]` leaves in a binary: one [`Entry`] for each annotated function, found by [`entries`]. An entry
//! holds data and function pointers only; the protocol of a measurement is the runtime's. Comes in: whatever is
//! linked. Goes out: the entries in the order of the source, and through [`Variant::visit`] their axes and cases.

use serde::{Deserialize, Serialize};

use crate::device::{Device, DeviceError, DeviceType, LaunchStream};
use crate::failure::Failure;

pub use inventory;

/// One annotated launch function.
pub struct Entry {
    /// The function's name.
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
    /// The name by which the benchmark is known: its module's path and its own name.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}::{}", self.module, self.name)
    }
}

/// The options of an attribute that are plain data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Measure cold beside hot.
    pub cold: bool,
    /// Which compute peak the function is held against, such as `f32` or `f64`.
    pub precision: &'static str,
    /// The sampling budget of a case in seconds, where the function asks for another than the run's.
    pub max_time: Option<f64>,
}

impl Options {
    /// What an attribute without options means.
    pub const DEFAULT: Self = Self { cold: false, precision: "f32", max_time: None };
}

/// One instance of an annotated function.
pub struct Variant {
    /// The kind of device that its stream belongs to, such as `host`.
    pub device: &'static str,
    /// Opens the device of that kind with this ordinal.
    pub open: fn(usize) -> Result<Box<dyn Device>, DeviceError>,
    /// Shows the axes in their order, then the case with the values that were selected.
    pub visit: fn(&mut dyn Visitor),
}

impl Variant {
    /// The instance that is launched on a stream of type `S`.
    #[must_use]
    pub const fn of<S: LaunchStream>(visit: fn(&mut dyn Visitor)) -> Self {
        Self {
            device: <S::Device as DeviceType>::KIND,
            open: |ordinal| Ok(Box::new(<S::Device as DeviceType>::open(ordinal)?)),
            visit,
        }
    }
}

/// Looks at a variant: a listing only at its axes, a measurement at its case too.
pub trait Visitor {
    /// Called once for each axis, in order, before [`case`](Self::case).
    fn axis(&mut self, axis: &dyn Axis);
    /// Called once, after every axis.
    fn case(&mut self, case: &mut dyn Case);
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
    /// Makes the stream that the launches go to.
    ///
    /// # Errors
    /// Where the device is of another type or refuses the stream.
    fn open(&mut self, device: &mut dyn Device) -> Result<(), Failure>;
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

/// The work of one launch, as far as the attribute says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Bytes read.
    pub reads: Option<u64>,
    /// Bytes written.
    pub writes: Option<u64>,
    /// Bytes moved, where the attribute does not tell reads from writes; else their sum.
    pub bytes: Option<u64>,
    /// Floating-point operations.
    pub flops: Option<u64>,
}

/// Every annotated function that is linked, in the order of crate, file, line and column.
#[must_use]
pub fn entries() -> Vec<&'static Entry> {
    let mut entries: Vec<&Entry> = inventory::iter::<Entry>().collect();
    entries.sort_by_key(|entry| {
        let krate = entry.module.split("::").next();
        (krate, entry.file, entry.line, entry.column, entry.name)
    });
    entries
}
