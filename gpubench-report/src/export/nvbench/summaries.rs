//! The summaries of a state, by NVBench's tags. In: a record with a number; out: the statistics of its samples, its rates
//! and its clock, in seconds, bytes and hertz. Values for which NVBench has no tag have one that begins with `gpubench/`.

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::columns::bandwidth_share;
use gpubench_records::record::{Measurement, Record};
use gpubench_stats::quantile;
use gpubench_stats::units::{BytesPerSecond, ItemsPerSecond, Nanoseconds};

pub(super) struct Summaries<'a> {
    pub(super) record: &'a Record,
    pub(super) measured: &'a Measurement,
}

/// A value with its tag, its name for people, and the hint by which scripts write it.
#[derive(Serialize)]
struct NvSummary {
    tag: &'static str,
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<NvHint>,
    /// Keeps it out of tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    hide: Option<&'static str>,
    data: [NvSummaryValue; 1],
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum NvHint {
    SampleSize,
    Duration,
    Percentage,
    ItemRate,
    ByteRate,
    Frequency,
}

#[derive(Serialize)]
struct NvSummaryValue {
    name: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    value: String,
}

impl NvSummary {
    /// A number, as the text that is read back as that number: `inf` and `NaN` have no other form in JSON.
    fn number(tag: &'static str, name: &'static str, hint: NvHint, value: f64) -> Self {
        Self::new(tag, name, Some(hint), "float64", value.to_string())
    }

    fn new(
        tag: &'static str,
        name: &'static str,
        hint: Option<NvHint>,
        kind: &'static str,
        value: String,
    ) -> Self {
        Self { tag, name, hint, hide: None, data: [NvSummaryValue { name: "value", kind, value }] }
    }

    fn hidden(self) -> Self {
        Self { hide: Some("Left out of tables."), ..self }
    }
}

impl Serialize for Summaries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut summaries = serializer.serialize_seq(None)?;
        for summary in self.counts().into_iter().chain(self.times()).chain(self.rates()) {
            summaries.serialize_element(&summary)?;
        }
        summaries.end()
    }
}

impl Summaries<'_> {
    fn counts(&self) -> [NvSummary; 2] {
        let (samples, verdict) = (self.measured.samples.time.samples, self.record.verdict.state);
        [
            NvSummary::new(
                "nv/cold/sample_size",
                "Samples",
                Some(NvHint::SampleSize),
                "int64",
                samples.to_string(),
            ),
            NvSummary::new("gpubench/verdict", "Verdict", None, "string", verdict.to_string()).hidden(),
        ]
    }

    fn times(&self) -> [NvSummary; 13] {
        let time = &self.measured.samples.time;
        let mut sorted: Vec<f64> = self.measured.times().iter().copied().map(Nanoseconds::as_f64).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let quartile =
            |part| if sorted.is_empty() { time.median } else { Nanoseconds(quantile(&sorted, part)) };
        let seconds =
            |tag, name, time: Nanoseconds| NvSummary::number(tag, name, NvHint::Duration, time.as_seconds());
        let part = |tag, name, value| NvSummary::number(tag, name, NvHint::Percentage, value);
        [
            seconds("nv/cold/time/gpu/min", "Min GPU Time", time.min).hidden(),
            seconds("nv/cold/time/gpu/max", "Max GPU Time", time.max).hidden(),
            seconds("nv/cold/time/gpu/mean", "GPU Time", time.mean),
            seconds("nv/cold/time/gpu/stdev/absolute", "GPU Stdev", time.standard_deviation).hidden(),
            part("nv/cold/time/gpu/stdev/relative", "Noise", time.standard_deviation / time.mean),
            seconds("nv/cold/time/gpu/q1", "GPU Q1", quartile(0.25)).hidden(),
            seconds("nv/cold/time/gpu/median", "GPU Median", time.median),
            seconds("nv/cold/time/gpu/q3", "GPU Q3", quartile(0.75)).hidden(),
            seconds("nv/cold/time/gpu/iqr/absolute", "GPU IQR", time.iqr).hidden(),
            part("nv/cold/time/gpu/iqr/relative", "GPU IQR (relative)", time.iqr / time.median).hidden(),
            seconds("gpubench/time/gpu/median/low", "Median, lower 95 %", time.median_ci.low).hidden(),
            seconds("gpubench/time/gpu/median/high", "Median, upper 95 %", time.median_ci.high).hidden(),
            seconds("nv/cold/walltime", "Walltime", self.measured.samples.wall).hidden(),
        ]
    }

    fn rates(&self) -> impl Iterator<Item = NvSummary> {
        let Measurement { metrics, samples, .. } = self.measured;
        let maybe = |tag, name, hint, value: Option<f64>| Some(NvSummary::number(tag, name, hint, value?));
        let bytes = metrics.bandwidth.map(BytesPerSecond::as_f64);
        let clock =
            samples.device_clock.as_ref().map(|clock| clock.mean.as_f64()).or_else(|| self.sensed_clock());
        let batch = samples.back_to_back.map(Nanoseconds::as_seconds);
        [
            maybe(
                "nv/cold/bw/item_rate",
                "Elem/s",
                NvHint::ItemRate,
                metrics.items.map(ItemsPerSecond::as_f64),
            ),
            maybe("nv/cold/bw/global/bytes_per_second", "GlobalMem BW", NvHint::ByteRate, bytes),
            maybe(
                "nv/cold/bw/global/utilization",
                "BWUtil",
                NvHint::Percentage,
                bandwidth_share(self.measured),
            ),
            maybe("nv/cold/sm_clock_rate/mean", "Clock Rate", NvHint::Frequency, clock),
            maybe("nv/batch/time/gpu/mean", "Batch GPU", NvHint::Duration, batch),
        ]
        .into_iter()
        .flatten()
    }

    /// The middle of the clocks that the sensors read while samples were taken.
    fn sensed_clock(&self) -> Option<f64> {
        let clock = self.measured.samples.conditions.as_ref()?.during.sm_clock?;
        Some(f64::midpoint(clock.low.as_f64(), clock.high.as_f64()))
    }
}
