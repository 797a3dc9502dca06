//! Launches after the samples, held against the checked launch: does a sampled launch still do the work that was checked? Filled by
//! devices that see memory, kept in records, judged by `verdict`.

use serde::{Deserialize, Serialize};

use gpubench_stats::units::{Bytes, Nanoseconds};

/// A launch after the samples, on memory as these left it, held against the checked launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Relaunch {
    /// The size of the blocks that it left other than the checked launch did.
    pub differs: Bytes,
    /// True if the benchmark's check passed after it. Nothing if there is no check, or nothing differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<bool>,
    /// Its time with a flushed cache, its outputs in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place: Option<Nanoseconds>,
    /// The same with the largest output as it was before the checked launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<Rewritten>,
}

/// The largest output of a launch, put back to what it held before the checked launch, after one more launch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rewritten {
    /// The size of its blocks that the checked launch changed.
    pub changed: Bytes,
    /// The size of its blocks that this launch changed.
    pub again: Bytes,
    /// The time of this launch with a flushed cache.
    pub time: Nanoseconds,
}

impl Relaunch {
    /// A launch that takes longer by this factor once its output is not in place, and by this time, did less while it was.
    const SKIPS: (f64, Nanoseconds) = (1.5, Nanoseconds(2_000.0));
    /// A launch that rewrites less than this share of what the checked launch wrote has left it out.
    const REWRITTEN: f64 = 0.5;

    /// Returns the output that the launch did not write again, if it left out most of it.
    #[must_use]
    pub fn stale(&self) -> Option<Rewritten> {
        let left_out = |it: &Rewritten| it.again.as_f64() < Self::REWRITTEN * it.changed.as_f64();
        self.rewritten.filter(left_out)
    }

    /// Returns the times without and with the output in place, if the launch does less work while it is.
    #[must_use]
    pub fn skips(&self) -> Option<(Nanoseconds, Nanoseconds)> {
        let (without, with) = (self.rewritten?.time, self.in_place?);
        let (factor, least) = Self::SKIPS;
        (without > factor * with && without - with > least).then_some((without, with))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relaunch(again: u64, in_place: f64, time: f64) -> Relaunch {
        let rewritten = Rewritten { changed: Bytes(1000), again: Bytes(again), time: Nanoseconds(time) };
        Relaunch {
            differs: Bytes::ZERO,
            checked: None,
            in_place: Some(Nanoseconds(in_place)),
            rewritten: Some(rewritten),
        }
    }

    #[test]
    fn outputs_that_are_not_written_again_are_stale() {
        assert!(relaunch(0, 1e4, 1e4).stale().is_some() && relaunch(499, 1e4, 1e4).stale().is_some());
        assert!(relaunch(500, 1e4, 1e4).stale().is_none());
    }

    #[test]
    fn a_launch_that_takes_longer_without_its_output_skips_work() {
        assert_eq!(relaunch(1000, 1e4, 1.4e4).skips(), None);
        // Three times as long, and within what two launches differ by.
        assert_eq!(relaunch(1000, 500.0, 1500.0).skips(), None);
        assert_eq!(relaunch(1000, 2e3, 1e4).skips(), Some((Nanoseconds(1e4), Nanoseconds(2e3))));
    }
}
