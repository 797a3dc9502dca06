//! A race of variants by successive elimination.
//!
//! All variants are compared with one leader, in steps of equally many pairs of rounds. At each interim
//! analysis a variant that is slower than the leader by more than the equivalence margin leaves the race, and
//! one within the margin is a tie. A variant that is faster by more than the margin becomes the leader, and a
//! new epoch begins; so does, early in a race, one that seems to be faster. A race that ends earlier leaves
//! the rest undecided, never tied.
//!
//! A race computes many intervals: one for each contender at each analysis, in each epoch. By Bonferroni's
//! inequality all of them hold the truth together except in [`RACE_ERROR`] of all races, however they depend
//! on each other (the union bound, as Even-Dar, Mannor & Mansour use it for successive elimination: *Action
//! elimination and stopping conditions for the multi-armed bandit and reinforcement learning problems*, JMLR
//! 7, 2006).

use crate::common_noise::CommonNoise;
use crate::tuning::{COARSE_FACTOR, RACE_ERROR, Standing, TunedVariant};
use gpubench_records::Failure;
use gpubench_stats::{Ratio, TrimmedMean, mean_of_rounds};

/// The number of pairs of rounds in a step, the unit in which a race compares two variants.
pub const PAIRS_OF_A_STEP: usize = 8;

/// The interim analyses of an epoch: the number of steps of each contender before an analysis, and the
/// fraction of the epoch's error that the analysis spends. The fractions add up to 0.8, since the confidence
/// of a trimmed mean's interval is approximate.
const ANALYSES: [(usize, f64); 5] = [(1, 0.08), (2, 0.12), (4, 0.16), (8, 0.2), (16, 0.24)];

/// The number of epochs, from the beginning of a race, in which the leader may change early to a variant that
/// only seems to be faster. The first leader had the least of many single times, and so the most luck.
const EARLY_EPOCHS: i32 = 2;
/// The index, from 0 in [`ANALYSES`], of the analysis in an epoch at which the leader may change early.
const EARLY_CHANGE_ANALYSIS: usize = 1;

/// Two variants, by their numbers, that a race asks to be compared next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Duel {
    pub contender: usize,
    pub leader: usize,
}

/// A variant with its measurements of this epoch: the leader, or another that may have left the race.
#[derive(Clone)]
struct Contender {
    /// The variant with its standing, and with its ratio to the leader.
    variant: TunedVariant,
    /// The number of steps in this epoch.
    steps: usize,
    /// The natural logarithm of this variant's time over the leader's, for each round of this epoch.
    rounds: Vec<f64>,
    /// The sum of the resolutions of all steps in this epoch, as differences of logarithms.
    unresolved: f64,
}

impl Contender {
    /// Returns true if the race has not decided this variant; false for the leader.
    fn is_racing(&self) -> bool {
        self.variant.standing == Standing::Undecided
    }

    /// Sets the variant's standing. `decided_at` is the number of the analysis that decided it, if one did.
    fn set_standing(&mut self, standing: Standing, decided_at: Option<usize>) {
        (self.variant.standing, self.variant.decided_at) = (standing, decided_at);
    }
}

/// A part of a race in which all variants are compared with one leader.
#[derive(Clone, Copy)]
struct Epoch {
    /// The number of the epoch, from 1.
    number: i32,
    leader: usize,
    /// The number of undecided variants at the beginning of the epoch, without the leader.
    contenders: usize,
    /// The number of analyses so far in the epoch.
    analyses: usize,
}

impl Epoch {
    /// Returns the confidence of each interval of the next analysis; 1 after the last. Epochs spend a half, a
    /// quarter, an eighth and so on of [`RACE_ERROR`].
    fn confidence(&self) -> f64 {
        let part = ANALYSES.get(self.analyses).map_or(0.0, |(_, part)| *part);
        1.0 - RACE_ERROR * 0.5_f64.powi(self.number) * part / self.contenders.max(1) as f64
    }
}

/// A race of variants: their measurements so far, and the rule for the next comparison. It measures nothing
/// itself.
#[derive(Clone)]
pub(crate) struct Race {
    /// The equivalence margin.
    margin: f64,
    contenders: Vec<Contender>,
    /// The current epoch; `None` if no variant with a coarse time is left.
    epoch: Option<Epoch>,
    /// The number of analyses in all epochs.
    analyses: usize,
}

