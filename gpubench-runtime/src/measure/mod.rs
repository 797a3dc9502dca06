//! The protocol of a measurement: warm-up, groups of samples, the stop rule. In: a [`Sampler`] of one case, and its
//! sampling options; out: the samples, and the facts of how they were taken. Judges nothing.

mod budget;
mod checked;
mod clock;
mod energy;
mod groups;
mod interrupted;
mod places;
#[cfg(test)]
mod tests;
mod turns;
mod warm_up;
mod watch;

use std::time::Instant;

use crate::device::{Monitor, Sampler};
use gpubench_records::clock_faults::ClockFaults;
use gpubench_records::failure::{Failure, Stage, Step};
use gpubench_records::method::{Path, Timer};
use gpubench_records::sampling::Sampling;
use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{Decision, MemoryStall, StopRule, Summary};

use self::budget::Budget;
use self::checked::CheckedGroups;
use self::clock::{ClockReadings, USUAL_GROUPS};
use gpubench_records::samples::{self, GroupOverhead, OWN_DELAYS, Samples};
use gpubench_records::verdict::WIDEST;

pub(crate) use self::energy::energy;
use self::groups::GroupSize;
use self::places::Places;
pub use self::turns::{Placement, Rounds, compare};
use self::warm_up::LastGroup;
use self::watch::Watch;

/// The fewest samples that the stop rule may end on.
pub(crate) const MIN_SAMPLES: usize = 30;
/// The most samples that a case keeps: more would cost memory and tell nothing new.
pub(crate) const MAX_SAMPLES: usize = 1 << 16;

/// The stop rule is checked again once the number of samples has grown by this factor: each check costs a sort, and
/// each is a chance to stop by luck.
const NEXT_LOOK: f64 = 1.1;

/// The fewest groups that the stop rule may end on, where each has an overhead of its own: their number narrows the interval.
const MIN_GROUPS: usize = 8;

/// A case that after this time seems to need so many times its budget is given up: its interval narrows with the square root of the
/// time alone.
const PROMISING: Nanoseconds = Nanoseconds::from_seconds(0.3);
const HOPELESS: f64 = 1.5;

/// A launch shorter than this is also timed back-to-back.
const SHORT: Nanoseconds = Nanoseconds(5000.0);

/// Follows the measurement of a case.
pub trait StepObserver {
    /// Called before the warm-up, before every group and after the last.
    fn step_reached(&mut self, step: Step);
    /// Called when the interval of the result is computed from the samples so far. `half_width` is the half of it, as a part of
    /// the result.
    #[expect(unused_variables, reason = "the default ignores it")]
    fn interval_narrowed(&mut self, samples: usize, half_width: f64) {}
}

impl<F: FnMut(Step)> StepObserver for F {
    fn step_reached(&mut self, step: Step) {
        self(step);
    }
}

