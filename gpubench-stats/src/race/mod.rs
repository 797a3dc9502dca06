//! A race of variants by successive elimination. In: one coarse time of each variant, then the logarithms of the ratios that
//! rounds of two variants find; out: the next two to compare, and in the end a [`Placing`] for each: best, tie, slower, undecided,
//! left behind or failed.
//!
//! All are compared with one leader, in steps of equally many pairs of rounds. At each look a variant that is certainly slower than
//! the leader by more than the band leaves the race, and one that is certainly within the band is a tie. One that is certainly
//! faster by more than the band becomes the leader, and a new epoch begins; so does, early in a race, one that seems to be faster.
//! A race that ends earlier leaves the rest undecided, which is never a tie.

mod cover;
mod error;
mod noise;

pub use self::cover::{Cover, best_alone, cover};

use serde::{Deserialize, Serialize};

use crate::ratio::Ratio;
use crate::rounds::mean_of_rounds;
use crate::trimmed::TrimmedMean;
use crate::units::Nanoseconds;

use self::noise::CommonNoise;

/// The pairs of rounds in a step.
pub const PAIRS_OF_A_STEP: usize = 8;

/// The coarse times over the least of them up to which variants race. A single coarse time is off by the place of its inputs and by
/// what clocks do meanwhile: on an H200 by 3.3 % at most, of 290 variants of five problems from 3 to 236 µs.
pub const COARSE_FACTOR: f64 = 1.15;

/// The epochs that one which seems to be faster may end, at this look, counted from zero. The first leader had the least of many
/// single times, and so the most luck.
const GUESSES: usize = 2;
const LOOK_OF_A_GUESS: usize = 1;

/// The part of all races that may go wrong anywhere.
pub const RACE_ERROR: f64 = 0.01;

/// The rules of a race.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RaceRules {
    /// The difference of two times that does not matter, as a fraction.
    pub band: f64,
    /// The part of all races in which any interval may miss the truth.
    pub error: f64,
}

/// Two variants that a race compares next, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duel {
    /// The variant in question.
    pub contender: usize,
    /// The leader, which it is compared with.
    pub leader: usize,
}

/// The standing of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It is the leader.
    Best,
    /// It is certainly within the band of the best.
    Tie,
    /// It is certainly slower than the best, by more than the band.
    Slower,
    /// The race did not decide.
    Undecided,
    /// Its coarse time was beyond [`COARSE_FACTOR`], and it did not race.
    LeftBehind,
    /// The race ended before it was measured.
    NotMeasured,
    /// It failed.
    Failed,
}

/// The result of a variant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placing {
    /// Its standing.
    pub standing: Standing,
    /// Its time over the best's. Its confidence is that of all ratios of the race together.
    pub ratio: Option<Ratio>,
    /// The pairs of rounds that it was compared in.
    pub pairs: usize,
    /// The look, counted from 1 through all epochs, at which it was decided.
    pub decided_at: Option<usize>,
}

/// What is left of a race behind a look, or at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookTaken {
    /// The steps until then, of all variants together.
    pub steps: usize,
    /// The variants that are not out: the leader, its ties and the undecided.
    pub left: usize,
    /// Those of them that are undecided.
    pub undecided: usize,
    /// The leader from then on.
    pub leader: usize,
}

/// The result of a race.
#[derive(Clone, Debug, PartialEq)]
pub struct Finish {
    /// For each variant its placing.
    pub placings: Vec<Placing>,
    /// The beginning, and each look in turn.
    pub looks: Vec<LookTaken>,
}

/// A variant in the race.
#[derive(Clone, Debug)]
struct Contender {
    coarse: Option<Nanoseconds>,
    standing: Standing,
    /// The steps, the rounds and the sum of what steps could not resolve, all against the leader of this epoch.
    steps: usize,
    rounds: Vec<f64>,
    unresolved: f64,
    /// Its ratio to the leader of the epoch in which it was last looked at.
    ratio: Option<(usize, Ratio)>,
    pairs: usize,
    decided_at: Option<usize>,
}

impl Contender {
    fn races(&self) -> bool {
        self.standing == Standing::Undecided
    }

    /// Computes the logarithm of its ratio to the leader so far, with the number of pairs of rounds.
    fn mean(&self) -> Option<(TrimmedMean, usize)> {
        Some((mean_of_rounds(&self.rounds)?, self.rounds.len() / 2))
    }

