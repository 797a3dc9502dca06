//! The samples of a case, while they are taken. In: a [`Sampler`] that is warm; out: its samples, taken until a look at them says that
//! they are enough, that more would not help, or that the budget is spent.

use std::ops::RangeInclusive;
use std::time::Instant;

use super::budget::Budget;
use super::checked::CheckedGroups;
use super::clock::{ClockReadings, USUAL_GROUPS};
use super::groups::{GroupSize, MIN_GROUPS, MIN_SAMPLES};
use super::places::Places;
use super::warm_up::LastGroup;
use super::{LAUNCHES_BESIDE, StepObserver, interrupted};
use crate::device::Sampler;
use gpubench_records::failure::{Failure, Step};
use gpubench_records::method::{Path, Timer};
use gpubench_records::samples::{self, GroupOverhead, OWN_DELAYS};
use gpubench_records::sampling::Sampling;
use gpubench_records::verdict::WIDEST;
use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{Decision, DramStall, SMALLEST_SAMPLE, StopRule};

/// The most samples that a case keeps: more would cost memory and tell nothing new.
pub(super) const MAX_SAMPLES: usize = 1 << 16;

/// The stop rule is checked again once the number of samples has grown by a factor between these: each check costs a sort and a search
/// for the memory's stall, and each is a chance to stop by luck. In between it is this part of what the interval seems to need.
const NEXT_LOOK: RangeInclusive<f64> = 1.1..=1.3;
const PART_OF_NEED: f64 = 0.7;

/// A case that after this time seems to need so many times its budget is given up: its interval narrows with the square root of the
/// time alone.
const PROMISING: Nanoseconds = Nanoseconds::from_seconds(0.3);
const HOPELESS: f64 = 1.5;

/// A case that has converged goes on until its interval is so much narrower than it has to be, or as narrow as one step of the timer, as long as
/// it has spent less than this time and this part of its budget: ± 0.25 % of 15 µs costs some ten milliseconds more than ± 0.5 %.
const FINER: f64 = 0.5;
const CHEAP: Nanoseconds = Nanoseconds::from_seconds(0.05);
const CHEAP_PART: f64 = 0.1;

/// The samples of a case, as they were taken.
pub(super) struct TakenSamples {
    pub(super) begin: Instant,
    pub(super) end: Instant,
    pub(super) events: Vec<Nanoseconds>,
    /// The time from the start of the first sample to that of each, if that is known.
    pub(super) starts: Vec<Nanoseconds>,
    pub(super) overheads: Vec<GroupOverhead>,
    /// For each group with stamps its overhead according to them, less that according to empty launches.
    pub(super) beyond_overhead: Vec<Nanoseconds>,
    pub(super) groups: usize,
    /// How often the inputs were moved.
    pub(super) moves: usize,
    pub(super) elapsed: Nanoseconds,
    pub(super) clocks: ClockReadings,
    pub(super) converged: bool,
    /// The last look, if it was at all samples until then: the same are not searched twice.
    pub(super) last_look: Option<Look>,
}

/// What a look found in so many samples.
pub(super) struct Look {
    pub(super) samples: usize,
    pub(super) stall: Option<DramStall>,
}

/// The limits of sampling.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The time for all samples; a number of samples that the user set ignores it.
    pub(super) budget: Nanoseconds,
    /// The end of the case, after which all of it is lost.
    pub(super) deadline: Instant,
}

impl Limits {
    /// Returns the number of samples that end before the deadline, with the launches after them, if each takes this long.
    fn room(self, each: Nanoseconds) -> usize {
        let left = Nanoseconds::from(self.deadline.saturating_duration_since(Instant::now()));
        ((left / each.max(Nanoseconds(1.0))) as usize).saturating_sub(LAUNCHES_BESIDE)
    }
}

