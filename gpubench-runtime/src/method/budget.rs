//! A budget of time for groups. It counts the larger of the device's time and the host's, so that host work
//! counts too. Results of a simulated device must not depend on the host's load: there, only host time beyond
//! a second counts.

use std::time::Instant;

use super::checked::GroupCost;
use gpubench_records::Timer;
use gpubench_stats::Nanoseconds;

/// The time budget of the groups of a phase, such as the warm-up, and the time spent so far.
#[derive(Clone, Copy)]
pub(super) struct Budget {
    limit: Nanoseconds,
    begin: Instant,
    device: Nanoseconds,
    simulated: bool,
}

/// The host time that is free on a simulated device.
const UNCOUNTED_HOST_TIME: Nanoseconds = Nanoseconds::from_seconds(1.0);

impl Budget {
    /// Starts a budget of `limit` now. `timer` tells whether the device is simulated.
    pub(super) fn new(limit: Nanoseconds, timer: Timer) -> Self {
        Self { limit, begin: Instant::now(), device: Nanoseconds::ZERO, simulated: timer.simulated }
    }

    /// Adds the device time of a group to the time that was spent. Host time passes by itself.
    pub(super) fn pay(&mut self, group: &GroupCost) {
        self.device += group.device;
    }

    /// Returns the time that was spent since the start of the budget: the larger of device time and host
    /// time.
    pub(super) fn spent(&self) -> Nanoseconds {
        let wall = Nanoseconds::from(self.begin.elapsed());
        self.device.max(if self.simulated { wall - UNCOUNTED_HOST_TIME } else { wall })
    }

    /// Returns the time that is left of the budget; negative if more was spent.
    pub(super) fn left(&self) -> Nanoseconds {
        self.limit - self.spent()
    }
}
