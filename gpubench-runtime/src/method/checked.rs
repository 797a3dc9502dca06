//! Groups whose readings are checked, on any device. Readings that no working clock returns are counted and left out.

use std::time::Instant;

use crate::device::{SampledGroup, Sampler};
use gpubench_records::{ClockFaults, Failure, Stage, Timer, clock_faults::is_plausible_time};
use gpubench_stats::{Nanoseconds, interpolated_median};

/// Takes groups, and remembers the faults of their clock.
pub(super) struct CheckedGroups {
    pub timer: Timer,
    /// The launches that each sample times: 2 for a pair.
    launches: usize,
    faults: ClockFaults,
}

/// The cost of a group.
#[derive(Clone, Copy, Default)]
pub(super) struct GroupCost {
    /// The number of its samples or pairs, including those with invalid event times.
    pub samples: usize,
    /// Its time according to the device's clock, or to the host's if the device's reading is invalid.
    pub device: Nanoseconds,
    /// The time that it takes from a budget: the device's time, or the host's if that is more and the device is not simulated.
    pub spent: Nanoseconds,
}

impl CheckedGroups {
    /// Measures the sampler's timer, and returns no groups yet.
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

    /// Takes a group of at most `samples` samples or pairs. Leaves out those with an invalid event time.
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

    /// Returns the event times of the first of the launches that each sample times.
    pub(super) fn of_first(&self, group: &SampledGroup) -> Vec<Nanoseconds> {
        group.events.iter().step_by(self.launches).copied().collect()
    }

    /// Returns the overhead of a group according to the empty launches in it; `None` if it has no empty launches.
    pub(super) fn overhead(&self, group: &SampledGroup) -> Option<Nanoseconds> {
        let empty = interpolated_median(&group.empty_events, self.timer.resolution)?;
        // An overhead is never negative; the verdict on a broken clock follows from the readings themselves.
        Some((empty - self.timer.marginal_empty_launch?).max(Nanoseconds::ZERO))
            .filter(|overhead| overhead.is_finite())
    }

    /// Returns the faults so far, if there are any.
    pub(super) fn faults(&self) -> Option<ClockFaults> {
        self.faults.found()
    }
}
