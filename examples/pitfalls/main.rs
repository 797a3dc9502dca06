//! Ways to time a kernel that mislead, each beside the right way, one step after the other. In: sizes and steps; out: for
//! each step the wrong and the right number, two lines of explanation, and drawings. [`by_hand`] has the wrong ways; all
//! right numbers are by gpubench's engine.
//!
//! ```sh
//! cargo run --example pitfalls -- --out target/pitfalls       # 80 s on an NVIDIA H200
//! cargo run --example pitfalls -- --scale-down 8 B1 B3        # two of the steps, on small matrices
//! ```
//!
//! `docs/book/mistakes.md` tells the same at length, with what an H200 gave.

#![expect(clippy::print_stdout, reason = "prints its results")]

mod bench;
mod by_hand;
#[path = "../common/mod.rs"]
mod common;
mod steps;
mod table;

use std::env;
use std::error::Error;
use std::fmt::{self, Display};
use std::process::ExitCode;

use clap::Parser;
use gpubench::Suite;
use serde::{Deserialize, Serialize};

use self::bench::Bench;
use self::by_hand::HandTiming;
use self::common::{Flags, Lab, Result};
use self::steps::{Pitfall, STEPS};

#[derive(Debug, Parser)]
#[command(about = "Shows the pitfalls of timing a kernel by hand, each beside the number that holds.")]
struct Args {
    /// The steps to show, such as B1; all if none is named
    #[arg(value_name = "STEP", env = "GPUBENCH_STEPS", value_delimiter = ',', value_parser = row)]
    steps: Vec<&'static str>,

    /// Divide every size by this
    #[arg(long, value_name = "N", env = "GPUBENCH_SCALE_DOWN", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    scale_down: u32,

    /// Between the matrix sizes of B7
    #[arg(long, value_name = "N", env = "GPUBENCH_STEP", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    step: u32,

    #[command(flatten)]
    flags: Flags,
}

/// The row of an existing step.
fn row(wanted: &str) -> std::result::Result<&'static str, UnknownStep> {
    STEPS.iter().map(|(row, _)| *row).find(|row| row.eq_ignore_ascii_case(wanted)).ok_or(UnknownStep)
}

/// A name that no step has.
#[derive(Debug, thiserror::Error)]
#[error("the steps are {}", STEPS.map(|(row, _)| row).join(", "))]
struct UnknownStep;

fn main() -> ExitCode {
    gpubench::program(|suite| match &env::args().collect::<Vec<_>>()[..] {
        // A process of one of the steps.
        [_, flag, ordinal, asked] if flag == by_hand::FLAG => HandTiming::answer(ordinal, asked),
        _ => show(suite),
    })
}

fn show(suite: &Suite) -> Result<()> {
    let args = Args::parse();
    let (lab, device) = Lab::open(suite, &args.flags, "pitfalls")?;
    if let Some(read) = args.flags.stored::<StoredPitfalls>("pitfalls", "-read.json")? {
        let read = read.steps.into_iter().map(|step| (step.row, step.read)).collect();
        return steps::redrawn(&read, &device)?
            .iter()
            .try_for_each(|(name, drawing)| lab.write(name, drawing));
    }
    let bench = Bench::new(lab, device, args.scale_down as usize, args.step as usize)?;
    let mut read = Vec::new();
    let mut drawings = Vec::new();
    for (row, step) in STEPS.iter().filter(|(row, _)| args.steps.is_empty() || args.steps.contains(row)) {
        let mut step = step(&bench).map_err(|cause| StepError { row, cause })?;
        println!("{step}");
        drawings.append(&mut step.drawings);
        read.push(step);
    }
    let lab = bench.into_lab();
    drawings.iter().try_for_each(|(name, drawing)| lab.write(name, drawing))?;
    lab.write(
        "-read.json",
        &(serde_json::to_string(&PitfallReport { schema: "gpubench-pitfalls/1", steps: read })? + "\n"),
    )?;
    lab.close()
}

/// All readings by hand, beside the results.
#[derive(Serialize)]
struct PitfallReport {
    schema: &'static str,
    steps: Vec<Pitfall>,
}

/// The stored part from which drawings are made.
#[derive(Deserialize)]
struct StoredPitfalls {
    steps: Vec<StoredStep>,
}

#[derive(Deserialize)]
struct StoredStep {
    row: String,
    read: serde_json::Value,
}

/// An error of a step.
#[derive(Debug)]
struct StepError {
    row: &'static str,
    cause: Box<dyn Error>,
}

impl Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.row, self.cause)
    }
}

impl Error for StepError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.cause)
    }
}
