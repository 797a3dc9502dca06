//! The protocol of a comparison: rounds in which two launches take turns, until the comparison is decided. In: a source
//! of rounds, and the sampling options; out: the samples of both, and a [`Comparison`].
//!
//! Each round has new inputs, at other addresses than those before, and new graphs. A place in memory or in a graph may
//! slow one of the two: that becomes noise from round to round, and not a difference.

use std::time::{Duration, Instant};

use super::StepObserver;
use super::checked::{CheckedGroups, Group};
use super::clock::ClockReadings;
use super::groups::GroupSize;
use super::summary;
use super::warm_up::warm_up;
use super::watch::Watch;
use crate::device::Monitor;
use crate::device::{PairSampler, Sampler};
use gpubench_records::comparison::{Answer, Comparison, Round};
use gpubench_records::failure::{Failure, Stage, Step};
use gpubench_records::method::{Method, Timer};
use gpubench_records::samples::{Samples, WarmUp, times};
use gpubench_records::sampling::Sampling;
use gpubench_stats as stats;
use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{self, DECISION_ERROR, MOST_ROUNDS, Ratio, last_look, look_after, paired_log_ratio};

/// The fewest pairs of a round: AB BA.
const FEWEST_PAIRS: usize = 2;
/// If the user asks for a number of samples, they are spread over this many rounds; over fewer if a round would get
/// less than the fewest pairs.
const ROUNDS_OF_A_NUMBER: usize = 8;

/// Makes rounds.
pub trait Rounds {
    /// Makes the inputs of both launches for this round, replaces those of the round before, and prepares to sample
    /// both in turn.
    ///
    /// # Errors
    /// Returns an error if inputs cannot be made, or if a launch fails.
    fn begin(&mut self, round: usize) -> Result<Box<dyn PairSampler + '_>, Failure>;
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedSamples {
    /// The samples of both launches.
    pub samples: [Samples; 2],
    /// The comparison of the first with the second.
    pub comparison: Comparison,
}

/// Compares two launches while `monitor` is read, until the comparison is decided or a budget is spent: the budget of
/// `sampling`, or `limit` on this machine's clock, inputs included. Calls `progress` before the
/// warm-up, and before and after every round.
///
/// # Errors
/// Returns an error if inputs cannot be made, or if a launch or the device fails.
pub fn compare(
    rounds: &mut dyn Rounds,
    sampling: &Sampling,
    limit: Duration,
    monitor: Option<Box<dyn Monitor>>,
    progress: &mut dyn StepObserver,
) -> Result<ComparedSamples, Failure> {
    let begin = Instant::now();
    let watch = monitor.map(Watch::over);
    let mut size = GroupSize::default();
    let mut turns: Option<RunningComparison> = None;
    let mut answered = None;
    for number in 0..MOST_ROUNDS {
        progress.step_reached(turns.as_ref().map_or(Step::Setup, |turns| Step::Samples(turns.events.len())));
        let mut sampler = rounds.begin(number)?;
        let turns = match &mut turns {
            Some(turns) => turns,
            None => turns.insert(RunningComparison::begin(sampler.as_mut(), sampling, &mut size, progress)?),
        };
        turns.round(sampler.as_mut(), sampling, &mut size)?;
        if let Some(ratio) = turns.ratio(1.0 - DECISION_ERROR) {
            let half_width = (ratio.high - ratio.low) / (2.0 * ratio.value);
            progress.interval_narrowed(turns.events.len(), half_width);
        }
        let done = match sampling.samples {
            Some(wanted) => turns.read >= wanted,
            None => turns.spent >= sampling.max_time || begin.elapsed() >= limit,
        };
        let confidence = match sampling.samples {
            // A single check may use up the whole error probability.
            Some(_) => done.then_some(1.0 - DECISION_ERROR),
            None => look_after(number + 1).or_else(|| done.then(|| last_look(number + 1))),
        };
        let Some(confidence) = confidence else { continue };
        let ratio = turns.ratio(confidence);
        let answer = ratio.map_or(Answer::Undecided, |ratio| Answer::of(&ratio, sampling.band));
        answered = Some((ratio, answer));
        if done || answer != Answer::Undecided {
            break;
        }
    }
    let end = Instant::now();
    let turns = turns.ok_or_else(|| Failure::new(Stage::Sampling, "took no samples"))?;
    let (ratio, answer) = answered.unwrap_or((None, Answer::Undecided));
    let comparison = Comparison { ratio, band: sampling.band, answer, rounds: turns.rounds.clone() };
    let conditions = watch.and_then(|watch| watch.conditions(turns.sampling_since, end, turns.rounds.len()));
    let wall = Nanoseconds::from(end - turns.sampling_since);
    let [first, second] = [0, 1].map(|whose| -> Result<_, Failure> {
        let events: Vec<_> = turns.events.iter().map(|pair| pair[whose]).collect();
        Ok(Samples {
            method: turns.methods[whose].clone(),
            timer: turns.timer,
            warm_up: turns.warm_up,
            conditions: conditions.clone(),
            device_clock: turns.clocks.after(&turns.warming),
            clock_faults: turns.checked.faults(),
            groups: turns.rounds.len(),
            in_turns: true,
            waited: None,
            elapsed: turns.elapsed,
            wall,
            // The answer says if there are enough samples.
            converged: true,
            time: summary(&events, turns.timer, turns.checked.faults())?,
            back_to_back: None,
            on_stream: None,
            call: None,
            held: None,
            events,
        })
    });
    Ok(ComparedSamples { samples: [first?, second?], comparison })
}

/// A comparison under way.
struct RunningComparison {
    methods: [Method; 2],
    timer: Timer,
    checked: CheckedGroups,
    warm_up: WarmUp,
    warming: ClockReadings,
    clocks: ClockReadings,
    sampling_since: Instant,
    events: Vec<[Nanoseconds; 2]>,
    /// The number of pairs that were read, those that are no times among them.
    read: usize,
    rounds: Vec<Round>,
    /// True if all times so far are above what the timer can resolve.
    resolved: bool,
    elapsed: Nanoseconds,
    /// The time of all groups by the device's clock or by this machine's, whichever is more.
    spent: Nanoseconds,
}

impl RunningComparison {
    /// Warms up on the first round's inputs.
    fn begin(
        sampler: &mut dyn PairSampler,
        sampling: &Sampling,
        size: &mut GroupSize,
        progress: &mut dyn StepObserver,
    ) -> Result<Self, Failure> {
        let (methods, timer) = (sampler.methods(), sampler.timer()?);
        let mut warming = ClockReadings::default();
        let mut report_step = |step| progress.step_reached(step);
        let mut first = First::of(sampler);
        let mut checked = CheckedGroups::new(timer)?;
        let timing = (timer, &mut checked);
        let warmed = warm_up(&mut first, timing, sampling, size, &mut warming, &mut report_step)?;
        Ok(Self {
            methods,
            timer,
            checked,
            warm_up: warmed.warm_up,
            warming,
            clocks: ClockReadings::default(),
            sampling_since: Instant::now(),
            events: Vec::new(),
            read: 0,
            rounds: Vec::with_capacity(MOST_ROUNDS),
            resolved: true,
            elapsed: Nanoseconds::default(),
            spent: Nanoseconds::default(),
        })
    }

