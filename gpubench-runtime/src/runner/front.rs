//! The front of time and energy behind a race. In: a meter of energies, and the race's placings; out: the energy of each variant that
//! raced, and its place beside the front. All are measured in turn, in rounds, until all is decided or the budget is spent.

use super::supervisor::Ended;
use gpubench_records::failure::Failure;
use gpubench_records::samples::{Energy, EnergyMeasurement};
use gpubench_records::tuning::TunedEnergy;
use gpubench_stats::race::{Front, Placing, RaceRules, Standing};

/// Measures the energy of variants, by their numbers.
pub(crate) trait EnergyMeter {
    /// Measures the energy of a launch, back-to-back with others, once.
    fn energy(&mut self, variant: usize) -> Result<Result<Energy, Failure>, Ended>;
    /// Returns true if the budget is spent.
    fn is_spent(&self) -> bool;
}

/// The energies of a problem's variants.
#[derive(Debug, Default)]
pub(crate) struct FrontResult {
    /// For each variant that raced, its energy.
    pub(crate) energies: Vec<(usize, TunedEnergy)>,
    /// The reason that nothing more can be measured, if it was stopped by one.
    pub(crate) stopped: Option<Ended>,
}

/// Finds the front of the variants with these placings. Energy is not measured of a problem without a winner, and no more of a variant
/// of which it cannot be.
pub(crate) fn front(meter: &mut dyn EnergyMeter, placings: &[Placing], rules: RaceRules) -> FrontResult {
    let Some(best) = placings.iter().position(|placing| placing.standing == Standing::Best) else {
        return FrontResult::default();
    };
    let times: Vec<_> = placings.iter().map(|placing| placing.ratio).collect();
    let mut under_way = FrontUnderWay {
        front: Front::new(&times, best, rules),
        best,
        measured: vec![Vec::new(); placings.len()],
        refused: Vec::new(),
    };
    let ended = under_way.run(meter);
    let FrontUnderWay { front, measured, refused, .. } = under_way;
    let found = front.finish().into_iter();
    let mut energies: Vec<(usize, TunedEnergy)> = found
        .filter_map(|(variant, placing)| Some((variant, TunedEnergy::of(&measured[variant], placing)?)))
        .collect();
    energies.extend(refused.into_iter().map(|(variant, why)| (variant, TunedEnergy::Refused(why))));
    FrontResult { energies, stopped: ended.err() }
}

struct FrontUnderWay {
    front: Front,
    best: usize,
    measured: Vec<Vec<EnergyMeasurement>>,
    refused: Vec<(usize, String)>,
}

