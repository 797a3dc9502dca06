//! The library that crates with benchmarks link: the entries that `#[gpu_bench]` writes, and the stream types
//! that launch functions take. `gpubench-runtime` measures, and knows each kind of device.

// Tests link the driver of `cust`.
#[cfg(test)]
use gpubench_driver as _;

mod bound;
mod inputs;
mod registry;
mod stream;

#[doc(hidden)]
pub mod bind;
#[allow(unsafe_code, reason = "streams are the driver's handles")]
pub mod cuda;
pub mod host;

#[cfg(feature = "register")]
#[doc(hidden)]
pub use inventory;

#[doc(hidden)]
pub use crate::__submit as submit;

pub use self::bind::pow2;
pub use self::bound::Bound;
pub use self::inputs::{Memory, Restore};
pub use self::registry::{ArgAxis, BenchmarkOptions, Case, Entry, Generic, Group, Variant, Visitor};
pub use self::registry::{CaseError, Counts, Link, UserMetric};
#[doc(hidden)]
pub use self::stream::while_listed;
pub use self::stream::{LaunchStream, Peer, StreamParameter, StreamSource, listed_ordinal};
