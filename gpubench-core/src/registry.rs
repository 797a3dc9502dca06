//! The registry of a binary: `#[gpu_bench]` leaves one [`Entry`] for each annotated function. An entry holds
//! only data and function pointers; the runtime has the protocol of a measurement.

use std::fmt::{self, Display};
use std::{any::Any, error::Error, rc::Rc, sync::atomic::AtomicBool};

use crate::Memory;

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

#[cfg(feature = "register")]
inventory::collect!(Entry);

/// Registers an entry with `inventory`, since the feature `register` is on.
#[cfg(feature = "register")]
#[doc(hidden)]
#[macro_export]
macro_rules! __submit {
    ($entry:expr) => {
        $crate::inventory::submit! { $entry }
    };
}

/// Type-checks an entry without registering it, since the feature `register` is off: the program contains no
/// benchmarks.
#[cfg(not(feature = "register"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __submit {
    ($entry:expr) => {
        const _: $crate::Entry = $entry;
    };
}

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
    /// The choices of its types and constants, in the order of its parameters.
    pub generics: &'static [Generic],
    /// Calls the visitor with the axes and the case.
    pub visit: fn(&mut Visitor<'_>),
}

/// A type or constant parameter with its choice.
pub struct Generic {
    /// The parameter's name.
    pub name: &'static str,
    /// Returns the type as written, or the constant's value.
    pub value: fn() -> String,
}

/// A function that a variant calls once, with its axes and its case: a listing reads the axes, a measurement
/// runs the case. Each inner list of axes is a sweep. Axes of one sweep advance together (`zip`), and every
/// sweep is combined with every other. The case uses the selected values of the axes.
pub type Visitor<'a> = dyn FnMut(&[&[&dyn ArgAxis]], &mut dyn Case) + 'a;

/// An argument that a benchmark sweeps.
pub trait ArgAxis {
    /// Returns the argument's name.
    fn name(&self) -> &'static str;
    /// Returns the text of each listed value.
    fn values(&self) -> Vec<String>;
    /// Selects the listed value with this text, or else the value that the text is parsed to.
    ///
    /// # Errors
    /// Returns an error if `shown` is neither listed nor a value of the argument's type.
    fn select(&self, shown: &str) -> Result<(), CaseError>;
}

/// A benchmark with its arguments chosen. Its methods are the steps of a measurement.
pub trait Case {
    /// Returns true if the benchmark has a `skip_if`.
    fn skips(&self) -> bool;
    /// Returns the reason of `skip_if` if it skips the selected arguments; otherwise `None`. Needs no device.
    fn skipped(&self) -> Option<&'static str>;
    /// Creates the stream for the launches. `source` is the [`StreamSource`](crate::StreamSource) of the
    /// device.
    ///
    /// # Errors
    /// Returns an error if the device is of another type or refuses the stream.
    fn open(&mut self, source: &mut dyn Any) -> Result<(), CaseError>;
    /// Returns the stream for another case to launch on; `None` before [`Self::open`].
    fn stream(&self) -> Option<Rc<dyn Any>>;
    /// Uses the stream of another case for the launches.
    ///
    /// # Errors
    /// Returns an error if the stream is of another type.
    fn open_on(&mut self, stream: Rc<dyn Any>) -> Result<(), CaseError>;
    /// Drops the output and all inputs, also stashed ones.
    fn clear(&mut self);
    /// Stashes the inputs for [`Self::restore_inputs`]. If inputs are stashed already, they stay, and the
    /// current inputs are dropped.
    fn stash_inputs(&mut self);
    /// Makes the stashed inputs current again; does nothing if none were stashed since the last call. The
    /// inputs that they replace are kept until the next ones: `setup` may have stored their addresses
    /// elsewhere, such as in a constant of a module.
    fn restore_inputs(&mut self);
    /// Creates new inputs with the user's `setup`. They replace earlier inputs, except for stashed ones.
    ///
    /// # Errors
    /// Returns an error before [`Self::open`], and if the user's `setup` or a copy for `restore` fails.
    fn setup(&mut self) -> Result<(), CaseError>;
    /// Returns true if the benchmark has a `reset` or a `restore`.
    fn resets(&self) -> bool;
    /// Enqueues the restoring of copied inputs, then the user's `reset`. Does nothing if the benchmark has
    /// neither.
    ///
    /// # Errors
    /// Returns an error before [`Self::setup`], and if a step fails.
    fn reset(&mut self) -> Result<(), CaseError>;
    /// Calls the launch function this many times, or until `stop` is true after a call.
    ///
    /// # Errors
    /// Returns an error before [`Self::setup`], or the first error that the launch function returns.
    fn launch(&mut self, times: usize, stop: &AtomicBool) -> Result<(), CaseError>;
    /// Sets whether later launches keep their output for [`Self::check`], each until the next launch. Drops
    /// an output that is kept already.
    fn keep_output(&mut self, keeps: bool);