/// Samples one case while `monitor` is read, until the result is precise enough or the budget is spent: `max_time` of
/// `sampling`, by the device's clock or by this machine's, whichever counts more. Reports to `progress`.
///
/// # Errors
/// Returns an error if a launch or the device fails, or if its clock gives no times.
pub fn measure(
    sampler: &mut dyn Sampler,
    sampling: &Sampling,
    monitor: Option<Box<dyn Monitor>>,
    progress: &mut dyn StepObserver,
) -> Result<Samples, Failure> {
    let timer = sampler.timer()?;
    let mut checked = CheckedGroups::new(timer)?;
    let watch = monitor.map(Watch::over);
    let mut size = GroupSize::of_budget(sampling.max_time);
    let mut warming = ClockReadings::default();
    let mut report_step = |step| progress.step_reached(step);
    let timing = (timer, &mut checked);
    let warmed = warm_up::warm_up(sampler, timing, sampling, &mut size, &mut warming, &mut report_step)?;
    let mut warm_up = warmed.warm_up;
    let limit = sampling.max_time - warmed.overdrawn;
    let only = warmed.last.filter(|_| sampling.samples.is_none() && size.within(limit) == 0);
    let timer = if only.is_some() { timer } else { sampler.begin(timer)? };
    let taken = match only {
        Some(last) => {
            warm_up.launches -= last.group.samples;
            warm_up.elapsed = warm_up.elapsed - last.group.device;
            TakenSamples::of_warm_up(last, std::mem::take(&mut warming))
        }
        None => loop {
            let timing = (timer, &mut checked);
            let taken = TakenSamples::take(sampler, timing, sampling, limit, &mut size, progress)?;
            let spent = taken.spent();
            if !taken.were_warm_up(sampling) || warm_up.elapsed + spent > warm_up::longest(sampling) {
                break taken;
            }
            warm_up.launches += taken.events.len();
            warm_up.elapsed += spent;
            warming.extend(&taken.clocks);
        },
    };
    let TakenSamples { begin, end, events, starts, overheads, groups, moves, elapsed, clocks, converged } =
        taken;
    // Threads that wait now are known to have waited behind this.
    let waited = sampler.waited();
    let marks = sampler.interrupted();
    let (events, interrupted, interrupted_events) = match interrupted::split(&events, marks) {
        Some([undisturbed, interrupted]) => (undisturbed, interrupted, 0),
        None => {
            let among = interrupted::among(events.len(), marks);
            (events, Vec::new(), among)
        }
    };
    let conditions = watch.and_then(|watch| watch.conditions(begin, end, groups));
    progress.step_reached(Step::Afterwards(events.len()));
    let method = sampler.method();
    let is_number = |time: &Nanoseconds| time.is_finite();
    let (time, stall) = summarised((&events, &starts, &overheads), timer, checked.faults())?;
    let mut samples = Samples {
        method,
        timer,
        warm_up,
        conditions,
        device_clock: clocks.after(&warming),
        clock_faults: checked.faults(),
        groups,
        moves,
        in_turns: false,
        waited,
        elapsed,
        wall: (end - begin).into(),
        converged,
        time,
        stall,
        back_to_back: None,
        on_stream: None,
        call: sampler.call().filter(is_number),
        held: sampler.held()?.filter(is_number),
        marginal: None,
        since_last: since_last(&starts),
        events,
        interrupted,
        interrupted_events,
        overheads,
    };
    if samples.time.median < SHORT {
        samples.back_to_back = sampler.in_a_row()?.filter(is_number);
    }
    samples.on_stream = sampler.on_stream()?.filter(is_number);
    Ok(samples)
}

/// The samples of a case, as they were taken.
struct TakenSamples {
    begin: Instant,
    end: Instant,
    events: Vec<Nanoseconds>,
    /// The time from the start of the first sample to that of each, if that is known.
    starts: Vec<Nanoseconds>,
    overheads: Vec<GroupOverhead>,
    groups: usize,
    /// How often the inputs were moved.
    moves: usize,
    elapsed: Nanoseconds,
    clocks: ClockReadings,
    converged: bool,
}