    /// Computes its ratio to the leader from the mean of its rounds. It has the noise of its own rounds, and what is common to all.
    fn ratio(
        &self,
        (mean, pairs): (TrimmedMean, usize),
        noise: Option<CommonNoise>,
        confidence: f64,
    ) -> Ratio {
        let mean = noise.map_or(mean, |noise| noise.moderate(mean, pairs));
        let resolution = self.unresolved / self.steps.max(1) as f64;
        Ratio::of_mean(mean, resolution, confidence)
    }

    /// Forgets what it was compared with.
    fn begin(&mut self) {
        (self.steps, self.unresolved) = (0, 0.0);
        self.rounds.clear();
    }
}

/// A part of a race with one leader.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    leader: usize,
    /// The variants that race at its beginning, without the leader.
    contenders: usize,
    look: usize,
    /// Its leader's time over that of the next epoch's.
    to_next: Option<Ratio>,
}

/// A race under way.
#[derive(Clone, Debug)]
pub struct Race {
    rules: RaceRules,
    contenders: Vec<Contender>,
    epochs: Vec<Epoch>,
    looks: usize,
    steps: usize,
    taken: Vec<LookTaken>,
}

impl Race {
    /// Begins a race of variants with these coarse times. `None` was not measured; [`fail`](Self::fail) says which of those have
    /// failed.
    #[must_use]
    pub fn new(coarse: &[Option<Nanoseconds>], rules: RaceRules) -> Self {
        let contender = |coarse: &Option<Nanoseconds>| Contender {
            coarse: *coarse,
            standing: if coarse.is_some() { Standing::LeftBehind } else { Standing::NotMeasured },
            steps: 0,
            rounds: Vec::new(),
            unresolved: 0.0,
            ratio: None,
            pairs: 0,
            decided_at: None,
        };
        let contenders = coarse.iter().map(contender).collect();
        let mut race = Self { rules, contenders, epochs: Vec::new(), looks: 0, steps: 0, taken: Vec::new() };
        race.begin_anew();
        race
    }

    /// Returns the next two to compare for a step; `None` once all are decided, or behind the last look.
    pub fn next_duel(&mut self) -> Option<Duel> {
        loop {
            let epoch = *self.epochs.last()?;
            let steps = error::steps_before(epoch.look)?;
            let numbered = self.contenders.iter().enumerate();
            let mut waiting = numbered.filter(|(_, one)| one.races() && one.steps < steps);
            if let Some((contender, _)) = waiting.next() {
                return Some(Duel { contender, leader: epoch.leader });
            }
            if !self.contenders.iter().any(Contender::races) {
                return None;
            }
            self.look(epoch);
        }
    }

    /// Adds the `rounds` of a step: the logarithms of the contender's time over the leader's. `resolution` is the least difference
    /// that they resolve. A step without rounds counts too: it resolves nothing, and the race goes on.
    pub fn add(&mut self, duel: Duel, rounds: &[f64], resolution: f64) {
        if self.epochs.last().is_none_or(|epoch| epoch.leader != duel.leader) {
            return;
        }
        if let Some(contender) = self.contenders.get_mut(duel.contender).filter(|one| one.races()) {
            let whole = &rounds[..rounds.len() - rounds.len() % 2];
            contender.steps += 1;
            self.steps += 1;
            contender.rounds.extend(whole);
            contender.pairs += whole.len() / 2;
            contender.unresolved += resolution;
        }
    }

    /// Takes a variant out that has failed. If it is the leader, all that it has beaten race again.
    pub fn fail(&mut self, variant: usize) {
        let leads = self.epochs.last().is_some_and(|epoch| epoch.leader == variant);
        if let Some(contender) = self.contenders.get_mut(variant) {
            contender.standing = Standing::Failed;
            contender.decided_at = None;
        }
        if leads {
            self.begin_anew();
        }
    }

    /// Ends the race, and places every variant. What a step has found since the last look counts by the next look's error.
    #[must_use]
    pub fn end(self) -> Vec<Placing> {
        self.finish().placings
    }

