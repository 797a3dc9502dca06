//! The clock by the device's own counters, read after each group. In: the sampler's reading after each group; out: a
//! [`DeviceClock`]. Memory for the readings of most cases is allocated before the first sample.

use crate::device::Sampler;
use gpubench_records::conditions::{DeviceClock, GroupClock};
use gpubench_stats::units::{Hertz, Nanoseconds, Range};

/// The number of groups that a case mostly stays below: those of 3 s that take 5 ms each.
const USUAL_GROUPS: usize = 600;

/// The readings taken after the groups.
#[derive(Clone, Debug)]
pub(super) struct ClockReadings {
    groups: Vec<GroupClock>,
}

impl Default for ClockReadings {
    fn default() -> Self {
        Self { groups: Vec::with_capacity(USUAL_GROUPS) }
    }
}

impl ClockReadings {
    /// Takes the reading after a group, if there is one: `samples` so far, at this time since the first.
    pub(super) fn read(&mut self, sampler: &mut dyn Sampler, samples: usize, at: Nanoseconds) {
        let clock = sampler.clock().map(Hertz);
        self.groups.extend(clock.map(|clock| GroupClock { samples, at, clock }));
    }

    fn range(&self) -> Option<Range<Hertz>> {
        Range::of(self.groups.iter().map(|group| group.clock))
    }

    /// Summarises these readings of the samples, together with the readings of the warm-up before them.
    pub(super) fn after(&self, warm_up: &Self) -> Option<DeviceClock> {
        let readings = self.groups.len();
        let sum: Hertz = self.groups.iter().map(|group| group.clock).sum();
        Some(DeviceClock {
            before: warm_up.range(),
            during: self.range()?,
            mean: sum / readings as u64,
            after: self.groups.last()?.clock,
            readings,
            over_time: self.groups.clone(),
        })
    }
}
