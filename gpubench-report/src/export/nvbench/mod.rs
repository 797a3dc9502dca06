//! NVBench's JSON, format 1.0.0, for its own scripts: `nvbench-compare-robust`, `nvbench-compare-legacy`, `nvbench-json-summary`
//! and `nvbench-walltime` of the Python package `cuda-bench`. In: a run; out: JSON. Its benchmarks are ours, and its states our
//! cases: the arguments are axes, and so is the cache state, since NVBench knows cold samples alone and its scripts read those.
//!
//! Every number is a text, as NVBench writes them. Cases without a number that holds are skipped states. Device sections have
//! nothing but the number and the name, since the scripts refuse to compare devices whose sections differ.

mod axes;
mod summaries;

use std::collections::HashMap;
use std::io::{self, Write};

use serde::{Serialize, Serializer};

use self::axes::{Axis, NamedValue, axes, axis_values};
use self::summaries::Summaries;
use super::Exporter;
use gpubench_records::id::Arg;
use gpubench_records::method::Cache;
use gpubench_records::record::{Record, Run, Skipped};

/// See the module.
pub(super) struct Nvbench;

impl Exporter for Nvbench {
    fn export(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, &Document::of(run))?;
        out.write_all(b"\n")
    }
}

#[derive(Serialize)]
struct Document<'a> {
    meta: Meta<'a>,
    /// What NVBench has no place for.
    gpubench: Origin<'a>,
    devices: Vec<Device<'a>>,
    benchmarks: Vec<Benchmark<'a>>,
}

#[derive(Serialize)]
struct Meta<'a> {
    argv: &'a [String],
    version: Versions,
}

#[derive(Serialize)]
struct Versions {
    json: Version,
}

/// The version of NVBench's format.
#[derive(Serialize)]
struct Version {
    major: u32,
    minor: u32,
    patch: u32,
    string: &'static str,
}

#[derive(Serialize)]
struct Origin<'a> {
    version: &'a str,
    suite: &'a str,
    started: u64,
}

#[derive(Serialize)]
struct Device<'a> {
    id: usize,
    name: &'a str,
}

#[derive(Serialize)]
struct Benchmark<'a> {
    name: &'a str,
    index: usize,
    devices: Vec<usize>,
    axes: Vec<Axis<'a>>,
    states: Vec<State<'a>>,
}

#[derive(Serialize)]
struct State<'a> {
    name: String,
    device: usize,
    type_config_index: usize,
    axis_values: Vec<NamedValue<'a>>,
    #[serde(serialize_with = "summaries_of")]
    summaries: Option<&'a Record>,
    is_skipped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    skip_reason: Option<String>,
}

/// One of our cases, or one that a benchmark leaves out.
#[derive(Clone, Copy)]
struct Case<'a> {
    benchmark: &'a str,
    args: &'a [Arg],
    device: &'a str,
    cache: Option<Cache>,
    result: Result<&'a Record, &'a Skipped>,
}

impl<'a> Document<'a> {
    fn of(run: &'a Run) -> Self {
        let cases = cases(run);
        let mut devices: Vec<&str> = run.devices.iter().map(|facts| &*facts.device).collect();
        for case in &cases {
            if !devices.contains(&case.device) {
                devices.push(case.device);
            }
        }
        let name = |device: &'a str| {
            run.devices.iter().find(|facts| facts.device == device).map_or(device, |facts| &*facts.name)
        };
        let groups = by_benchmark(cases).into_iter().enumerate();
        Self {
            meta: Meta {
                argv: &run.environment.command,
                version: Versions { json: Version { major: 1, minor: 0, patch: 0, string: "1.0.0" } },
            },
            gpubench: Origin {
                version: &run.program.version,
                suite: &run.program.suite,
                started: run.started,
            },
            benchmarks: groups.map(|(index, cases)| Benchmark::of(index, &cases, &devices)).collect(),
            devices: devices
                .iter()
                .enumerate()
                .map(|(id, device)| Device { id, name: name(device) })
                .collect(),
        }
    }
}

fn cases(run: &Run) -> Vec<Case<'_>> {
    let measured = run.records.iter().map(|record| Case {
        benchmark: &record.case.benchmark,
        args: &record.case.args,
        device: &record.case.device,
        cache: Some(record.case.cache),
        result: Ok(record),
    });
    let skipped = run.skipped.iter().map(|skipped| Case {
        benchmark: &skipped.benchmark,
        args: &skipped.args,
        device: &skipped.device,
        cache: None,
        result: Err(skipped),
    });
    measured.chain(skipped).collect()
}

/// The cases of each benchmark, in the order in which benchmarks first come.
fn by_benchmark(cases: Vec<Case<'_>>) -> Vec<Vec<Case<'_>>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut groups: Vec<Vec<Case<'_>>> = Vec::new();
    for case in cases {
        let place = *places.entry(case.benchmark).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(case);
    }
    groups
}

impl<'a> Benchmark<'a> {
    /// The benchmark of `cases`, of which there is at least one.
    fn of(index: usize, cases: &[Case<'a>], devices: &[&str]) -> Self {
        let id =
            |case: &Case<'a>| devices.iter().position(|device| *device == case.device).unwrap_or_default();
        let mut used: Vec<usize> = cases.iter().map(id).collect();
        used.sort_unstable();
        used.dedup();
        let axes = axes(cases);
        let states = cases.iter().map(|case| State::of(case, id(case), &axes)).collect();
        Self { name: cases[0].benchmark, index, devices: used, axes, states }
    }
}

impl<'a> State<'a> {
    fn of(case: &Case<'a>, device: usize, axes: &[Axis<'a>]) -> Self {
        let axis_values = axis_values(case, axes);
        let words = axis_values.iter().map(|value| format!(" {}={}", value.name, value.value));
        let name = format!("Device={device}{}", words.collect::<String>());
        let skip_reason = match case.result {
            Ok(record) if record.usable_measurement().is_some() => None,
            Ok(record) => {
                let reasons = record.verdict.reasons.iter().map(ToString::to_string);
                Some(reasons.collect::<Vec<_>>().join("; "))
            }
            Err(skipped) => Some(skipped.why.clone()),
        };
        Self {
            name,
            device,
            type_config_index: 0,
            axis_values,
            summaries: case.result.ok(),
            is_skipped: skip_reason.is_some(),
            skip_reason,
        }
    }
}

/// Writes the summaries of a record as they are made, so that those of a whole run are never there at once.
fn summaries_of<S: Serializer>(record: &Option<&Record>, to: S) -> Result<S::Ok, S::Error> {
    match record.and_then(|record| Some((record, record.usable_measurement()?))) {
        Some((record, measured)) => Summaries { record, measured }.serialize(to),
        None => to.collect_seq::<[(); 0]>([]),
    }
}
