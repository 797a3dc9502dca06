//! The protocol of a comparison: rounds with interleaved launches, until the comparison is decided.
//!
//! Each round has new inputs and new graphs. Two rounds form a pair with the same allocation seed. In the
//! second round, the buffers of the two launches are swapped, and the other launch goes first: effects of
//! addresses and of the beginning of a graph then affect both equally. Each pair has a random allocation
//! seed, and is independent of the others.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use super::checked::{CheckedGroups, GroupCost};
use super::{
    group_size::GroupSize,
    no_samples_failure,
    warm_up::warm_up,
    watch::{ClockReadings, SensorWatch},
};
use crate::device::{Monitor, Sampler, SamplerResult};
use gpubench_records::{
    Answer, Comparison, Failure, Method, Samples, Sampling, Stage, Step, WarmUpSummary, comparison::Round,
    samples,
};
use gpubench_stats::{
    DECISION_ERROR, MAX_ROUNDS, Nanoseconds, Ratio, analysis_confidence, final_analysis_confidence,
    log_ratio_of_pairs, random, resolution_of_pairs,
};

/// The fewest A/B pairs of a round: two, in the order AB BA.
const FEWEST_PAIRS_PER_ROUND: usize = 2;
/// The most rounds over which the samples are spread if the user requests a number of samples.
const MOST_ROUNDS_FOR_SAMPLES: usize = 16;
/// The number of rounds over which the samples are spread at least, if the user requests a number of samples:
/// fewer rounds would give no interval. A round may then have fewer than [`FEWEST_PAIRS_PER_ROUND`] pairs.
const FEWEST_ROUNDS_FOR_SAMPLES: usize = 4;

/// Prepares the rounds of a comparison.
pub trait Rounds {
    /// Begins a round: drops the inputs of the previous round, makes the inputs of both launches according to
    /// `layout`, and returns a sampler of their interleaved launches.
    ///
    /// # Errors
    /// Returns an error if inputs cannot be made, or if a launch fails.
    fn begin(&mut self, layout: RoundLayout, report_step: &mut dyn FnMut(Step)) -> SamplerResult<'_>;
}

/// The memory layout and the launch order of a round. Rounds 2k and 2k + 1 form a pair: they have the same
/// allocation seed, and are swapped copies of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundLayout {
    /// The random number that determines the addresses of the inputs. Both rounds of a pair have the same
    /// seed.
    pub allocation_seed: u64,
    /// False in the first round of a pair, which has an even number, and true in the second. In the second
    /// round, each launch has the addresses that the other launch had in the first, and the second launch
    /// goes first.
    pub swapped: bool,
}

impl RoundLayout {
    /// Returns the layout of round `round`, counted from zero, in a comparison with the seed `seed`. Rounds
    /// 2k and 2k + 1 share an allocation seed; odd rounds are swapped.
    pub fn for_round(round: usize, seed: u64) -> Self {
        Self { allocation_seed: Self::derive_allocation_seed(round / 2, seed), swapped: round % 2 == 1 }
    }

    /// Draws a random seed, from which [`Self::derive_allocation_seed`] derives all allocation seeds of a
    /// case or comparison. Returns 0 if the device is `simulated`, so that results are reproducible.
    pub(crate) fn random_seed(simulated: bool) -> u64 {
        if simulated { 0 } else { RandomState::new().hash_one(0) }
    }

    /// Returns allocation seed number `number` of the case or comparison with the seed `seed`. Equal
    /// arguments give equal results.
    pub(crate) fn derive_allocation_seed(number: usize, seed: u64) -> u64 {
        random(seed.wrapping_add(random(number as u64)))
    }
}

/// The samples of two compared launches, and their comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedSamples {
    /// The samples of both launches.
    pub samples: [Samples; 2],
    /// The comparison of the first with the second.
    pub comparison: Comparison,
}

