//! The formats of services that track results over time: the Bencher Metric Format, the JSON of github-action-benchmark, and CodSpeed's
//! walltime results. A service draws every value, so that cases without a usable measurement are left out.

use std::io::{self, Write};

use gpubench_records::{Energy, Measurement, Record, Run, Samples};
use gpubench_stats::{BytesPerSecond, FlopsPerSecond, ItemsPerSecond, Nanoseconds, format, quantile};
use gpubench_table::{case_name, has_several_devices, quantiles};
use serde_json::{Map, Value, json};

/// Writes the Bencher Metric Format: for each case an object of measures, in nanoseconds, joules and units per
/// second.
pub(super) fn write_bmf(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut cases = Map::new();
    for (name, _, measured) in usable_measurements(run) {
        let Measurement { metrics, energy, samples, .. } = measured;
        let ci = samples.time.median_ci;
        let ends = [ci.low, ci.high].map(Nanoseconds::as_f64);
        // The interval of a rate is the inverse of the time's.
        let rate =
            |rate: f64| bmf_measure(rate, &[ci.high, ci.low].map(|time| rate * (measured.median() / time)));
        let energy = energy.as_ref().and_then(Energy::per_launch);
        let measures = [
            ("latency", Some(bmf_measure(samples.time.median.as_f64(), &ends))),
            ("throughput", metrics.throughput.map(FlopsPerSecond::as_f64).map(rate)),
            ("bandwidth", metrics.bandwidth.map(BytesPerSecond::as_f64).map(rate)),
            ("items", metrics.items_per_second.map(ItemsPerSecond::as_f64).map(rate)),
            ("energy", energy.map(|energy| bmf_measure(energy.as_f64(), &[]))),
        ];
        let known = measures.into_iter().filter_map(|(name, it)| Some((name.to_owned(), it?)));
        let own = measured
            .user_metrics
            .iter()
            .map(|it| (format!("metric.{}", it.name), bmf_measure(it.value, &[])));
        cases.insert(name, Value::Object(known.chain(own).collect()));
    }
    write_json(&cases.into(), out)
}

/// Returns a value with the ends of its interval, as the format writes it. Leaves out ends that are negative
/// or not finite. `interval` may be empty.
fn bmf_measure(value: f64, interval: &[f64]) -> Value {
    let ends = ["lower_value", "upper_value"].into_iter().zip(interval);
    let ends = ends.filter(|(_, end)| end.is_finite() && **end >= 0.0);
    let keys = [("value", &value)].into_iter().chain(ends);
    keys.map(|(key, value)| (key.to_owned(), json!(value))).collect::<Map<_, _>>().into()
}

/// Writes JSON for github-action-benchmark's tool `customSmallerIsBetter`: an array with the time of each case.
pub(super) fn write_github(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut points = Vec::new();
    for (name, record, measured) in usable_measurements(run) {
        let time = &measured.samples.time;
        let half_width = time.median_ci.half_width().as_f64();
        let mut extra =
            vec![format!("{}, {}", record.verdict.state, format::counted(time.samples, "sample"))];
        extra.extend(record.fake.then(|| "a fake device: its times are made up".to_owned()));
        extra.extend(record.verdict.reasons.iter().map(ToString::to_string));
        extra.push(quantiles(time));
        extra.extend(measured.metrics.bandwidth.map(format::bandwidth));
        extra.extend(measured.metrics.throughput.map(format::throughput));
        let own = measured.user_metrics.iter();
        extra.extend(own.map(|it| format!("{} {}", it.name, format::metric(it.value, &it.unit))));
        points.push(json!({
            "name": name,
            "unit": "ns",
            "value": time.median,
            "range": format!("± {half_width}"),
            "extra": extra.join("\n"),
        }));
    }
    write_json(&points.into(), out)
}

/// Returns each case with a usable measurement: its name, its record and the measurement.
fn usable_measurements(run: &Run) -> impl Iterator<Item = (String, &Record, &Measurement)> {
    let several_devices = has_several_devices(run);
    run.records.iter().filter_map(move |record| {
        Some((case_name(record, several_devices), record, Record::usable_measurement(record)?))
    })
}

/// Writes indented JSON with a line break at its end.
fn write_json(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{value:#}")
}

/// Samples further from the quartiles than this many interquartile ranges are outliers in CodSpeed's format.
const OUTLIER_RANGES: f64 = 1.5;
/// Samples further from the mean than this many standard deviations are outliers in CodSpeed's format.
const OUTLIER_DEVIATIONS: f64 = 3.0;

/// Writes CodSpeed's walltime results, as its Rust integrations write them and its runner reads them:
/// `walltime_results.rs` of <https://github.com/CodSpeedHQ/codspeed-rust>. A round is a sample. Times are
/// those of one iteration, in nanoseconds; `total_time` is in seconds.
pub(super) fn write_codspeed(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let benchmarks = usable_measurements(run)
        .filter_map(|(name, _, measured)| codspeed_benchmark(&name, &measured.samples));
    let results = json!({
        "creator": { "name": "gpubench", "version": run.program.version, "pid": std::process::id() },
        "instrument": { "type": "walltime" },
        "benchmarks": benchmarks.collect::<Vec<_>>(),
    });
    write_json(&results, out)
}

/// Returns a benchmark in CodSpeed's format; `None` without samples.
fn codspeed_benchmark(name: &str, samples: &Samples) -> Option<Value> {
    let mut times: Vec<f64> = samples.stall_corrected().iter().map(|time| time.as_f64()).collect();
    times.sort_by(f64::total_cmp);
    let (min, max) = (*times.first()?, *times.last()?);
    let [q1, q3] = [0.25, 0.75].map(|part| quantile(&times, part));
    let [mean, deviation] = [samples.time.mean, samples.time.standard_deviation].map(Nanoseconds::as_f64);
    let outliers = |low: f64, high: f64| times.iter().filter(|time| **time < low || **time > high).count();
    let range = OUTLIER_RANGES * (q3 - q1);
    let iterations = samples.method.batch.unwrap_or(1);
    Some(json!({
        "name": name,
        "uri": name,
        "config": { "warmup_time_ns": null, "min_round_time_ns": null, "max_time_ns": null, "max_rounds": null },
        "stats": {
            "min_ns": min,
            "max_ns": max,
            "mean_ns": mean,
            "stdev_ns": deviation,
            "q1_ns": q1,
            "median_ns": samples.time.median,
            "q3_ns": q3,
            "rounds": times.len(),
            "total_time": times.iter().sum::<f64>() * iterations as f64 * 1e-9,
            "iqr_outlier_rounds": outliers(q1 - range, q3 + range),
            "stdev_outlier_rounds": outliers(mean - OUTLIER_DEVIATIONS * deviation, mean + OUTLIER_DEVIATIONS * deviation),
            "iter_per_round": iterations,
            "warmup_iters": samples.warm_up.launches,
        },
    }))
}
