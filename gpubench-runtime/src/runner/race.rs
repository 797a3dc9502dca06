//! A race of variants, led to its end. In: a source of times and of rounds; out: a placing for each variant, the failures, and the
//! reason that it ended. Everything is measured through [`Racers`], so that a race also runs in memory.

use super::supervisor::Ended;
use gpubench_records::failure::Failure;
use gpubench_records::tuning::RaceEnd;
use gpubench_stats::race::{Duel, Finish, LookTaken, Placing, Race, RaceRules, Standing};
use gpubench_stats::units::Nanoseconds;

/// The rounds of two variants that took turns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DuelRounds {
    /// The logarithm of the contender's time over the leader's, for each round.
    pub(crate) logs: Vec<f64>,
    /// The least difference of logarithms that they resolve.
    pub(crate) resolution: f64,
}

/// Measures variants, by their numbers.
pub(crate) trait Racers {
    /// Measures a variant alone, briefly, and does not check its outputs.
    fn coarse(&mut self, variant: usize) -> Result<Result<Nanoseconds, Failure>, Ended>;
    /// Launches a variant once, and checks its outputs.
    fn check(&mut self, variant: usize) -> Result<Result<(), Failure>, Ended>;
    /// Measures two in turn, for a step.
    fn duel(&mut self, duel: Duel) -> Result<Result<DuelRounds, Failure>, Ended>;
    /// Returns true if the budget is spent.
    fn is_spent(&self) -> bool;
    /// Returns the time since the race began.
    fn elapsed(&self) -> Nanoseconds;
}

/// The result of a race.
#[derive(Debug)]
pub(crate) struct RaceResult {
    /// For each variant its coarse time.
    pub(crate) coarse: Vec<Option<Nanoseconds>>,
    /// For each variant its placing.
    pub(crate) placings: Vec<Placing>,
    /// The beginning and each look, with the time since the race began.
    pub(crate) looks: Vec<(LookTaken, Nanoseconds)>,
    /// The failures, with the numbers of their variants.
    pub(crate) failures: Vec<(usize, Failure)>,
    pub(crate) end: RaceEnd,
    /// The reason that nothing more can be measured, if the race was stopped by one.
    pub(crate) stopped: Option<Ended>,
}

/// Races so many variants. A variant that fails is out, and what it was measured with is measured once more. The outputs of those that
/// race are checked, which may take longer than all of their times: those of the others, which are far slower, are not. A budget that ends
/// while variants are measured alone leaves the rest not measured, and the problem without a winner.
pub(crate) fn race(racers: &mut dyn Racers, variants: usize, rules: RaceRules) -> RaceResult {
    let mut race =
        RaceUnderWay { coarse: vec![None; variants], right: vec![false; variants], failures: Vec::new() };
    let alone = race.measure_alone(racers);
    let mut laps = Race::new(&race.coarse, rules);
    race.failures.iter().for_each(|(failed, _)| laps.fail(*failed));
    let mut times = vec![racers.elapsed(); laps.looks_taken()];
    let led = match alone {
        Ok(RaceEnd::Decided) => race.run(racers, &mut laps, &mut times),
        ended => ended,
    };
    let (end, stopped) = led.map_or_else(|why| (RaceEnd::Stopped, Some(why)), |end| (end, None));
    let Finish { placings, looks } = laps.finish();
    times.resize_with(looks.len(), || racers.elapsed());
    let is_left = |placing: &Placing| matches!(placing.standing, Standing::Undecided | Standing::NotMeasured);
    let undecided = placings.iter().any(is_left);
    let end = match end {
        RaceEnd::Decided if undecided => RaceEnd::LastLook,
        RaceEnd::Budget if !undecided => RaceEnd::Decided,
        end => end,
    };
    let looks = looks.into_iter().zip(times).collect();
    RaceResult { coarse: race.coarse, placings, looks, failures: race.failures, end, stopped }
}

struct RaceUnderWay {
    coarse: Vec<Option<Nanoseconds>>,
    /// The variants whose outputs were checked, and were right.
    right: Vec<bool>,
    failures: Vec<(usize, Failure)>,
}

