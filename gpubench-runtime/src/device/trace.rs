//! The options for tracing launches, for `--verify cupti`.

use gpubench_records::{Cache, Flush};
use gpubench_stats::Nanoseconds;

/// The number of times that inputs are relocated while launches are traced. They are relocated only if they
/// were relocated between the samples too.
#[doc(hidden)]
pub const RELOCATIONS_PER_TRACE: usize = 7;

/// The options for tracing launches with another tool.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[doc(hidden)]
pub struct TraceOptions {
    /// The state of the cache before each launch.
    pub cache: Cache,
    /// The flush before each launch, the same as before the samples.
    pub flush: Flush,
    /// The time of a launch according to its samples, which determines the number of traced launches.
    pub time: Nanoseconds,
    /// The allocation seeds for the inputs if they were relocated between the samples, otherwise `None`.
    pub allocation_seeds: Option<[u64; RELOCATIONS_PER_TRACE]>,
}
