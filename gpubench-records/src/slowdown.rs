//! The slowdown of launches by a tracing tool.

use gpubench_stats::Nanoseconds;

gpubench_stats::stored! {
    /// The time by which tracing slows a launch.
    #[derive(Copy, Default, thiserror::Error)]
    #[error("{by} ± {half_width}")]
    pub struct Slowdown {
        /// The measured time. Zero if events read less while CUPTI traced.
        pub by: Nanoseconds,
        /// Half of its 95 % interval.
        pub half_width: Nanoseconds,
    }
}
