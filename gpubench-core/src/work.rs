//! The work of one launch, as its author counts it, and the link that its bytes move over.

use std::fmt::{self, Display};

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
    /// Returns the bytes moved without the intermediates. In them, a byte counts at most once as read and once as written.
    #[must_use]
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

/// The link that bytes move over.
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
    /// Returns the number of bytes of `counts` that go over `link`; `None` if no bytes are counted. The bytes
    /// of a copy are read at one end of a bus and written at the other, and cross it once, so that the larger
    /// count is returned. Without a bus it is the sum of both.
    #[must_use]
    pub fn crossed(link: Option<Self>, counts: &Counts) -> Option<u64> {
        match link {
            Some(Self::H2d | Self::D2h | Self::P2p) => {
                counts.reads.max(counts.writes).or(counts.without_intermediates())
            }
            None | Some(Self::D2d | Self::L2) => counts.bytes,
        }
    }
}
