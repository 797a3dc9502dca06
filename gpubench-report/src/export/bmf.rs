//! Bencher Metric Format: an object with the measures of each case, each a value with its interval. In: a run; out: JSON that
//! `bencher run --adapter json` reads. A tracker takes every value for a measurement: cases without a number that holds are
//! left out.

use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use gpubench_records::record::{Measurement, Run};
use gpubench_records::samples::Energy;
use gpubench_stats::Interval;
use gpubench_stats::units::Nanoseconds;
use gpubench_table::export::Names;

/// The measures of a case. `latency` and `throughput` are Bencher's own; the others it learns of here.
#[derive(Serialize)]
struct Measures {
    /// The median time of a launch, in nanoseconds.
    latency: Measure,
    /// Floating-point operations per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    throughput: Option<Measure>,
    /// Bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    bandwidth: Option<Measure>,
    /// Items per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Measure>,
    /// The energy of a launch, in joules.
    #[serde(skip_serializing_if = "Option::is_none")]
    energy: Option<Measure>,
}

/// A value with the 95 % interval of the median behind it, where it has one.
#[derive(Serialize)]
struct Measure {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// Writes `run` in this format.
pub(super) fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let names = Names::of(run);
    let mut json = serde_json::Serializer::pretty(&mut *out);
    let mut cases = json.serialize_map(None)?;
    for (record, measured) in
        run.records.iter().filter_map(|record| Some((record, record.usable_measurement()?)))
    {
        cases.serialize_entry(&names.case(record), &Measures::of(measured))?;
    }
    cases.end()?;
    out.write_all(b"\n")
}

impl Measures {
    fn of(measured: &Measurement) -> Self {
        let Measurement { metrics, energy, samples, .. } = measured;
        let time = &samples.time;
        let Interval { low, high, .. } = time.median_ci;
        let rate = |rate: f64| Measure::rate(rate, time.median / high, time.median / low);
        let alone = |value| Measure { value, lower_value: None, upper_value: None };
        let [value, low, high] = [time.median, low, high].map(Nanoseconds::as_f64);
        Self {
            latency: Measure { value, lower_value: Some(low), upper_value: Some(high) },
            throughput: metrics.throughput.map(|it| rate(it.as_f64())),
            bandwidth: metrics.bandwidth.map(|it| rate(it.as_f64())),
            items: metrics.items_per_second.map(|it| rate(it.as_f64())),
            energy: energy.as_ref().and_then(Energy::per_launch).map(|joules| alone(joules.as_f64())),
        }
    }
}

impl Measure {
    /// A rate, which is lowest where the time is longest. An interval that reaches zero leaves it without an upper end.
    fn rate(value: f64, slowest: f64, fastest: f64) -> Self {
        let bound = |factor: f64| Some(value * factor).filter(|bound| bound.is_finite() && *bound > 0.0);
        Self { value, lower_value: bound(slowest), upper_value: bound(fastest) }
    }
}
