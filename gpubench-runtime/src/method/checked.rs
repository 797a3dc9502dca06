//! Takes groups from a sampler and checks their readings, on any device: counts and removes the readings that no working
//! clock returns, separates samples that other programs interrupted, corrects overheads by a second clock, and counts
//! the time of groups against a budget.

use std::{ops::AddAssign, time::Instant};

use gpubench_records::{ClockFaults, Failure, GroupOverhead, Stage, Timer, clock_faults::is_plausible_time};
use gpubench_stats::{Nanoseconds, SMALLEST_SAMPLE, interpolated_median, trimmed_error, trimmed_mean};

use crate::device::{SampledGroup, Sampler};

/// The fewest groups at which the stop rule may end sampling, if each group has an overhead of its own: with
/// few groups, the errors of their overheads widen the interval.
pub(super) const MIN_GROUPS: usize = 8;

/// Takes groups of samples, drops samples with invalid readings, and counts the faults of the clock. One
/// [`CheckedGroups`] serves all groups of a case or a comparison.
pub(super) struct CheckedGroups {
    pub timer: Timer,
    /// The number of event times per sample: 2 for a pair, otherwise 1.
    launches_per_sample: usize,
    faults: ClockFaults,
}

/// The cost of one group of samples, or the sum of the costs of several groups. It determines the size of
/// later groups, and the time that is left of a budget.
#[derive(Clone, Copy, Default)]
pub(super) struct GroupCost {
    /// The number of samples or pairs that ran, including those that were dropped because an event time is
    /// invalid.
    pub samples: usize,
    /// The device time of the groups. For a group whose device time is invalid, this is the host time.
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
    /// Measures the timer of `sampler`, from which [`Self::take`] will take groups.
    ///
    /// # Errors
    /// Returns an error if the timer cannot be measured, or if its readings are invalid.
    pub(super) fn new(sampler: &mut dyn Sampler) -> Result<Self, Failure> {
        let timer = sampler.timer()?;
        if timer.is_valid() {
            let launches_per_sample = if sampler.partner_method().is_some() { 2 } else { 1 };
            return Ok(Self { timer, launches_per_sample, faults: ClockFaults::default() });
        }
        let Timer { resolution, empty_span, overhead, .. } = timer;
        let [step, empty_span, overhead] = [resolution, empty_span, overhead].map(Nanoseconds::as_f64);
        let message = format!(
            "broken clock: the timer's step is {step} ns, around nothing it reads {empty_span} ns, and its overhead is {overhead} ns"
        );
        Err(Failure::new(Stage::Sampling, message))
    }

    /// Takes a group of at most `samples` samples or pairs. Counts its invalid readings as faults of the
    /// clock, and drops samples with an invalid event time; the returned group may therefore be empty. The
    /// returned cost includes dropped samples. Returns an error if the sampler takes no sample.
    pub(super) fn take(
        &mut self,
        sampler: &mut dyn Sampler,
        samples: usize,
    ) -> Result<(SampledGroup, GroupCost), Failure> {
        let begin = Instant::now();
        let mut group = sampler.group(samples)?;
        let wall = begin.elapsed().into();
        let samples = group.events.len() / self.launches_per_sample;
        if samples == 0 {
            return Err(Failure::new(Stage::Sampling, "took no samples"));
        }
        let Timer { resolution, simulated, .. } = self.timer;
        let events = group.events.iter().copied();
        let device = self.faults.count(events, group.elapsed, wall, (resolution, simulated));
        let spent = if simulated { device } else { device.max(wall) };
        let are_times = |sample: &[Nanoseconds]| sample.iter().all(|event| is_plausible_time(*event));
        let kept: Vec<bool> = group.events.chunks(self.launches_per_sample).map(are_times).collect();
        let mut starts = kept.iter();
        group.starts.retain(|_| starts.next() == Some(&true));
        let mut events = kept.iter().flat_map(|kept| std::iter::repeat_n(*kept, self.launches_per_sample));
        group.events.retain(|_| events.next() == Some(true));
        Ok((group, GroupCost { samples, device, spent }))
    }

    /// Returns the event times of `group`; for pairs, only those of the first work.
    pub(super) fn first_launch_events(&self, group: &SampledGroup) -> Vec<Nanoseconds> {
        group.events.iter().step_by(self.launches_per_sample).copied().collect()
    }

