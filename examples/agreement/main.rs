//! Rows of several processes beside CUPTI's times of the same launches. In: runs of one suite as JSON, each measured by a process of its own
//! with `--verify cupti`; out: how far each row is from CUPTI and from the other processes, and how often bounds and intervals held that. `traced` is the part of
//! CUPTI's time by which tracing slows the launch, and `off` the difference after subtraction of it.
//!
//! ```sh
//! for run in 1 2 3 4 5; do suite copy,sum --verify cupti --json $run.json; done
//! cargo run --example agreement -- [1-5].json
//! ```

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "prints its results, and why there are none")]

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
use gpubench_records::verification::{CuptiPass, Difference};

/// What is wished for: a row within 1 % or 0.15 µs of CUPTI, and a process within 0.5 % or 64 ns of the median of all.
const OF_CUPTI: (f64, Nanoseconds) = (0.01, Nanoseconds(150.0));
const OF_PROCESSES: (f64, Nanoseconds) = (0.005, Nanoseconds(64.0));

#[derive(Debug, Parser)]
#[command(about = "Holds the rows of several processes against CUPTI's times and against each other.")]
struct Args {
    /// Runs of one suite, each of a process of its own with `--verify cupti`
    #[arg(value_name = "JSON", required = true)]
    runs: Vec<PathBuf>,
}

fn main() -> ExitCode {
    match read(&Args::parse().runs) {
        Ok(cases) => {
            print!("{}", told(&cases));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A case by name and state of the caches, as each process measured it.
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

/// The largest distance that is wished for at a time.
fn wished((share, least): (f64, Nanoseconds), time: Nanoseconds) -> Nanoseconds {
    least.max(share * time)
}

/// The time by which tracing slows a launch; zero if it was not measured.
fn slowed(difference: &Difference) -> Nanoseconds {
    difference.slowdown.unwrap_or_default().by
}

fn median(mut times: Vec<Nanoseconds>) -> Nanoseconds {
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let middle = times.len() / 2;
    if times.len() % 2 == 1 { times[middle] } else { (times[middle - 1] + times[middle]) / 2.0 }
}

/// How often something held.
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

/// What is counted over the rows of one state of the caches.
#[derive(Default)]
struct Counted {
    near_cupti: Share,
    distances: Vec<Nanoseconds>,
    within_bound: Share,
    near_others: Share,
    intervals: Share,
}

fn told(cases: &Cases) -> String {
    let head = ["case", "", "time", "CUPTI", "off", "traced", "bound", "held", "apart"].map(str::to_owned);
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

/// The cells of a row behind its name.
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
        counted.near_cupti.count(off.abs() <= wished(OF_CUPTI, others));
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
    let farthest = measured.iter().map(|measured| (measured.median() - time).abs());
    let farthest = farthest.fold(Nanoseconds::ZERO, Nanoseconds::max);
    counted.near_others.count(farthest <= wished(OF_PROCESSES, time));
    for (place, one) in measured.iter().enumerate() {
        for other in &measured[place + 1..] {
            let half = |measured: &Measurement| measured.samples.time.median_ci.half_width().as_f64();
            let apart = (one.median() - other.median()).abs().as_f64();
            counted.intervals.count(apart <= half(one).hypot(half(other)));
        }
    }
    cells[6] = format::time(farthest);
    cells
}

fn summary(cache: Cache, counted: Counted) -> String {
    let Counted { near_cupti, distances, within_bound, near_others, intervals } = counted;
    let mut told = format!("{cache}:\n");
    let mut line = |what: &str, share: &Share| {
        if share.all > 0 {
            let percent = format::percent(share.held as f64 / share.all as f64);
            told += &format!("  {what:60} {:4} of {:4}  {percent}\n", share.held, share.all);
        }
    };
    line("rows within 1 % or 0.15 µs of CUPTI, less what tracing costs", &near_cupti);
    line("rows of a process whose bound holds CUPTI's time", &within_bound);
    line("rows of which all processes are within 0.5 % or 64 ns", &near_others);
    line("pairs of processes whose intervals hold the difference", &intervals);
    if !distances.is_empty() {
        told += &format!("  {:60} {}\n", "median distance from CUPTI", format::time(median(distances)));
    }
    told
}
