//! The name of the format in which the answer about a fleet is written, by which readers of runs know it.

/// The name of this format.
pub const FLEET_SCHEMA: &str = "gpubench-fleet/1";
