//! The options of an attribute that are plain data.

use gpubench_records::work::Link;

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
    #[must_use]
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
    #[must_use]
    pub const fn new(options: BenchmarkOptions) -> Self {
        Self(options)
    }

    /// Returns the options that its benchmarks start from.
    #[doc(hidden)]
    #[must_use]
    pub const fn options(&self) -> BenchmarkOptions {
        self.0
    }
}
