//! The best variants of a benchmark by device and problem, to be shipped. In: the tunings of one or more devices; out: a
//! [`TunedTable`] for each benchmark.

use super::{TunedBenchmark, TunedProblem, Tuning};
use crate::facts::{DRIVER, Facts, Property, Value};
use crate::id::Arg;
use crate::method::Cache;

/// The best variants of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct TunedTable {
    /// The benchmark's path, crate first.
    pub benchmark: String,
    /// The hash of its axes.
    pub axes: String,
    /// Its part for each model, in the order of the tunings.
    pub models: Vec<ModelTable>,
}

/// The best variants of a benchmark on a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelTable {
    /// The name that its maker gave the device.
    pub model: String,
    /// True for a stand-in for tests.
    pub fake: bool,
    /// The release of its driver, if it has one.
    pub driver: Option<String>,
    /// Hot or cold, as it was raced.
    pub cache: Cache,
    /// The difference of two times that does not matter, as a fraction.
    pub band: f64,
    /// The problems, each with its best variant.
    pub problems: Vec<(Vec<Arg>, Vec<Arg>)>,
    /// The variant for other problems: that with the least greatest loss over all of these.
    pub default: Vec<Arg>,
}

/// The reason that there is no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTable {
    /// A problem has no winner.
    #[error("`{benchmark}` has no winner for {problem} on {model}: race it to its end")]
    NoWinner {
        /// The benchmark's path.
        benchmark: String,
        /// The problem's arguments.
        problem: String,
        /// The model of the device.
        model: String,
    },
    /// The tunings are of different benchmarks of one name.
    #[error("`{benchmark}` had other axes or values on {model} than on {first}: tune it again on both")]
    Changed {
        /// The benchmark's path.
        benchmark: String,
        /// The model of the device.
        model: String,
        /// The model that came first.
        first: String,
    },
    /// Two tunings have the same benchmark on the same model.
    #[error("`{benchmark}` was tuned twice on {model}: give one of the two")]
    Twice {
        /// The benchmark's path.
        benchmark: String,
        /// The model of the device.
        model: String,
    },
    /// No tuning has a benchmark.
    #[error("nothing was tuned")]
    Nothing,
}

impl TunedTable {
    /// Returns a table for each benchmark of these tunings. Of one that was raced hot and cold, the hot races count.
    ///
    /// # Errors
    /// If a problem has no winner, or the tunings contradict each other.
    pub fn of(tunings: &[Tuning]) -> Result<Vec<Self>, NoTable> {
        let mut tables: Vec<Self> = Vec::new();
        for tuning in tunings {
            for tuned in tuning.benchmarks.iter().filter(|tuned| tuning.is_preferred(tuned)) {
                let part = ModelTable::of(tuning, tuned)?;
                let TunedBenchmark { benchmark, axes, .. } = tuned;
                match tables.iter_mut().find(|table| table.benchmark == *benchmark) {
                    Some(table) => table.add(axes, part)?,
                    None => tables.push(Self {
                        benchmark: benchmark.clone(),
                        axes: axes.clone(),
                        models: vec![part],
                    }),
                }
            }
        }
        if tables.is_empty() { Err(NoTable::Nothing) } else { Ok(tables) }
    }

    fn add(&mut self, axes: &str, part: ModelTable) -> Result<(), NoTable> {
        let (benchmark, model) = (self.benchmark.clone(), part.model.clone());
        if self.models.iter().any(|other| other.model == part.model) {
            return Err(NoTable::Twice { benchmark, model });
        }
        if self.axes != axes {
            let first = self.models.first().map(|first| first.model.clone()).unwrap_or_default();
            return Err(NoTable::Changed { benchmark, model, first });
        }
        self.models.push(part);
        Ok(())
    }
}