impl RaceUnderWay {
    /// Measures each variant alone; the first once more at the end, since clocks rise while a device warms up. Returns
    /// [`RaceEnd::Decided`] if the budget allowed all of it.
    fn measure_alone(&mut self, racers: &mut dyn Racers) -> Result<RaceEnd, Ended> {
        let variants = self.coarse.len();
        for variant in (0..variants).chain((variants > 1).then_some(0)) {
            if self.failures.iter().any(|(failed, _)| *failed == variant) {
                continue;
            }
            if racers.is_spent() {
                return Ok(RaceEnd::Budget);
            }
            match racers.coarse(variant)? {
                Ok(time) => self.coarse[variant] = Some(time),
                Err(failure) => self.fail(variant, failure),
            }
        }
        Ok(RaceEnd::Decided)
    }

    /// Compares until all is decided or the budget is spent, and notes in `times` when each look was taken. The best has been checked
    /// in any case.
    fn run(
        &mut self,
        racers: &mut dyn Racers,
        race: &mut Race,
        times: &mut Vec<Nanoseconds>,
    ) -> Result<RaceEnd, Ended> {
        let mut end = RaceEnd::Decided;
        loop {
            let next = race.next_duel();
            times.resize_with(race.looks_taken(), || racers.elapsed());
            if next.is_some() && racers.is_spent() {
                end = RaceEnd::Budget;
            }
            let next = next.filter(|_| end == RaceEnd::Decided);
            let unchecked = [race.leader(), next.map(|duel| duel.contender)];
            match (unchecked.into_iter().flatten().find(|one| !self.right[*one]), next) {
                (Some(variant), _) => match racers.check(variant)? {
                    Ok(()) => self.right[variant] = true,
                    Err(failure) => {
                        self.fail(variant, failure);
                        race.fail(variant);
                    }
                },
                (None, Some(duel)) => self.duel(racers, race, duel)?,
                (None, None) => return Ok(end),
            }
        }
    }

    fn fail(&mut self, variant: usize, failure: Failure) {
        self.coarse[variant] = None;
        self.failures.push((variant, failure));
    }

