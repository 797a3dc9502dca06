//! The library that crates with benchmarks link: the entries that `#[gpu_bench]` writes, and the stream types
//! that launch functions take. `gpubench-runtime` measures, and knows each kind of device.

// Tests link the driver of `cust`.
#[cfg(test)]
use gpubench_driver as _;

mod bound;
mod error;
mod listed;
mod memory;
mod peer;
mod registry;
mod restore;
mod stream;
mod work;

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
pub use self::error::CaseError;
pub use self::listed::listed_ordinal;
#[doc(hidden)]
pub use self::listed::while_listed;
pub use self::memory::Memory;
pub use self::peer::Peer;
pub use self::registry::{ArgAxis, BenchmarkOptions, Case, Entry, Generic, Group, Variant, Visitor};
pub use self::restore::Restore;
pub use self::stream::{LaunchStream, StreamParameter, StreamSource};
pub use self::work::{Counts, Link, UserMetric};
