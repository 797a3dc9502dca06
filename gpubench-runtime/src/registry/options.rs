//! What an attribute says of its benchmark that is plain data. In: the options as the expansion writes them, and the group
//! that they start from; out: [`Options`].

use gpubench_records::work::Link;

/// The options of an attribute that are plain data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Measure cold beside hot.
    pub cold: bool,
    /// Measure the energy of a launch too.
    pub energy: bool,
    /// Which compute peak the function is held against, such as `f32` or `f64`.
    pub precision: &'static str,
    /// The sampling budget of a case in seconds, where the function asks for another than the run's.
    pub max_time: Option<f64>,
    /// The wall limit of a case in seconds, where the function asks for another than the run's.
    pub timeout: Option<f64>,
    /// Leave the benchmark out unless ignored ones are asked for.
    pub ignore: bool,
    /// What stands before the name in the benchmark's path.
    pub group: Option<&'static str>,
    /// Words by which the benchmark can be selected.
    pub tags: &'static [&'static str],
    /// Those of its group.
    pub group_tags: &'static [&'static str],
    /// What `items` counts.
    pub item: Option<&'static str>,
    /// The link that the bytes move over, where that is not the device's memory.
    pub link: Option<Link>,
}

impl Options {
    /// What an attribute without options means.
    pub const DEFAULT: Self = Self {
        cold: false,
        energy: false,
        precision: "f32",
        max_time: None,
        timeout: None,
        ignore: false,
        group: None,
        tags: &[],
        group_tags: &[],
        item: None,
        link: None,
    };

    /// Whether the benchmark or its group has the tag `tag`.
    #[must_use]
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.contains(&tag) || self.group_tags.contains(&tag)
    }
}

/// What the benchmarks of a group have in common unless they say otherwise. Made by `gpubench::group!`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group(Options);

impl Group {
    /// The group whose benchmarks start from these options.
    #[must_use]
    pub const fn new(options: Options) -> Self {
        Self(options)
    }

    /// What its benchmarks start from.
    #[must_use]
    pub const fn options(&self) -> Options {
        self.0
    }
}