impl Race {
    /// Begins a race with the fastest variant by coarse times as the leader. Variants without a coarse time
    /// do not race: they were not measured, or they failed. `margin` is the equivalence margin.
    pub(crate) fn new(variants: Vec<TunedVariant>, margin: f64) -> Self {
        let contenders = variants
            .into_iter()
            .map(|variant| Contender { variant, steps: 0, rounds: Vec::new(), unresolved: 0.0 })
            .collect();
        let mut race = Self { margin, contenders, epoch: None, analyses: 0 };
        race.restart_with_fastest();
        race
    }

    /// Returns the next two variants to compare for a step. Before that, analyses the race if all contenders
    /// have the steps of the next analysis, which may change the leader. Returns `None` once all variants are
    /// decided, after the last analysis of an epoch, or if no variant is left.
    pub(crate) fn next_duel(&mut self) -> Option<Duel> {
        loop {
            let Epoch { leader, analyses, .. } = self.epoch?;
            let (steps, _) = *ANALYSES.get(analyses)?;
            if let Some(contender) =
                self.contenders.iter().position(|one| one.is_racing() && one.steps < steps)
            {
                return Some(Duel { contender, leader });
            }
            if self.racing_count() == 0 {
                return None;
            }
            self.analyse();
        }
    }

    /// Adds the rounds of a step: the natural logarithms of the contender's time over the leader's, and the
    /// smallest difference that they resolve. Drops a last round that is not one of a pair. A step without
    /// rounds counts as a step too, so that the race goes on.
    pub(crate) fn add_rounds(&mut self, duel: Duel, rounds: &[f64], resolution: f64) {
        let contender = &mut self.contenders[duel.contender];
        let pairs = rounds.len() / 2;
        contender.steps += 1;
        contender.rounds.extend(&rounds[..2 * pairs]);
        contender.variant.pairs += pairs;
        contender.unresolved += resolution;
    }

    /// Removes a variant that has failed from the race, and stores its failure. If it is the leader, a new
    /// epoch begins with the fastest of the others, if there are any.
    pub(crate) fn drop_failed(&mut self, variant: usize, failure: Failure) {
        self.contenders[variant].variant.fail(failure);
        self.contenders[variant].rounds.clear();
        if self.leader() == Some(variant) {
            self.restart_with_fastest();
        }
    }

    /// Ends the race, and returns the variants with their standings. First does the next analysis of the
    /// epoch, if there is one and an undecided variant has at least two pairs of rounds. If some variant was
    /// not measured, the leader is undecided instead of the best.
    pub(crate) fn finish(mut self) -> Vec<TunedVariant> {
        let is_due = self.epoch.is_some_and(|epoch| epoch.analyses < ANALYSES.len());
        if is_due && self.contenders.iter().any(|one| one.is_racing() && one.rounds.len() >= 4) {
            self.analyse();
        }
        let mut variants: Vec<TunedVariant> = self.contenders.into_iter().map(|one| one.variant).collect();
        let is_whole = variants.iter().all(|variant| variant.standing != Standing::NotMeasured);
        for variant in &mut variants {
            if variant.standing == Standing::Best && !is_whole {
                (variant.standing, variant.ratio) = (Standing::Undecided, None);
            }
            variant.ratio = variant.ratio.map(|ratio| Ratio { confidence: 1.0 - RACE_ERROR, ..ratio });
        }
        variants
    }

    /// Returns the number of the variant with which all others are compared; `None` if no variant is left.
    pub(crate) fn leader(&self) -> Option<usize> {
        self.epoch.map(|epoch| epoch.leader)
    }

    /// Returns the variant with this number.
    pub(crate) fn variant(&mut self, number: usize) -> &mut TunedVariant {
        &mut self.contenders[number].variant
    }

    /// Returns the number of undecided variants, without the leader.
    fn racing_count(&self) -> usize {
        self.contenders.iter().filter(|one| one.is_racing()).count()
    }

