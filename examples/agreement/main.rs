//! Compares the results of several processes with CUPTI's times and with each other. Reads runs of one suite with `--verify cupti`.
//! `slowdown` is the slowdown by tracing, and `difference` the difference from CUPTI's time without this slowdown. `largest` is the
//! largest difference of a process from the median of all.
//!
//! ```sh
//! for run in 1 2 3 4 5; do suite copy,sum --verify cupti --json $run.json; done
//! cargo run --example agreement -- [1-5].json
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "prints its results and errors")]

#[path = "../common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use gpubench::format;
use gpubench::record::{Cache, Measurement, Run};
use gpubench::units::Nanoseconds;
use gpubench_records::{CuptiPass, cupti::Difference};

/// The limits: a result within 1 % or 0.15 µs of CUPTI, and a process within 0.5 % or 64 ns of the median of all.
const OF_CUPTI: (f64, Nanoseconds) = (0.01, Nanoseconds(150.0));
const OF_PROCESSES: (f64, Nanoseconds) = (0.005, Nanoseconds(64.0));

#[derive(Debug, Parser)]
#[command(about = "Compares the results of several processes with CUPTI's times and with each other.")]
struct Args {
    /// Runs of one suite with `--verify cupti`, each from its own process
    #[arg(value_name = "JSON", required = true)]
    runs: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match read(&Args::parse().runs) {
        Ok(cases) => {
            print!("{}", text(&cases));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The measurements of each case, one per process.
type Cases = BTreeMap<(Cache, String), Vec<Measurement>>;

fn read(paths: &[PathBuf]) -> Result<Cases, Box<dyn Error>> {
    let mut cases = Cases::new();
    for path in paths {
        let in_file = |error: &dyn Error| format!("{}: {error}", path.display());
        let run =
            Run::parse(&fs::read(path).map_err(|error| in_file(&error))?).map_err(|error| in_file(&error))?;
        for record in run.records {
            let (cache, name) = (record.case.cache, record.case.name());
            cases.entry((cache, name)).or_default().extend(record.measurement);
        }
    }
    Ok(cases)
}

/// Returns the largest allowed difference at a time.
fn limit((share, least): (f64, Nanoseconds), time: Nanoseconds) -> Nanoseconds {
    least.max(share * time)
}

/// Returns the slowdown by tracing, or zero if it was not measured.
fn slowed(difference: &Difference) -> Nanoseconds {
    difference.slowdown.unwrap_or_default().by
}

fn median(mut times: Vec<Nanoseconds>) -> Nanoseconds {
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let middle = times.len() / 2;
    if times.len() % 2 == 1 { times[middle] } else { (times[middle - 1] + times[middle]) / 2.0 }
}

/// How often a condition held.
#[derive(Default)]
struct Share {
    held: usize,
    all: usize,
}

impl Share {
    fn count(&mut self, holds: bool) {
        self.held += usize::from(holds);
        self.all += 1;
    }
}

/// The counts of one cache state.
#[derive(Default)]
struct Counted {
    within_cupti: Share,
    distances: Vec<Nanoseconds>,
    within_bound: Share,
    within_processes: Share,
    intervals: Share,
}

fn text(cases: &Cases) -> String {
    let head = ["case", "", "time", "CUPTI", "difference", "slowdown", "cross-check", "within", "largest"]
        .map(str::to_owned);
    let mut rows = vec![head];
    let mut counted: BTreeMap<Cache, Counted> = BTreeMap::new();
    for ((cache, name), measured) in cases.iter().filter(|(_, measured)| !measured.is_empty()) {
        let row = row(measured, counted.entry(*cache).or_default());
        let [time, cupti, off, traced, bound, held, apart] = row;
        let name = name.rsplit("::").next().unwrap_or(name).to_owned();
        rows.push([name, cache.to_string(), time, cupti, off, traced, bound, held, apart]);
    }
    let summaries = counted.into_iter().map(|(cache, counted)| summary(cache, counted));
    format!("{}\n{}", common::lines(&rows), summaries.collect::<String>())
}

/// Returns the cells of a case after its name.
fn row(measured: &[Measurement], counted: &mut Counted) -> [String; 7] {
    let time = median(measured.iter().map(Measurement::median).collect());
    let traced: Vec<(&Measurement, Difference)> = measured
        .iter()
        .filter_map(|measured| match &measured.verification.as_ref()?.cupti {
            Some(CuptiPass::Traced(times)) => Some((measured, times.difference(&measured.samples))),
            _ => None,
        })
        .collect();
    let mut cells = [const { String::new() }; 7];
    cells[0] = format::time(time);
    if !traced.is_empty() {
        let others = median(traced.iter().map(|(_, difference)| difference.other).collect());
        let off = median(traced.iter().map(|(_, difference)| difference.by).collect());
        let slowed = median(traced.iter().map(|(_, difference)| slowed(difference)).collect());
        counted.within_cupti.count(off.abs() <= limit(OF_CUPTI, others));
        counted.distances.push(off.abs());
        let mut held = Share::default();
        let bounds = traced.iter().filter_map(|(measured, difference)| {
            let bound = measured.samples.cross_check_error()?;
            held.count(difference.by.abs() <= bound);
            Some(bound)
        });
        let bounds: Vec<Nanoseconds> = bounds.collect();
        counted.within_bound.held += held.held;
        counted.within_bound.all += held.all;
        let sign = if off < Nanoseconds::ZERO { "−" } else { "" };
        cells[1] = format::time(others);
        cells[2] = format!("{sign}{}", format::time(off.abs()));
        if slowed > Nanoseconds::ZERO {
            cells[3] = format::time(slowed);
        }
        if !bounds.is_empty() {
            cells[4] = format::time(median(bounds));
            cells[5] = format!("{} of {}", held.held, held.all);
        }
    }
    let largest = measured.iter().map(|measured| (measured.median() - time).abs());
    let largest = largest.fold(Nanoseconds::ZERO, Nanoseconds::max);
    counted.within_processes.count(largest <= limit(OF_PROCESSES, time));
    for (place, one) in measured.iter().enumerate() {
        for other in &measured[place + 1..] {
            let half = |measured: &Measurement| measured.samples.time.median_ci.half_width().as_f64();
            let apart = (one.median() - other.median()).abs().as_f64();
            counted.intervals.count(apart <= half(one).hypot(half(other)));
        }
    }
    cells[6] = format::time(largest);
    cells
}

fn summary(cache: Cache, counted: Counted) -> String {
    let Counted { within_cupti, distances, within_bound, within_processes, intervals } = counted;
    let mut text = format!("{cache}:\n");
    let mut line = |what: &str, share: &Share| {
        if share.all > 0 {
            let percent = format::percent(share.held as f64 / share.all as f64);
            text += &format!("  {what:60} {:4} of {:4}  {percent}\n", share.held, share.all);
        }
    };
    line("results within 1 % or 0.15 µs of CUPTI, minus its slowdown", &within_cupti);
    line("results of a process within their cross-check error of CUPTI", &within_bound);
    line("results with all processes within 0.5 % or 64 ns", &within_processes);
    line("pairs of processes that differ by at most their intervals", &intervals);
    if !distances.is_empty() {
        text += &format!("  {:60} {}\n", "median difference from CUPTI", format::time(median(distances)));
    }
    text
}
