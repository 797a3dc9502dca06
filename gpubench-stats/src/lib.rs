//! Units and statistics of samples. In: times in the order they ran; out: a [`Summary`] with its confidence
//! interval, a
//! [`Drift`], two [`Modes`] or a [`Ratio`], and from a [`StopRule`] whether there are enough samples. Nothing here knows of benchmarks or
//! devices.
//!
//! Samples are right-skewed, bounded below, quantised, and sometimes have two modes. So the median represents
//! a case, its interval assumes no distribution, and no sample is ever dropped. Nor are samples independent:
//! clocks move, memory is refreshed, placements alternate.

/// Defines types that files of runs contain: serde reads and writes them, variants of enums in lower case
/// with dashes, and with the feature `schema` they are in the JSON schema.
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
pub mod student;
pub mod units;

mod autocorrelation;
mod bisection;
mod decisions;
mod drift;
mod modes;
mod quantile;
mod random;
mod ratio;
mod stall;
mod stop;
mod summary;
mod trimmed;

pub use self::bisection::bisect;
pub use self::decisions::{
    DECISION_ERROR, MAX_ROUNDS, analysis_confidence, benjamini_hochberg, final_analysis_confidence,
};
pub use self::drift::Drift;
pub use self::modes::Modes;
pub use self::quantile::{mean, median, median_of, quantile, spread};
pub use self::random::random;
pub use self::ratio::{ProcessRatio, Ratio, log_ratio_of_pairs, mean_of_rounds, resolution_of_pairs};
pub use self::stall::{DramStall, DramStallPeriod};
pub use self::stop::StopRule;
pub use self::summary::{
    COARSE_TIMER_STEP, CONFIDENCE, Groups, Interval, Median, SMALLEST_SAMPLE, Summary,
    greatest_common_divisor, interpolated_median, interval_of_mean, prediction_half_width, timer_step,
};
pub use self::trimmed::{TrimmedMean, standard_error, trimmed_error, trimmed_mean, variance};
pub use self::units::{
    Bytes, BytesPerSecond, FlopsPerSecond, Hertz, ItemsPerSecond, Joules, Nanoseconds, Rate, Watts,
};