    /// Ends the race as [`end`](Self::end) does, and tells what each look left. Of variants that were not all measured none is the
    /// best.
    #[must_use]
    pub fn finish(mut self) -> Finish {
        if let Some(epoch) = self.epochs.last().copied()
            && error::steps_before(epoch.look).is_some()
            && self.contenders.iter().any(|one| one.races() && one.rounds.len() >= 4)
        {
            self.look(epoch);
        }
        let mut placings: Vec<Placing> =
            (0..self.contenders.len()).map(|number| self.placing(number)).collect();
        if placings.iter().any(|placing| placing.standing == Standing::NotMeasured) {
            for best in placings.iter_mut().filter(|placing| placing.standing == Standing::Best) {
                (best.standing, best.ratio) = (Standing::Undecided, None);
            }
        }
        Finish { placings, looks: self.taken }
    }

    /// Returns the variant that all others are compared with, if one is left.
    #[must_use]
    pub fn leader(&self) -> Option<usize> {
        self.epochs.last().map(|epoch| epoch.leader)
    }

    /// Returns the number of variants that race beside the leader.
    #[must_use]
    pub fn left(&self) -> usize {
        self.contenders.iter().filter(|one| one.races()).count()
    }

    /// Returns the number of looks so far; the beginning counts as one, and each time that it begins anew.
    #[must_use]
    pub fn looks_taken(&self) -> usize {
        self.taken.len()
    }

    /// Begins an epoch with the fastest by coarse times, and all that are near it.
    fn begin_anew(&mut self) {
        let alive = |one: &Contender| one.coarse.filter(|_| one.standing != Standing::Failed);
        let numbered = self.contenders.iter().enumerate();
        let timed = numbered.filter_map(|(number, one)| Some((number, alive(one)?)));
        let Some((leader, fastest)) = timed.min_by(|(_, a), (_, b)| a.as_f64().total_cmp(&b.as_f64())) else {
            self.epochs.clear();
            return;
        };
        for contender in &mut self.contenders {
            if let Some(coarse) = alive(contender) {
                let near = coarse.as_f64() <= COARSE_FACTOR * fastest.as_f64();
                contender.standing = if near { Standing::Undecided } else { Standing::LeftBehind };
                (contender.ratio, contender.decided_at) = (None, None);
            }
        }
        self.begin_epoch(leader);
        self.note();
    }

    /// Notes what is left.
    fn note(&mut self) {
        let Some(epoch) = self.epochs.last() else { return };
        let is_in =
            |one: &&Contender| matches!(one.standing, Standing::Best | Standing::Tie | Standing::Undecided);
        let left = self.contenders.iter().filter(is_in).count();
        let undecided = self.left();
        self.taken.push(LookTaken { steps: self.steps, left, undecided, leader: epoch.leader });
    }

    fn begin_epoch(&mut self, leader: usize) {
        self.contenders[leader].standing = Standing::Best;
        self.contenders.iter_mut().filter(|one| one.races()).for_each(Contender::begin);
        let contenders = self.left();
        self.epochs.push(Epoch { leader, contenders, look: 0, to_next: None });
    }

    /// Decides what the intervals decide.
    fn look(&mut self, epoch: Epoch) {
        self.looks += 1;
        let number = self.epochs.len() - 1;
        let confidence = error::confidence(self.rules.error, number, epoch.contenders, epoch.look);
        let (least, most) = (1.0 / (1.0 + self.rules.band), 1.0 + self.rules.band);
        let was_compared = |one: &Contender| {
            one.races() || one.standing != Standing::Failed && one.ratio.is_some_and(|(of, _)| of == number)
        };
        let means: Vec<_> =
            self.contenders.iter().map(|one| one.mean().filter(|_| was_compared(one))).collect();
        let noise = CommonNoise::of(&means.iter().copied().flatten().collect::<Vec<_>>());
        let mut faster: Option<(usize, Ratio)> = None;
        let racing = self.contenders.iter_mut().zip(means).enumerate().filter(|(_, (one, _))| one.races());
        for (one, (contender, mean)) in racing {
            let Some(mean) = mean else { continue };
            let ratio = contender.ratio(mean, noise, confidence);
            contender.ratio = Some((number, ratio));
            if ratio.low > most {
                (contender.standing, contender.decided_at) = (Standing::Slower, Some(self.looks));
            } else if least <= ratio.low && ratio.high <= most {
                (contender.standing, contender.decided_at) = (Standing::Tie, Some(self.looks));
            } else if ratio.high < least && faster.is_none_or(|(_, fastest)| ratio.value < fastest.value) {
                faster = Some((one, ratio));
            }
        }
        self.epochs[number].look += 1;
        if let Some((leader, ratio)) = faster {
            self.follow(epoch.leader, ratio);
            let beaten = &mut self.contenders[epoch.leader];
            (beaten.standing, beaten.decided_at) = (Standing::Slower, Some(self.looks));
            self.begin_epoch(leader);
        } else if let Some((leader, ratio)) = self.guess(number, epoch.look) {
            self.follow(epoch.leader, ratio);
            self.contenders[epoch.leader].standing = Standing::Undecided;
            self.begin_epoch(leader);
        }
        self.note();
    }

