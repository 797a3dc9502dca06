//! The sampling loop of a case: takes groups until the stop policy ends it or the budget is spent.

use std::time::Instant;

use crate::device::{SampledGroup, Sampler};
use crate::method::checked::{Budget, CheckedGroups, GroupCost, MIN_GROUPS, split_interrupted};
use crate::method::group_size::GroupSize;
use crate::method::warm_up::LastGroup;
use crate::method::watch::{ClockReadings, USUAL_GROUPS};
use crate::method::{VALIDATION_LAUNCHES, relocation::InputRelocator, stop_policy::StopPolicy};
use gpubench_records::samples::{self, MAX_SCHEDULER_DELAY};
use gpubench_records::{
    Failure, GroupOverhead, Path, Sampling, Step, Timer, sampling::MAX_AUTOMATIC_SAMPLES,
};
use gpubench_stats::{DramStall, Nanoseconds, SMALLEST_SAMPLE};

/// The samples of a case so far, with everything that was read along with them.
pub(super) struct SampleCollector {
    /// The number of samples, including those with invalid readings.
    read: usize,
    /// The start of the first group.
    pub begin: Instant,
    /// The end of the last group.
    pub end: Instant,
    /// The event times of the samples.
    pub events: Vec<Nanoseconds>,
    /// For each sample, the time since the start of the first sample. Empty if start times are not known.
    pub starts: Vec<Nanoseconds>,
    /// The overhead of each group with empty launches of its own.
    pub overheads: Vec<GroupOverhead>,
    /// For each group with stamps, its overhead according to stamps minus its overhead according to empty
    /// launches.
    pub second_clock_bias_per_group: Vec<Nanoseconds>,
    pub groups: usize,
    /// The number of relocations of the inputs.
    pub relocations: usize,
    /// The device time of all groups.
    pub elapsed: Nanoseconds,
    pub clocks: ClockReadings,
    /// True if the samples are as precise as the user wants, or as many if the user requests a number of
    /// samples.
    pub converged: bool,
    /// The number of samples at the last interim check, and the DRAM stall that the check found, so that the
    /// search is not repeated for the same samples. `None` before the first check, or if the check left
    /// interrupted samples out.
    pub last_check: Option<(usize, Option<DramStall>)>,
}

/// Returns the number of samples of duration `each` that can end before `deadline`, if
/// [`VALIDATION_LAUNCHES`] more launches of this duration must end before it too.
fn samples_before_deadline(deadline: Instant, each: Nanoseconds) -> usize {
    let left = Nanoseconds::from(deadline.saturating_duration_since(Instant::now()));
    ((left / each.max(Nanoseconds(1.0))) as usize).saturating_sub(VALIDATION_LAUNCHES)
}

impl SampleCollector {
    /// Starts without samples, with memory reserved for as many as `sampling` allows.
    fn new(sampling: &Sampling) -> Self {
        let begin = Instant::now();
        Self {
            read: 0,
            begin,
            end: begin,
            events: Vec::with_capacity(
                sampling.samples.unwrap_or(MAX_AUTOMATIC_SAMPLES).min(MAX_AUTOMATIC_SAMPLES),
            ),
            starts: Vec::new(),
            overheads: Vec::with_capacity(USUAL_GROUPS),
            second_clock_bias_per_group: Vec::new(),
            groups: 0,
            relocations: 0,
            elapsed: Nanoseconds::ZERO,
            clocks: ClockReadings::default(),
            converged: false,
            last_check: None,
        }
    }

    /// Takes groups of samples, at least one. `size` adapts to the time of the groups. Sampling ends after a
    /// group if one of these conditions holds:
    ///
    /// - `deadline` leaves no time for more samples than the group had;
    /// - the case has all its samples: the number that the user requests, else [`MAX_AUTOMATIC_SAMPLES`];
    /// - the stop policy ends sampling;
    /// - the budget has no time for another sample. Sampling continues nevertheless up to [`SMALLEST_SAMPLE`]
    ///   samples, which an interval needs, if these fit into the extended time of `sampling`.
    ///
    /// The last two conditions do not apply if the user requests a number of samples.
    pub(super) fn take_samples(
        sampler: &mut dyn Sampler,
        checked: &mut CheckedGroups,
        sampling: &Sampling,
        (budget, deadline): (Nanoseconds, Instant),
        size: &mut GroupSize,
        report_step: &mut dyn FnMut(Step),
    ) -> Result<Self, Failure> {
        let timer = checked.timer;
        let mut policy = StopPolicy::new(sampling, budget, size.fewest, timer.effective_resolution());
        let mut budget = Budget::new(budget, timer);
        let mut relocator = InputRelocator::new(timer);
        let most = sampling.samples.unwrap_or(MAX_AUTOMATIC_SAMPLES);
        let mut origin = None;
        let mut taken = Self::new(sampling);
        loop {
            report_step(Step::Samples(taken.read));
            relocator.relocate(sampler, size.cost)?;
            let fitting = if sampling.samples.is_some() {
                size.samples
            } else {
                size.size_within(budget.left()).max(1)
            };
            let before_deadline = samples_before_deadline(
                deadline,
                taken.mean_host_time_per_sample().or(size.cost).unwrap_or_default(),
            );
            let wanted = fitting.min(most - taken.read).min(before_deadline).max(1);
            let (group, cost) = checked.take(sampler, wanted)?;
            taken.add_group(&group, &cost, checked.overhead(&group), &mut origin);
            size.adapt(&cost);
            budget.add(&cost);
            let is_complete = taken.read >= most;
            let no_time = before_deadline <= cost.samples;
            if sampling.samples.is_some() {
                taken.converged = is_complete;
                if is_complete || no_time {
                    break;
                }
                continue;
            }
            let goes_beyond = taken.read < SMALLEST_SAMPLE
                && size.samples_fit_within(SMALLEST_SAMPLE, sampling.extended_max_time);
            let is_last = (size.size_within(budget.left()) == 0 && !goes_beyond) || is_complete || no_time;
            taken.interim_check(sampler, timer, &mut policy, (budget.spent(), is_last));
            taken.converged = policy.converged;
            if is_last || policy.ends(budget.spent(), || is_kept_waiting(sampler)) {
                break;
            }
        }
        (taken.end, taken.relocations) = (Instant::now(), relocator.relocations);
        Ok(taken)
    }

