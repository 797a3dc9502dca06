//! Prints the cross-check report of each result of a run: the times of other clocks, and the GPU's counters.
//!
//! ```sh
//! cargo gpubench verify --program target/release/examples/suite --json run.json -- --verify cupti
//! cargo run --example certificate -- run.json
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "prints its results and errors")]

#[path = "../common/mod.rs"]
mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use gpubench::format;
use gpubench::record::{Record, Run};
use gpubench::units::Bytes;
use gpubench_records::verification::{Counters, CuptiPass, NcuPass};

#[derive(Debug, Parser)]
#[command(about = "Prints the cross-check report of a run: times of other clocks, and the GPU's counters.")]
struct Args {
    /// Run of `cargo gpubench verify --json`, with `--verify cupti` for CUPTI's times
    #[arg(value_name = "JSON")]
    run: PathBuf,
}

fn main() -> ExitCode {
    match read(&Args::parse().run) {
        Ok(run) => {
            print!("{}", text(&run));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn read(path: &Path) -> common::Result<Run> {
    let json = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Run::parse(&json).map_err(|error| format!("{}: {error}", path.display()).into())
}

fn text(run: &Run) -> String {
    let head = ["case", "", "time", "CUPTI", "slowdown", "ncu", "declared", "moved", "L1 hit", "L2 hit"];
    common::table(head, &run.records.iter().filter_map(row).collect::<Vec<_>>())
}

/// Returns the cells of a verified result.
fn row(record: &Record) -> Option<[String; 10]> {
    let measured = record.measurement.as_ref()?;
    let verification = measured.verification.as_ref()?;
    let [cupti, slowed] = match &verification.cupti {
        Some(CuptiPass::Traced(times)) => {
            let difference = times.difference(&measured.samples);
            let slowed = difference.slowdown.map_or_else(String::new, |slowdown| slowdown.to_string());
            [format::time(difference.other), slowed]
        }
        _ => ["–".to_owned(), String::new()],
    };
    let counters = match &verification.ncu {
        Some(NcuPass::Counted(counters)) => Some(&**counters),
        _ => None,
    };
    let of =
        |figure: fn(&Counters) -> Option<String>| counters.and_then(figure).unwrap_or_else(|| "–".to_owned());
    let declared = measured.counts.bytes.map(Bytes);
    Some([
        record.case.name().rsplit("cuda::").next().unwrap_or_default().to_owned(),
        record.case.cache.to_string(),
        format::time(measured.median()),
        cupti,
        slowed,
        of(|counters| counters.duration.map(format::time)),
        declared.map_or_else(|| "–".to_owned(), format::bytes),
        of(|counters| counters.moved().map(format::bytes)),
        of(|counters| counters.l1_hit.map(format::percent)),
        of(|counters| counters.l2_hit.map(format::percent)),
    ])
}
