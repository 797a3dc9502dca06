//! Finds changes of the level of a series of positive values in the order of time: where, by how much, and how
//! certain.
//!
//! `range_steps` finds steps in ranges of many lengths, and the strength that random permutations of the series' own
//! noise reach. The strongest step is a change. Ranges that contain it are left out, and the next strongest step
//! follows. At the end each change is located again between its neighbours, and tested again there.

use gpubench_stats::{CONFIDENCE, student_quantile};

use super::steps::{LevelStep, PERMUTATIONS, PrefixSums, permutation_strengths, residuals};

/// The fraction of permutations that may have a step as strong as a change. Of simulated series with skewed noise
/// and without a change, at most twice this fraction has a false alarm.
pub const FALSE_ALARMS: f64 = 0.005;

/// The least number of values in which changes are searched. Shorter series with skewed noise have too many false
/// alarms.
pub const MIN_SERIES_LENGTH: usize = 20;

/// A change of the level of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LevelChange {
    /// The index of the first value of the new level.
    pub at: usize,
    /// The first and the last index at which the new level may begin, with a confidence of 95 %.
    pub between: (usize, usize),
    /// The ratio of the new level to the level before it.
    pub ratio: f64,
    /// The 95 % interval of `ratio`.
    pub interval: [f64; 2],
    /// The index of the first value of the level before, and the index after the last value of the new level.
    pub levels: (usize, usize),
}

/// Returns the changes of a series of values in the order of time. Returns none if the series is shorter than
/// [`MIN_SERIES_LENGTH`], or has a value that is not positive and finite.
pub fn changes(values: &[f64]) -> Vec<LevelChange> {
    if values.len() < MIN_SERIES_LENGTH || values.iter().any(|value| !value.is_finite() || *value <= 0.0) {
        return Vec::new();
    }
    // Ratios are differences of logarithms; those from the first value are small numbers, whose sums are exact.
    let logs: Vec<f64> = values.iter().map(|value| (value / values[0]).ln()).collect();
    let series = PrefixSums::new(&logs);
    // Few series of normal values reach this strength. Without such a step, no permutations are needed.
    let usual = (2.0 * (logs.len() as f64).ln()).sqrt() + 0.5;
    let mut found: Vec<LevelStep> = series.range_steps().filter(|step| step.strength > usual).collect();
    found.sort_by(|one, other| other.strength.total_cmp(&one.strength));
    if found.is_empty() {
        return Vec::new();
    }
    let by_chance = permutation_strengths(&residuals(&logs));
    // The series itself counts as one of the permutations.
    let allowed = (FALSE_ALARMS * (PERMUTATIONS + 1) as f64) as usize;
    let needed = by_chance[PERMUTATIONS - allowed];
    series
        .located_again(without_overlaps(&found), needed)
        .iter()
        .map(|step| series.level_change(step))
        .collect()
}

/// Returns the indices of steps of `found`, which begins with the strongest. The indices are in ascending
/// order. Leaves out a step whose range contains a stronger step, unless that one is left out too.
fn without_overlaps(found: &[LevelStep]) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    for step in found {
        if !chosen.iter().any(|at| step.begin < *at && *at < step.end) {
            chosen.push(step.at);
        }
    }
    chosen.sort_unstable();
    chosen
}

impl PrefixSums {
    /// Moves each step to the strongest one between its neighbours. `places` has the indices of the steps.
    /// While the weakest step is not stronger than `needed`, drops it and moves the others again. Returns the
    /// steps that are left.
    fn located_again(&self, mut places: Vec<usize>, needed: f64) -> Vec<LevelStep> {
        loop {
            for number in 0..places.len() {
                places[number] = self.step_between_neighbours(&places, number).at;
            }
            let steps: Vec<LevelStep> =
                (0..places.len()).map(|number| self.step_between_neighbours(&places, number)).collect();
            let weakest =
                (0..steps.len()).min_by(|one, other| steps[*one].strength.total_cmp(&steps[*other].strength));
            match weakest {
                Some(weakest) if steps[weakest].strength <= needed => _ = places.remove(weakest),
                _ => return steps,
            }
        }
    }

    /// Returns the strongest step between the neighbours of `places[number]`. Where there is no neighbour,
    /// the end of the series replaces it.
    fn step_between_neighbours(&self, places: &[usize], number: usize) -> LevelStep {
        let begin = if number == 0 { 0 } else { places[number - 1] };
        let end = places.get(number + 1).copied().unwrap_or(self.len());
        self.strongest_step(begin, end)
    }