    /// Adds a group. `overhead` is the group's overhead according to its own empty launches, or `None` if it
    /// has no such launches. `origin` is the start of the first sample; the first group with start times sets
    /// it.
    fn add_group(
        &mut self,
        group: &SampledGroup,
        cost: &GroupCost,
        overhead: Option<Nanoseconds>,
        origin: &mut Option<Nanoseconds>,
    ) {
        self.starts.extend(group.starts.iter().map(|start| *start - *origin.get_or_insert(*start)));
        self.events.extend_from_slice(&group.events);
        if let Some(overhead) = overhead {
            self.overheads.push(GroupOverhead { samples: group.events.len(), overhead });
            self.second_clock_bias_per_group
                .extend(group.overhead_by_stamps.map(|by_stamps| by_stamps - overhead));
        }
        self.clocks.add(group.clock, self.events.len(), self.begin.elapsed().into());
        self.read += cost.samples;
        self.groups += 1;
        self.elapsed += cost.device;
    }

    /// Returns the host time since the start divided by the number of samples, which includes the time
    /// between samples. Returns `None` before the first sample.
    fn mean_host_time_per_sample(&self) -> Option<Nanoseconds> {
        (self.read > 0).then(|| Nanoseconds::from(self.begin.elapsed()) / self.read as f64)
    }

    /// Passes a summary of the undisturbed samples to `policy`, if a check is due or `is_last` is true.
    /// `spent` is the time spent so far.
    fn interim_check(
        &mut self,
        sampler: &mut dyn Sampler,
        timer: Timer,
        policy: &mut StopPolicy<'_>,
        (spent, is_last): (Nanoseconds, bool),
    ) {
        let split = split_interrupted(&self.events, sampler.interrupted());
        let undisturbed = split.as_ref().map_or(&self.events, |[undisturbed, _]| undisturbed);
        let enough_groups = self.overheads.is_empty() || self.groups >= MIN_GROUPS;
        if !(is_last || enough_groups && policy.is_due(undisturbed.len())) {
            return;
        }
        let stall = samples::stall(undisturbed, &self.starts, &self.overheads, timer);
        // More samples do not reduce an error that all samples share.
        let without_shared_error = Timer { shared_error: None, relative_error: None, ..timer };
        let time = samples::summary(
            undisturbed,
            &self.starts,
            &self.overheads,
            without_shared_error,
            stall.as_ref(),
        );
        policy
            .interim_check(undisturbed.len(), time.as_ref(), (spent, is_last), || shares_processors(sampler));
        self.last_check = split.is_none().then_some((self.events.len(), stall));
    }

    /// Returns the device time or the host time of all samples, whichever is more.
    pub(super) fn spent(&self) -> Nanoseconds {
        self.elapsed.max((self.end - self.begin).into())
    }

    /// Returns true if the device's clock drifted during the samples, as it may some time after the power
    /// draw became high. The caller then treats these samples as warm-up. Always returns false if the user
    /// requests a number of samples or of warm-up launches.
    pub(super) fn is_still_warm_up(&self, sampling: &Sampling) -> bool {
        sampling.samples.or(sampling.warm_up_launches).is_none() && self.clocks.has_drifted()
    }

    /// Returns the last group of a warm-up as the only group of samples, for a launch so long that the budget
    /// has no time for another sample. `clocks` are the clock readings of the warm-up.
    pub(super) fn from_warm_up_group(last: LastGroup, clocks: ClockReadings, sampling: &Sampling) -> Self {
        let LastGroup { begin, end, cost, events, overhead } = last;
        let overhead = overhead.map(|overhead| GroupOverhead { samples: events.len(), overhead });
        let (elapsed, overheads) = (cost.device, overhead.into_iter().collect());
        Self { begin, end, events, overheads, groups: 1, elapsed, clocks, ..Self::new(sampling) }
    }
}

/// Returns true if the launches share processors with other programs. Launches on the host always do; other
/// launches do if their threads wait for processors.
fn shares_processors(sampler: &mut dyn Sampler) -> bool {
    sampler.method().path == Path::Host || is_kept_waiting(sampler)
}

/// Returns true if the threads of the launches waited for processors during a larger part of the time than
/// [`MAX_SCHEDULER_DELAY`], which is negligible. Returns false if the device does not measure that.
fn is_kept_waiting(sampler: &mut dyn Sampler) -> bool {
    sampler.processor_wait().is_some_and(|waited| waited > MAX_SCHEDULER_DELAY)
}
