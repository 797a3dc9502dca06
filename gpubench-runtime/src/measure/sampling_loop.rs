//! The samples of a case, while they are taken: groups, until the stop policy says that they are enough or that more would not help, or
//! the budget is spent.

use std::time::Instant;

use super::checked::{CheckedGroups, GroupCost};
use super::clock::{ClockReadings, USUAL_GROUPS};
use super::groups::{GroupSize, MIN_GROUPS};
use super::{
    LAUNCHES_BESIDE, budget::Budget, interrupted, relocation::Places, stop_policy::StopPolicy,
    warm_up::LastGroup,
};
use crate::device::{SampledGroup, Sampler};
use gpubench_records::samples::{self, OWN_DELAYS};
use gpubench_records::sampling::MAX_AUTOMATIC_SAMPLES;
use gpubench_records::{Failure, GroupOverhead, Path, Sampling, Step, Timer};
use gpubench_stats::{DramStall, Nanoseconds, SMALLEST_SAMPLE};

/// The samples of a case, as they were taken.
pub(super) struct TakenSamples {
    /// The number of samples, those whose readings are no times included.
    read: usize,
    pub begin: Instant,
    pub end: Instant,
    pub events: Vec<Nanoseconds>,
    /// The time from the start of the first sample to that of each, if that is known.
    pub starts: Vec<Nanoseconds>,
    pub overheads: Vec<GroupOverhead>,
    /// For each group with stamps its overhead according to them, less that according to empty launches.
    pub beyond_overhead: Vec<Nanoseconds>,
    pub groups: usize,
    /// How often the inputs were moved.
    pub moves: usize,
    pub elapsed: Nanoseconds,
    pub clocks: ClockReadings,
    pub converged: bool,
    /// The last look, if it was at all samples until then: the same are not searched twice.
    pub last_look: Option<(usize, Option<DramStall>)>,
}

/// Returns the number of samples that end before the deadline, with the launches after them, if each takes this long.
fn room(deadline: Instant, each: Nanoseconds) -> usize {
    let left = Nanoseconds::from(deadline.saturating_duration_since(Instant::now()));
    ((left / each.max(Nanoseconds(1.0))) as usize).saturating_sub(LAUNCHES_BESIDE)
}

