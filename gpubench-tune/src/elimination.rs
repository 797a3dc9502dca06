//! Runs a race: measures each variant alone, and then two at a time, until all are decided or the budget is
//! spent.

use crate::race::{Duel, Race};
use crate::tuning::{RaceEnd, Standing, TunedProblem, TunedVariant};
use gpubench_records::Counts;
use gpubench_runner::__private::{CaseResult, RunError};
use gpubench_stats::Nanoseconds;

/// The rounds of one step, in which two variants were measured interleaved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DuelRounds {
    /// The natural logarithm of the contender's time over the leader's, for each round. Two consecutive
    /// rounds are a pair.
    pub logs: Vec<f64>,
    /// The smallest difference of natural logarithms that these rounds resolve.
    pub resolution: f64,
}

/// Measures the variants of a problem, which are given by their numbers.
pub(crate) trait MeasureVariants {
    /// Measures a variant alone and briefly, without a check of its outputs. Returns its median time and its
    /// declared work.
    fn measure_coarsely(&mut self, variant: usize) -> CaseResult<(Nanoseconds, Counts)>;
    /// Launches a variant once, and checks its outputs. Returns false if the benchmark has no check, and a
    /// failure for wrong outputs.
    fn check(&mut self, variant: usize) -> CaseResult<bool>;
    /// Measures two variants interleaved, for one step of a race. `coarse` are the times of the contender and
    /// of the leader alone, if known. `is_first` is true in the first step of the contender, which is
    /// shorter.
    fn duel(
        &mut self,
        duel: Duel,
        coarse: [Option<Nanoseconds>; 2],
        is_first: bool,
    ) -> CaseResult<DuelRounds>;
    /// Returns the time since the race began.
    fn elapsed(&self) -> Nanoseconds;
}

/// Races the variants of `problem` until all are decided, the last analysis is done or the `budget` is spent.
/// Stores the variants sorted by standing and time, the duration and the reason of the end in `problem`.
/// `margin` is the equivalence margin. Variants that fail leave the race. Outputs are checked only of
/// variants that are compared, since a check may take longer than all launches.
///
/// # Errors
/// Returns an error if nothing more can be measured. `problem` then has the results so far.
pub(crate) fn race(
    measurer: &mut dyn MeasureVariants,
    problem: &mut TunedProblem,
    margin: f64,
    budget: Option<Nanoseconds>,
) -> Result<(), RunError> {
    let mut variants = std::mem::take(&mut problem.variants);
    let alone = measure_alone(measurer, &mut variants, budget);
    let accepted = vec![false; variants.len()];
    let race = Race::new(variants, margin);
    let mut run = RaceRun { measurer, race, accepted, budget };
    let ran_out = match alone {
        Ok(false) => run.compare_all(),
        ended => ended,
    };
    problem.wall_time = run.measurer.elapsed();
    problem.variants = run.race.finish();
    problem.variants.sort_by(|a, b| {
        let ((a, faster), (b, slower)) = (a.sort_key(), b.sort_key());
        a.cmp(&b).then(faster.total_cmp(&slower))
    });
    let is_open = [Standing::Undecided, Standing::NotMeasured].iter().any(|one| problem.of(*one).count() > 0);
    problem.ended = match ran_out? {
        _ if !is_open => RaceEnd::Decided,
        true => RaceEnd::Budget,
        false => RaceEnd::LastAnalysis,
    };
    Ok(())
}

/// Measures each variant alone and stores its coarse time, or its failure. Skips variants that have failed.
/// Measures the first variant again at the end, since clocks rise while a device warms up. Returns true if
/// the budget was spent before each had a time.
fn measure_alone(
    measurer: &mut dyn MeasureVariants,
    variants: &mut [TunedVariant],
    budget: Option<Nanoseconds>,
) -> Result<bool, RunError> {
    let again = (variants.len() > 1).then_some(0);
    for number in (0..variants.len()).chain(again) {
        let variant = &mut variants[number];
        if variant.failure.is_some() {
            continue;
        }
        if is_budget_spent(measurer, budget) {
            return Ok(variant.coarse_time.is_none());
        }
        match measurer.measure_coarsely(number)? {
            Ok((time, counts)) => (variant.coarse_time, variant.counts) = (Some(time), counts),
            Err(failure) => variant.fail(failure),
        }
    }
    Ok(false)
}

/// Returns true if the race has used up its time `budget`; false without one.
fn is_budget_spent(measurer: &dyn MeasureVariants, budget: Option<Nanoseconds>) -> bool {
    budget.is_some_and(|budget| measurer.elapsed() >= budget)
}

