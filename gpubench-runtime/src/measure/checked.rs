//! Groups whose readings are checked, whatever device they are of. In: a sampler; out: event times that a clock can give, the
//! time of each group by both clocks, and a count of the readings that no working clock gives.

use std::time::Instant;

use crate::device::{PairSampler, Sampler};
use gpubench_records::clock_faults::{ClockFaults, is_time};
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::method::Timer;
use gpubench_stats::units::Nanoseconds;

/// Takes groups, and remembers the faults of their clock.
#[derive(Debug)]
pub(super) struct CheckedGroups {
    timer: Timer,
    faults: ClockFaults,
    /// The starts of those samples of the last group whose event times are times.
    starts: Vec<Nanoseconds>,
}

/// A group that was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The number of its readings; for two launches that take turns, of pairs.
    pub(super) samples: usize,
    /// Its time by the device's clock, or by this machine's if that of the device is none.
    pub(super) device: Nanoseconds,
    /// The time that it takes from a budget: that, or its time by this machine's clock if the device is not simulated and that is more.
    pub(super) spent: Nanoseconds,
}

impl CheckedGroups {
    /// Returns no groups yet.
    ///
    /// # Errors
    /// Returns an error if the timer's own readings are no times.
    pub(super) fn new(timer: Timer) -> Result<Self, Failure> {
        if timer.is_valid() {
            return Ok(Self { timer, faults: ClockFaults::default(), starts: Vec::new() });
        }
        let Timer { resolution, empty_span, overhead, .. } = timer;
        let [step, floor, overhead] = [resolution, empty_span, overhead].map(Nanoseconds::as_f64);
        let message = format!(
            "broken clock: the timer's step is {step} ns, around nothing it reads {floor} ns, and its overhead is {overhead} ns"
        );
        Err(Failure::new(Stage::Sampling, message))
    }

    /// Takes a group of at most `samples` samples, and appends the event times that are times to `events`.
    pub(super) fn take(
        &mut self,
        sampler: &mut dyn Sampler,
        samples: usize,
        events: &mut Vec<Nanoseconds>,
    ) -> Result<Group, Failure> {
        let (before, begin) = (events.len(), Instant::now());
        let device = sampler.group(samples, events)?;
        let wall = begin.elapsed().into();
        let group = self.count(&events[before..], events.len() - before, device, wall)?;
        let starts = sampler.starts().iter().zip(&events[before..]);
        self.starts.clear();
        self.starts.extend(starts.filter(|(_, event)| is_time(**event)).map(|(start, _)| *start));
        retain_from(events, before, |event| is_time(*event));
        Ok(group)
    }

    /// Returns the starts of the samples that the last group appended, if they are known.
    pub(super) fn starts(&self) -> &[Nanoseconds] {
        &self.starts
    }

    /// The same for a group of at most `pairs` pairs. A pair of which one is no time is left out.
    pub(super) fn take_pairs(
        &mut self,
        sampler: &mut dyn PairSampler,
        pairs: usize,
        events: &mut Vec<[Nanoseconds; 2]>,
    ) -> Result<Group, Failure> {
        let (before, begin) = (events.len(), Instant::now());
        let device = sampler.group(pairs, events)?;
        let wall = begin.elapsed().into();
        let group = self.count(events[before..].as_flattened(), events.len() - before, device, wall)?;
        retain_from(events, before, |pair| pair.iter().all(|event| is_time(*event)));
        Ok(group)
    }

    /// Returns the faults so far, if there are any.
    pub(super) fn faults(&self) -> Option<ClockFaults> {
        self.faults.found()
    }

    fn count(
        &mut self,
        events: &[Nanoseconds],
        samples: usize,
        device: Nanoseconds,
        wall: Nanoseconds,
    ) -> Result<Group, Failure> {
        if samples == 0 {
            return Err(Failure::new(Stage::Sampling, "took no samples"));
        }
        let Timer { resolution, simulated, .. } = self.timer;
        let device = self.faults.count(events.iter().copied(), device, wall, (resolution, simulated));
        let spent = if simulated { device } else { device.max(wall) };
        Ok(Group { samples, device, spent })
    }
}

/// Removes what does not pass, from place `first` on.
fn retain_from<T: Copy>(all: &mut Vec<T>, first: usize, passes: impl Fn(&T) -> bool) {
    let mut kept = first;
    for place in first..all.len() {
        if passes(&all[place]) {
            all[kept] = all[place];
            kept += 1;
        }
    }
    all.truncate(kept);
}
