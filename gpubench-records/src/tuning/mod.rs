//! The answer of a race of variants. In: placings, with the failures of those that are out; out: a [`Tuning`], which serde writes and
//! reads: for each problem the best, its ties and the rest, and over all problems of a benchmark what to ship.

mod problem;
mod shipped;

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

pub use self::problem::{RaceEnd, TunedLook, TunedProblem, TunedVariant};
pub use self::shipped::{Alone, Shipped};

use crate::exit::Exit;
use crate::facts::Facts;
use crate::files::{self, FormatError};
use crate::id::Arg;
use crate::method::Cache;
use crate::record::{Environment, Program};
use crate::sampling::Sampling;
use gpubench_stats::race::{COARSE_FACTOR, RACE_ERROR};
use gpubench_stats::units::Nanoseconds;

/// The name of this format.
pub const SCHEMA: &str = files::TUNING.schema;

/// The races of one invocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Tuning {
    /// [`SCHEMA`].
    pub schema: String,
    /// The program that measured.
    pub program: Program,
    /// The machine that it ran on, and the command.
    pub environment: Environment,
    /// When it began, in seconds since 1970-01-01 UTC.
    pub started: u64,
    /// The time that it took.
    pub wall: Nanoseconds,
    /// The notes that a reader must see first.
    pub notes: Vec<String>,
    /// The rules of its races.
    pub method: TuningMethod,
    /// The devices, with their drivers and clocks.
    pub devices: Vec<Facts>,
    /// The benchmarks, each on one device in one state of the cache.
    pub benchmarks: Vec<TunedBenchmark>,
}

/// The rules of races.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TuningMethod {
    /// The difference of two times that does not matter, as a fraction.
    pub band: f64,
    /// The part of all races in which any of its intervals may miss the truth.
    pub error: f64,
    /// The coarse times over the least of them up to which variants race.
    pub coarse_factor: f64,
    /// The time that all races together might take, if there was a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Nanoseconds>,
    /// The rules of sampling that the user asked for.
    pub sampling: Sampling,
}

impl TuningMethod {
    /// The rules of races with these `sampling` rules and this budget.
    #[must_use]
    pub fn of(sampling: Sampling, budget: Option<Nanoseconds>) -> Self {
        let (error, coarse_factor) = (RACE_ERROR, COARSE_FACTOR);
        Self { band: sampling.band, error, coarse_factor, budget, sampling }
    }
}

/// The races of a benchmark, one for each problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TunedBenchmark {
    /// The benchmark's path, crate first.
    pub benchmark: String,
    /// The device in the words of the command line.
    pub device: String,
    /// The name that its maker gave the device.
    pub model: String,
    /// Hot or cold.
    pub cache: Cache,
    /// The names of the axes whose values are variants.
    pub tune: Vec<String>,
    /// A hash of the benchmark's name, its axes and the values of its types and constants: another one is another benchmark.
    pub axes: String,
    /// A race for each problem.
    pub problems: Vec<TunedProblem>,
    /// The variants to ship; nothing if a problem has no winner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipped: Option<Shipped>,
}

/// The reason that a tuning is of no use to a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTuned {
    /// There is no race of this benchmark on this model.
    #[error("`{benchmark}` was not tuned on `{model}`")]
    Missing {
        /// The benchmark's path.
        benchmark: String,
        /// The model of the device.
        model: String,
    },
    /// The benchmark's axes are others than those that were tuned.
    #[error("`{benchmark}` has other axes or values than when it was tuned: race it again by --tune")]
    Changed {
        /// The benchmark's path.
        benchmark: String,
    },
    /// There was no race of this problem, or it has no winner.
    #[error("`{benchmark}` has no winner for this problem")]
    NoWinner {
        /// The benchmark's path.
        benchmark: String,
    },
}

