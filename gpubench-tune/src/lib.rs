//! Races of variants: finds the fastest variant and its ties for each problem of a benchmark with `tune(…)`.
//!
//! `command` adds `--tune`, `--budget` and `--save-tuning` to benchmark binaries. `elimination` runs a race: it
//! measures each variant alone, and then variants interleaved, two at a time, as `race` requests them. `variants`
//! measures in the workers of the runtime. [`Tuning`] is the result, which `--save-tuning` writes as JSON and
//! [`table`] formats.

mod command;
mod common_noise;
mod elimination;
mod race;
#[cfg(test)]
mod simulations;
mod tuning;
mod variants;

pub use self::command::extension;
pub use self::race::PAIRS_OF_A_STEP;
pub use self::tuning::{
    RaceEnd, SCHEMA, Standing, TUNING, TunedBenchmark, TunedProblem, TunedVariant, Tuning, TuningMethod,
    table,
};
