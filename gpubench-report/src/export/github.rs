//! The JSON of github-action-benchmark's tool `customSmallerIsBetter`: an array with the time of each case. In: a run; out:
//! JSON. The action draws every value, so that invalid cases and those without a number are left out.

use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use gpubench_records::record::{Measurement, Record, Run};
use gpubench_stats::format;
use gpubench_stats::units::Nanoseconds;
use gpubench_table::export::Names;

/// A point of a chart.
#[derive(Serialize)]
struct ChartPoint {
    name: String,
    unit: &'static str,
    value: Nanoseconds,
    /// The half-width of the median's 95 % interval, in the same unit.
    range: String,
    /// The text that is shown with the point.
    extra: String,
}

/// Writes `run` in this format.
pub(super) fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let names = Names::of(run);
    let mut json = serde_json::Serializer::pretty(&mut *out);
    let mut points = json.serialize_seq(None)?;
    for (record, measured) in
        run.records.iter().filter_map(|record| Some((record, record.usable_measurement()?)))
    {
        let point = ChartPoint {
            name: names.case(record),
            unit: "ns",
            value: measured.median(),
            range: format!("± {}", measured.samples.time.median_ci.half_width().as_f64()),
            extra: extra(record, measured),
        };
        points.serialize_element(&point)?;
    }
    points.end()?;
    out.write_all(b"\n")
}

/// The verdict, its reasons and the rates, a line each.
fn extra(record: &Record, measured: &Measurement) -> String {
    let mut lines = vec![format!(
        "{}, {}",
        record.verdict.state,
        format::counted(measured.samples.time.samples, "sample")
    )];
    lines.extend(record.fake.then(|| "a fake device: its times are made up".to_owned()));
    lines.extend(record.verdict.reasons.iter().map(ToString::to_string));
    lines.extend(measured.metrics.bandwidth.map(format::bandwidth));
    lines.extend(measured.metrics.throughput.map(format::throughput));
    lines.join("\n")
}
