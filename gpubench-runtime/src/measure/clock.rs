//! The clock by the device's own counters, group by group. In: what the sampler tells behind each group; out: a
//! [`DeviceClock`]. Of many readings only their ends, their sum and the last are kept: nothing is allocated between samples.

use crate::device::Sampler;
use gpubench_records::conditions::DeviceClock;
use gpubench_stats::units::{Hertz, Range};

/// What was read behind groups.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clocks {
    range: Option<Range<Hertz>>,
    sum: u64,
    last: Hertz,
    readings: usize,
}

impl Clocks {
    /// Takes the reading behind the last group, if there is one.
    pub(super) fn read(&mut self, sampler: &mut dyn Sampler) {
        let Some(hertz) = sampler.clock() else { return };
        let clock = Hertz(hertz);
        self.range = Some(Range::including(self.range, clock));
        self.sum += hertz;
        self.last = clock;
        self.readings += 1;
    }

    /// What these tell of samples, with what was read in the warm-up before them.
    pub(super) fn after(self, warm_up: Self) -> Option<DeviceClock> {
        Some(DeviceClock {
            before: warm_up.range,
            during: self.range?,
            mean: Hertz(self.sum / self.readings as u64),
            after: self.last,
            readings: self.readings,
        })
    }
}
