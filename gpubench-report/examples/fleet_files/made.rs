//! Files of runs as a fleet writes them, for tests and measurements. Everything else is as recorded, but for
//! the GPU's identity and its host.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

/// A GPU of a fleet and one of its runs.
#[derive(Clone, Debug)]
pub(crate) struct GpuPlacement {
    pub(crate) host: String,
    /// The number of the GPU on its host.
    pub(crate) number: usize,
    pub(crate) uuid: String,
    /// The number of the process, by which the times that runs took differ.
    pub(crate) process: usize,
}

/// Reads a JSON file of `docs/results`.
pub(crate) fn recorded(name: &str) -> Value {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results");
    let json = fs::read(results.join(name)).expect("it is recorded");
    serde_json::from_slice(&json).expect("it is JSON")
}

/// Returns the recorded run of the whole suite on an H200.
pub(crate) fn template() -> Value {
    recorded("h200/suite.json")
}

/// The name of a record's case, such as `cuda::sum[n=4194304] cold`.
pub(crate) fn case_name(record: &Value) -> String {
    let args = record["args"].as_array().expect("arguments").iter().map(|arg| {
        let text = |key: &str| arg[key].as_str().expect("a text").to_owned();
        format!("{}={}", text("name"), text("value"))
    });
    let benchmark = record["benchmark"].as_str().expect("a path").replace("gpubench_kernels::", "");
    let cache = record["cache"].as_str().expect("hot or cold");
    format!("{benchmark}[{}] {cache}", args.collect::<Vec<_>>().join(","))
}

/// Returns the run of `template` as if measured on the GPU `place`. `median` returns the median in
/// nanoseconds of a record, which is given with its index, or `None` to leave the record out. All times are
/// scaled to it. Each record has this many samples.
pub(crate) fn run_at(
    template: &Value,
    place: &GpuPlacement,
    samples: usize,
    median: impl Fn(usize, &Value) -> Option<f64>,
) -> Value {
    let mut run = template.clone();
    let device = format!("cuda:{}", place.number);
    run["environment"]["host"] = place.host.clone().into();
    // Clocks of hosts differ by hours.
    run["started"] = (1_700_000_000 + 9_000 * place.process as u64).into();
    let devices = run["devices"].as_array_mut().expect("devices");
    devices.retain(|info| info["device"] == "cuda:0");
    for info in devices {
        info["device"] = device.clone().into();
        let properties = info["properties"].as_array_mut().expect("properties");
        let uuid = properties.iter_mut().find(|property| property["name"] == "UUID").expect("a UUID");
        uuid["value"]["text"] = place.uuid.clone().into();
    }
    let records = run["records"].as_array_mut().expect("records");
    let numbered = std::mem::take(records).into_iter().enumerate();
    *records = numbered
        .filter_map(|(number, mut record)| {
            let median = median(number, &record)?;
            record["device"] = device.clone().into();
            let measured = &mut record["measurement"];
            let ratio = median / measured["time"]["median"].as_f64().expect("a median");
            scale(measured, ratio, samples);
            let wall = measured["wall_time"].as_f64().expect("a time") + place.process as f64;
            measured["wall_time"] = wall.into();
            Some(record)
        })
        .collect();
    run["planned_cases"] = records.len().into();
    run
}

/// Multiplies all times of a measurement by `ratio`, and divides all rates by it. Repeats or drops samples to
/// have this many.
fn scale(measured: &mut Value, ratio: f64, samples: usize) {
    let overhead = measured["timer"]["overhead"].as_f64().expect("a time");
    let events = measured["event_times"].as_array().expect("events").iter();
    let scaled = events.map(|event| overhead + (event.as_f64().expect("a time") - overhead) * ratio);
    measured["event_times"] = scaled.cycle().take(samples).collect::<Vec<f64>>().into();
    measured["time"]["samples"] = samples.into();
    let times = ["median", "min", "max", "mean", "standard_deviation", "iqr", "p5", "p95", "p99"];
    let times = times.map(|time| format!("/time/{time}")).into_iter();
    let ends = ["low", "high"].map(|end| format!("/time/median_ci/{end}")).into_iter();
    multiply(measured, times.chain(ends).chain(["/device_time".to_owned(), "/wall_time".to_owned()]), ratio);
    let rates = ["read", "written", "bandwidth", "throughput", "items", "roofline/fraction"];
    let rates = rates.map(|rate| format!("/metrics/{rate}")).into_iter();
    let shares = (0..2).map(|number| format!("/metrics/peak_fractions/{number}/fraction"));
    multiply(measured, rates.chain(shares), 1.0 / ratio);
}

/// Multiplies the numbers at these JSON pointers by `factor`. Skips places without a number.
fn multiply(value: &mut Value, places: impl Iterator<Item = String>, factor: f64) {
    for place in places {
        if let Some(number) = value.pointer_mut(&place)
            && let Some(was) = number.as_f64()
        {
            *number = (was * factor).into();
        }
    }
}

/// Writes the twelve runs of the four recorded H200s, three of each, and returns their files.
pub(crate) fn four_h200s(folder: &Path) -> Vec<PathBuf> {
    // Tests want them many times.
    static RUNS: OnceLock<Vec<(String, String)>> = OnceLock::new();
    let runs = RUNS.get_or_init(runs_of_four_h200s).iter();
    runs.map(|(name, run)| {
        let file = folder.join(name);
        fs::write(&file, run).expect("the folder takes files");
        file
    })
    .collect()
}

/// Returns the names and contents of the twelve files.
fn runs_of_four_h200s() -> Vec<(String, String)> {
    let (template, medians) = (template(), recorded("four-h200/medians.json"));
    let rows = medians["rows"].as_object().expect("rows");
    let rows: BTreeMap<&str, &Value> = rows.iter().map(|(name, row)| (&**name, row)).collect();
    let mut runs = Vec::new();
    for gpu in 0..4 {
        for process in 0..3 {
            let place = GpuPlacement {
                host: "node7".to_owned(),
                number: gpu,
                uuid: format!("GPU-{gpu}0000000-0000-0000-0000-00000000000{gpu}"),
                process: 3 * gpu + process,
            };
            let median =
                |_: usize, record: &Value| rows.get(&*case_name(record))?[gpu.to_string()][process].as_f64();
            let run = run_at(&template, &place, 40, median);
            runs.push((format!("gpu{gpu}-process{process}.json"), run.to_string()));
        }
    }
    runs
}

/// Writes a document to a file.
pub(crate) fn write(file: &Path, document: &Value) {
    fs::write(file, document.to_string()).expect("the folder takes files");
}