    /// Returns the overhead of `group` according to its empty launches: their median event time minus the
    /// marginal time of an empty launch, at least 0. Returns `None` if the group has no empty launches, if
    /// the timer has no marginal time, or if the result is not finite.
    pub(super) fn overhead(&self, group: &SampledGroup) -> Option<Nanoseconds> {
        let empty = interpolated_median(&group.empty_events, self.timer.resolution)?;
        // An overhead is never negative; the verdict on a broken clock follows from the readings themselves.
        Some((empty - self.timer.marginal_empty_launch?).max(Nanoseconds::ZERO))
            .filter(|overhead| overhead.is_finite())
    }

    /// Returns the numbers of invalid readings in all groups so far; `None` if every reading was valid.
    pub(super) fn faults(&self) -> Option<ClockFaults> {
        self.faults.found()
    }
}

/// The time budget of the groups of a phase, such as the warm-up, and the time spent so far.
#[derive(Clone, Copy)]
pub(super) struct Budget {
    limit: Nanoseconds,
    begin: Instant,
    device: Nanoseconds,
    simulated: bool,
}

/// The host time after the start of a [`Budget`] that does not count on a simulated device (1 s).
const UNCOUNTED_HOST_TIME: Nanoseconds = Nanoseconds::from_seconds(1.0);

impl Budget {
    /// Starts a budget of `limit` now. `timer` says whether the device is simulated: the first second of host
    /// time is then not counted.
    pub(super) fn new(limit: Nanoseconds, timer: Timer) -> Self {
        Self { limit, begin: Instant::now(), device: Nanoseconds::ZERO, simulated: timer.simulated }
    }

    /// Adds the device time of a group to the time that was spent. Host time counts by itself, from the start
    /// on.
    pub(super) fn add(&mut self, group: &GroupCost) {
        self.device += group.device;
    }

    /// Returns the time that was spent since the start of the budget: the larger of device time and host
    /// time. On a simulated device, the first second of host time does not count.
    pub(super) fn spent(&self) -> Nanoseconds {
        let wall = Nanoseconds::from(self.begin.elapsed());
        self.device.max(if self.simulated { wall - UNCOUNTED_HOST_TIME } else { wall })
    }

    /// Returns the time that is left of the budget; negative if more was spent.
    pub(super) fn left(&self) -> Nanoseconds {
        self.limit - self.spent()
    }
}

/// Splits `events` into undisturbed and interrupted ones. A mark is true if its event was interrupted. If
/// there are more marks than events, only the last marks belong to the events. Returns `None` if no event is
/// marked, if there are fewer marks than events, or if too few events are undisturbed for an interval.
pub(super) fn split_interrupted(
    events: &[Nanoseconds],
    marks: Option<&[bool]>,
) -> Option<[Vec<Nanoseconds>; 2]> {
    let marks = marks?;
    let marks = &marks[marks.len().checked_sub(events.len())?..];
    let of = |wanted: bool| {
        let chosen = events.iter().zip(marks).filter(|(_, mark)| **mark == wanted);
        chosen.map(|(event, _)| *event).collect::<Vec<_>>()
    };
    let [undisturbed, interrupted] = [of(false), of(true)];
    let leaves_out = !interrupted.is_empty() && undisturbed.len() >= SMALLEST_SAMPLE;
    leaves_out.then_some([undisturbed, interrupted])
}

/// Returns the number of true marks among the last `events` marks; 0 without marks.
pub(super) fn count_interrupted(events: usize, marks: Option<&[bool]>) -> usize {
    marks.map_or(0, |marks| marks.iter().rev().take(events).filter(|mark| **mark).count())
}

/// The part of the correction's variance that always adds to the error, as a fraction: the time is the median
/// of all samples, while the correction is from medians of groups, so their noise does not cancel completely.
/// Without this part, 278 of 300 intervals contain the true median on the fake driver
/// (`tests/protocol/tests/truth.rs`, mean of eight seeds).
const UNCANCELLED_VARIANCE: f64 = 0.1;