/// A race in progress, after variants were measured alone.
struct RaceRun<'a> {
    measurer: &'a mut dyn MeasureVariants,
    race: Race,
    /// For each variant, true once its outputs were found right, or the benchmark has no check.
    accepted: Vec<bool>,
    budget: Option<Nanoseconds>,
}

impl RaceRun<'_> {
    /// Compares variants until all are decided, the last analysis is done or the budget is spent. Checks the
    /// outputs of each variant before its first comparison, and those of the leader in any case. Returns true
    /// if the budget was spent first.
    fn compare_all(&mut self) -> Result<bool, RunError> {
        let mut is_over = false;
        loop {
            let next = self.race.next_duel();
            is_over |= next.is_some() && is_budget_spent(self.measurer, self.budget);
            let next = next.filter(|_| !is_over);
            let wanted = [self.race.leader(), next.map(|duel| duel.contender)];
            let unchecked = wanted.into_iter().flatten().find(|variant| !self.accepted[*variant]);
            match (unchecked, next) {
                (Some(variant), _) => match self.measurer.check(variant)? {
                    Ok(checked) => {
                        self.accepted[variant] = true;
                        self.race.variant(variant).checked = checked;
                    }
                    Err(failure) => self.race.drop_failed(variant, failure),
                },
                (None, Some(duel)) => self.compare(duel)?,
                (None, None) => return Ok(is_over),
            }
        }
    }

    /// Measures two variants interleaved, and adds the rounds to the race. If the measurement fails, measures
    /// each alone and drops those that fail alone. If neither does, drops the contender.
    fn compare(&mut self, duel: Duel) -> Result<(), RunError> {
        let coarse = [duel.contender, duel.leader].map(|variant| self.race.variant(variant).coarse_time);
        let is_first = self.race.variant(duel.contender).pairs == 0;
        let failure = match self.measurer.duel(duel, coarse, is_first)? {
            Ok(rounds) => {
                self.race.add_rounds(duel, &rounds.logs, rounds.resolution);
                return Ok(());
            }
            Err(failure) => failure,
        };
        let mut is_found = false;
        for variant in [duel.leader, duel.contender] {
            if let Err(failure) = self.measurer.measure_coarsely(variant)? {
                self.race.drop_failed(variant, failure);
                is_found = true;
            }
        }
        if !is_found {
            self.race.drop_failed(duel.contender, failure);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use gpubench_records::failure::{Failure, Stage};
    use gpubench_records::id::Arg;

    const MARGIN: f64 = 0.005;

    /// Variants with these times, of which some fail: alone from the start, alone from a duel on, in their
    /// checks, or only in duels.
    #[derive(Default)]
    struct Fake {
        times: Vec<f64>,
        broken: Vec<usize>,
        breaks: Vec<usize>,
        wrong: Vec<usize>,
        checks: Vec<usize>,
        quarrels: Vec<usize>,
        /// By how much logarithms of ratios deviate.
        noise: f64,
        duels: usize,
        /// The contenders so far.
        contenders: BTreeSet<usize>,
        alone: usize,
        /// The budget, of which a duel takes 100 and a measurement alone 1.
        budget: Option<f64>,
        stops_at: Option<usize>,
    }

    impl Fake {
        fn of(times: &[f64]) -> Self {
            Self { times: times.to_vec(), ..Self::default() }
        }

        fn race(mut self) -> (TunedProblem, Option<RunError>) {
            self.raced()
        }

        /// Races, and puts the variants back in the order of their numbers.
        fn raced(&mut self) -> (TunedProblem, Option<RunError>) {
            let arg = |number: usize| vec![Arg { name: "v".to_owned(), value: format!("{number:03}") }];
            let mut found = TunedProblem::new(Vec::new());
            found.variants =
                (0..self.times.len()).map(|number| TunedVariant::new(arg(number), None)).collect();
            let budget = self.budget.map(Nanoseconds);
            let stopped = race(self, &mut found, MARGIN, budget).err();
            found.variants.sort_by(|a, b| a.args.cmp(&b.args));
            (found, stopped)
        }
    }

    fn wrong() -> Failure {
        Failure::new(Stage::Check, "the sum is wrong")
    }

    impl MeasureVariants for Fake {
        fn measure_coarsely(&mut self, variant: usize) -> CaseResult<(Nanoseconds, Counts)> {
            self.alone += 1;
            let breaks = self.duels > 0 && self.breaks.contains(&variant);
            Ok(if breaks || self.broken.contains(&variant) {
                Err(wrong())
            } else {
                Ok((Nanoseconds(self.times[variant]), Counts::default()))
            })
        }

        fn check(&mut self, variant: usize) -> CaseResult<bool> {
            self.checks.push(variant);
            Ok(if self.wrong.contains(&variant) { Err(wrong()) } else { Ok(true) })
        }

        fn duel(
            &mut self,
            Duel { contender, leader }: Duel,
            coarse: [Option<Nanoseconds>; 2],
            is_first: bool,
        ) -> CaseResult<DuelRounds> {
            assert_eq!(coarse, [contender, leader].map(|one| Some(Nanoseconds(self.times[one]))));
            assert_eq!(is_first, self.contenders.insert(contender));
            self.duels += 1;
            if self.stops_at == Some(self.duels) {
                return Err(RunError::Interrupted);
            }
            if [contender, leader].iter().any(|one| self.breaks.contains(one) || self.quarrels.contains(one))
            {
                return Ok(Err(Failure::new(Stage::Worker, "was killed")));
            }
            let log = (self.times[contender] / self.times[leader]).ln();
            // Angles that share no period with the rounds.
            let deviation = |round| self.noise * f64::from(8 * self.duels as u32 + round).powi(2).sin();
            Ok(Ok(DuelRounds {
                logs: (0..8).map(|round| log + deviation(round)).collect(),
                resolution: 1e-4,
            }))
        }

        fn elapsed(&self) -> Nanoseconds {
            Nanoseconds(self.alone as f64 + 100.0 * self.duels as f64)
        }
    }

    fn standings(found: &TunedProblem) -> Vec<Standing> {
        found.variants.iter().map(|variant| variant.standing).collect()
    }

    fn failures(found: &TunedProblem) -> Vec<(usize, Failure)> {
        let numbered = found.variants.iter().enumerate();
        numbered.filter_map(|(number, one)| Some((number, one.failure.clone()?))).collect()
    }

    #[test]
    fn a_variant_that_fails_is_out_and_costs_nothing_else() {
        use Standing::{Best, Failed, Slower, Tie};
        let (found, _) = Fake { broken: vec![1], ..Fake::of(&[102.0, 90.0, 100.0, 100.1]) }.race();
        assert_eq!(standings(&found), [Slower, Failed, Best, Tie]);
        assert_eq!(failures(&found), [(1, wrong())]);
        assert_eq!((found.ended, found.variants[1].coarse_time), (RaceEnd::Decided, None));
    }

    /// A launch that does nothing is fast. What it seemed to leave behind races.
    #[test]
    fn wrong_outputs_beat_nobody_and_what_is_far_slower_is_not_checked() {
        use Standing::{Best, Failed, LeftBehind, Slower, Tie};
        let mut fake = Fake { wrong: vec![1, 4], ..Fake::of(&[100.2, 10.0, 100.0, 140.0, 101.0, 103.0]) };
        let (found, _) = fake.raced();
        assert_eq!(standings(&found), [Tie, Failed, Best, LeftBehind, Failed, Slower]);
        assert_eq!(failures(&found), [(1, wrong()), (4, wrong())]);
        fake.checks.sort_unstable();
        assert_eq!(fake.checks, [0, 1, 2, 4, 5]);
    }

    #[test]
    fn the_best_is_checked_also_if_nothing_races_it_or_the_budget_is_spent() {
        use Standing::{Best, Failed, LeftBehind, Undecided};
        let (alone, _) = Fake { wrong: vec![1], ..Fake::of(&[100.0, 10.0, 140.0]) }.race();
        assert_eq!((standings(&alone), alone.ended), (vec![Best, Failed, LeftBehind], RaceEnd::Decided));
        let (spent, _) = Fake { wrong: vec![0], budget: Some(4.0), ..Fake::of(&[99.0, 100.0, 101.0]) }.race();
        assert_eq!((standings(&spent), spent.ended), (vec![Failed, Best, Undecided], RaceEnd::Budget));
        // The budget ends before the first is measured again.
        let mut fake = Fake { wrong: vec![0], budget: Some(3.0), ..Fake::of(&[99.0, 100.0, 101.0]) };
        let (sooner, _) = fake.raced();
        assert_eq!((standings(&sooner), sooner.ended), (vec![Failed, Best, Undecided], RaceEnd::Budget));
        assert_eq!(fake.checks, [0, 1]);
    }

    #[test]
    fn the_leader_may_be_the_one_that_fails() {
        use Standing::{Best, Failed, Slower};
        let (found, _) = Fake { breaks: vec![0], ..Fake::of(&[100.0, 101.0, 103.0]) }.race();
        assert_eq!(standings(&found), [Failed, Best, Slower]);
        assert_eq!(failures(&found), [(0, wrong())]);
    }

    /// It fails beside others and not alone.
    #[test]
    fn a_contender_that_fails_only_in_turn_is_out_for_that() {
        use Standing::{Best, Failed, Tie};
        let (found, _) = Fake { quarrels: vec![1], ..Fake::of(&[100.0, 100.0, 100.0]) }.race();
        assert_eq!(standings(&found), [Best, Failed, Tie]);
        assert_eq!(failures(&found), [(1, Failure::new(Stage::Worker, "was killed"))]);
    }

    #[test]
    fn a_budget_leaves_the_rest_undecided() {
        let (found, _) = Fake { budget: Some(104.0), ..Fake::of(&[100.0, 100.0, 100.0]) }.race();
        assert_eq!(found.ended, RaceEnd::Budget);
        assert_eq!(standings(&found), [Standing::Best, Standing::Tie, Standing::Undecided]);
        let (enough, _) = Fake { budget: Some(204.0), ..Fake::of(&[100.0, 100.0, 100.0]) }.race();
        assert_eq!(enough.ended, RaceEnd::Decided);
    }

    #[test]
    fn a_budget_that_ends_the_first_round_leaves_the_rest_not_measured() {
        use Standing::{Best, Failed, NotMeasured, Tie, Undecided};
        let equal = || Fake::of(&[100.0, 100.0, 100.0, 100.0]);
        let (found, _) = Fake { budget: Some(3.0), broken: vec![1], ..equal() }.race();
        assert_eq!(standings(&found), [Undecided, Failed, Undecided, NotMeasured]);
        assert_eq!((found.ended, failures(&found)), (RaceEnd::Budget, vec![(1, wrong())]));
        let (none, _) = Fake { budget: Some(0.0), ..equal() }.race();
        assert_eq!((none.ended, standings(&none)), (RaceEnd::Budget, vec![NotMeasured; 4]));
        // The first was not measured again: all have a time, but the first duel came too late.
        let (all, _) = Fake { budget: Some(4.0), ..equal() }.race();
        assert_eq!(
            (all.ended, standings(&all)),
            (RaceEnd::Budget, vec![Best, Undecided, Undecided, Undecided])
        );
        let (enough, _) = Fake { budget: Some(1e6), ..equal() }.race();
        assert_eq!((enough.ended, standings(&enough)), (RaceEnd::Decided, vec![Best, Tie, Tie, Tie]));
        // Nothing works of what was measured, and that is no winner either.
        let (broken, _) = Fake { budget: Some(1.0), broken: vec![0], ..equal() }.race();
        assert_eq!(standings(&broken), [Failed, NotMeasured, NotMeasured, NotMeasured]);
    }

    /// Times that deviate by a fifth do not tell half a percent, however often they are taken.
    #[test]
    fn the_last_analysis_may_leave_some_undecided() {
        let (found, _) = Fake { noise: 0.2, ..Fake::of(&[100.0, 100.4, 100.6]) }.race();
        assert_eq!(found.ended, RaceEnd::LastAnalysis);
        assert!(standings(&found).contains(&Standing::Undecided), "{:?}", standings(&found));
        let (quiet, _) = Fake { noise: 0.001, ..Fake::of(&[100.0, 100.4, 100.6]) }.race();
        assert_eq!(quiet.ended, RaceEnd::Decided);
    }

    #[test]
    fn what_was_found_before_an_interrupt_remains() {
        let (found, stopped) = Fake { stops_at: Some(2), ..Fake::of(&[100.0, 100.0, 100.0]) }.race();
        assert!(matches!(stopped, Some(RunError::Interrupted)));
        assert_eq!((found.ended, standings(&found)[1]), (RaceEnd::Stopped, Standing::Tie));
    }

    #[test]
    fn nothing_that_works_is_a_race_without_a_winner() {
        let (found, _) = Fake { broken: vec![0, 1], ..Fake::of(&[100.0, 100.0]) }.race();
        assert_eq!(standings(&found), [Standing::Failed; 2]);
        assert_eq!((found.ended, failures(&found).len()), (RaceEnd::Decided, 2));
    }
}
