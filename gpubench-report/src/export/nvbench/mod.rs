//! NVBench's JSON, format 1.0.0, for its own scripts: `nvbench-compare-robust`, `nvbench-compare-legacy`, `nvbench-json-summary`
//! and `nvbench-walltime` of the Python package `cuda-bench`. In: a run; out: JSON. Its benchmarks are ours, and its states our
//! cases: the arguments are axes, and so is the cache state, since NVBench knows cold samples alone and its scripts read those.
//!
//! Every number is a text, as NVBench writes them. Invalid cases and those without a number are skipped states. Device
//! sections have nothing but the number and the name, since the scripts refuse to compare devices whose sections differ.

mod axes;
mod summaries;

use std::collections::HashMap;
use std::io::{self, Write};

use serde::{Serialize, Serializer};

use self::axes::{NvAxis, NvStateValue, axes, axis_values};
use self::summaries::Summaries;
use super::exporter::Exporter;
use gpubench_records::id::Arg;
use gpubench_records::method::Cache;
use gpubench_records::record::{Record, Run, Skipped};

/// See the module.
pub(super) struct Nvbench;

impl Exporter for Nvbench {
    fn export(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, &NvDocument::of(run))?;
        out.write_all(b"\n")
    }
}

#[derive(Serialize)]
struct NvDocument<'a> {
    meta: NvMeta<'a>,
    /// The facts for which NVBench has no field.
    gpubench: NvOrigin<'a>,
    devices: Vec<NvDevice<'a>>,
    benchmarks: Vec<NvBenchmark<'a>>,
}

#[derive(Serialize)]
struct NvMeta<'a> {
    argv: &'a [String],
    version: NvVersions,
}

#[derive(Serialize)]
struct NvVersions {
    json: NvVersion,
}

/// The version of NVBench's format.
#[derive(Serialize)]
struct NvVersion {
    major: u32,
    minor: u32,
    patch: u32,
    string: &'static str,
}

#[derive(Serialize)]
struct NvOrigin<'a> {
    version: &'a str,
    suite: &'a str,
    started: u64,
}

#[derive(Serialize)]
struct NvDevice<'a> {
    id: usize,
    name: &'a str,
}

#[derive(Serialize)]
struct NvBenchmark<'a> {
    name: &'a str,
    index: usize,
    devices: Vec<usize>,
    axes: Vec<NvAxis<'a>>,
    states: Vec<NvState<'a>>,
}

#[derive(Serialize)]
struct NvState<'a> {
    name: String,
    device: usize,
    type_config_index: usize,
    axis_values: Vec<NvStateValue<'a>>,
    #[serde(serialize_with = "summaries_of")]
    summaries: Option<&'a Record>,
    is_skipped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    skip_reason: Option<String>,
}

/// One of our cases, or one that a benchmark leaves out.
#[derive(Clone, Copy)]
struct NvCase<'a> {
    benchmark: &'a str,
    args: &'a [Arg],
    device: &'a str,
    cache: Option<Cache>,
    result: Result<&'a Record, &'a Skipped>,
}

impl<'a> NvDocument<'a> {
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
            meta: NvMeta {
                argv: &run.environment.command,
                version: NvVersions { json: NvVersion { major: 1, minor: 0, patch: 0, string: "1.0.0" } },
            },
            gpubench: NvOrigin {
                version: &run.program.version,
                suite: &run.program.suite,
                started: run.started,
            },
            benchmarks: groups.map(|(index, cases)| NvBenchmark::of(index, &cases, &devices)).collect(),
            devices: devices
                .iter()
                .enumerate()
                .map(|(id, device)| NvDevice { id, name: name(device) })
                .collect(),
        }
    }
}

fn cases(run: &Run) -> Vec<NvCase<'_>> {
    let measured = run.records.iter().map(|record| NvCase {
        benchmark: &record.case.benchmark,
        args: &record.case.args,
        device: &record.device,
        cache: Some(record.case.cache),
        result: Ok(record),
    });
    let skipped = run.skipped.iter().map(|skipped| NvCase {
        benchmark: &skipped.benchmark,
        args: &skipped.args,
        device: &skipped.device,
        cache: None,
        result: Err(skipped),
    });
    measured.chain(skipped).collect()
}

/// The cases of each benchmark, in the order in which benchmarks first come.
fn by_benchmark(cases: Vec<NvCase<'_>>) -> Vec<Vec<NvCase<'_>>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut groups: Vec<Vec<NvCase<'_>>> = Vec::new();
    for case in cases {
        let place = *places.entry(case.benchmark).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(case);
    }
    groups
}

impl<'a> NvBenchmark<'a> {
    /// The benchmark of `cases`, of which there is at least one.
    fn of(index: usize, cases: &[NvCase<'a>], devices: &[&str]) -> Self {
        let id =
            |case: &NvCase<'a>| devices.iter().position(|device| *device == case.device).unwrap_or_default();
        let mut used: Vec<usize> = cases.iter().map(id).collect();
        used.sort_unstable();
        used.dedup();
        let axes = axes(cases);
        let states = cases.iter().map(|case| NvState::of(case, id(case), &axes)).collect();
        Self { name: cases[0].benchmark, index, devices: used, axes, states }
    }
}

impl<'a> NvState<'a> {
    fn of(case: &NvCase<'a>, device: usize, axes: &[NvAxis<'a>]) -> Self {
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

/// Writes the summaries of a record as they are made, so that those of a whole run are never in memory at once.
fn summaries_of<S: Serializer>(record: &Option<&Record>, to: S) -> Result<S::Ok, S::Error> {
    match record.and_then(|record| Some((record, record.usable_measurement()?))) {
        Some((record, measured)) => Summaries { record, measured }.serialize(to),
        None => to.collect_seq::<[(); 0]>([]),
    }
}