    /// Returns the variant that seems to be the fastest, if it is early enough and the leader seems to be half of the band slower.
    fn guess(&self, epoch: usize, look: usize) -> Option<(usize, Ratio)> {
        let numbered = self.contenders.iter().enumerate().filter(|(_, one)| one.races());
        let ratios = numbered.filter_map(|(number, one)| {
            one.ratio.filter(|(of, _)| *of == epoch).map(|(_, ratio)| (number, ratio))
        });
        let fastest = ratios.min_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
        let is_early = epoch < GUESSES && look == LOOK_OF_A_GUESS;
        fastest.filter(|(_, ratio)| is_early && ratio.value < 1.0 / (1.0 + self.rules.band / 2.0))
    }

    /// Ends an epoch for one with a new leader, of this ratio to the old one. What is not certain of the new leader too is
    /// open again.
    fn follow(&mut self, old: usize, ratio: Ratio) {
        let number = self.epochs.len() - 1;
        let to_next = inverse(&ratio);
        self.epochs[number].to_next = Some(to_next);
        self.contenders[old].ratio = Some((number, Ratio { value: 1.0, low: 1.0, high: 1.0, ..ratio }));
        let is_open = |contender: &Contender| match (contender.standing, contender.ratio) {
            (Standing::Tie, _) => true,
            (Standing::Slower, Some((of, ratio))) => {
                let ratio = self.to_best(of, ratio);
                ratio.is_none_or(|ratio| ratio.low * to_next.low <= 1.0 + self.rules.band)
            }
            _ => false,
        };
        let open: Vec<bool> = self.contenders.iter().map(is_open).collect();
        for (contender, _) in self.contenders.iter_mut().zip(open).filter(|(_, is_open)| *is_open) {
            (contender.standing, contender.decided_at) = (Standing::Undecided, None);
        }
    }

    fn placing(&self, number: usize) -> Placing {
        let contender = &self.contenders[number];
        let confidence = 1.0 - self.rules.error;
        let ratio = match contender.standing {
            Standing::Best => Some(Ratio { value: 1.0, low: 1.0, high: 1.0, confidence }),
            Standing::Failed | Standing::LeftBehind | Standing::NotMeasured => None,
            Standing::Tie | Standing::Slower | Standing::Undecided => {
                contender.ratio.and_then(|(epoch, ratio)| self.to_best(epoch, ratio))
            }
        };
        let ratio = ratio.map(|ratio| Ratio { confidence, ..ratio });
        let Contender { standing, pairs, decided_at, .. } = *contender;
        Placing { standing, ratio, pairs, decided_at }
    }

    /// Returns a ratio to the leader of an epoch as one to the last leader's: ratios and both ends multiply, since all intervals hold
    /// together.
    fn to_best(&self, epoch: usize, ratio: Ratio) -> Option<Ratio> {
        let (_, before) = self.epochs.split_last()?;
        before.get(epoch..).unwrap_or_default().iter().try_fold(ratio, |ratio, epoch| {
            let next = epoch.to_next?;
            let [value, low, high] = [ratio.value * next.value, ratio.low * next.low, ratio.high * next.high];
            Some(Ratio { value, low, high, ..ratio })
        })
    }
}