impl Tuning {
    /// A tuning that has not begun.
    #[must_use]
    pub fn new(program: Program, environment: Environment, method: TuningMethod) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            program,
            environment,
            started: 0,
            wall: Nanoseconds::ZERO,
            notes: Vec::new(),
            method,
            devices: Vec::new(),
            benchmarks: Vec::new(),
        }
    }

    /// Reads a tuning from JSON.
    ///
    /// # Errors
    /// If it is no tuning of this format.
    pub fn parse(json: &[u8]) -> Result<Self, FormatError> {
        files::TUNING.read(json)
    }

    /// Writes it as [`parse`](Self::parse) reads it.
    ///
    /// # Errors
    /// If `out` takes no more.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        out.write_all(b"\n")
    }

    /// Returns the end of a program that races, or shows races: failed if a problem has no winner.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let mut problems = self.benchmarks.iter().flat_map(|benchmark| &benchmark.problems);
        if problems.any(|problem| problem.best().is_none()) { Exit::Failed } else { Exit::Done }
    }

    /// Returns the best variant for a problem of a benchmark whose axes have this hash, on devices of this model, hot if it was raced
    /// hot.
    ///
    /// # Errors
    /// If there is none, or if the benchmark has changed.
    pub fn best(
        &self,
        (benchmark, axes): (&str, &str),
        model: &str,
        problem: &[Arg],
    ) -> Result<&[Arg], NotTuned> {
        let name = || benchmark.to_owned();
        let missing = || NotTuned::Missing { benchmark: name(), model: model.to_owned() };
        let is_meant = |one: &&TunedBenchmark| one.benchmark == benchmark && one.model == model;
        let tuned = self.benchmarks.iter().filter(is_meant).min_by_key(|one| one.cache != Cache::Hot);
        let tuned = tuned.ok_or_else(missing)?;
        if tuned.axes != axes {
            return Err(NotTuned::Changed { benchmark: name() });
        }
        let raced = tuned.problems.iter().find(|raced| raced.args == problem);
        let best =
            raced.and_then(TunedProblem::best).ok_or_else(|| NotTuned::NoWinner { benchmark: name() })?;
        Ok(&best.args)
    }
}

/// Returns a hash of what is tuned: the benchmark, the names of all axes, those that are variants, and the choices of its types
/// and constants. Lists of arguments are not in it: they may be longer or shorter in another run.
#[must_use]
pub fn hash_of_axes(
    benchmark: &str,
    tune: &[&str],
    args: &[&str],
    generics: &[(&str, Vec<String>)],
) -> String {
    let text = serde_json::json!([benchmark, tune, args, generics]).to_string();
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_stats::race::Standing;

    fn arg(name: &str, value: &str) -> Arg {
        Arg { name: name.to_owned(), value: value.to_owned() }
    }

    fn tuning() -> Tuning {
        let variant = |value: &str, standing| TunedVariant::failed_or(vec![arg("BLOCK", value)], standing);
        let problem = TunedProblem {
            args: vec![arg("n", "1024")],
            ended: RaceEnd::Decided,
            variants: vec![variant("128", Standing::Best), variant("256", Standing::Tie)],
            looks: Vec::new(),
            skipped: 0,
            wall: Nanoseconds(1e6),
        };
        Tuning {
            schema: SCHEMA.to_owned(),
            program: Program::default(),
            environment: Environment::default(),
            started: 1,
            wall: Nanoseconds(2e6),
            notes: Vec::new(),
            method: TuningMethod::of(Sampling::USUAL, None),
            devices: vec![Facts::new("cuda:0", "NVIDIA H200")],
            benchmarks: vec![TunedBenchmark {
                benchmark: "kernels::matmul".to_owned(),
                device: "cuda:0".to_owned(),
                model: "NVIDIA H200".to_owned(),
                cache: Cache::Hot,
                tune: vec!["BLOCK".to_owned()],
                axes: "0123abcd".to_owned(),
                problems: vec![problem],
                shipped: None,
            }],
        }
    }

    #[test]
    fn a_tuning_is_read_as_it_was_written() {
        let mut json = Vec::new();
        tuning().write(&mut json).expect("a vector takes everything");
        assert_eq!(Tuning::parse(&json).expect("a tuning"), tuning());
        let newer = String::from_utf8(json).expect("UTF-8").replace("gpubench-tuning/1", "gpubench-tuning/9");
        assert!(Tuning::parse(newer.as_bytes()).expect_err("newer").is_newer());
    }

    #[test]
    fn a_program_gets_the_best_and_refuses_what_has_changed() {
        let (tuning, problem) = (tuning(), [arg("n", "1024")]);
        let best = |axes, model, problem: &[Arg]| tuning.best(("kernels::matmul", axes), model, problem);
        assert_eq!(best("0123abcd", "NVIDIA H200", &problem), Ok(&[arg("BLOCK", "128")][..]));
        assert!(matches!(best("0123abce", "NVIDIA H200", &problem), Err(NotTuned::Changed { .. })));
        assert!(matches!(best("0123abcd", "NVIDIA H100", &problem), Err(NotTuned::Missing { .. })));
        assert!(matches!(best("0123abcd", "NVIDIA H200", &[]), Err(NotTuned::NoWinner { .. })));
    }

    #[test]
    fn the_hash_is_that_of_names_and_choices() {
        let hash = |tune: &[&str], values: &[&str]| {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            hash_of_axes("kernels::matmul", tune, &["n"], &[("BLOCK", values)])
        };
        assert_eq!(hash(&["BLOCK"], &["128", "256"]), hash(&["BLOCK"], &["128", "256"]));
        assert_ne!(hash(&["BLOCK"], &["128", "256"]), hash(&["BLOCK"], &["128", "512"]));
        assert_ne!(hash(&["BLOCK"], &["128", "256"]), hash(&["n"], &["128", "256"]));
    }
}
