//! The protocol of a comparison against a source of rounds in memory: budgets, numbers of samples, what is told on the way.

use std::time::Duration;

use crate::device::PairSampler;
use crate::measure::turns::ComparedSamples;
use crate::measure::{Placement, Rounds, StepObserver, compare};
use gpubench_records::comparison::Answer;
use gpubench_records::failure::{Failure, Step};
use gpubench_records::method::{Method, Path, Timer};
use gpubench_records::sampling::Sampling;
use gpubench_stats::DECISION_ERROR;
use gpubench_stats::units::Nanoseconds;

const STEP: f64 = 32.0;

/// Two launches of 100 µs, of which the first takes by `differences` more in each round in turn.
struct FakeRounds {
    differences: &'static [f64],
    begun: usize,
    /// The time of the device for each pair.
    cost: Nanoseconds,
    /// The number of pairs in all groups of all rounds, those of the warm-up among them.
    pairs: usize,
}

struct FakeRound<'a> {
    first: f64,
    rounds: &'a mut FakeRounds,
}

impl Rounds for FakeRounds {
    fn begin(&mut self, _: Placement) -> Result<Box<dyn PairSampler + '_>, Failure> {
        let first = 100e3 * (1.0 + self.differences[self.begun % self.differences.len()]);
        self.begun += 1;
        Ok(Box::new(FakeRound { first, rounds: self }))
    }
}

impl PairSampler for FakeRound<'_> {
    fn group(&mut self, pairs: usize, events: &mut Vec<[Nanoseconds; 2]>) -> Result<Nanoseconds, Failure> {
        events.extend(vec![[Nanoseconds(self.first), Nanoseconds(100e3)]; pairs]);
        self.rounds.pairs += pairs;
        Ok(self.rounds.cost * pairs as f64)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        Ok(Timer::new(Nanoseconds(STEP)).simulated())
    }

    fn methods(&self) -> [Method; 2] {
        [Path::Graph; 2].map(Method::new)
    }
}

/// The intervals that were told: after so many pairs, half as wide as this.
#[derive(Default)]
struct Told(Vec<(usize, f64)>);

impl StepObserver for Told {
    fn step_reached(&mut self, _: Step) {}

    fn interval_narrowed(&mut self, samples: usize, half_width: f64) {
        self.0.push((samples, half_width));
    }
}

fn compared(differences: &'static [f64], sampling: &Sampling) -> (ComparedSamples, FakeRounds, Told) {
    let mut rounds = FakeRounds { differences, begun: 0, cost: Nanoseconds(1e6), pairs: 0 };
    let mut told = Told::default();
    let compared = compare(&mut rounds, 7, sampling, Duration::from_secs(60), None, &mut told);
    (compared.expect("nothing fails"), rounds, told)
}

/// Two pairs of rounds in three say ten per cent more, and one ten per cent less: nothing decides that.
const SCATTERED: &[f64] = &[0.1, 0.1, -0.1, -0.1, 0.1, 0.1];

#[test]
fn a_budget_ends_what_is_not_decided() {
    let sampling = Sampling {
        max_time: Nanoseconds::from_seconds(0.2),
        warm_up: Nanoseconds::from_seconds(0.01),
        ..Sampling::USUAL
    };
    let (compared, rounds, _) = compared(SCATTERED, &sampling);
    assert_eq!(compared.comparison.answer, Answer::Undecided);
    let taken = compared.samples[0].events.len();
    // A pair takes 1 ms of the device. The last pair of rounds may overdraw what is left.
    assert!((200..=260).contains(&taken), "{taken} pairs in {} rounds", rounds.begun);
    assert_eq!(compared.samples[0].elapsed, Nanoseconds(1e6) * taken as f64);
    assert_eq!(rounds.pairs, taken + compared.samples[0].warm_up.launches);
    assert_eq!(rounds.begun % 2, 0, "rounds are in pairs");
}

/// A number of pairs is taken as it is, and the one look at their end may use up the whole error.
#[test]
fn a_number_of_pairs_has_one_look() {
    let sampling = Sampling { samples: Some(96), warm_up_launches: Some(8), ..Sampling::USUAL };
    let (compared, rounds, _) = compared(&[0.1, 0.1, 0.12, 0.12], &sampling);
    assert_eq!((compared.samples[0].events.len(), rounds.pairs), (96, 104));
    let ratio = compared.comparison.ratio.expect("it is known");
    assert_eq!(ratio.confidence, 1.0 - DECISION_ERROR);
    assert!(ratio.low > 1.05 && ratio.high < 1.17, "{ratio:?}");
    assert_eq!(compared.comparison.answer, Answer::Slower);
}

/// It is told as a part of the ratio: a launch of twice the time has the same interval.
#[test]
fn an_interval_is_told_as_a_part_of_the_ratio() {
    let sampling = Sampling { samples: Some(96), warm_up_launches: Some(8), ..Sampling::USUAL };
    let widths = |differences| {
        let (_, _, Told(told)) = compared(differences, &sampling);
        told.iter().map(|(_, width)| *width).collect::<Vec<_>>()
    };
    let once = widths(&[0.10, 0.10, 0.12, 0.12]);
    let twice = widths(&[1.20, 1.20, 1.24, 1.24]);
    assert_eq!(once.len(), twice.len());
    assert!(!once.is_empty());
    for (once, twice) in once.iter().zip(&twice) {
        // The logarithms of both differ by as much.
        assert!((twice / once - 1.0).abs() < 0.02, "{once} and {twice}");
    }
}

/// The sequence of SplitMix64 that begins at 0, as its authors' program prints it.
#[test]
fn places_are_those_of_a_known_generator() {
    let place = |round, seed| Placement::of(round, seed).place;
    // Of the first pair: the output for 0, added to the seed, and put in again.
    assert_eq!(place(0, 0_u64.wrapping_sub(0xe220_a839_7b1d_cdaf)), 0xe220_a839_7b1d_cdaf);
    assert_eq!(
        place(1, 0x9e37_79b9_7f4a_7c15_u64.wrapping_sub(0xe220_a839_7b1d_cdaf)),
        0x6e78_9e6a_a1b9_65f4
    );
}