/// Returns the ratio of the second to the first.
fn inverse(ratio: &Ratio) -> Ratio {
    Ratio { value: 1.0 / ratio.value, low: 1.0 / ratio.high, high: 1.0 / ratio.low, ..*ratio }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: RaceRules = RaceRules { band: 0.005, error: RACE_ERROR };

    fn coarse(times: &[f64]) -> Vec<Option<Nanoseconds>> {
        times.iter().map(|time| Some(Nanoseconds(*time)).filter(|_| *time > 0.0)).collect()
    }

    /// A race of variants with these coarse times, of which 0 has failed.
    fn race(times: &[f64]) -> Race {
        let mut race = Race::new(&coarse(times), RULES);
        (0..times.len()).filter(|number| times[*number] <= 0.0).for_each(|number| race.fail(number));
        race
    }

    /// Races variants whose rounds find these times exactly, but for a little noise that cancels out.
    fn raced(mut race: Race, times: &[f64]) -> Vec<Placing> {
        while let Some(duel) = race.next_duel() {
            step(&mut race, duel, times);
        }
        race.end()
    }

    fn step(race: &mut Race, duel: Duel, times: &[f64]) {
        let log = (times[duel.contender] / times[duel.leader]).ln();
        let rounds: Vec<f64> =
            (0..2 * PAIRS_OF_A_STEP).map(|round| log + if round % 4 < 2 { 1e-6 } else { -1e-6 }).collect();
        race.add(duel, &rounds, 1e-5);
    }

    fn standings(placings: &[Placing]) -> Vec<Standing> {
        placings.iter().map(|placing| placing.standing).collect()
    }

    #[test]
    fn each_variant_has_its_standing() {
        use Standing::{Best, Failed, LeftBehind, Slower, Tie};
        let times = [100.0, 100.2, 102.0, 114.0, 116.0, 0.0];
        let placings = raced(race(&times), &times);
        assert_eq!(standings(&placings), [Best, Tie, Slower, Slower, LeftBehind, Failed]);
        let ratio = placings[2].ratio.expect("it was compared");
        assert!(ratio.low < 1.02 && 1.02 < ratio.high && (ratio.value - 1.02).abs() < 1e-6, "{ratio:?}");
        assert!((ratio.confidence - 0.99).abs() < 1e-12);
        assert_eq!((placings[2].pairs, placings[2].decided_at), (PAIRS_OF_A_STEP, Some(1)));
        assert_eq!((placings[4].pairs, placings[4].ratio), (0, None));
    }

    /// The coarse leader is the slowest. What was a tie of the old leader races the new one; what was out stays out, with a
    /// ratio to the new leader.
    #[test]
    fn a_faster_one_becomes_the_leader() {
        use Standing::{Best, Slower, Tie};
        let first = coarse(&[100.0, 101.0, 102.0, 103.0]);
        let times = [110.0, 100.0, 110.2, 121.0];
        let placings = raced(Race::new(&first, RULES), &times);
        assert_eq!(standings(&placings), [Slower, Best, Slower, Slower]);
        for (number, ratio) in [(0, 1.1), (2, 1.102), (3, 1.21)] {
            let found = placings[number].ratio.expect("it was compared");
            assert!(found.low < ratio && ratio < found.high && found.high < ratio + 1e-2, "{found:?}");
            assert!((found.value - ratio).abs() < 1e-5 && found.low > ratio - 1e-2, "{found:?}");
        }
        let ties = raced(Race::new(&first, RULES), &[110.0, 100.0, 100.1, 121.0]);
        assert!(matches!(standings(&ties)[..], [Slower, Best, Tie, Slower] | [Slower, Tie, Best, Slower]));
    }

    /// The leader need not be the fastest: within the band, either way, a difference does not matter.
    #[test]
    fn what_is_faster_or_slower_by_less_than_the_band_is_a_tie() {
        use Standing::{Best, Slower, Tie};
        let first = coarse(&[100.0, 101.0, 102.0]);
        assert_eq!(standings(&raced(Race::new(&first, RULES), &[100.0, 99.8, 100.2])), [Best, Tie, Tie]);
        // Either end of the band is that of the ratio: 1/1.005 is 0.49751 % faster.
        assert_eq!(standings(&raced(Race::new(&first, RULES), &[100.0, 99.505, 100.495])), [Best, Tie, Tie]);
        assert_eq!(standings(&raced(Race::new(&first, RULES), &[100.0, 99.5, 99.9])), [Slower, Best, Tie]);
    }

    /// Two are faster than the leader: the next leader is the faster of them.
    #[test]
    fn of_several_faster_ones_the_fastest_leads() {
        use Standing::{Best, Slower};
        let first = coarse(&[100.0, 101.0, 102.0]);
        for times in [[110.0, 100.0, 105.0], [110.0, 105.0, 100.0]] {
            let mut race = Race::new(&first, RULES);
            for _ in 0..2 {
                let duel = race.next_duel().expect("there are two");
                step(&mut race, duel, &times);
            }
            let fastest = if times[1] < times[2] { 1 } else { 2 };
            assert_eq!(race.next_duel().expect("the other is left").leader, fastest, "{times:?}");
            let found = standings(&raced(race, &times));
            assert_eq!((found[0], found[fastest], found[3 - fastest]), (Slower, Best, Slower));
        }
    }

    #[test]
    fn the_ends_of_an_inverse_change_places() {
        let ratio = Ratio { value: 2.0, low: 1.6, high: 2.5, confidence: 0.99 };
        assert_eq!(inverse(&ratio), Ratio { value: 0.5, low: 0.4, high: 0.625, confidence: 0.99 });
    }

    #[test]
    fn a_race_that_ends_early_is_undecided_and_no_tie() {
        let times = [100.0, 100.0, 110.0];
        let mut race = Race::new(&coarse(&times), RULES);
        let duel = race.next_duel().expect("three variants");
        assert_eq!(duel, Duel { contender: 1, leader: 0 });
        assert_eq!(
            standings(&race.clone().end()),
            [Standing::Best, Standing::Undecided, Standing::Undecided]
        );
        // Wide apart: it could be anything.
        race.add(duel, &[0.1, 0.1, -0.1, -0.1, 0.1, 0.1, -0.1, -0.1], 1e-4);
        let placings = race.end();
        assert_eq!(placings[1].standing, Standing::Undecided);
        assert!(placings[1].ratio.is_some() && placings[2].ratio.is_none());
    }

    #[test]
    fn a_step_without_rounds_decides_nothing_and_the_race_ends() {
        let mut race = Race::new(&coarse(&[100.0, 100.0]), RULES);
        let mut steps = 0;
        while let Some(duel) = race.next_duel() {
            race.add(duel, &[], f64::INFINITY);
            steps += 1;
        }
        assert_eq!((steps, race.end()[1].standing), (16, Standing::Undecided));
    }

    #[test]
    fn without_its_leader_a_race_begins_anew() {
        use Standing::{Best, Failed, Slower};
        let times = [100.0, 112.0, 114.0, 128.0];
        let mut race = Race::new(&coarse(&times), RULES);
        for _ in 0..2 {
            let duel = race.next_duel().expect("there are two");
            step(&mut race, duel, &times);
        }
        // Both are out, and the fourth never raced.
        assert_eq!(race.next_duel(), None);
        race.fail(0);
        assert_eq!(race.left(), 2);
        assert_eq!(standings(&raced(race, &times)), [Failed, Best, Slower, Slower]);
    }

    #[test]
    fn one_variant_alone_is_the_best_and_none_is_no_race() {
        assert_eq!(Race::new(&coarse(&[100.0]), RULES).next_duel(), None);
        assert_eq!(standings(&race(&[100.0, 0.0]).end()), [Standing::Best, Standing::Failed]);
        let mut none = race(&[0.0, 0.0]);
        assert_eq!((none.next_duel(), none.left()), (None, 0));
        assert_eq!(standings(&none.end()), [Standing::Failed; 2]);
    }

    #[test]
    fn of_variants_that_were_not_all_measured_none_is_the_best() {
        use Standing::{LeftBehind, NotMeasured, Undecided};
        let placings = Race::new(&coarse(&[100.0, 130.0, 101.0, 0.0]), RULES).end();
        assert_eq!(standings(&placings), [Undecided, LeftBehind, Undecided, NotMeasured]);
        assert!(placings.iter().all(|placing| placing.ratio.is_none()));
        assert_eq!(standings(&Race::new(&coarse(&[0.0, 0.0]), RULES).end()), [NotMeasured; 2]);
    }

    #[test]
    fn each_look_tells_what_it_leaves() {
        let first = coarse(&[100.0, 101.0, 102.0, 103.0, 150.0]);
        let times = [110.0, 100.0, 100.1, 121.0, 150.0];
        let mut race = Race::new(&first, RULES);
        while let Some(duel) = race.next_duel() {
            step(&mut race, duel, &times);
        }
        let Finish { placings, looks } = race.finish();
        let best = placings.iter().position(|placing| placing.standing == Standing::Best).expect("one leads");
        let look = |steps, left, undecided, leader| LookTaken { steps, left, undecided, leader };
        // Three steps find two that are faster, and a fourth decides between them.
        assert_eq!(looks, [look(0, 4, 3, 0), look(3, 2, 1, best), look(4, 2, 0, best)]);
    }
}
