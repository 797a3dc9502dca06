//! The front of time and energy: the variants that no other beats in both. In: the ratios of times that a race found, then rounds in
//! which each variant's energy was measured once; out: for each its energy over the fastest one's with an interval, and a
//! [`FrontStanding`].
//!
//! One variant *dominates* another if it takes no more time and no more energy, each by more than the band, and less of one of the two
//! by more than the band. All intervals of energies hold together, as those of times do, so that what is said here is certain up to both
//! errors: a variant is dominated if some other dominates it wherever in their intervals the truth lies, and on the front if none can.

use serde::{Deserialize, Serialize};

use super::RaceRules;
use crate::ratio::Ratio;

/// The rounds after which there is a look, and its part of the error. A fifth is kept back, since the interval of a trimmed mean has its
/// confidence only nearly. The sum of all rounds' energies is what a front costs: a round takes a second or more of each variant.
const LOOKS: [(usize, f64); 2] = [(8, 0.3), (16, 0.5)];

/// The least difference of logarithms that energies resolve: the counter's updates are seen up to 2 ms late, of a second and more.
const RESOLUTION: f64 = 0.002;

/// The place of a variant beside the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FrontStanding {
    /// Certainly no other dominates it.
    Front,
    /// Certainly another dominates it.
    Dominated,
    /// Neither is certain.
    Undecided,
}

/// The result of a variant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrontPlacing {
    /// Its place.
    pub standing: FrontStanding,
    /// Its energy over the fastest variant's. Its confidence is that of all these ratios together.
    pub energy: Option<Ratio>,
}

/// A variant that takes part.
#[derive(Clone, Debug)]
struct Point {
    variant: usize,
    /// Its time over the fastest variant's.
    time: [f64; 2],
    logs: Vec<f64>,
    energy: Option<Ratio>,
    standing: FrontStanding,
}

impl Point {
    /// The ends of its energy over the fastest variant's, of which nothing is known at first.
    fn energy(&self) -> [f64; 2] {
        self.energy.map_or([0.0, f64::INFINITY], |ratio| [ratio.low, ratio.high])
    }
}

/// A front that is being found.
#[derive(Clone, Debug)]
pub struct Front {
    rules: RaceRules,
    /// The fastest variant.
    reference: usize,
    points: Vec<Point>,
    /// The variants beside the fastest, at the beginning.
    others: usize,
    rounds: usize,
    looks: usize,
}

impl Front {
    /// Begins with variants of these times over the fastest one's, which is `reference`. Those without a time take no part.
    #[must_use]
    pub fn new(times: &[Option<Ratio>], reference: usize, rules: RaceRules) -> Self {
        let point = |(variant, time): (usize, &Option<Ratio>)| {
            let confidence = 1.0 - rules.error;
            let itself = Ratio { value: 1.0, low: 1.0, high: 1.0, confidence };
            let (time, energy) = match variant == reference {
                true => (itself, Some(itself)),
                false => ((*time)?, None),
            };
            let time = [time.low, time.high];
            Some(Point { variant, time, logs: Vec::new(), energy, standing: FrontStanding::Undecided })
        };
        let mut points: Vec<Point> = times.iter().enumerate().filter_map(point).collect();
        // If the fastest one's energy cannot be measured, no other's need be.
        points.sort_by_key(|point| point.variant != reference);
        let others = points.iter().filter(|point| point.variant != reference).count();
        Self { rules, reference, points, others, rounds: 0, looks: 0 }
    }

    /// Returns the variants of which the next round measures the energy, in this order; `None` once all are decided, or behind the last
    /// look. The order turns with each round, so that what drifts is in nobody's favour.
    pub fn next_round(&mut self) -> Option<Vec<usize>> {
        let (rounds, _) = LOOKS.get(self.looks)?;
        if self.rounds >= *rounds {
            self.look();
        }
        let is_done = self.points.iter().all(|point| point.standing != FrontStanding::Undecided);
        if is_done || self.others == 0 || LOOKS.get(self.looks).is_none() {
            return None;
        }
        // What is certainly on the front may still be what dominates another.
        let is_measured =
            |point: &&Point| point.standing != FrontStanding::Dominated || point.variant == self.reference;
        let mut variants: Vec<usize> =
            self.points.iter().filter(is_measured).map(|point| point.variant).collect();
        if self.rounds % 2 == 1 {
            variants.reverse();
        }
        Some(variants)
    }

