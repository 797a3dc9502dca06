//! What an attribute says of its benchmark that is plain data. In: the options as the expansion writes them, and the group
//! that they start from; out: [`Options`].

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use super::Counts;
use crate::device::Quantity;

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

/// What bytes move over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

impl Link {
    /// What limits bytes that move over `link`: the memory, which is not said of most launches, or the link that they cross,
    /// and then not the memory at its ends.
    #[must_use]
    pub fn quantity(link: Option<Self>) -> Quantity {
        match link {
            None | Some(Self::D2d) => Quantity::MemoryBandwidth,
            Some(Self::H2d) => Quantity::HostToDevice,
            Some(Self::D2h) => Quantity::DeviceToHost,
            Some(Self::P2p) => Quantity::PeerToPeer,
            Some(Self::L2) => Quantity::CacheBandwidth,
        }
    }

    /// How many of these bytes go over `link`. What a copy reads at one end of a bus it writes at the other: that crosses
    /// once.
    #[must_use]
    pub fn crossed(link: Option<Self>, counts: &Counts) -> Option<u64> {
        match link {
            Some(Self::H2d | Self::D2h | Self::P2p) => counts.reads.max(counts.writes).or(counts.bytes),
            None | Some(Self::D2d | Self::L2) => counts.bytes,
        }
    }
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
