//! Quantities that carry their unit in their type. In: plain numbers at the edge of a measurement; out: the same
//! numbers, safe to hand on. How they are shown to people is the business of [`format`](crate::format), nowhere else.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A span of time in nanoseconds. It may be negative where a correction took more than was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanoseconds(pub f64);

/// An amount of memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A rate of memory traffic in bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BytesPerSecond(pub f64);

/// A rate of arithmetic in floating-point operations per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FlopsPerSecond(pub f64);

/// A rate of whatever a benchmark counts, in items per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ItemsPerSecond(pub f64);

/// Energy in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Joules(pub f64);

/// Power in watts.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Watts(pub f64);

/// The lowest and the highest of several quantities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range<T> {
    /// The lowest.
    pub low: T,
    /// The highest.
    pub high: T,
}

impl<T: PartialOrd + Copy> Range<T> {
    /// `range`, or nothing, as far as it takes to have `value` in it.
    #[must_use]
    pub fn including(range: Option<Self>, value: T) -> Self {
        let Self { low, high } = range.unwrap_or(Self { low: value, high: value });
        let low = if value < low { value } else { low };
        Self { low, high: if value > high { value } else { high } }
    }
}

impl Nanoseconds {
    /// The same span in seconds.
    #[must_use]
    pub fn as_seconds(self) -> f64 {
        self.0 * 1e-9
    }
}

impl From<Duration> for Nanoseconds {
    fn from(duration: Duration) -> Self {
        Self(duration.as_secs_f64() * 1e9)
    }
}

impl Bytes {
    /// The rate at which this amount moved, had it taken `time`.
    #[must_use]
    pub fn per(self, time: Nanoseconds) -> BytesPerSecond {
        BytesPerSecond(self.0 as f64 / time.as_seconds())
    }
}