    /// Adds the energies of a round. It counts for none if the fastest variant's is missing, and not for those that are missing.
    pub fn add(&mut self, energies: &[(usize, f64)]) {
        self.rounds += 1;
        let of = |variant: usize| energies.iter().find(|(one, _)| *one == variant).map(|(_, energy)| *energy);
        let Some(reference) = of(self.reference) else { return };
        for point in &mut self.points {
            let log = of(point.variant).map(|energy| (energy / reference).ln());
            point.logs.extend(log.filter(|log| log.is_finite()));
        }
    }

    /// Takes a variant out whose energy cannot be measured.
    pub fn fail(&mut self, variant: usize) {
        self.points.retain(|point| point.variant != variant);
    }

    /// Ends it, with a last look at what rounds have found since the one before. Returns a placing for each variant that takes part.
    #[must_use]
    pub fn finish(mut self) -> Vec<(usize, FrontPlacing)> {
        if self.looks < LOOKS.len() && self.rounds >= 4 {
            self.look();
        }
        let confidence = 1.0 - self.rules.error;
        let placing = |point: &Point| {
            let energy = point.energy.map(|energy| Ratio { confidence, ..energy });
            (point.variant, FrontPlacing { standing: point.standing, energy })
        };
        self.points.iter().map(placing).collect()
    }

    fn look(&mut self) {
        let Some((_, part)) = LOOKS.get(self.looks) else { return };
        self.looks += 1;
        let confidence = 1.0 - self.rules.error * part / self.others.max(1) as f64;
        for point in self.points.iter_mut().filter(|point| point.variant != self.reference) {
            if point.standing != FrontStanding::Dominated {
                point.energy = Ratio::of_rounds(&point.logs, RESOLUTION, confidence).or(point.energy);
            }
        }
        let found: Vec<FrontStanding> = self.points.iter().map(|point| self.standing(point)).collect();
        self.points.iter_mut().zip(found).for_each(|(point, standing)| point.standing = standing);
    }

    fn standing(&self, point: &Point) -> FrontStanding {
        let mut others = self.points.iter().filter(|other| other.variant != point.variant);
        if point.standing == FrontStanding::Dominated
            || others.clone().any(|other| self.dominates(other, point))
        {
            FrontStanding::Dominated
        } else if others.all(|other| self.cannot_dominate(other, point)) {
            FrontStanding::Front
        } else {
            FrontStanding::Undecided
        }
    }

    /// True if the first is certainly no more than the second, by more than the band.
    fn no_more(&self, first: [f64; 2], second: [f64; 2]) -> bool {
        first[1] <= second[0] * (1.0 + self.rules.band)
    }

    /// True if the first is certainly more than the second, by more than the band.
    fn more(&self, first: [f64; 2], second: [f64; 2]) -> bool {
        first[0] > second[1] * (1.0 + self.rules.band)
    }

    /// True if `one` dominates `other` wherever the truth lies.
    fn dominates(&self, one: &Point, other: &Point) -> bool {
        let (a, b) = (one.energy(), other.energy());
        self.no_more(one.time, other.time)
            && self.no_more(a, b)
            && (self.more(other.time, one.time) || self.more(b, a))
    }

