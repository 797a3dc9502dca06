//! A budget of time. In: the groups that it pays for; out: what is left of it. It counts the larger of the device's time and
//! this machine's, so that a launch whose work is not the device's ends it too. Of a simulated device what is measured must not
//! depend on how busy this machine is, so that its time counts there beyond a second only.

use std::time::Instant;

use super::checked::GroupCost;
use gpubench_records::Timer;
use gpubench_stats::Nanoseconds;

/// The time that the groups of a phase may take together.
#[derive(Clone, Copy)]
pub(super) struct Budget {
    limit: Nanoseconds,
    begin: Instant,
    device: Nanoseconds,
    simulated: bool,
}

/// The time of this machine that does not count where the device's is simulated.
const FREE: Nanoseconds = Nanoseconds::from_seconds(1.0);

impl Budget {
    /// Begins a budget of `limit` for a device with this timer.
    pub(super) fn of(limit: Nanoseconds, timer: Timer) -> Self {
        Self { limit, begin: Instant::now(), device: Nanoseconds::ZERO, simulated: timer.simulated }
    }

    /// Pays for a group.
    pub(super) fn pay(&mut self, group: &GroupCost) {
        self.device += group.device;
    }

    /// Returns the time that was spent.
    pub(super) fn spent(&self) -> Nanoseconds {
        let wall = Nanoseconds::from(self.begin.elapsed());
        self.device.max(if self.simulated { wall - FREE } else { wall })
    }

    /// Returns the time that is left; below zero if more was spent.
    pub(super) fn left(&self) -> Nanoseconds {
        self.limit - self.spent()
    }
}