impl TakenSamples {
    /// Takes groups until the stop rule is met, `limit` is spent, more of it would not help, or there are as many samples as the
    /// user wants.
    fn take(
        sampler: &mut dyn Sampler,
        (timer, checked): (Timer, &mut CheckedGroups),
        sampling: &Sampling,
        limit: Nanoseconds,
        size: &mut GroupSize,
        progress: &mut dyn StepObserver,
    ) -> Result<Self, Failure> {
        let mut rule = StopRule::new(sampling.precision, MIN_SAMPLES);
        let mut events = Vec::with_capacity(sampling.samples.unwrap_or(MAX_SAMPLES).min(MAX_SAMPLES));
        let mut starts = Vec::new();
        let mut origin = None;
        let mut overheads = Vec::with_capacity(USUAL_GROUPS);
        let mut clocks = ClockReadings::default();
        // Readings that are no times are not among the events, and count all the same.
        let (mut read, mut groups, mut elapsed) = (0, 0, Nanoseconds::default());
        let (mut next_look, mut converged) = (MIN_SAMPLES, sampling.samples.is_some());
        let mut budget = Budget::of(limit, timer);
        let mut places = Places::of(timer);
        let begin = Instant::now();
        loop {
            progress.step_reached(Step::Samples(read));
            places.next(sampler)?;
            let left = sampling.samples.unwrap_or(MAX_SAMPLES) - read;
            let fitting =
                if sampling.samples.is_some() { size.next() } else { size.within(budget.left()).max(1) };
            let before = events.len();
            let group = checked.take(sampler, fitting.min(left), &mut events)?;
            for start in checked.starts() {
                starts.push(*start - *origin.get_or_insert(*start));
            }
            let own = sampler.overhead();
            overheads.extend(own.map(|overhead| GroupOverhead { samples: events.len() - before, overhead }));
            clocks.read(sampler, events.len(), begin.elapsed().into());
            size.learn(&group);
            budget.pay(&group);
            read += group.samples;
            groups += 1;
            elapsed += group.device;
            if let Some(wanted) = sampling.samples {
                if read >= wanted {
                    break;
                }
                continue;
            }
            let mut hopeless = false;
            let undisturbed = interrupted::undisturbed(&events, sampler.interrupted());
            if undisturbed.len() >= next_look && (overheads.is_empty() || groups >= MIN_GROUPS) {
                next_look = (NEXT_LOOK * undisturbed.len() as f64).ceil() as usize;
                // More samples do not narrow what they all share.
                let mut alone = timer;
                alone.shared_error = None;
                if let Some((time, _)) = samples::summary(&undisturbed, &starts, &overheads, alone) {
                    progress.interval_narrowed(time.samples, time.relative_half_width());
                    converged = rule.check(&time, timer.step) == Decision::Converged;
                    let needed = budget.spent() * rule.growth(&time, timer.step);
                    let enough = PROMISING.max(sampling.min_time);
                    hopeless = !converged && budget.spent() >= enough && needed > HOPELESS * limit;
                    if hopeless && shares_processors(sampler) {
                        // Such a row is valid from this width on.
                        let wide = time.relative_half_width() / WIDEST;
                        hopeless = wide <= 1.0 || budget.spent() * wide.powi(2) > limit;
                    }
                }
            }
            let spent = size.within(budget.left()) == 0 || read >= MAX_SAMPLES || hopeless;
            if spent || (converged && budget.spent() >= sampling.min_time) {
                break;
            }
        }
        let (end, moves) = (Instant::now(), places.moves());
        Ok(Self { begin, end, events, starts, overheads, groups, moves, elapsed, clocks, converged })
    }

    /// Returns the time that they took, by the device's clock or by this machine's, whichever is more.
    fn spent(&self) -> Nanoseconds {
        self.elapsed.max((self.end - self.begin).into())
    }

    /// Returns true if the launch was still warming up: the power that it draws may bring the clock down only after a while. Not if the
    /// user fixed the number of samples, or of launches before them.
    fn were_warm_up(&self, sampling: &Sampling) -> bool {
        sampling.samples.or(sampling.warm_up_launches).is_none() && self.clocks.moved()
    }

    /// Returns the last group of the warm-up of a launch so long that its budget has no room for another sample.
    fn of_warm_up(last: LastGroup, clocks: ClockReadings) -> Self {
        let LastGroup { begin, end, group, events, overhead } = last;
        let overheads = overhead.map(|overhead| GroupOverhead { samples: events.len(), overhead });
        let overheads = overheads.into_iter().collect();
        let starts = Vec::new();
        Self {
            begin,
            end,
            events,
            starts,
            overheads,
            groups: 1,
            moves: 0,
            elapsed: group.device,
            clocks,
            converged: false,
        }
    }
}

/// Returns true if the launches share processors with other programs.
fn shares_processors(sampler: &mut dyn Sampler) -> bool {
    sampler.method().path == Path::Host || sampler.waited().is_some_and(|waited| waited > OWN_DELAYS)
}

/// Returns the time from each start to the next, and 0 for the first.
fn since_last(starts: &[Nanoseconds]) -> Vec<Nanoseconds> {
    let before = starts.first().into_iter().chain(starts);
    starts.iter().zip(before).map(|(start, before)| *start - *before).collect()
}

/// Summarises samples with their starts and the overheads of their groups. Their clock had these faults.
fn summarised(
    (events, starts, overheads): (&[Nanoseconds], &[Nanoseconds], &[GroupOverhead]),
    timer: Timer,
    faults: Option<ClockFaults>,
) -> Result<(Summary, Option<MemoryStall>), Failure> {
    let time = samples::summary(events, starts, overheads, timer);
    time.ok_or_else(|| match faults {
        Some(faults) => Failure::new(Stage::Sampling, format_args!("broken clock: {faults}")),
        None => Failure::new(Stage::Sampling, "took no samples"),
    })
}