impl FrontUnderWay {
    /// Measures round after round, until all is decided or the budget is spent.
    fn run(&mut self, meter: &mut dyn EnergyMeter) -> Result<(), Ended> {
        while let Some(round) = self.front.next_round() {
            let mut energies = Vec::with_capacity(round.len());
            for variant in round {
                if meter.is_spent() {
                    // A round that is not whole is of use to nobody, since all are held against the fastest.
                    return Ok(());
                }
                let refused = match meter.energy(variant)? {
                    Ok(Energy::Measured(energy)) => {
                        energies.push((variant, energy.per_launch.0));
                        self.measured[variant].push(energy);
                        continue;
                    }
                    Ok(Energy::Refused(why)) => why,
                    Err(failure) => failure.to_string(),
                };
                self.measured[variant].clear();
                self.refused.push((variant, refused));
                self.front.fail(variant);
                if variant == self.best {
                    // There is nothing to hold the others against.
                    self.measured.iter_mut().for_each(Vec::clear);
                    return Ok(());
                }
            }
            self.front.add(&energies);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::failure::Stage;
    use gpubench_stats::Ratio;
    use gpubench_stats::race::FrontStanding::{self, Dominated, Front as OnFront, Undecided};
    use gpubench_stats::units::{Joules, Nanoseconds, Watts};

    const RULES: RaceRules = RaceRules { band: 0.005, error: 0.01 };

    /// Energies that are known; a negative one is refused, and a zero fails.
    struct Fake {
        energies: Vec<f64>,
        measured: usize,
        most: usize,
        stops_at: Option<usize>,
    }

    impl Fake {
        fn of(energies: &[f64]) -> Self {
            Self { energies: energies.to_vec(), measured: 0, most: usize::MAX, stops_at: None }
        }
    }

    impl EnergyMeter for Fake {
        fn energy(&mut self, variant: usize) -> Result<Result<Energy, Failure>, Ended> {
            self.measured += 1;
            if self.stops_at == Some(self.measured) {
                return Err(Ended::Interrupted);
            }
            let joules = self.energies[variant];
            if joules == 0.0 {
                return Ok(Err(Failure::new(Stage::Launch, "out of paper")));
            }
            if joules < 0.0 {
                return Ok(Ok(Energy::Refused("the device does not count its energy".to_owned())));
            }
            let (elapsed, launches) = (Nanoseconds::from_seconds(1.0), 1000);
            let power = Watts(1000.0 * joules);
            Ok(Ok(Energy::Measured(EnergyMeasurement {
                per_launch: Joules(joules),
                power,
                sensor: None,
                launches,
                elapsed,
                updates: 10,
                counted: elapsed,
            })))
        }

        fn is_spent(&self) -> bool {
            self.measured >= self.most
        }
    }

    /// Placings with these times over the best's, of which 1 is the best and 0 did not race.
    fn placings(times: &[f64]) -> Vec<Placing> {
        let placing = |time: &f64| {
            let standing = match *time {
                1.0 => Standing::Best,
                0.0 => Standing::LeftBehind,
                _ => Standing::Slower,
            };
            let ratio = Ratio { value: *time, low: time - 0.001, high: time + 0.001, confidence: 0.99 };
            Placing { standing, ratio: (*time > 0.0).then_some(ratio), pairs: 8, decided_at: Some(1) }
        };
        times.iter().map(placing).collect()
    }

    fn standings(result: &FrontResult) -> Vec<(usize, Option<FrontStanding>)> {
        result.energies.iter().map(|(variant, energy)| (*variant, energy.standing())).collect()
    }

    #[test]
    fn those_that_raced_are_measured_until_all_is_decided() {
        let mut fake = Fake::of(&[0.010, 0.008, 0.005, 0.012]);
        let found = front(&mut fake, &placings(&[1.0, 1.05, 0.0, 1.1]), RULES);
        assert_eq!(standings(&found), [(0, Some(OnFront)), (1, Some(OnFront)), (3, Some(Dominated))]);
        assert_eq!(fake.measured, 3 * 8);
        let TunedEnergy::Measured { per_launch, power, ratio, measurements, .. } = &found.energies[1].1
        else {
            panic!("{found:?}")
        };
        assert!((per_launch.0 - 0.008).abs() < 1e-12 && (power.0 - 8.0).abs() < 1e-9 && *measurements == 8);
        assert!(ratio.is_some_and(|ratio| (ratio.value - 0.8).abs() < 1e-9 && ratio.confidence == 0.99));
    }

    #[test]
    fn a_budget_leaves_what_is_not_decided_undecided() {
        let mut fake = Fake { most: 5, ..Fake::of(&[0.010, 0.008]) };
        let found = front(&mut fake, &placings(&[1.0, 1.05]), RULES);
        assert_eq!(standings(&found), [(0, Some(Undecided)), (1, Some(Undecided))]);
        assert_eq!(fake.measured, 5);
        // Four rounds are looked at.
        let mut fake = Fake { most: 9, ..Fake::of(&[0.010, 0.008]) };
        assert_eq!(
            standings(&front(&mut fake, &placings(&[1.0, 1.05]), RULES)),
            [(0, Some(OnFront)), (1, Some(OnFront))]
        );
        // What was measured before the user stopped it remains.
        let mut fake = Fake { stops_at: Some(3), ..Fake::of(&[0.010, 0.008]) };
        let stopped = front(&mut fake, &placings(&[1.0, 1.05]), RULES);
        assert!(matches!(stopped.stopped, Some(Ended::Interrupted)) && stopped.energies.len() == 2);
    }

    #[test]
    fn what_has_no_energy_says_why_and_costs_one_try() {
        let mut fake = Fake::of(&[0.010, -1.0, 0.0, 0.012]);
        let found = front(&mut fake, &placings(&[1.0, 1.05, 1.06, 1.1]), RULES);
        assert_eq!(standings(&found), [(0, Some(OnFront)), (3, Some(Dominated)), (1, None), (2, None)]);
        assert_eq!(
            found.energies[2].1,
            TunedEnergy::Refused("the device does not count its energy".to_owned())
        );
        assert_eq!(found.energies[3].1, TunedEnergy::Refused("launch: out of paper".to_owned()));
        assert_eq!(fake.measured, 2 + 2 * 8);
        // Without the fastest one's there is nothing to hold the others against.
        let mut fake = Fake::of(&[0.01, -1.0]);
        let none = front(&mut fake, &placings(&[1.05, 1.0]), RULES);
        assert_eq!((standings(&none), fake.measured), (vec![(1, None)], 1));
        assert!(front(&mut Fake::of(&[0.01]), &placings(&[0.0]), RULES).energies.is_empty());
    }
}