impl ModelTable {
    fn of(tuning: &Tuning, tuned: &TunedBenchmark) -> Result<Self, NoTable> {
        let TunedBenchmark { benchmark, device, model, cache, .. } = tuned;
        let best_of = |problem: &TunedProblem| {
            let no_winner = || NoTable::NoWinner {
                benchmark: benchmark.clone(),
                problem: problem.args.iter().map(Arg::to_string).collect::<Vec<_>>().join(", "),
                model: model.clone(),
            };
            let best = problem.best().ok_or_else(no_winner)?;
            Ok((problem.args.clone(), best.args.clone()))
        };
        let problems = tuned.problems.iter().map(best_of).collect::<Result<Vec<_>, _>>()?;
        let alone = tuned.shipped.as_ref().and_then(|shipped| shipped.alone.as_ref());
        let alone = alone.filter(|_| problems.len() > 1).map(|alone| alone.args.clone());
        let first = || problems.first().map(|(_, best)| best.clone()).unwrap_or_default();
        let facts = tuning.devices.iter().find(|facts| facts.device == *device);
        let driver = |facts: &Facts| {
            facts.properties.iter().find_map(|Property { name, value }| match value {
                Value::Text(driver) if name == DRIVER => Some(driver.clone()),
                _ => None,
            })
        };
        Ok(Self {
            model: model.clone(),
            fake: facts.is_some_and(|facts| facts.fake),
            driver: facts.and_then(driver),
            cache: *cache,
            band: tuning.method.band,
            default: alone.unwrap_or_else(first),
            problems,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    use gpubench_stats::race::Standing;

    fn recorded() -> Tuning {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tuning.json");
        Tuning::parse(&fs::read(file).expect("it is there")).expect("a tuning")
    }

    fn on(model: &str) -> Tuning {
        let mut tuning = recorded();
        tuning.benchmarks.iter_mut().for_each(|tuned| model.clone_into(&mut tuned.model));
        tuning
    }

    fn values(args: &[Arg]) -> Vec<&str> {
        args.iter().map(|arg| &*arg.value).collect()
    }

    #[test]
    fn models_of_several_tunings_stand_side_by_side() {
        let tables = TunedTable::of(&[on("first"), on("second")]).expect("they agree");
        let [kernel, other] = &tables[..] else { panic!("{tables:?}") };
        assert_eq!((&*kernel.benchmark, &*other.benchmark), ("tuned::kernel", "tuned::broken"));
        let models: Vec<&str> = kernel.models.iter().map(|part| &*part.model).collect();
        assert_eq!(models, ["first", "second"]);
        let part = &kernel.models[1];
        let found: Vec<_> = part.problems.iter().map(|(args, best)| (values(args), values(best))).collect();
        assert_eq!(found, [(vec!["1"], vec!["128", "1"]), (vec!["4"], vec!["256", "2"])]);
        // The best for neither, and a tie for both.
        assert_eq!(values(&part.default), ["128", "2"]);
        assert_eq!(values(&other.models[0].default), ["4"]);
    }

    #[test]
    fn hot_races_count_before_cold_ones() {
        let mut tuning = recorded();
        tuning.benchmarks.truncate(1);
        let mut cold = tuning.benchmarks[0].clone();
        cold.cache = Cache::Cold;
        tuning.benchmarks.insert(0, cold.clone());
        let tables = TunedTable::of(&[tuning.clone()]).expect("one is chosen");
        assert_eq!((tables.len(), tables[0].models.len(), tables[0].models[0].cache), (1, 1, Cache::Hot));
        tuning.benchmarks = vec![cold];
        assert_eq!(TunedTable::of(&[tuning]).expect("it is there")[0].models[0].cache, Cache::Cold);
    }

    #[test]
    fn what_contradicts_or_has_no_winner_is_refused() {
        let refused = |tunings: &[Tuning]| TunedTable::of(tunings).expect_err("refused").to_string();
        assert_eq!(refused(&[on("a"), on("a")]), "`tuned::kernel` was tuned twice on a: give one of the two");
        let mut changed = on("b");
        "00000000".clone_into(&mut changed.benchmarks[0].axes);
        assert_eq!(
            refused(&[on("a"), changed]),
            "`tuned::kernel` had other axes or values on b than on a: tune it again on both"
        );
        let mut open = on("a");
        open.benchmarks[0].problems[1].variants.iter_mut().for_each(|it| it.standing = Standing::Undecided);
        assert_eq!(refused(&[open]), "`tuned::kernel` has no winner for n=4 on a: race it to its end");
        assert_eq!(refused(&[]), "nothing was tuned");
    }
}