    /// Measures two in turn. If that fails, whichever fails alone is at fault, and else the contender.
    fn duel(&mut self, racers: &mut dyn Racers, race: &mut Race, duel: Duel) -> Result<(), Ended> {
        let failure = match racers.duel(duel)? {
            Ok(rounds) => {
                race.add(duel, &rounds.logs, rounds.resolution);
                return Ok(());
            }
            Err(failure) => failure,
        };
        let mut is_told = false;
        for variant in [duel.leader, duel.contender] {
            if let Err(failure) = racers.coarse(variant)? {
                self.fail(variant, failure);
                race.fail(variant);
                is_told = true;
            }
        }
        if !is_told {
            self.fail(duel.contender, failure);
            race.fail(duel.contender);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::failure::Stage;

    const RULES: RaceRules = RaceRules { band: 0.005, error: 0.01 };

    /// Variants with these times, of which some fail: alone from the start, alone from a duel on, in their checks, or only in duels.
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
        alone: usize,
        most: Option<usize>,
        most_alone: Option<usize>,
        stops_at: Option<usize>,
    }

    impl Fake {
        fn of(times: &[f64]) -> Self {
            Self { times: times.to_vec(), ..Self::default() }
        }

        fn race(mut self) -> RaceResult {
            self.raced()
        }

        fn raced(&mut self) -> RaceResult {
            let variants = self.times.len();
            race(self, variants, RULES)
        }
    }

    fn wrong() -> Failure {
        Failure::new(Stage::Check, "the sum is wrong")
    }

    impl Racers for Fake {
        fn coarse(&mut self, variant: usize) -> Result<Result<Nanoseconds, Failure>, Ended> {
            self.alone += 1;
            let breaks = self.duels > 0 && self.breaks.contains(&variant);
            Ok(if breaks || self.broken.contains(&variant) {
                Err(wrong())
            } else {
                Ok(Nanoseconds(self.times[variant]))
            })
        }

        fn check(&mut self, variant: usize) -> Result<Result<(), Failure>, Ended> {
            self.checks.push(variant);
            Ok(if self.wrong.contains(&variant) { Err(wrong()) } else { Ok(()) })
        }

        fn duel(&mut self, Duel { contender, leader }: Duel) -> Result<Result<DuelRounds, Failure>, Ended> {
            self.duels += 1;
            if self.stops_at == Some(self.duels) {
                return Err(Ended::Interrupted);
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

        fn is_spent(&self) -> bool {
            self.most.is_some_and(|most| self.duels >= most)
                || self.most_alone.is_some_and(|most| self.alone >= most)
        }

        fn elapsed(&self) -> Nanoseconds {
            Nanoseconds(self.alone as f64 + 100.0 * self.duels as f64)
        }
    }

    fn standings(result: &RaceResult) -> Vec<Standing> {
        result.placings.iter().map(|placing| placing.standing).collect()
    }

    #[test]
    fn a_variant_that_fails_is_out_and_costs_nothing_else() {
        use Standing::{Best, Failed, Slower, Tie};
        let found = Fake { broken: vec![1], ..Fake::of(&[102.0, 90.0, 100.0, 100.1]) }.race();
        assert_eq!(standings(&found), [Slower, Failed, Best, Tie]);
        assert_eq!(found.failures, [(1, wrong())]);
        assert_eq!((found.end, found.coarse[1]), (RaceEnd::Decided, None));
    }

    /// A launch that does nothing is fast. What it seemed to leave behind races.
    #[test]
    fn wrong_outputs_beat_nobody_and_what_is_far_slower_is_not_checked() {
        use Standing::{Best, Failed, LeftBehind, Slower, Tie};
        let mut fake = Fake { wrong: vec![1, 4], ..Fake::of(&[100.2, 10.0, 100.0, 140.0, 101.0, 103.0]) };
        let found = fake.raced();
        assert_eq!(standings(&found), [Tie, Failed, Best, LeftBehind, Failed, Slower]);
        assert_eq!(found.failures, [(1, wrong()), (4, wrong())]);
        fake.checks.sort_unstable();
        assert_eq!(fake.checks, [0, 1, 2, 4, 5]);
    }

    #[test]
    fn the_best_is_checked_also_if_nothing_races_it_or_the_budget_is_spent() {
        use Standing::{Best, Failed, LeftBehind, Undecided};
        let alone = Fake { wrong: vec![1], ..Fake::of(&[100.0, 10.0, 140.0]) }.race();
        assert_eq!((standings(&alone), alone.end), (vec![Best, Failed, LeftBehind], RaceEnd::Decided));
        let spent = Fake { wrong: vec![0], most_alone: Some(4), ..Fake::of(&[99.0, 100.0, 101.0]) }.race();
        assert_eq!((standings(&spent), spent.end), (vec![Failed, Best, Undecided], RaceEnd::Budget));
    }

    #[test]
    fn the_leader_may_be_the_one_that_fails() {
        use Standing::{Best, Failed, Slower};
        let found = Fake { breaks: vec![0], ..Fake::of(&[100.0, 101.0, 103.0]) }.race();
        assert_eq!(standings(&found), [Failed, Best, Slower]);
        assert_eq!(found.failures, [(0, wrong())]);
    }

    /// It fails beside others and not alone.
    #[test]
    fn a_contender_that_fails_only_in_turn_is_out_for_that() {
        use Standing::{Best, Failed, Tie};
        let found = Fake { quarrels: vec![1], ..Fake::of(&[100.0, 100.0, 100.0]) }.race();
        assert_eq!(standings(&found), [Best, Failed, Tie]);
        assert_eq!(found.failures, [(1, Failure::new(Stage::Worker, "was killed"))]);
    }

    #[test]
    fn a_budget_leaves_the_rest_undecided() {
        let found = Fake { most: Some(1), ..Fake::of(&[100.0, 100.0, 100.0]) }.race();
        assert_eq!(found.end, RaceEnd::Budget);
        assert_eq!(standings(&found), [Standing::Best, Standing::Tie, Standing::Undecided]);
        let enough = Fake { most: Some(2), ..Fake::of(&[100.0, 100.0, 100.0]) }.race();
        assert_eq!(enough.end, RaceEnd::Decided);
    }

    #[test]
    fn a_budget_that_ends_the_first_round_leaves_the_rest_not_measured() {
        use Standing::{Best, Failed, NotMeasured, Tie, Undecided};
        let equal = || Fake::of(&[100.0, 100.0, 100.0, 100.0]);
        let found = Fake { most_alone: Some(3), broken: vec![1], ..equal() }.race();
        assert_eq!(standings(&found), [Undecided, Failed, Undecided, NotMeasured]);
        assert_eq!((found.end, found.failures), (RaceEnd::Budget, vec![(1, wrong())]));
        let none = Fake { most_alone: Some(0), ..equal() }.race();
        assert_eq!((none.end, standings(&none)), (RaceEnd::Budget, vec![NotMeasured; 4]));
        // The first was not measured again: all have a time, but the first duel came too late.
        let all = Fake { most_alone: Some(4), ..equal() }.race();
        assert_eq!(
            (all.end, standings(&all)),
            (RaceEnd::Budget, vec![Best, Undecided, Undecided, Undecided])
        );
        let enough = Fake { most_alone: Some(6), ..equal() }.race();
        assert_eq!((enough.end, standings(&enough)), (RaceEnd::Decided, vec![Best, Tie, Tie, Tie]));
        // Nothing works of what was measured, and that is no winner either.
        let broken = Fake { most_alone: Some(1), broken: vec![0], ..equal() }.race();
        assert_eq!(standings(&broken), [Failed, NotMeasured, NotMeasured, NotMeasured]);
    }

    #[test]
    fn looks_have_the_times_at_which_they_were_taken() {
        let found = Fake::of(&[100.0, 100.0, 103.0]).race();
        let looks: Vec<_> = found
            .looks
            .iter()
            .map(|(look, at)| (look.steps, look.left, look.undecided, at.as_f64()))
            .collect();
        assert_eq!(looks, [(0, 3, 2, 4.0), (2, 2, 0, 204.0)]);
        let stopped = Fake { stops_at: Some(2), ..Fake::of(&[100.0, 100.0, 103.0]) }.race();
        let looks: Vec<_> =
            stopped.looks.iter().map(|(look, at)| (look.steps, look.left, at.as_f64())).collect();
        assert_eq!(looks, [(0, 3, 4.0), (1, 3, 204.0)]);
    }

    /// Times that deviate by a fifth do not tell half a percent, however often they are taken.
    #[test]
    fn the_last_look_may_leave_some_undecided() {
        let found = Fake { noise: 0.2, ..Fake::of(&[100.0, 100.4, 100.6]) }.race();
        assert_eq!(found.end, RaceEnd::LastLook);
        assert!(standings(&found).contains(&Standing::Undecided), "{:?}", standings(&found));
        let quiet = Fake { noise: 0.001, ..Fake::of(&[100.0, 100.4, 100.6]) }.race();
        assert_eq!(quiet.end, RaceEnd::Decided);
    }

    #[test]
    fn what_was_found_before_an_interrupt_remains() {
        let found = Fake { stops_at: Some(2), ..Fake::of(&[100.0, 100.0, 100.0]) }.race();
        assert!(matches!(found.stopped, Some(Ended::Interrupted)));
        assert_eq!((found.end, standings(&found)[1]), (RaceEnd::Stopped, Standing::Tie));
    }

    #[test]
    fn nothing_that_works_is_a_race_without_a_winner() {
        let found = Fake { broken: vec![0, 1], ..Fake::of(&[100.0, 100.0]) }.race();
        assert_eq!(standings(&found), [Standing::Failed; 2]);
        assert_eq!((found.end, found.failures.len()), (RaceEnd::Decided, 2));
    }
}