    /// Begins an epoch with the fastest variant by coarse times as the leader. All variants within
    /// [`COARSE_FACTOR`] of its time race, also those that were decided before, and slower ones are left
    /// behind. Without coarse times, the race has no epoch any more.
    fn restart_with_fastest(&mut self) {
        let times = self.contenders.iter().enumerate();
        let times = times.filter_map(|(number, one)| Some((number, one.variant.coarse_time?.as_f64())));
        let Some((leader, least)) = times.min_by(|(_, a), (_, b)| a.total_cmp(b)) else {
            self.epoch = None;
            return;
        };
        for one in &mut self.contenders {
            if let Some(coarse) = one.variant.coarse_time {
                let is_near = coarse.as_f64() <= COARSE_FACTOR * least;
                one.set_standing(if is_near { Standing::Undecided } else { Standing::LeftBehind }, None);
                one.variant.ratio = None;
            }
        }
        self.begin_epoch(leader);
    }

    /// Begins an epoch with this leader, and discards all rounds of the epoch before.
    fn begin_epoch(&mut self, leader: usize) {
        let best = &mut self.contenders[leader].variant;
        best.standing = Standing::Best;
        best.ratio = Some(Ratio { value: 1.0, low: 1.0, high: 1.0, confidence: 1.0 });
        for one in &mut self.contenders {
            (one.steps, one.unresolved) = (0, 0.0);
            one.rounds.clear();
        }
        let number = 1 + self.epoch.map_or(0, |epoch| epoch.number);
        self.epoch = Some(Epoch { number, leader, contenders: self.racing_count(), analyses: 0 });
    }

    /// Does an interim analysis: computes the ratio of each undecided variant to the leader, and decides
    /// those whose intervals allow that (slower or tied). Then changes the leader, and so begins a new epoch,
    /// if a variant is faster by more than the margin, or early in the race if one seems to be faster.
    fn analyse(&mut self) {
        let Some(epoch) = self.epoch else { return };
        self.analyses += 1;
        let (least, most) = (1.0 / (1.0 + self.margin), 1.0 + self.margin);
        // Those that this epoch has decided tell of the noise too.
        let contenders = self.contenders.iter();
        let means: Vec<Option<(TrimmedMean, usize)>> =
            contenders.map(|one| Some((mean_of_rounds(&one.rounds)?, one.rounds.len() / 2))).collect();
        let noise = CommonNoise::from_means(&means.iter().copied().flatten().collect::<Vec<_>>());
        let mut open: Vec<(usize, Ratio)> = Vec::new();
        for (contender, (one, mean)) in self.contenders.iter_mut().zip(means).enumerate() {
            let Some((mean, pairs)) = mean.filter(|_| one.is_racing()) else { continue };
            let mean = noise.map_or(mean, |noise| noise.moderate(mean, pairs));
            let ratio = Ratio::from_mean(mean, one.unresolved / one.steps.max(1) as f64, epoch.confidence());
            one.variant.ratio = Some(ratio);
            if ratio.low > most {
                one.set_standing(Standing::Slower, Some(self.analyses));
            } else if least <= ratio.low && ratio.high <= most {
                one.set_standing(Standing::Tie, Some(self.analyses));
            } else {
                open.push((contender, ratio));
            }
        }
        self.epoch = Some(Epoch { analyses: epoch.analyses + 1, ..epoch });
        let fastest = |is_faster: &dyn Fn(&Ratio) -> bool| {
            let faster = open.iter().copied().filter(|(_, ratio)| is_faster(ratio));
            faster.min_by(|(_, a), (_, b)| a.value.total_cmp(&b.value))
        };
        let is_early = epoch.number <= EARLY_EPOCHS && epoch.analyses == EARLY_CHANGE_ANALYSIS;
        let seems_faster = |ratio: &Ratio| is_early && ratio.value < 1.0 / (1.0 + self.margin / 2.0);
        if let Some((leader, ratio)) = fastest(&|ratio| ratio.high < least) {
            self.change_leader(leader, ratio, Standing::Slower);
        } else if let Some((leader, ratio)) = fastest(&seems_faster) {
            self.change_leader(leader, ratio, Standing::Undecided);
        }
    }