    /// Returns the work of one launch on the current inputs.
    ///
    /// # Errors
    /// Returns an error before [`Self::setup`], if a count is not positive, and if a count or the sum of all
    /// bytes does not fit 64 bits.
    fn counts(&self) -> Result<Counts, CaseError>;
    /// Returns the benchmark's own metrics of one launch on the current inputs.
    ///
    /// # Errors
    /// Returns an error before [`Self::setup`], and if a value is not finite.
    fn metrics(&self) -> Result<Vec<UserMetric>, CaseError>;
    /// Calls `visit` with each range of this machine's memory that the inputs have. Returns false if more
    /// memory may be in use: before [`Self::setup`], if the type of an input does not show its memory, and if
    /// a launch reads or writes more bytes than the inputs have.
    fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool;
    /// Runs the user's `check` on the inputs and the output that the last launch kept. Returns `false` if the
    /// benchmark has no check.
    ///
    /// # Errors
    /// Returns an error if the user's `check` fails, or if no output was kept.
    fn check(&self) -> Result<bool, CaseError>;
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
    /// The names of the arguments, types and constants that make the variants of one problem. All others
    /// define the problem.
    pub tune: &'static [&'static str],
    /// The unit of `items`.
    pub item: Option<&'static str>,
    /// The link that the bytes move over, if it is not the device's memory.
    pub link: Option<Link>,
    /// True if the host's part belongs to the launch: its waits, its allocations and the host functions that
    /// the device calls.
    pub host_work: bool,
    /// True if gpubench must not relocate the inputs between samples, because launches continue from the
    /// values of the launch before. It has no other effect: a comparison makes new inputs for each round.
    pub accumulates: bool,
}

impl BenchmarkOptions {
    /// The options of an attribute that gives none.
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
        self.tags().any(|own| own == tag)
    }

    /// Returns the tags of the benchmark and of its group.
    pub fn tags(&self) -> impl Iterator<Item = &'static str> {
        self.tags.iter().chain(self.group_tags).copied()
    }
}

/// Defaults that the benchmarks of a group share. Made by `gpubench::group!`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group(BenchmarkOptions);

impl Group {
    /// Returns a group whose benchmarks start from these options.
    #[doc(hidden)]
    pub const fn new(options: BenchmarkOptions) -> Self {
        Self(options)
    }

    /// Returns the options that the group's benchmarks start from.
    #[doc(hidden)]
    pub const fn options(&self) -> BenchmarkOptions {
        self.0
    }
}

/// The work of one launch, as far as the attribute states it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Bytes read.
    pub reads: Option<u64>,
    /// Bytes written.
    pub writes: Option<u64>,
    /// Bytes moved: the sum of both, or the attribute's `bytes` if the attribute does not separate reads from
    /// writes; and the intermediates.
    pub bytes: Option<u64>,
    /// Bytes that kernels of one launch pass to each other through memory: written by one and read by a later one.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub intermediates: Option<u64>,
    /// Floating-point operations.
    pub flops: Option<u64>,
    /// Items of another kind that the benchmark counts.
    pub items: Option<u64>,
}

impl Counts {
    /// Returns `bytes` minus `intermediates`: the traffic of the inputs and outputs. In it, each byte
    /// counts at most twice: as read and as written. Returns `None` if no bytes are counted.
    pub fn without_intermediates(&self) -> Option<u64> {
        self.bytes.map(|bytes| bytes.saturating_sub(self.intermediates.unwrap_or_default()))
    }
}

/// A figure of a benchmark's own, as its attribute names and computes it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UserMetric {
    /// Its name.
    pub name: String,
    /// Its unit; empty for a number without one.
    pub unit: String,
    /// Its value in this unit; before the launch is timed, that of one launch.
    pub value: f64,
}

/// The link or memory over which a launch's declared bytes move. It decides with which bandwidth they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Link {
    /// From the host's memory to the device's.
    H2d,
    /// From the device's memory to the host's.
    D2h,
    /// Within the device's memory.
    D2d,
    /// From a device to another, or the other way.
    P2p,
    /// Between the last-level cache and the multiprocessors.
    L2,
}

impl Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::H2d => "h2d",
            Self::D2h => "d2h",
            Self::D2d => "d2d",
            Self::P2p => "p2p",
            Self::L2 => "l2",
        })
    }
}

impl Link {
    /// Returns the number of bytes of `counts` that go over `link`; `None` if no bytes are counted. Over a
    /// bus, it is the larger of reads and writes, since a copied byte is read at one end and written at the
    /// other; if the counts do not separate them, all bytes but the intermediates. Without a bus, it is all
    /// bytes moved.
    pub fn crossed(link: Option<Self>, counts: &Counts) -> Option<u64> {
        match link {
            Some(Self::H2d | Self::D2h | Self::P2p) => {
                counts.reads.max(counts.writes).or(counts.without_intermediates())
            }
            None | Some(Self::D2d | Self::L2) => counts.bytes,
        }
    }
}

/// An error of a case, as text: from a stream, the user's `setup`, launch function, `reset` or `check`, a
/// count or an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseError(String);

impl CaseError {
    /// Returns an error with the text of `error`.
    pub fn new(error: impl Display) -> Self {
        Self(error.to_string())
    }
}

impl Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for CaseError {}