/// Compares two launches until the comparison is decided, the budget is spent, or [`MAX_ROUNDS`] rounds were
/// taken. The budget is `max_time` of `sampling` for the rounds, or `limit` on the host clock for everything,
/// including the time to make inputs. It is checked after each pair of rounds. If `sampling` requests a
/// number of samples, takes this number of pairs instead, whatever their time.
///
/// `rounds` makes the inputs and samplers; `seed` determines the layouts of all rounds. Meanwhile a thread
/// reads the sensors of `monitor`. Calls `report_step` before the warm-up, and before each round.
///
/// # Errors
/// Returns an error if inputs cannot be made, or if a launch or the device fails.
pub fn compare(
    rounds: &mut dyn Rounds,
    seed: u64,
    sampling: &Sampling,
    limit: Duration,
    monitor: Option<Box<dyn Monitor>>,
    report_step: &mut dyn FnMut(Step),
) -> Result<ComparedSamples, Failure> {
    let begin = Instant::now();
    let watch = monitor.map(SensorWatch::start);
    let mut size = GroupSize::with_budget(sampling.max_time);
    let mut comparing: Option<RunningComparison> = None;
    let (mut ratio, mut answer) = (None, Answer::Undecided);
    for number in 0..MAX_ROUNDS {
        report_step(
            comparing.as_ref().map_or(Step::Setup, |comparing| Step::Samples(comparing.events.len())),
        );
        let mut sampler = rounds.begin(RoundLayout::for_round(number, seed), report_step)?;
        let comparing = match &mut comparing {
            Some(comparing) => comparing,
            None => comparing.insert(RunningComparison::begin(
                sampler.as_mut(),
                sampling,
                &mut size,
                report_step,
            )?),
        };
        comparing.take_round(number, sampler.as_mut(), sampling, &mut size)?;
        let is_whole_pair = number % 2 == 1;
        let done = match sampling.samples {
            Some(wanted) => comparing.cost.samples >= wanted,
            None => is_whole_pair && (comparing.cost.spent >= sampling.max_time || begin.elapsed() >= limit),
        };
        let confidence = match sampling.samples {
            // A single check may use up the whole error probability.
            Some(_) => done.then_some(1.0 - DECISION_ERROR),
            None => analysis_confidence(number + 1)
                .or_else(|| done.then(|| final_analysis_confidence(number + 1))),
        };
        let Some(confidence) = confidence else { continue };
        ratio = comparing.ratio(confidence);
        answer =
            ratio.map_or(Answer::Undecided, |ratio| Answer::from_ratio(&ratio, sampling.equivalence_margin));
        if done || answer != Answer::Undecided {
            break;
        }
    }
    let end = Instant::now();
    let comparing = comparing.ok_or_else(|| Failure::new(Stage::Sampling, "took no samples"))?;
    let comparison = Comparison {
        ratio,
        equivalence_margin: sampling.equivalence_margin,
        answer,
        rounds: comparing.rounds.clone(),
        seed: Some(seed),
    };
    let conditions =
        watch.and_then(|watch| watch.into_conditions(comparing.sampling_since, end, comparing.rounds.len()));
    let wall = Nanoseconds::from(end - comparing.sampling_since);
    let [first, second] = [0, 1].map(|index| -> Result<_, Failure> {
        let events: Vec<_> = comparing.events.iter().map(|pair| pair[index]).collect();
        let time = samples::summary(&events, &[], &[], comparing.checked.timer, None);
        Ok(Samples {
            method: comparing.methods[index].clone(),
            timer: comparing.checked.timer,
            warm_up: comparing.warm_up,
            conditions: conditions.clone(),
            device_clock: comparing.clocks.summarize_after(&comparing.warming),
            clock_faults: comparing.checked.faults(),
            groups: comparing.rounds.len(),
            interleaved: true,
            device_time: comparing.cost.device,
            wall_time: wall,
            // The answer shows whether there are enough samples.
            converged: true,
            time: time.ok_or_else(|| no_samples_failure(comparing.checked.faults()))?,
            event_times: events,
            ..Samples::default()
        })
    });
    Ok(ComparedSamples { samples: [first?, second?], comparison })
}

/// The state of a comparison between its rounds.
struct RunningComparison {
    methods: [Method; 2],
    checked: CheckedGroups,
    warm_up: WarmUpSummary,
    /// The clock readings of the warm-up.
    warming: ClockReadings,
    /// The clock readings of the rounds, without those of the warm-up.
    clocks: ClockReadings,
    /// The end of the warm-up.
    sampling_since: Instant,
    /// The event times of all pairs; in each pair, that of the first launch comes first.
    events: Vec<[Nanoseconds; 2]>,
    /// The cost of all rounds.
    cost: GroupCost,
    rounds: Vec<Round>,
    /// The sum of the relative resolutions of all rounds' pairs.
    unresolved: f64,
    /// False once a round has no ratio, because the timer does not resolve the times of its pairs.
    resolved: bool,
}

impl RunningComparison {
    /// Warms up on the inputs of the first round. Fails if `sampler` is no pair sampler.
    fn begin(
        sampler: &mut dyn Sampler,
        sampling: &Sampling,
        size: &mut GroupSize,
        report_step: &mut dyn FnMut(Step),
    ) -> Result<Self, Failure> {
        let method = sampler.method();
        let partner = sampler.partner_method().ok_or_else(|| {
            Failure::new(
                Stage::Sampling,
                "the device's pair sampler does not state the method of the second launch",
            )
        })?;
        let mut warming = ClockReadings::default();
        let mut checked = CheckedGroups::new(sampler)?;
        let warmed = warm_up(sampler, &mut checked, sampling, size, &mut warming, report_step)?;
        Ok(Self {
            methods: [method, partner],
            checked,
            warm_up: warmed.warm_up,
            warming,
            clocks: ClockReadings::default(),
            sampling_since: Instant::now(),
            events: Vec::new(),
            cost: GroupCost::default(),
            rounds: Vec::with_capacity(MAX_ROUNDS),
            unresolved: 0.0,
            resolved: true,
        })
    }

