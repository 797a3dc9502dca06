//! The protocol of a comparison with a source of rounds in memory: budgets, numbers of samples, reported
//! steps.

use std::time::Duration;

use crate::device::{SampledGroup, Sampler};
use crate::method::{RoundLayout, Rounds, compare, interleaving::ComparedSamples};
use gpubench_records::{Answer, Failure, Method, Path, Sampling, Step, Timer};
use gpubench_stats::{DECISION_ERROR, Hertz, Nanoseconds, analysis_confidence, final_analysis_confidence};

const STEP: f64 = 32.0;

/// Two launches of 100 µs. The first is slower by one of `differences` in each round, which repeat.
struct FakeRounds {
    differences: &'static [f64],
    begun: usize,
    /// The time of the device for each pair.
    cost: Nanoseconds,
    /// The number of pairs in all groups of all rounds, those of the warm-up among them.
    pairs: usize,
    /// The most pairs that it takes in a group.
    most: usize,
    /// The time that is in each event and not the launch's.
    overhead: Nanoseconds,
    /// The device's clock, if it has counters.
    clock: Option<u64>,
}

impl FakeRounds {
    fn of(differences: &'static [f64]) -> Self {
        let (cost, overhead) = (Nanoseconds(1e6), Nanoseconds::ZERO);
        Self { differences, begun: 0, cost, pairs: 0, most: usize::MAX, overhead, clock: None }
    }
}

struct FakeRound<'a> {
    first: f64,
    is_swapped: bool,
    rounds: &'a mut FakeRounds,
}

impl Rounds for FakeRounds {
    fn begin(
        &mut self,
        layout: RoundLayout,
        _: &mut dyn FnMut(Step),
    ) -> Result<Box<dyn Sampler + '_>, Failure> {
        let first = 100e3 * (1.0 + self.differences[self.begun % self.differences.len()]);
        self.begun += 1;
        Ok(Box::new(FakeRound { first, is_swapped: layout.swapped, rounds: self }))
    }
}

impl Sampler for FakeRound<'_> {
    fn group(&mut self, pairs: usize) -> Result<SampledGroup, Failure> {
        let pairs = pairs.min(self.rounds.most);
        let mut pair = [self.first, 100e3].map(|time| Nanoseconds(time) + self.rounds.overhead);
        if self.is_swapped {
            pair.reverse();
        }
        self.rounds.pairs += pairs;
        let mut group = SampledGroup::new(pair.repeat(pairs), self.rounds.cost * pairs as f64);
        group.clock = self.rounds.clock.map(Hertz);
        Ok(group)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        let timer = Timer::new(Nanoseconds(STEP)).with_empty_span(self.rounds.overhead);
        Ok(Timer { simulated: true, ..timer })
    }

    fn method(&self) -> Method {
        Method::new(Path::Graph)
    }

    fn partner_method(&self) -> Option<Method> {
        Some(self.method())
    }
}

fn compared(differences: &'static [f64], sampling: &Sampling) -> (ComparedSamples, FakeRounds) {
    compared_by(FakeRounds::of(differences), sampling, Duration::from_secs(60))
}

fn compared_by(
    mut rounds: FakeRounds,
    sampling: &Sampling,
    limit: Duration,
) -> (ComparedSamples, FakeRounds) {
    let compared = compare(&mut rounds, 7, sampling, limit, None, &mut |_| ());
    (compared.expect("nothing fails"), rounds)
}

/// A fixed number of pairs.
const FIXED: Sampling = Sampling { samples: Some(96), warm_up_launches: Some(8), ..Sampling::USUAL };

/// Two pairs of rounds in three say ten per cent more, and one ten per cent less: nothing decides that.
const SCATTERED: &[f64] = &[0.1, 0.1, -0.1, -0.1, 0.1, 0.1];

#[test]
fn a_budget_ends_what_is_not_decided() {
    let sampling = Sampling {
        max_time: Nanoseconds::from_seconds(0.2),
        min_warm_up_time: Nanoseconds::from_seconds(0.01),
        ..Sampling::USUAL
    };
    let (compared, rounds) = compared(SCATTERED, &sampling);
    assert_eq!(compared.comparison.answer, Answer::Undecided);
    let taken = compared.samples[0].event_times.len();
    // A pair takes 1 ms of the device. A round may exceed the remaining budget; one that begins after it has
    // the fewest pairs, AB BA.
    let last = compared.comparison.rounds.last().map(|round| round.pairs);
    assert!((200..=208).contains(&taken) && last == Some(2), "{taken} pairs in {} rounds", rounds.begun);
    assert_eq!(compared.samples[0].device_time, Nanoseconds(1e6) * taken as f64);
    assert_eq!(rounds.pairs, taken + compared.samples[0].warm_up.launches);
    assert_eq!(rounds.begun % 2, 0, "rounds are in pairs");
}

