//! The devices that come with gpubench, each behind the seam that `device` is: NVIDIA GPUs and this machine's CPU. The table of their kinds,
//! and the limits that benchmarks measure of them.

pub mod cuda;
pub mod host;
#[doc(hidden)]
pub mod kinds;
#[cfg(feature = "doctor")]
pub(crate) mod machine;
