//! The slowdown of launches by a tracing tool.

use std::fmt::{self, Display};

use gpubench_stats::Nanoseconds;

gpubench_stats::stored! {
    /// The time by which tracing slows a launch.
    #[derive(Copy, Default)]
    pub struct Slowdown {
        /// The measured time. Zero if events read less while CUPTI traced.
        pub by: Nanoseconds,
        /// Half of its 95 % interval.
        pub half_width: Nanoseconds,
    }
}

impl Display for Slowdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ± {}", self.by, self.half_width)
    }
}
