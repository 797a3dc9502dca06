//! Units and statistics of samples: medians with their intervals, drift, modes, ratios, and the stop rule. Nothing here knows of benchmarks or devices.
//!
//! Samples are right-skewed, bounded below, quantised, and sometimes have two modes. So the median represents
//! a case, its interval assumes no distribution, and no sample is ever dropped. Nor are samples independent:
//! clocks move, memory is refreshed, placements alternate.

/// Defines types that are stored in files of runs: serde reads and writes them, and the feature `schema` adds
/// them to the JSON schema. The names of enum variants are stored in lower case with dashes.
#[doc(hidden)]
#[macro_export]
macro_rules! stored {
    () => {};
    ($(#[$attribute:meta])+ pub enum $name:ident $variants:tt $($others:tt)*) => {
        $crate::stored! {
            @item
            #[serde(rename_all = "kebab-case")]
            $(#[$attribute])+
            pub enum $name $variants
        }
        $crate::stored! { $($others)* }
    };
    (@item $item:item) => {
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        $item
    };
    ($item:item $($others:tt)*) => {
        $crate::stored! { @item $item }
        $crate::stored! { $($others)* }
    };
}

pub mod format;
pub mod units;

mod collections;
mod decisions;
mod drift;
mod estimators;
mod modes;
mod ratio;
mod stall;
mod summary;

pub use self::collections::{Map, Set, sort_by, sort_by_key};
pub use self::decisions::{
    DECISION_ERROR, MAX_ROUNDS, StopRule, analysis_confidence, benjamini_hochberg, final_analysis_confidence,
};
pub use self::drift::Drift;
pub use self::estimators::{
    TrimmedMean, bisect, mean, median, median_of, quantile, spread, standard_error, student_quantile,
    student_tail, trimmed_error, trimmed_mean, variance,
};
pub use self::modes::Modes;
pub use self::ratio::{ProcessRatio, Ratio, log_ratio_of_pairs, mean_of_rounds, resolution_of_pairs};
pub use self::stall::{DramStall, DramStallPeriod};
pub use self::summary::{
    COARSE_TIMER_STEP, CONFIDENCE, Groups, Interval, Median, SMALLEST_SAMPLE, Summary,
    greatest_common_divisor, interpolated_median, prediction_half_width, timer_step,
};
pub use self::units::{
    Bytes, BytesPerSecond, FlopsPerSecond, Hertz, ItemsPerSecond, Joules, Nanoseconds, Rate, Watts,
};

/// Returns the `SplitMix64` hash of `number` (Steele, Lea & Flood, *Fast splittable pseudorandom number generators*,
/// OOPSLA 2014): a pseudo-random number that is the same in each run. Different numbers have different hashes.
#[doc(hidden)]
pub fn random(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
