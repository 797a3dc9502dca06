//! Shows common mistakes in timing a kernel. Each step prints a wrong time, gpubench's time and a remark; some steps also draw
//! them. [`by_hand`] has the wrong ways.
//!
//! ```sh
//! cargo run --example pitfalls -- --out target/pitfalls       # 80 s on an NVIDIA H200
//! cargo run --example pitfalls -- --scale-down 8 B1 B3        # two of the steps, on small matrices
//! ```
//!
//! `docs/book/mistakes.md` explains the mistakes, with numbers from an H200.

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
#[command(about = "Shows common mistakes in timing a kernel, each with gpubench's time.")]
struct Args {
    /// Steps to run, such as B1; by default all
    #[arg(value_name = "STEP", env = "GPUBENCH_STEPS", value_delimiter = ',', value_parser = row)]
    steps: Vec<&'static str>,

    /// Divide all sizes by N
    #[arg(long, value_name = "N", env = "GPUBENCH_SCALE_DOWN", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    scale_down: u32,

    /// Distance between the matrix sizes of B7
    #[arg(long, value_name = "N", env = "GPUBENCH_STEP", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    step: u32,

    #[command(flatten)]
    flags: Flags,
}

/// Returns the name of an existing step.
fn row(wanted: &str) -> std::result::Result<&'static str, UnknownStep> {
    STEPS.iter().map(|(row, _)| *row).find(|row| row.eq_ignore_ascii_case(wanted)).ok_or(UnknownStep)
}

/// An unknown name of a step.
#[derive(Debug, thiserror::Error)]
#[error("the steps are {}", STEPS.map(|(row, _)| row).join(", "))]
struct UnknownStep;

fn main() -> ExitCode {
    gpubench::program(|suite| match &env::args().collect::<Vec<_>>()[..] {
        // A step has started this process for one measurement by hand.
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

/// The readings by hand and the results of all steps.
#[derive(Serialize)]
struct PitfallReport {
    schema: &'static str,
    steps: Vec<Pitfall>,
}

/// The stored part that drawings need.
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
