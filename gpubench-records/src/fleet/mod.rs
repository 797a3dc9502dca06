//! A fleet: the runs of many GPUs made one answer. In: files of runs; out: a [`FleetReport`], which says for each GPU and each
//! roof if it is slow, with the interval of the effect, what the sensors say, and what is missing.
//!
//! `paths` → `gather` (files, side by side) → `kept` (medians, no samples) → `group` (what may be compared) →
//! [`gpubench_stats::fleet`], by `judged` → `answer`, a `report`, with `usual` for the sensors and [`Gap`] for all that was left out.
//!
//! A GPU is known by its UUID, and shown by its host and device. Nothing depends on the time of a run by its host's clock.

mod answer;
mod format_name;
mod gap;
mod gather;
mod group;
mod judged;
mod kept;
mod paths;
mod report;
mod roof;
mod settle;
mod usual;

pub use self::format_name::FLEET_SCHEMA;
pub use self::gap::Gap;
pub use self::gather::FleetRuns;
pub use self::paths::fleet_files;
pub use self::report::{FleetGpu, FleetGroup, FleetReport, GpuRoof, GpuVerdict, RoofOfFleet, lack};
pub use self::roof::FleetRoof;
pub use gpubench_stats::fleet::{FleetRules, FleetVerdict, Standing};
