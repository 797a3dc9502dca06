//! The formats of services that draw results over time. A service draws every value: cases without a usable measurement are left out.

use std::io::{self, Write};

use gpubench_records::{Energy, Measurement, Record, Run};
use gpubench_stats::{BytesPerSecond, FlopsPerSecond, ItemsPerSecond, Nanoseconds, format};
use gpubench_table::{case_name, has_several_devices, quantiles};
use serde_json::{Map, Value, json};

/// Writes the Bencher Metric Format: an object with the measures of each case, in nanoseconds, joules and units per second.
pub(super) fn write_bmf(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut cases = Map::new();
    for (name, _, measured) in usable(run) {
        let Measurement { metrics, energy, samples, .. } = measured;
        let ci = samples.time.median_ci;
        let ends = [ci.low, ci.high].map(Nanoseconds::as_f64);
        // The interval of a rate is the inverse of the time's.
        let rate =
            |rate: f64| measure(rate, &[ci.high, ci.low].map(|time| rate * (measured.median() / time)));
        let energy = energy.as_ref().and_then(Energy::per_launch);
        let measures = [
            ("latency", Some(measure(samples.time.median.as_f64(), &ends))),
            ("throughput", metrics.throughput.map(FlopsPerSecond::as_f64).map(rate)),
            ("bandwidth", metrics.bandwidth.map(BytesPerSecond::as_f64).map(rate)),
            ("items", metrics.items_per_second.map(ItemsPerSecond::as_f64).map(rate)),
            ("energy", energy.map(|energy| measure(energy.as_f64(), &[]))),
        ];
        let known = measures.into_iter().filter_map(|(name, it)| Some((name.to_owned(), it?)));
        cases.insert(name, Value::Object(known.collect()));
    }
    write(&cases.into(), out)
}

/// Returns a value with the ends of its interval, of which an infinite one is left out.
fn measure(value: f64, interval: &[f64]) -> Value {
    let ends = ["lower_value", "upper_value"].into_iter().zip(interval);
    let ends = ends.filter(|(_, end)| end.is_finite() && **end >= 0.0);
    let keys = [("value", &value)].into_iter().chain(ends);
    keys.map(|(key, value)| (key.to_owned(), json!(value))).collect::<Map<_, _>>().into()
}

/// Writes the JSON of github-action-benchmark's tool `customSmallerIsBetter`: an array with the time of each case.
pub(super) fn write_github(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let mut points = Vec::new();
    for (name, record, measured) in usable(run) {
        let time = &measured.samples.time;
        let half_width = time.median_ci.half_width().as_f64();
        let mut extra =
            vec![format!("{}, {}", record.verdict.state, format::counted(time.samples, "sample"))];
        extra.extend(record.fake.then(|| "a fake device: its times are made up".to_owned()));
        extra.extend(record.verdict.reasons.iter().map(ToString::to_string));
        extra.push(quantiles(time));
        extra.extend(measured.metrics.bandwidth.map(format::bandwidth));
        extra.extend(measured.metrics.throughput.map(format::throughput));
        points.push(json!({
            "name": name,
            "unit": "ns",
            "value": time.median,
            "range": format!("± {half_width}"),
            "extra": extra.join("\n"),
        }));
    }
    write(&points.into(), out)
}

/// Returns each case that has a usable measurement, with its name.
pub(super) fn usable(run: &Run) -> impl Iterator<Item = (String, &Record, &Measurement)> {
    let several_devices = has_several_devices(run);
    run.records.iter().filter_map(move |record| {
        Some((case_name(record, several_devices), record, Record::usable_measurement(record)?))
    })
}

pub(super) fn write(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{value:#}")
}