    /// Begins an epoch with a new leader; `ratio` is its ratio to the old one. The ratios of all variants
    /// become ratios to the new leader. Intervals are divided by intervals, which is valid since they cover their
    /// values simultaneously. Only eliminated variants whose interval is still above the margin stay eliminated.
    /// `beaten` is the standing of the old leader.
    fn change_leader(&mut self, leader: usize, ratio: Ratio, beaten: Standing) {
        let most = 1.0 + self.margin;
        for one in &mut self.contenders {
            if let Some(to_old) = &mut one.variant.ratio {
                to_old.value /= ratio.value;
                (to_old.low, to_old.high) = (to_old.low / ratio.high, to_old.high / ratio.low);
                let is_slower = one.variant.standing == Standing::Slower && to_old.low > most;
                if one.variant.standing == Standing::Best {
                    one.set_standing(beaten, (beaten == Standing::Slower).then_some(self.analyses));
                } else if !is_slower {
                    one.set_standing(Standing::Undecided, None);
                }
            }
        }
        self.begin_epoch(leader);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::failure::Stage;
    use gpubench_stats::units::Nanoseconds;

    const MARGIN: f64 = 0.005;

    /// A race of variants with these coarse times; 0 was not measured.
    fn race(times: &[f64]) -> Race {
        let variant = |time: &f64| TunedVariant {
            coarse_time: Some(Nanoseconds(*time)).filter(|_| *time > 0.0),
            ..TunedVariant::new(Vec::new(), None)
        };
        Race::new(times.iter().map(variant).collect(), MARGIN)
    }

    fn failure() -> Failure {
        Failure::new(Stage::Check, "the sum is wrong")
    }

    /// The same, and those with a time of 0 have failed.
    fn race_with_failed(times: &[f64]) -> Race {
        let mut race = race(times);
        (0..times.len())
            .filter(|number| times[*number] <= 0.0)
            .for_each(|one| race.drop_failed(one, failure()));
        race
    }

    /// Races variants whose rounds find these times exactly, but for a little noise that cancels out.
    fn raced(mut race: Race, times: &[f64]) -> Vec<TunedVariant> {
        while let Some(duel) = race.next_duel() {
            step(&mut race, duel, times);
        }
        race.finish()
    }

    fn step(race: &mut Race, duel: Duel, times: &[f64]) {
        let log = (times[duel.contender] / times[duel.leader]).ln();
        let rounds: Vec<f64> =
            (0..2 * PAIRS_OF_A_STEP).map(|round| log + if round % 4 < 2 { 1e-6 } else { -1e-6 }).collect();
        race.add_rounds(duel, &rounds, 1e-5);
    }

    fn standings(variants: &[TunedVariant]) -> Vec<Standing> {
        variants.iter().map(|variant| variant.standing).collect()
    }

    #[test]
    fn all_intervals_of_a_race_share_its_error() {
        let mut sum = 0.0;
        for number in 1..=40 {
            // A race that goes on has fewer contenders each time; this one has as many.
            for analyses in 0..ANALYSES.len() {
                let epoch = Epoch { number, leader: 0, contenders: 200, analyses };
                sum += 200.0 * (1.0 - epoch.confidence());
            }
        }
        assert!(sum <= 0.01 && sum > 0.0079, "{sum}");
    }

    #[test]
    fn each_variant_has_its_standing() {
        use Standing::{Best, Failed, LeftBehind, Slower, Tie};
        let times = [100.0, 100.2, 102.0, 114.0, 116.0, 0.0];
        let found = raced(race_with_failed(&times), &times);
        assert_eq!(standings(&found), [Best, Tie, Slower, Slower, LeftBehind, Failed]);
        let ratio = found[2].ratio.expect("it was compared");
        assert!(ratio.low < 1.02 && 1.02 < ratio.high && (ratio.value - 1.02).abs() < 1e-6, "{ratio:?}");
        assert!((ratio.confidence - 0.99).abs() < 1e-12);
        assert_eq!((found[2].pairs, found[2].decided_at), (PAIRS_OF_A_STEP, Some(1)));
        assert_eq!((found[4].pairs, found[4].ratio), (0, None));
    }

    /// The coarse leader is the slowest. What was a tie of the old leader races the new one; what was out
    /// stays out, with a ratio to the new leader.
    #[test]
    fn a_faster_one_becomes_the_leader() {
        use Standing::{Best, Slower, Tie};
        let first = race(&[100.0, 101.0, 102.0, 103.0]);
        let times = [110.0, 100.0, 110.2, 121.0];
        let found = raced(first.clone(), &times);
        assert_eq!(standings(&found), [Slower, Best, Slower, Slower]);
        for (number, ratio) in [(0, 1.1), (2, 1.102), (3, 1.21)] {
            let found = found[number].ratio.expect("it was compared");
            assert!(found.low < ratio && ratio < found.high && found.high < ratio + 1e-2, "{found:?}");
            assert!((found.value - ratio).abs() < 1e-5 && found.low > ratio - 1e-2, "{found:?}");
        }
        let ties = raced(first, &[110.0, 100.0, 100.1, 121.0]);
        assert!(matches!(standings(&ties)[..], [Slower, Best, Tie, Slower] | [Slower, Tie, Best, Slower]));
    }

    /// The leader need not be the fastest: within the margin, either way, a difference does not matter.
    #[test]
    fn what_is_faster_or_slower_by_less_than_the_margin_is_a_tie() {
        use Standing::{Best, Slower, Tie};
        let first = race(&[100.0, 101.0, 102.0]);
        assert_eq!(standings(&raced(first.clone(), &[100.0, 99.8, 100.2])), [Best, Tie, Tie]);
        // Either end of the margin is that of the ratio: 1/1.005 is 0.49751 % faster.
        assert_eq!(standings(&raced(first.clone(), &[100.0, 99.505, 100.495])), [Best, Tie, Tie]);
        assert_eq!(standings(&raced(first, &[100.0, 99.5, 99.9])), [Slower, Best, Tie]);
    }

    /// Two are faster than the leader: the next leader is the faster of them.
    #[test]
    fn of_several_faster_ones_the_fastest_leads() {
        use Standing::{Best, Slower};
        for times in [[110.0, 100.0, 105.0], [110.0, 105.0, 100.0]] {
            let mut race = race(&[100.0, 101.0, 102.0]);
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
    fn a_race_that_ends_early_is_undecided_and_no_tie() {
        let mut race = race(&[100.0, 100.0, 110.0]);
        let duel = race.next_duel().expect("three variants");
        assert_eq!(duel, Duel { contender: 1, leader: 0 });
        assert_eq!(
            standings(&race.clone().finish()),
            [Standing::Best, Standing::Undecided, Standing::Undecided]
        );
        // Wide apart: it could be anything.
        race.add_rounds(duel, &[0.1, 0.1, -0.1, -0.1, 0.1, 0.1, -0.1, -0.1], 1e-4);
        let found = race.finish();
        assert_eq!(found[1].standing, Standing::Undecided);
        assert!(found[1].ratio.is_some() && found[2].ratio.is_none());
    }

    #[test]
    fn a_step_without_rounds_decides_nothing_and_the_race_ends() {
        let mut race = race(&[100.0, 100.0]);
        let mut steps = 0;
        while let Some(duel) = race.next_duel() {
            race.add_rounds(duel, &[], f64::INFINITY);
            steps += 1;
        }
        assert_eq!((steps, race.finish()[1].standing), (16, Standing::Undecided));
    }

    #[test]
    fn without_its_leader_a_race_begins_anew() {
        use Standing::{Best, Failed, Slower};
        let times = [100.0, 112.0, 114.0, 128.0];
        let mut race = race(&times);
        for _ in 0..2 {
            let duel = race.next_duel().expect("there are two");
            step(&mut race, duel, &times);
        }
        // Both are out, and the fourth never raced.
        assert_eq!(race.next_duel(), None);
        race.drop_failed(0, failure());
        assert_eq!(race.racing_count(), 2);
        assert_eq!(standings(&raced(race, &times)), [Failed, Best, Slower, Slower]);
    }

    #[test]
    fn one_variant_alone_is_the_best_and_none_is_no_race() {
        assert_eq!(race(&[100.0]).next_duel(), None);
        let one = race_with_failed(&[100.0, 0.0]).finish();
        assert_eq!(standings(&one), [Standing::Best, Standing::Failed]);
        let mut none = race_with_failed(&[0.0, 0.0]);
        assert_eq!((none.next_duel(), none.racing_count()), (None, 0));
        assert_eq!(standings(&none.finish()), [Standing::Failed; 2]);
    }

    #[test]
    fn of_variants_that_were_not_all_measured_none_is_the_best() {
        use Standing::{LeftBehind, NotMeasured, Undecided};
        let found = race(&[100.0, 130.0, 101.0, 0.0]).finish();
        assert_eq!(standings(&found), [Undecided, LeftBehind, Undecided, NotMeasured]);
        assert!(found.iter().all(|variant| variant.ratio.is_none()));
        assert_eq!(standings(&race(&[0.0, 0.0]).finish()), [NotMeasured; 2]);
    }
}
