//! The clock by the device's own counters, read after each group. In: the sampler's reading after each group; out: a
//! [`DeviceClock`]. Keeps only the lowest, the highest, the sum and the last reading, so that nothing is allocated
//! between samples.

use crate::device::Sampler;
use gpubench_records::conditions::DeviceClock;
use gpubench_stats::units::{Hertz, Range};

/// The readings taken after the groups.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClockReadings {
    range: Option<Range<Hertz>>,
    sum: u64,
    last: Hertz,
    readings: usize,
}

impl ClockReadings {
    /// Takes the reading after the last group, if there is one.
    pub(super) fn read(&mut self, sampler: &mut dyn Sampler) {
        let Some(hertz) = sampler.clock() else { return };
        let clock = Hertz(hertz);
        self.range = Some(Range::including(self.range, clock));
        self.sum += hertz;
        self.last = clock;
        self.readings += 1;
    }

    /// Summarises these readings of the samples, together with the readings of the warm-up before them.
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