    /// True if `one` does not dominate `other` wherever the truth lies: it takes more of something, or neither has a lead.
    fn cannot_dominate(&self, one: &Point, other: &Point) -> bool {
        let (a, b) = (one.energy(), other.energy());
        self.more(one.time, other.time)
            || self.more(a, b)
            || (self.no_more(other.time, one.time) && self.no_more(b, a))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::race::RACE_ERROR;
    use rand::rngs::SmallRng;
    use rand::{RngExt as _, SeedableRng as _};
    use rand_distr::StandardNormal;

    const RULES: RaceRules = RaceRules { band: 0.005, error: RACE_ERROR };

    fn time(value: f64) -> Option<Ratio> {
        Some(Ratio { value, low: value - 0.002, high: value + 0.002, confidence: 0.99 })
    }

    /// Finds the front of variants with these times and energies, the first of them the fastest, whose energies deviate by `noise`.
    fn found(variants: &[(f64, f64)], noise: f64, seed: u64) -> (Vec<FrontPlacing>, usize) {
        let times: Vec<Option<Ratio>> = variants.iter().map(|(value, _)| time(*value)).collect();
        let mut front = Front::new(&times, 0, RULES);
        let (mut random, mut measured) = (SmallRng::seed_from_u64(seed), 0);
        while let Some(round) = front.next_round() {
            measured += round.len();
            let energies: Vec<(usize, f64)> = round
                .into_iter()
                .map(|variant| {
                    (variant, variants[variant].1 * (1.0 + noise * random.sample::<f64, _>(StandardNormal)))
                })
                .collect();
            front.add(&energies);
        }
        (front.finish().into_iter().map(|(_, placing)| placing).collect(), measured)
    }

    fn standings(variants: &[(f64, f64)]) -> Vec<FrontStanding> {
        found(variants, 0.001, 1).0.into_iter().map(|placing| placing.standing).collect()
    }

    use FrontStanding::{Dominated, Front as OnFront, Undecided};

    #[test]
    fn what_is_slower_and_takes_less_is_on_the_front_and_what_takes_more_is_dominated() {
        let variants = [(1.0, 10.0), (1.05, 8.0), (1.08, 9.0), (1.1, 7.0), (1.02, 10.5)];
        assert_eq!(standings(&variants), [OnFront, OnFront, Dominated, OnFront, Dominated]);
    }

    #[test]
    fn equal_ones_dominate_nobody_and_a_tie_that_takes_more_is_dominated() {
        assert_eq!(standings(&[(1.0, 10.0), (1.0, 10.0)]), [OnFront, OnFront]);
        assert_eq!(standings(&[(1.0, 10.0), (1.001, 10.5)]), [OnFront, Dominated]);
        // The fastest too, by a tie that takes less.
        assert_eq!(standings(&[(1.0, 10.0), (1.001, 9.5)]), [Dominated, OnFront]);
    }

    /// Energies that deviate by a percent do not tell half a percent in sixteen rounds.
    #[test]
    fn what_is_not_certain_is_undecided() {
        let (placings, measured) = found(&[(1.0, 10.0), (1.05, 9.95)], 0.01, 3);
        assert_eq!((placings[1].standing, measured), (Undecided, 2 * 16));
        let energy = placings[1].energy.expect("sixteen rounds");
        assert!(energy.low < 0.995 && energy.high > 0.995);
        assert_eq!(energy.confidence, 1.0 - RACE_ERROR, "that of the whole front");
    }

    /// The error of the front is that of all its intervals together: the more there are, the wider is each.
    #[test]
    fn intervals_share_the_error() {
        let highest = |variants: usize| {
            let mut front = Front::new(&vec![time(1.0); variants], 0, RULES);
            for round in 0.. {
                let Some(variants) = front.next_round() else { break };
                let energy = |variant| 10.0 + f64::from(round % 5) * f64::from(u8::from(variant > 0));
                front.add(&variants.iter().map(|variant| (*variant, energy(*variant))).collect::<Vec<_>>());
            }
            let (_, last) = front.finish().pop().expect("a placing");
            last.energy.expect("sixteen rounds").high
        };
        assert!(highest(20) > highest(2) && highest(200) > highest(20));
    }

    #[test]
    fn what_is_dominated_is_measured_no_longer() {
        // The second is out behind eight rounds, the third is never decided.
        let (placings, measured) = found(&[(1.0, 10.0), (1.05, 20.0), (1.05, 9.95)], 0.002, 2);
        assert_eq!((placings[1].standing, measured), (Dominated, 3 * 8 + 2 * 8));
    }

    #[test]
    fn a_round_without_the_fastest_counts_for_none_and_one_that_fails_is_out() {
        let mut front = Front::new(&[time(1.0), time(1.05), None, time(1.06)], 0, RULES);
        assert_eq!(front.next_round(), Some(vec![0, 1, 3]));
        front.add(&[(1, 5.0), (3, 5.0)]);
        assert_eq!(front.next_round(), Some(vec![3, 1, 0]));
        front.fail(3);
        for round in 1..8 {
            // Rounds of a device that warms up.
            let warmth = 1.0 + 0.01 * f64::from(round);
            front.add(&[(0, 10.0 * warmth), (1, 5.0 * warmth)]);
        }
        assert_eq!(front.next_round(), None);
        let found = front.finish();
        assert_eq!(found.iter().map(|(variant, _)| *variant).collect::<Vec<_>>(), [0, 1]);
        let energy = found[1].1.energy.expect("it was measured");
        assert!((energy.value - 0.5).abs() < 1e-9 && (energy.high / 0.5 - 1.0 - RESOLUTION).abs() < 1e-4);
        assert_eq!(found[1].1.standing, OnFront);
    }

    #[test]
    fn one_alone_is_on_no_front_that_is_worth_measuring() {
        let mut front = Front::new(&[time(1.0), None], 0, RULES);
        assert_eq!(front.next_round(), None);
        assert_eq!(front.finish().len(), 1);
    }

    /// The truth of each of five random variants, held against what is said of it.
    #[test]
    fn what_is_certain_is_true() {
        let band = 1.0 + RULES.band;
        let dominates = |a: (f64, f64), b: (f64, f64)| {
            a.0 <= b.0 * band && a.1 <= b.1 * band && (b.0 > a.0 * band || b.1 > a.1 * band)
        };
        let (mut wrong, mut certain, races) = (0, 0, 300);
        for seed in 0..races {
            let mut random = SmallRng::seed_from_u64(1000 + seed);
            let mut variants = vec![(1.0, 10.0)];
            variants.extend(
                (0..4).map(|_| {
                    (1.0 + 0.1 * random.random::<f64>(), 10.0 * (0.95 + 0.1 * random.random::<f64>()))
                }),
            );
            let (placings, _) = found(&variants, 0.005, seed);
            let is_wrong = placings.iter().zip(&variants).any(|(placing, one)| {
                let is_dominated = variants.iter().any(|other| dominates(*other, *one));
                certain += usize::from(placing.standing != Undecided);
                placing.standing == if is_dominated { OnFront } else { Dominated }
            });
            wrong += usize::from(is_wrong);
        }
        assert!(wrong <= 6, "{wrong} of {races} are wrong");
        assert!(certain > 600, "{certain} of {} are decided", 5 * races);
    }

    /// A variant with these ends of its time and its energy.
    fn point(time: [f64; 2], [low, high]: [f64; 2]) -> Point {
        let energy = Some(Ratio { value: f64::midpoint(low, high), low, high, confidence: 0.99 });
        Point { variant: 0, time, logs: Vec::new(), energy, standing: Undecided }
    }

    /// The band is half a percent: `one` has a lead if the other is certainly beyond it, and takes no more if it certainly is not.
    #[test]
    fn one_dominates_if_it_takes_no_more_of_both_and_certainly_less_of_one() {
        let front = Front::new(&[time(1.0)], 0, RULES);
        let told =
            |one: &Point, other: &Point| (front.dominates(one, other), front.cannot_dominate(one, other));
        let first = point([1.0, 1.0], [1.0, 1.0]);
        let certain = (true, false);
        let never = (false, true);
        let open = (false, false);
        for (time, energy, by_first, by_other) in [
            ([1.02, 1.03], [1.02, 1.03], certain, never),
            ([1.02, 1.03], [0.996, 1.004], certain, never),
            ([0.996, 1.004], [1.02, 1.03], certain, never),
            ([1.02, 1.03], [0.97, 0.98], never, never),
            ([0.97, 0.98], [1.02, 1.03], never, never),
            ([0.996, 1.004], [0.996, 1.004], never, never),
            ([0.97, 0.98], [0.996, 1.004], never, certain),
            ([1.02, 1.03], [0.98, 1.02], open, never),
            ([1.004, 1.006], [0.996, 1.004], open, never),
        ] {
            let other = point(time, energy);
            assert_eq!(told(&first, &other), by_first, "{time:?} {energy:?} by the first");
            assert_eq!(told(&other, &first), by_other, "{time:?} {energy:?} by the other");
        }
    }
}
