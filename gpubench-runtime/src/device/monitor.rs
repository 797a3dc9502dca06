//! The seam towards a device's sensors.

use gpubench_records::conditions::Reading;
use gpubench_stats::units::Joules;

/// Reads a device's sensors while something is measured, from a thread of its own.
pub trait Monitor: Send {
    /// What the sensors say now.
    fn read(&mut self) -> Reading;

    /// What the device has drawn since some time in the past, where it counts that.
    fn energy(&mut self) -> Option<Joules> {
        None
    }
}