/// Corrects `overheads` and the shared error of `timer` by `biases`. A bias is the overhead of one group
/// according to the second clock minus its overhead according to the first. Adds the trimmed mean of the
/// biases to each overhead, and returns this mean: the time of a launch according to the first clock minus
/// its time according to the second. Returns `None`, and changes nothing, for fewer than [`MIN_GROUPS`]
/// biases, or if the mean is not finite.
///
/// In a group, both clocks time the same number of samples with the same noise. If all groups have a bias,
/// the corrected time is therefore that of the second clock, with nearly the interval of the first. Otherwise
/// the shared error grows more, since the correction is from only some of the groups.
pub(super) fn correct_by_second_clock(
    biases: &[Nanoseconds],
    overheads: &mut [GroupOverhead],
    timer: &mut Timer,
) -> Option<Nanoseconds> {
    // A median would add half of the noise of the groups to the time.
    let by = trimmed_mean(biases).filter(|by| by.is_finite() && biases.len() >= MIN_GROUPS)?;
    overheads.iter_mut().for_each(|group| group.overhead += by);
    let others = 1.0 - biases.len() as f64 / overheads.len().max(biases.len()) as f64;
    let own = (others + UNCANCELLED_VARIANCE).min(1.0).sqrt() * trimmed_error(biases);
    let shared = timer.shared_error.unwrap_or_default();
    timer.shared_error = Some(Nanoseconds(shared.as_f64().hypot(own.as_f64())));
    Some(by)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(count: usize) -> Vec<Nanoseconds> {
        (0..count).map(|number| Nanoseconds(number as f64)).collect()
    }

    #[test]
    fn interrupted_samples_are_separated() {
        let events = events(8);
        let marks = [true, false, false, true, false, false, false, false, true, false];
        let [undisturbed, interrupted] = split_interrupted(&events, Some(&marks)).expect("six are enough");
        assert_eq!(
            undisturbed.iter().map(|event| event.0).collect::<Vec<_>>(),
            [0.0, 2.0, 3.0, 4.0, 5.0, 7.0]
        );
        assert_eq!(interrupted, [Nanoseconds(1.0), Nanoseconds(6.0)]);
    }

    #[test]
    fn all_samples_count_if_too_few_were_undisturbed_or_nothing_is_known() {
        let events = events(7);
        assert_eq!(split_interrupted(&events, Some(&[true, true, false, false, false, false, false])), None);
        assert_eq!(split_interrupted(&events, Some(&[false; 7])), None);
        assert_eq!(split_interrupted(&events, Some(&[true; 6])), None, "some have no mark");
        assert_eq!(split_interrupted(&events, None), None);
        assert_eq!(count_interrupted(3, Some(&[true, false, true, true])), 2);
        assert_eq!((count_interrupted(3, Some(&[true])), count_interrupted(3, None)), (1, 0));
    }

    fn corrected(biases: &[f64]) -> Option<(f64, f64)> {
        let biases: Vec<Nanoseconds> = biases.iter().copied().map(Nanoseconds).collect();
        let mut overheads = [GroupOverhead { samples: 32, overhead: Nanoseconds(2000.0) }];
        let by = correct_by_second_clock(&biases, &mut overheads, &mut Timer::new(Nanoseconds(32.0)))?;
        Some((overheads[0].overhead.0, by.0))
    }

    #[test]
    fn a_bias_is_subtracted() {
        let rounded = |biases: &[f64]| corrected(biases).map(|(overhead, by)| (overhead.round(), by.round()));
        // Without the smallest and the largest: 1805 / 6 and 50 / 6.
        let bias = [290.0, 300.0, 310.0, 280.0, 320.0, 300.0, 300.0, 305.0];
        assert_eq!(rounded(&bias), Some((2301.0, 301.0)));
        assert_eq!(rounded(&[-60.0, 70.0, -50.0, 90.0, 20.0, -80.0, 40.0, 30.0]), Some((2008.0, 8.0)));
    }

    #[test]
    fn the_error_of_some_groups_is_in_the_interval_of_all() {
        let shared = |groups: usize| {
            let mut timer = Timer::new(Nanoseconds(32.0));
            timer.shared_error = Some(Nanoseconds(30.0));
            let mut overheads = [GroupOverhead { samples: 32, overhead: Nanoseconds(2000.0) }; 32];
            // Around 300 ns; the standard error of their trimmed mean is 40 ns.
            let kept = (groups - groups / 8 * 2) as f64;
            let distance = 40.0 * (kept * (kept - 1.0) / groups as f64).sqrt();
            let biases = [300.0 - distance, 300.0 + distance].map(Nanoseconds).repeat(groups / 2);
            let by =
                correct_by_second_clock(&biases, &mut overheads, &mut timer).expect("the groups are enough");
            assert!((by.0 - 300.0).abs() < 1e-9, "{by:?}");
            timer.shared_error.expect("it had one").0
        };
        assert!((shared(8) - 47.5).abs() < 0.1, "{}", shared(8));
        assert!((shared(32) - 32.6).abs() < 0.1, "{}", shared(32));
    }

    #[test]
    fn few_groups_say_nothing() {
        assert_eq!(corrected(&[300.0; 7]), None);
        assert_eq!(corrected(&[]), None);
    }
}