    /// Converts a step of logarithms to a change: a ratio of levels, with its interval and that of its index.
    fn level_change(&self, step: &LevelStep) -> LevelChange {
        let LevelStep { begin, at, end, .. } = *step;
        let size = self.step_size(begin, at, end);
        let error = self.standard_error(begin, at, end);
        let half = student_quantile(CONFIDENCE, end - begin - 2) * error;
        LevelChange {
            at,
            between: self.index_interval(step),
            ratio: size.exp(),
            interval: [size - half, size + half].map(f64::exp),
            levels: (begin, end),
        }
    }
}

/// Series whose changes are known.
#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::SmallRng};
    use rand_distr::{Distribution, Normal, StudentT};

    use super::*;

    /// Noise of this kind, as a part of a time.
    type NoiseSource = fn(&mut SmallRng) -> f64;

    fn normal(random: &mut SmallRng) -> f64 {
        Normal::new(0.0, 0.002).expect("it is one").sample(random)
    }

    /// Kinds of noise that nights have. The last but one is two places in memory.
    const KINDS: [(&str, NoiseSource); 5] = [
        ("normal", normal),
        ("heavy tails", |random| 0.002 * StudentT::new(4.0).expect("it is one").sample(random)),
        ("skewed", |random| 0.002 * (normal(random) / 0.002).exp()),
        ("two modes", |random| normal(random) + 0.01 * f64::from(random.random_bool(0.3))),
        ("outliers", |random| {
            normal(random) + 0.05 * f64::from(random.random_bool(0.02)) * random.random::<f64>()
        }),
    ];

    /// Three speeds of a clock, 5 % apart, most nights with the same one, and next to no noise within each.
    fn clusters(seed: u64, length: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = SmallRng::seed_from_u64(seed);
        (0..length)
            .map(|at| {
                let speed = [0, 0, 0, 0, 0, 0, 0, 1, 1, 2][random.random_range(0..10)];
                1e5 * level(at) * (1.0 + 0.05 * f64::from(speed) + 0.1 * normal(&mut random))
            })
            .collect()
    }

    /// A step that is far larger than the distance of clusters is found, and a cluster is not a step.
    #[test]
    fn values_in_clusters_have_the_noise_of_all() {
        let (mut found, mut alarms) = (0, 0);
        for seed in 0..100 {
            let stepped = changes(&clusters(seed, 40, |at| if at < 14 { 1.0 } else { 1.4 }));
            found += usize::from(stepped.iter().any(|change| change.at.abs_diff(14) <= 1));
            alarms += usize::from(!changes(&clusters(seed, 40, |_| 1.0)).is_empty());
        }
        assert!(found >= 95 && alarms <= 1, "{found} found, {alarms} alarms");
    }

    /// A series of this many values, of this level and noise.
    fn series(seed: u64, length: usize, noise: NoiseSource, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = SmallRng::seed_from_u64(seed);
        (0..length).map(|at| 1e5 * level(at) * (1.0 + noise(&mut random))).collect()
    }

    fn alarms(noise: NoiseSource, length: usize, seeds: u64) -> usize {
        (0..seeds).filter(|seed| !changes(&series(*seed, length, noise, |_| 1.0)).is_empty()).count()
    }

    fn unchanged_series(numbers: [(usize, u64); 3]) {
        for (kind, noise) in KINDS {
            for (length, seeds) in numbers {
                let alarms = alarms(noise, length, seeds);
                assert!(
                    alarms as f64 <= 0.01 * seeds as f64,
                    "{kind}: {alarms} of {seeds} series of {length}"
                );
            }
        }
    }

    /// An alarm in one of 20 series would be more than these with a probability of 96 % or more, for each kind and length.
    #[test]
    fn at_most_one_in_a_hundred_unchanged_series_has_a_change() {
        unchanged_series([(MIN_SERIES_LENGTH, 300), (40, 200), (60, 100)]);
    }

    #[test]
    #[ignore = "slow: .ci/release runs it"]
    fn at_most_one_in_a_hundred_of_many_unchanged_series_has_a_change() {
        unchanged_series([(MIN_SERIES_LENGTH, 800), (40, 400), (60, 300)]);
    }

    #[test]
    fn a_step_is_found_at_its_place_and_nothing_else() {
        for (length, first, end) in
            [(60, 30, 60), (60, 56, 60), (20, 10, 20), (365, 361, 365), (365, 200, 207), (3650, 2000, 2003)]
        {
            // What is long decides in the same way, and takes long.
            for seed in 0..if length > 60 { 2 } else { 5 } {
                let values =
                    series(seed, length, normal, |at| if (first..end).contains(&at) { 1.03 } else { 1.0 });
                let found = changes(&values);
                let places: Vec<usize> = found.iter().map(|change| change.at).collect();
                let expected = if end == length { vec![first] } else { vec![first, end] };
                let near = places.len() == expected.len()
                    && places.iter().zip(&expected).all(|(found, at)| found.abs_diff(*at) <= 1);
                assert!(near, "{length} values, {first}..{end}, seed {seed}: {places:?}");
                let LevelChange { at, between, ratio, interval, .. } = found[0];
                assert!(between.0 <= at && at <= between.1 && between.1 - between.0 <= 3, "{between:?}");
                assert!(
                    (ratio - 1.03).abs() < 0.005 && interval[0] < ratio && ratio < interval[1],
                    "{ratio}"
                );
            }
        }
    }

    /// The test repository of 60 commits: +3 %, then +10 %, then a slow drift.
    #[test]
    fn several_changes_are_each_found_within_one_value() {
        let level = |at: usize| match at {
            0..40 => 1.0,
            40..44 => 1.03,
            at => 1.133 + 0.003 * at.saturating_sub(48) as f64,
        };
        let mut drifts = 0;
        for seed in 0..20 {
            let found = changes(&series(seed, 60, normal, level));
            for planted in [40, 44] {
                assert!(found.iter().any(|change| change.at.abs_diff(planted) <= 1), "{seed}: {found:?}");
            }
            drifts += usize::from(found.iter().any(|change| (49..60).contains(&change.at)));
            assert!(found.iter().all(|change| change.at >= 39), "{seed}: {found:?}");
        }
        assert!(drifts >= 18, "the drift, which is no step, in {drifts} of 20");
    }

    #[test]
    fn intervals_hold_the_true_size_and_place() {
        let (mut sizes, mut places) = (0, 0);
        for seed in 0..100 {
            let found = changes(&series(seed, 80, normal, |at| if at < 50 { 1.0 } else { 1.006 }));
            if let [change] = &found[..] {
                sizes += usize::from(change.interval[0] <= 1.006 && 1.006 <= change.interval[1]);
                places += usize::from(change.between.0 <= 50 && 50 <= change.between.1);
            }
        }
        // Places are chosen by the noise, which makes sizes too large.
        assert!(sizes >= 90 && places >= 92, "{sizes} and {places} of 100");
    }

    #[test]
    fn an_outlier_is_no_change() {
        for at in [0, 1, 30, 58, 59] {
            let mut values = series(1, 60, normal, |_| 1.0);
            values[at] *= 1.2;
            assert_eq!(changes(&values), [], "at {at}");
        }
    }

    #[test]
    fn equal_values_have_no_change_and_two_levels_one() {
        assert_eq!(changes(&[250.0; 60]), []);
        let found = changes(&[vec![250.0; 30], vec![251.0; 30]].concat());
        assert_eq!(
            found.iter().map(|change| (change.at, change.between)).collect::<Vec<_>>(),
            [(30, (30, 30))]
        );
    }

    #[test]
    fn what_is_no_series_of_times_has_no_changes() {
        let step = [vec![1.0; 20], vec![2.0; 20]].concat();
        assert_eq!(changes(&step).len(), 1);
        for strange in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            let mut values = step.clone();
            values[3] = strange;
            assert_eq!(changes(&values), [], "{strange}");
        }
        assert_eq!(changes(&step[20 - MIN_SERIES_LENGTH / 2..19 + MIN_SERIES_LENGTH / 2]), []);
        assert_eq!(changes(&[]), []);
    }

    /// Prints how many simulated series have a false alarm, and in how many a step is found.
    #[test]
    #[ignore = "a simulation of minutes, which prints its figures"]
    #[expect(clippy::print_stdout, reason = "its figures are read by whoever runs it")]
    fn simulated() {
        for (kind, noise) in KINDS {
            for (length, seeds) in [(20, 10_000), (60, 10_000), (365, 2000), (3650, 300)] {
                println!("{kind}, {length} values: alarms in {} of {seeds}", alarms(noise, length, seeds));
            }
            for (length, first, end) in [
                (60, 30, 60),
                (60, 58, 60),
                (60, 57, 60),
                (60, 56, 60),
                (365, 363, 365),
                (365, 200, 205),
                (3650, 2000, 2003),
            ] {
                let found = |seed: &u64| {
                    let step = |at| if (first..end).contains(&at) { 1.03 } else { 1.0 };
                    changes(&series(*seed, length, noise, step)).iter().any(|it| it.at.abs_diff(first) <= 1)
                };
                println!(
                    "{kind}, {length} values, 3 % in {first}..{end}: {} of 100",
                    (0..100).filter(found).count()
                );
            }
        }
        for part in [0.3, 0.6] {
            let of_before = |seed: u64| {
                let mut random = SmallRng::seed_from_u64(seed);
                let mut state = 0.0;
                let next = |_| {
                    state = part * state + normal(&mut random);
                    1e5 * (1.0 + state)
                };
                changes(&(0..60).map(next).collect::<Vec<_>>())
            };
            let alarms = (0..2000).filter(|seed| !of_before(*seed).is_empty()).count();
            println!("each value with {part} of the one before, 60 values: alarms in {alarms} of 2000");
        }
    }
}