impl TakenSamples {
    /// Takes groups until the stop rule is met, `limit` is spent, more of it would not help, or there are as many samples as the
    /// user wants.
    pub(super) fn take(
        sampler: &mut dyn Sampler,
        (timer, checked): (Timer, &mut CheckedGroups),
        sampling: &Sampling,
        limits: Limits,
        size: &mut GroupSize,
        progress: &mut dyn StepObserver,
    ) -> Result<Self, Failure> {
        let limit = limits.budget;
        let mut rule = StopRule::new(sampling.precision, MIN_SAMPLES);
        let mut finer = StopRule::new(FINER * sampling.precision, MIN_SAMPLES);
        let mut events = Vec::with_capacity(sampling.samples.unwrap_or(MAX_SAMPLES).min(MAX_SAMPLES));
        let mut starts = Vec::new();
        let mut origin = None;
        let mut overheads = Vec::with_capacity(USUAL_GROUPS);
        let mut beyond_overhead = Vec::new();
        let mut clocks = ClockReadings::default();
        // Readings that are no times are not among the events, and count all the same.
        let (mut read, mut groups, mut elapsed) = (0, 0, Nanoseconds::default());
        let (mut next_look, mut converged) = (MIN_SAMPLES, sampling.samples.is_some());
        let mut is_fine = false;
        let mut budget = Budget::of(limit, timer);
        let cheap = CHEAP.min(CHEAP_PART * limit);
        let mut places = Places::of(timer);
        let mut last_look = None;
        size.begin_samples();
        let begin = Instant::now();
        loop {
            progress.step_reached(Step::Samples(read));
            places.next(sampler, size.cost())?;
            let left = sampling.samples.unwrap_or(MAX_SAMPLES) - read;
            let fitting =
                if sampling.samples.is_some() { size.next() } else { size.within(budget.left()).max(1) };
            let each = match read {
                0 => size.cost().unwrap_or_default(),
                _ => Nanoseconds::from(begin.elapsed()) / read as f64,
            };
            let room = limits.room(each);
            let (group, cost) = checked.take(sampler, fitting.min(left).min(room).max(1))?;
            for start in &group.starts {
                starts.push(*start - *origin.get_or_insert(*start));
            }
            events.extend_from_slice(&group.events);
            if let Some(overhead) = checked.overhead(&group) {
                overheads.push(GroupOverhead { samples: group.events.len(), overhead });
                beyond_overhead.extend(group.overhead_by_stamps.map(|by_stamps| by_stamps - overhead));
            }
            clocks.add(group.clock, events.len(), begin.elapsed().into());
            size.learn(&cost);
            budget.pay(&cost);
            read += cost.samples;
            groups += 1;
            elapsed += cost.device;
            let no_time = room <= cost.samples;
            if let Some(wanted) = sampling.samples {
                if read >= wanted || no_time {
                    converged = read >= wanted;
                    break;
                }
                continue;
            }
            let goes_beyond =
                read < SMALLEST_SAMPLE && size.fit_within(SMALLEST_SAMPLE, sampling.extended_max_time);
            let is_last = (size.within(budget.left()) == 0 && !goes_beyond) || read >= MAX_SAMPLES || no_time;
            let mut hopeless = false;
            let undisturbed = interrupted::undisturbed(&events, sampler.interrupted());
            let is_due = undisturbed.len() >= next_look || is_last;
            if is_due && (overheads.is_empty() || groups >= MIN_GROUPS || is_last) {
                let stall = samples::stall(&undisturbed, &starts, &overheads, timer);
                // More samples do not narrow what they all share.
                let mut alone = timer;
                alone.shared_error = None;
                let time = samples::summary(&undisturbed, &starts, &overheads, alone, stall.as_ref());
                last_look =
                    (undisturbed.len() == events.len()).then_some(Look { samples: events.len(), stall });
                let mut later = *NEXT_LOOK.start();
                if let Some(time) = time {
                    progress.interval_narrowed(time.samples, time.relative_half_width());
                    let decision = if is_last {
                        rule.check_last(&time, timer.effective_resolution())
                    } else {
                        rule.check(&time, timer.effective_resolution())
                    };
                    converged = decision == Decision::Converged;
                    let growth = rule.growth(&time, timer.effective_resolution());
                    is_fine = finer.check(&time, timer.effective_resolution()) == Decision::Converged;
                    // A comparison with what is no number leaves the other one.
                    let need =
                        if converged { finer.growth(&time, timer.effective_resolution()) } else { growth };
                    later = later.max((PART_OF_NEED * need).min(*NEXT_LOOK.end()));
                    let needed = budget.spent() * growth;
                    let enough = PROMISING.max(sampling.min_time);
                    hopeless = !converged && budget.spent() >= enough && needed > HOPELESS * limit;
                    if hopeless && shares_processors(sampler) {
                        // Such a row is valid from this width on.
                        let wide = time.relative_half_width() / WIDEST;
                        hopeless = wide <= 1.0 || budget.spent() * wide.powi(2) > limit;
                    }
                }
                next_look = (later * undisturbed.len() as f64).ceil() as usize;
            }
            let enough = if is_fine { sampling.min_time } else { sampling.min_time.max(cheap) };
            // Other programs come in turns of some milliseconds: one turn may be all that was seen so far.
            let is_done = converged && budget.spent() >= enough;
            if is_last || hopeless || (is_done && (budget.spent() >= PROMISING || !is_kept_waiting(sampler)))
            {
                break;
            }
        }
        let (end, moves) = (Instant::now(), places.moves());
        Ok(Self {
            begin,
            end,
            events,
            starts,
            overheads,
            beyond_overhead,
            groups,
            moves,
            elapsed,
            clocks,
            converged,
            last_look,
        })
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
    pub(super) fn of_warm_up(last: LastGroup, clocks: ClockReadings) -> Self {
        let LastGroup { begin, end, cost, events, overhead } = last;
        let overheads = overhead.map(|overhead| GroupOverhead { samples: events.len(), overhead });
        let overheads = overheads.into_iter().collect();
        let starts = Vec::new();
        Self {
            begin,
            end,
            events,
            starts,
            overheads,
            beyond_overhead: Vec::new(),
            groups: 1,
            moves: 0,
            elapsed: cost.device,
            clocks,
            converged: false,
            last_look: None,
        }
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
