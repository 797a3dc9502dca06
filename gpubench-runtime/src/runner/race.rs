//! A race of variants, led to its end. In: a source of times and of rounds; out: a placing for each variant, the failures, and the
//! reason that it ended. Everything is measured through [`Racers`], so that a race also runs in memory.

use super::supervisor::Ended;
use gpubench_records::failure::Failure;
use gpubench_records::tuning::RaceEnd;
use gpubench_stats::race::{Duel, Placing, Race, RaceRules, Standing};
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
}

/// The result of a race.
#[derive(Debug)]
pub(crate) struct RaceResult {
    /// For each variant its coarse time.
    pub(crate) coarse: Vec<Option<Nanoseconds>>,
    /// For each variant its placing.
    pub(crate) placings: Vec<Placing>,
    /// The failures, with the numbers of their variants.
    pub(crate) failures: Vec<(usize, Failure)>,
    pub(crate) end: RaceEnd,
    /// The reason that nothing more can be measured, if the race was stopped by one.
    pub(crate) stopped: Option<Ended>,
}

/// Races so many variants. A variant that fails is out, and what it was measured with is measured once more. The outputs of those that
/// race are checked, which may take longer than all of their times: those of the others, which are far slower, are not.
pub(crate) fn race(racers: &mut dyn Racers, variants: usize, rules: RaceRules) -> RaceResult {
    let mut race =
        RaceUnderWay { coarse: vec![None; variants], right: vec![false; variants], failures: Vec::new() };
    let mut stopped = race.measure_alone(racers).err();
    let mut laps = Race::new(&race.coarse, rules);
    let mut end = RaceEnd::Decided;
    if stopped.is_none() {
        match race.run(racers, &mut laps) {
            Ok(ended) => end = ended,
            Err(why) => stopped = Some(why),
        }
    }
    let placings = laps.end();
    let undecided = placings.iter().any(|placing| placing.standing == Standing::Undecided);
    end = match end {
        _ if stopped.is_some() => RaceEnd::Stopped,
        RaceEnd::Decided if undecided => RaceEnd::LastLook,
        RaceEnd::Budget if !undecided => RaceEnd::Decided,
        end => end,
    };
    RaceResult { coarse: race.coarse, placings, failures: race.failures, end, stopped }
}

struct RaceUnderWay {
    coarse: Vec<Option<Nanoseconds>>,
    /// The variants whose outputs were checked, and were right.
    right: Vec<bool>,
    failures: Vec<(usize, Failure)>,
}

impl RaceUnderWay {
    /// Measures each variant alone; the first once more at the end, since clocks rise while a device warms up.
    fn measure_alone(&mut self, racers: &mut dyn Racers) -> Result<(), Ended> {
        let variants = self.coarse.len();
        for variant in (0..variants).chain((variants > 1).then_some(0)) {
            if self.failures.iter().any(|(failed, _)| *failed == variant) {
                continue;
            }
            match racers.coarse(variant)? {
                Ok(time) => self.coarse[variant] = Some(time),
                Err(failure) => self.fail(variant, failure),
            }
        }
        Ok(())
    }

    /// Compares until all is decided or the budget is spent. The best has been checked in any case.
    fn run(&mut self, racers: &mut dyn Racers, race: &mut Race) -> Result<RaceEnd, Ended> {
        let mut end = RaceEnd::Decided;
        loop {
            let next = race.next_duel();
            // Variants that have not been measured alone are no tie: a budget ends the race behind the first round at the earliest.
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
        duels: usize,
        most: Option<usize>,
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
            Ok(Ok(DuelRounds { logs: vec![log; 8], resolution: 1e-4 }))
        }

        fn is_spent(&self) -> bool {
            self.most.is_some_and(|most| self.duels >= most)
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
        let spent = Fake { wrong: vec![0], most: Some(0), ..Fake::of(&[99.0, 100.0, 101.0]) }.race();
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
