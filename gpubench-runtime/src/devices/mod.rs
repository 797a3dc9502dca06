//! The devices that come with gpubench, each behind the seam that `device` is: NVIDIA GPUs and this machine's CPU. The table of their kinds,
//! the limits that benchmarks measure of them, and the choice among those that are there.

pub mod cuda;
pub mod host;
pub(crate) mod kinds;
#[cfg(feature = "doctor")]
pub(crate) mod machine;
pub(crate) mod select;

pub(crate) use self::host::cpu_name;