    /// Takes the pairs of round `number`, and adds them to the comparison. The number of pairs follows from
    /// the remaining time, and is at least [`FEWEST_PAIRS_PER_ROUND`]. If the user requests a number of
    /// samples, [`pairs_in_round`] determines it.
    fn take_round(
        &mut self,
        number: usize,
        sampler: &mut dyn Sampler,
        sampling: &Sampling,
        size: &mut GroupSize,
    ) -> Result<(), Failure> {
        let previous = self.events.len();
        let wanted = match sampling.samples {
            None => size.size_within(sampling.max_time - self.cost.spent).max(FEWEST_PAIRS_PER_ROUND),
            Some(samples) => {
                pairs_in_round(number, samples).min(samples.saturating_sub(self.cost.samples)).max(1)
            }
        };
        // A batch may have too few slots for a round.
        let mut round = GroupCost::default();
        while round.samples < wanted {
            let (group, cost) = self.checked.take(sampler, wanted - round.samples)?;
            let is_swapped = number % 2 == 1;
            let in_order = |&[a, b]: &[_; 2]| if is_swapped { [b, a] } else { [a, b] };
            self.events.extend(group.events.as_chunks().0.iter().map(in_order));
            round += cost;
            self.clocks.add(group.clock, self.events.len(), self.sampling_since.elapsed().into());
        }
        size.adapt(&round);
        self.cost += round;
        let overhead = self.checked.timer.overhead;
        let pairs: Vec<_> =
            self.events[previous..].iter().map(|pair| pair.map(|event| event - overhead)).collect();
        match log_ratio_of_pairs(&pairs) {
            Some(log_ratio) => self.rounds.push(Round { pairs: pairs.len(), log_ratio }),
            None => self.resolved = false,
        }
        self.unresolved += resolution_of_pairs(&pairs, self.checked.timer.resolution);
        Ok(())
    }

    /// Computes the ratio of the two launches from the rounds so far, with an interval at this confidence
    /// level. Returns `None` if there are too few rounds, or if the timer does not resolve the times.
    fn ratio(&self, confidence: f64) -> Option<Ratio> {
        let logs: Vec<f64> = self.rounds.iter().map(|round| round.log_ratio).collect();
        let resolution = self.unresolved / logs.len() as f64;
        self.resolved.then(|| Ratio::from_rounds(&logs, resolution, confidence)).flatten()
    }
}

/// Returns the number of pairs of round `number`, counted from zero, if all rounds together have `samples`
/// pairs. The number of rounds is even, at least 4 and at most 16; the numbers of pairs of two rounds differ
/// by at most one. Returns 0 for rounds beyond that number.
fn pairs_in_round(number: usize, samples: usize) -> usize {
    let rounds = (samples / FEWEST_PAIRS_PER_ROUND)
        .next_multiple_of(2)
        .clamp(FEWEST_ROUNDS_FOR_SAMPLES, MOST_ROUNDS_FOR_SAMPLES);
    let before = |round: usize| samples * round.min(rounds) / rounds;
    before(number + 1) - before(number)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rounds_of_a_pair_share_an_allocation_seed_and_pairs_do_not() {
        let layouts: Vec<_> = (0..64).map(|round| RoundLayout::for_round(round, 7)).collect();
        for pair in layouts.chunks(2) {
            assert_eq!(
                (pair[0].allocation_seed, pair[0].swapped),
                (pair[1].allocation_seed, !pair[1].swapped)
            );
        }
        let seeds: BTreeSet<u64> = layouts.iter().map(|layout| layout.allocation_seed).collect();
        assert_eq!(seeds.len(), 32);
        assert_ne!(RoundLayout::for_round(0, 7), RoundLayout::for_round(0, 8));
    }

    #[test]
    fn a_number_of_samples_is_spread_evenly_over_pairs_of_rounds() {
        for (samples, expected) in [
            (1, &[1][..]),
            (3, &[1, 1, 1]),
            (4, &[1, 1, 1, 1]),
            (7, &[1, 2, 2, 2]),
            (10, &[1, 2, 2, 1, 2, 2]),
            (512, &[32; 16]),
        ] {
            let all: Vec<usize> = (0..16).map(|round| pairs_in_round(round, samples)).collect();
            let taken: Vec<usize> = all.iter().copied().filter(|pairs| *pairs > 0).collect();
            assert_eq!(taken, expected, "{samples}");
            assert_eq!(all.iter().sum::<usize>(), samples);
        }
    }
}
