//! The devices that come with gpubench, each an implementation of the traits in `device`: NVIDIA GPUs and
//! this machine's CPU. Also the table of their kinds, and the limits that benchmarks measure of them.

pub mod cuda;
#[cfg(feature = "doctor")]
pub(crate) mod doctor;
pub mod host;
#[doc(hidden)]
pub mod kinds;