/// A requested number of pairs is taken exactly, and the one check at their end may use up the whole error
/// probability.
#[test]
fn a_number_of_pairs_has_one_look() {
    let (compared, rounds) = compared(&[0.1, 0.1, 0.12, 0.12], &FIXED);
    assert_eq!((compared.samples[0].event_times.len(), rounds.pairs), (96, 104));
    let ratio = compared.comparison.ratio.expect("it is known");
    assert_eq!(ratio.confidence, 1.0 - DECISION_ERROR);
    assert!(ratio.low > 1.05 && ratio.high < 1.17, "{ratio:?}");
    assert_eq!(compared.comparison.answer, Answer::Slower);
}

/// Looks share the error, so that each has its own confidence.
#[test]
fn a_comparison_is_decided_at_a_look_by_the_confidence_of_that_look() {
    let (found, rounds) = compared(&[0.1, 0.1, 0.12, 0.12], &Sampling::USUAL);
    assert_eq!(found.comparison.answer, Answer::Slower);
    let ratio = found.comparison.ratio.expect("it is known");
    assert_eq!(analysis_confidence(rounds.begun), Some(ratio.confidence), "{} rounds", rounds.begun);
    assert!(rounds.begun < 24, "it ends once it is decided");
    // A budget that ends between two checks uses the error probability of the next.
    for limit in [0.1, 0.12, 0.14, 0.16, 0.18] {
        let sampling = Sampling { max_time: Nanoseconds::from_seconds(limit), ..Sampling::USUAL };
        let (spent, rounds) = compared(SCATTERED, &sampling);
        let confidence = spent.comparison.ratio.expect("it is known").confidence;
        let expected =
            analysis_confidence(rounds.begun).unwrap_or_else(|| final_analysis_confidence(rounds.begun));
        assert_eq!(confidence, expected, "{} rounds", rounds.begun);
    }
}

/// Inputs that take long to make are in no group, and count.
#[test]
fn a_limit_of_this_machines_clock_ends_a_comparison() {
    let (compared, rounds) = compared_by(FakeRounds::of(SCATTERED), &Sampling::USUAL, Duration::ZERO);
    assert_eq!((rounds.begun, compared.comparison.answer), (2, Answer::Undecided));
}

/// A group may be smaller than a round.
#[test]
fn a_round_goes_on_until_it_has_its_pairs() {
    let rounds = FakeRounds { most: 4, ..FakeRounds::of(&[0.1, 0.1, 0.12, 0.12]) };
    let (compared, rounds) = compared_by(rounds, &FIXED, Duration::from_secs(60));
    assert_eq!((compared.samples[0].event_times.len(), rounds.pairs, rounds.begun), (96, 104, 16));
    assert_eq!(compared.samples[0].device_time, Nanoseconds(96e6));
    assert!(compared.comparison.rounds.iter().all(|round| round.pairs == 6));
}

#[test]
fn a_ratio_is_one_of_times_without_their_overhead() {
    let ratio = |overhead| {
        let rounds =
            FakeRounds { overhead: Nanoseconds(overhead), ..FakeRounds::of(&[0.1, 0.1, 0.12, 0.12]) };
        let (compared, _) = compared_by(rounds, &FIXED, Duration::from_secs(60));
        compared.comparison.ratio.expect("it is known").value
    };
    let [none, half] = [0.0, 50e3].map(ratio);
    assert!((none - half).abs() < 1e-9, "{none} and {half}");
}

/// Two launches that never vary differ by no less than a step of the timer.
#[test]
fn an_interval_is_no_narrower_than_the_timer_resolves() {
    let (compared, _) = compared(&[0.0], &FIXED);
    let ratio = compared.comparison.ratio.expect("it is known");
    let half = (ratio.high / ratio.low).ln() / 2.0;
    assert!((half / (STEP / 100e3) - 1.0).abs() < 1e-9, "{half}");
}

#[test]
fn the_clock_of_the_device_is_kept() {
    let rounds = FakeRounds { clock: Some(1_980_000_000), ..FakeRounds::of(&[0.1]) };
    let (compared, _) = compared_by(rounds, &FIXED, Duration::from_secs(60));
    for samples in compared.samples {
        let clock = samples.device_clock.expect("it has counters");
        assert_eq!(
            (clock.mean, clock.after, clock.readings),
            (Hertz(1_980_000_000), Hertz(1_980_000_000), 16)
        );
        assert_eq!(clock.before.map(|before| before.low), Some(Hertz(1_980_000_000)));
    }
}

/// The sequence of SplitMix64 that begins at 0, as its authors' program prints it.
#[test]
fn places_are_those_of_a_known_generator() {
    let allocation_seed = |round, seed| RoundLayout::for_round(round, seed).allocation_seed;
    // Of the first pair: the output for 0, added to the seed, and put in again.
    assert_eq!(allocation_seed(0, 0_u64.wrapping_sub(0xe220_a839_7b1d_cdaf)), 0xe220_a839_7b1d_cdaf);
    assert_eq!(
        allocation_seed(1, 0x9e37_79b9_7f4a_7c15_u64.wrapping_sub(0xe220_a839_7b1d_cdaf)),
        0x6e78_9e6a_a1b9_65f4
    );
}
