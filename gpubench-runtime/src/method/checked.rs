//! Takes groups from a sampler and checks their readings, on any device. Counts the readings that no working
//! clock returns as clock faults, and removes them from the groups.

use std::{ops::AddAssign, time::Instant};

use crate::device::{SampledGroup, Sampler};
use gpubench_records::{ClockFaults, Failure, Stage, Timer, clock_faults::is_plausible_time};
use gpubench_stats::{Nanoseconds, interpolated_median};

/// Takes groups with checked readings, and counts the faults of the clock.
pub(super) struct CheckedGroups {
    pub timer: Timer,
    /// The number of launches in each sample: 2 for a pair, otherwise 1.
    launches: usize,
    faults: ClockFaults,
}

/// The cost of one or more groups.
#[derive(Clone, Copy, Default)]
pub(super) struct GroupCost {
    /// The number of samples or pairs, including those with invalid event times.
    pub samples: usize,
    /// The device time of the groups, or their host time if the reading of the device is invalid.
    pub device: Nanoseconds,
    /// The time that is subtracted from a budget: the larger of device time and host time, or the device time
    /// alone if the device is simulated.
    pub spent: Nanoseconds,
}

impl AddAssign for GroupCost {
    fn add_assign(&mut self, other: Self) {
        self.samples += other.samples;
        self.device += other.device;
        self.spent += other.spent;
    }
}

impl CheckedGroups {
    /// Measures the timer of `sampler`, which [`Self::take`] will take groups from.
    ///
    /// # Errors
    /// Returns an error if the timer's own readings are invalid.
    pub(super) fn new(sampler: &mut dyn Sampler) -> Result<Self, Failure> {
        let timer = sampler.timer()?;
        if timer.is_valid() {
            let launches = if sampler.partner_method().is_some() { 2 } else { 1 };
            return Ok(Self { timer, launches, faults: ClockFaults::default() });
        }
        let Timer { resolution, empty_span, overhead, .. } = timer;
        let [step, empty_span, overhead] = [resolution, empty_span, overhead].map(Nanoseconds::as_f64);
        let message = format!(
            "broken clock: the timer's step is {step} ns, around nothing it reads {empty_span} ns, and its overhead is {overhead} ns"
        );
        Err(Failure::new(Stage::Sampling, message))
    }

    /// Takes a group of at most `samples` samples or pairs. Returns it without the samples whose event time
    /// is invalid, and with its cost.
    pub(super) fn take(
        &mut self,
        sampler: &mut dyn Sampler,
        samples: usize,
    ) -> Result<(SampledGroup, GroupCost), Failure> {
        let begin = Instant::now();
        let mut group = sampler.group(samples)?;
        let wall = begin.elapsed().into();
        let samples = group.events.len() / self.launches;
        if samples == 0 {
            return Err(Failure::new(Stage::Sampling, "took no samples"));
        }
        let Timer { resolution, simulated, .. } = self.timer;
        let events = group.events.iter().copied();
        let device = self.faults.count(events, group.elapsed, wall, (resolution, simulated));
        let spent = if simulated { device } else { device.max(wall) };
        let are_times = |sample: &[Nanoseconds]| sample.iter().all(|event| is_plausible_time(*event));
        let kept: Vec<bool> = group.events.chunks(self.launches).map(are_times).collect();
        let mut starts = kept.iter();
        group.starts.retain(|_| starts.next() == Some(&true));
        let mut events = kept.iter().flat_map(|kept| std::iter::repeat_n(*kept, self.launches));
        group.events.retain(|_| events.next() == Some(true));
        Ok((group, GroupCost { samples, device, spent }))
    }

    /// Returns the event times of the first launch of each sample: all event times, or for pairs those of the
    /// first work.
    pub(super) fn first_launch_events(&self, group: &SampledGroup) -> Vec<Nanoseconds> {
        group.events.iter().step_by(self.launches).copied().collect()
    }

    /// Returns the overhead of `group` according to its empty launches: their median event time minus the
    /// marginal time of an empty launch, at least 0. Returns `None` if the group has no empty launches, or if
    /// the result is not finite.
    pub(super) fn overhead(&self, group: &SampledGroup) -> Option<Nanoseconds> {
        let empty = interpolated_median(&group.empty_events, self.timer.resolution)?;
        // An overhead is never negative; the verdict on a broken clock follows from the readings themselves.
        Some((empty - self.timer.marginal_empty_launch?).max(Nanoseconds::ZERO))
            .filter(|overhead| overhead.is_finite())
    }

    /// Returns the clock faults so far, or `None` if there are none.
    pub(super) fn faults(&self) -> Option<ClockFaults> {
        self.faults.found()
    }
}