impl TakenSamples {
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
            beyond_overhead: Vec::new(),
            groups: 0,
            moves: 0,
            elapsed: Nanoseconds::ZERO,
            clocks: ClockReadings::default(),
            converged: false,
            last_look: None,
        }
    }

    /// Takes groups until the stop policy ends them, the limits are reached, or there are as many samples as the user wants.
    pub(super) fn take(
        sampler: &mut dyn Sampler,
        checked: &mut CheckedGroups,
        sampling: &Sampling,
        (budget, deadline): (Nanoseconds, Instant),
        size: &mut GroupSize,
        report_step: &mut dyn FnMut(Step),
    ) -> Result<Self, Failure> {
        let timer = checked.timer;
        let mut policy = StopPolicy::new(sampling, budget, timer.effective_resolution());
        let mut budget = Budget::of(budget, timer);
        let mut places = Places::of(timer);
        let most = sampling.samples.unwrap_or(MAX_AUTOMATIC_SAMPLES);
        let mut origin = None;
        size.begin_samples();
        let mut taken = Self::new(sampling);
        loop {
            report_step(Step::Samples(taken.read));
            places.next(sampler, size.cost)?;
            let fitting =
                if sampling.samples.is_some() { size.samples } else { size.within(budget.left()).max(1) };
            let room = room(deadline, taken.cost().or(size.cost).unwrap_or_default());
            let wanted = fitting.min(most - taken.read).min(room).max(1);
            let (group, cost) = checked.take(sampler, wanted)?;
            taken.add(&group, &cost, checked.overhead(&group), &mut origin);
            size.learn(&cost);
            budget.pay(&cost);
            let is_complete = taken.read >= most;
            let no_time = room <= cost.samples;
            if sampling.samples.is_some() {
                taken.converged = is_complete;
                if is_complete || no_time {
                    break;
                }
                continue;
            }
            let goes_beyond =
                taken.read < SMALLEST_SAMPLE && size.fit_within(SMALLEST_SAMPLE, sampling.extended_max_time);
            let is_last = (size.within(budget.left()) == 0 && !goes_beyond) || is_complete || no_time;
            taken.look(sampler, timer, &mut policy, (budget.spent(), is_last));
            taken.converged = policy.converged;
            if is_last || policy.ends(budget.spent(), || is_kept_waiting(sampler)) {
                break;
            }
        }
        (taken.end, taken.moves) = (Instant::now(), places.moves);
        Ok(taken)
    }

    /// Adds a group with its overhead, if it has one of its own. `origin` is the start of the first sample.
    fn add(
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
            self.beyond_overhead.extend(group.overhead_by_stamps.map(|by_stamps| by_stamps - overhead));
        }
        self.clocks.add(group.clock, self.events.len(), self.begin.elapsed().into());
        self.read += cost.samples;
        self.groups += 1;
        self.elapsed += cost.device;
    }

    /// Returns the time of a sample on this machine's clock; nothing before the first.
    fn cost(&self) -> Option<Nanoseconds> {
        (self.read > 0).then(|| Nanoseconds::from(self.begin.elapsed()) / self.read as f64)
    }

    /// Has the policy look at the summary of the samples, if it is time for that.
    fn look(
        &mut self,
        sampler: &mut dyn Sampler,
        timer: Timer,
        policy: &mut StopPolicy<'_>,
        (spent, is_last): (Nanoseconds, bool),
    ) {
        let split = interrupted::split(&self.events, sampler.interrupted());
        let undisturbed = split.as_ref().map_or(&self.events, |[undisturbed, _]| undisturbed);
        let enough_groups = self.overheads.is_empty() || self.groups >= MIN_GROUPS;
        if !(is_last || enough_groups && policy.is_due(undisturbed.len())) {
            return;
        }
        let stall = samples::stall(undisturbed, &self.starts, &self.overheads, timer);
        // More samples do not narrow what they all share.
        let mut alone = timer;
        alone.shared_error = None;
        let time = samples::summary(undisturbed, &self.starts, &self.overheads, alone, stall.as_ref());
        policy.look(undisturbed.len(), time.as_ref(), (spent, is_last), || shares_processors(sampler));
        self.last_look = split.is_none().then_some((self.events.len(), stall));
    }

    /// Returns the time that they took, by the device's clock or by this machine's, whichever is more.
    pub(super) fn spent(&self) -> Nanoseconds {
        self.elapsed.max((self.end - self.begin).into())
    }

    /// Returns true if the launch was still warming up: the power that it draws may bring the clock down only after a while. Not if the
    /// user fixed the number of samples, or of launches before them.
    pub(super) fn were_warm_up(&self, sampling: &Sampling) -> bool {
        sampling.samples.or(sampling.warm_up_launches).is_none() && self.clocks.moved()
    }

    /// Returns the last group of the warm-up of a launch so long that its budget has no room for another sample.
    pub(super) fn of_warm_up(last: LastGroup, clocks: ClockReadings, sampling: &Sampling) -> Self {
        let LastGroup { begin, end, cost, events, overhead } = last;
        let overhead = overhead.map(|overhead| GroupOverhead { samples: events.len(), overhead });
        let (elapsed, overheads) = (cost.device, overhead.into_iter().collect());
        Self { begin, end, events, overheads, groups: 1, elapsed, clocks, ..Self::new(sampling) }
    }
}

/// Returns true if the launches share processors with other programs.
fn shares_processors(sampler: &mut dyn Sampler) -> bool {
    sampler.method().path == Path::Host || is_kept_waiting(sampler)
}

/// Returns true if threads of the launches waited for processors that other programs used.
fn is_kept_waiting(sampler: &mut dyn Sampler) -> bool {
    sampler.waited().is_some_and(|waited| waited > OWN_DELAYS)
}
