//! The interface to a device's sensors.

use gpubench_records::Reading;
use gpubench_stats::Joules;

/// Reads a device's sensors during a measurement, on a separate thread.
pub trait Monitor: Send {
    /// Reads the sensors.
    fn read(&mut self) -> Reading;

    /// Returns the energy drawn since some time in the past, if the device counts it.
    fn energy(&mut self) -> Option<Joules> {
        None
    }
}