    /// Takes one group of pairs.
    fn round(
        &mut self,
        sampler: &mut dyn PairSampler,
        sampling: &Sampling,
        size: &mut GroupSize,
    ) -> Result<(), Failure> {
        let before = self.events.len();
        let wanted = match sampling.samples {
            None => size.within(sampling.max_time - self.spent).max(FEWEST_PAIRS),
            Some(samples) => {
                let each = samples.div_ceil(ROUNDS_OF_A_NUMBER).max(FEWEST_PAIRS);
                each.min(samples.saturating_sub(self.read)).max(1)
            }
        };
        let zero = Nanoseconds::ZERO;
        let mut round = Group { samples: 0, device: zero, wall: zero, spent: zero };
        while round.samples < wanted {
            let group = self.checked.take_pairs(sampler, wanted - round.samples, &mut self.events)?;
            round.samples += group.samples;
            round.device += group.device;
            round.wall += group.wall;
            round.spent += group.spent;
            let at = self.sampling_since.elapsed().into();
            self.clocks.read(&mut First::of(sampler), self.events.len(), at);
        }
        size.learn(&round);
        self.read += round.samples;
        self.elapsed += round.device;
        self.spent += round.spent;
        let overhead = self.timer.overhead;
        let pairs: Vec<_> =
            self.events[before..].iter().map(|pair| pair.map(|event| event - overhead)).collect();
        match paired_log_ratio(&pairs) {
            Some(log_ratio) => self.rounds.push(Round { pairs: pairs.len(), log_ratio }),
            None => self.resolved = false,
        }
        Ok(())
    }

    /// Computes the ratio of the rounds so far, at this confidence.
    fn ratio(&self, confidence: f64) -> Option<Ratio> {
        let shortest = [0, 1].into_iter().filter_map(|whose| {
            let events: Vec<_> = self.events.iter().map(|pair| pair[whose]).collect();
            stats::median(&times(&events, self.timer))
        });
        let shortest = shortest.reduce(Nanoseconds::min)?;
        let logs: Vec<f64> = self.rounds.iter().map(|round| round.log_ratio).collect();
        self.resolved.then(|| Ratio::of_rounds(&logs, self.timer.step / shortest, confidence)).flatten()
    }
}

/// A sampler of the first of two launches, used to warm up both.
struct First<'a> {
    sampler: &'a mut dyn PairSampler,
    pairs: Vec<[Nanoseconds; 2]>,
}

impl<'a> First<'a> {
    fn of(sampler: &'a mut dyn PairSampler) -> Self {
        Self { sampler, pairs: Vec::new() }
    }
}

impl Sampler for First<'_> {
    fn group(&mut self, samples: usize, events: &mut Vec<Nanoseconds>) -> Result<Nanoseconds, Failure> {
        self.pairs.clear();
        let elapsed = self.sampler.group(samples, &mut self.pairs)?;
        events.extend(self.pairs.iter().map(|pair| pair[0]));
        Ok(elapsed)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        self.sampler.timer()
    }

    fn method(&self) -> Method {
        let [first, _] = self.sampler.methods();
        first
    }

    fn clock(&mut self) -> Option<u64> {
        self.sampler.clock()
    }
}
