//! The columns of the table: one list, which the printed table and the Markdown table share. In: a record; out: the text of
//! each of its cells.

use gpubench_records::facts::Quantity;
use gpubench_records::record::{Measurement, Record, Run};
use gpubench_records::samples::Energy;
use gpubench_records::verdict::State;
use gpubench_records::work::Link;
use gpubench_stats::units::{Nanoseconds, Range};
use gpubench_stats::{SMALLEST_SAMPLE, Summary, format};

/// A column of the table, behind the one with the case's name.
#[derive(Debug)]
pub(super) struct Column {
    /// The text above the printed column.
    pub(super) head: &'static str,
    /// The text above it where a table stands alone.
    pub(super) title: &'static str,
    /// True for numbers, which are aligned to the right.
    pub(super) number: bool,
    /// True for a column that is left out where it would be empty.
    pub(super) optional: bool,
    /// The cell of a record.
    pub(super) cell: fn(&Record) -> String,
}

const NUMBER: Column = Column { head: "", title: "", number: true, optional: false, cell: |_| String::new() };
const OPTIONAL: Column = Column { optional: true, ..NUMBER };

const COLUMNS: &[Column] = &[
    Column { title: "cache", number: false, cell: |record| record.case.cache.to_string(), ..NUMBER },
    Column { head: "time", title: "time", cell: time, ..NUMBER },
    Column {
        title: "95 % interval",
        cell: |record| of(record, |it| format::plus_minus(half_width(&it.samples.time))),
        ..NUMBER
    },
    Column { head: "processes", title: "processes", cell: processes, ..OPTIONAL },
    Column {
        head: "in a row",
        title: "back-to-back",
        cell: |record| maybe(record, |it| it.samples.back_to_back.map(format::time)),
        ..OPTIONAL
    },
    Column {
        head: "GB/s",
        title: "GB/s",
        cell: |record| maybe(record, |it| it.metrics.bandwidth.map(format::gigabytes)),
        ..NUMBER
    },
    Column {
        head: "of peak",
        title: "of peak",
        cell: |record| maybe(record, |it| peak_share(it).map(format::percent)),
        ..NUMBER
    },
    Column {
        head: "GFLOP/s",
        title: "GFLOP/s",
        cell: |record| maybe(record, |it| it.metrics.throughput.map(format::gigaflops)),
        ..NUMBER
    },
    Column {
        head: "of peak",
        title: "of compute peak",
        cell: |record| maybe(record, |it| compute_share(it).map(format::percent)),
        ..OPTIONAL
    },
    Column { head: "items", title: "items", cell: items, ..OPTIONAL },
    Column {
        head: "energy",
        title: "energy",
        cell: |record| {
            maybe(record, |it| it.energy.as_ref().and_then(Energy::per_launch).map(format::energy))
        },
        ..OPTIONAL
    },
    Column {
        head: "cold/hot",
        title: "cold/hot",
        cell: |record| maybe(record, |it| it.metrics.cold_over_hot.map(format::ratio)),
        ..NUMBER
    },
    Column {
        head: "samples",
        title: "samples",
        cell: |record| of(record, |it| it.samples.time.samples.to_string()),
        ..NUMBER
    },
    Column { title: "verdict", cell: mark, ..NUMBER },
];

/// The columns that the table of `run` has.
pub(super) fn columns_of(run: &Run) -> Vec<&'static Column> {
    let used = |column: &&Column| {
        !column.optional || run.records.iter().any(|record| !(column.cell)(record).is_empty())
    };
    COLUMNS.iter().filter(used).collect()
}

/// The cell of a record that has a measurement; an empty one of any other.
fn of(record: &Record, cell: impl FnOnce(&Measurement) -> String) -> String {
    record.measurement.as_ref().map(cell).unwrap_or_default()
}

fn maybe(record: &Record, cell: impl FnOnce(&Measurement) -> Option<String>) -> String {
    record.measurement.as_ref().and_then(cell).unwrap_or_default()
}

fn time(record: &Record) -> String {
    record
        .measurement
        .as_ref()
        .map_or_else(|| "failed".to_owned(), |measured| format::time(measured.median()))
}

/// The range of the medians of several processes, such as `5: 320.0 µs to 332.8 µs`.
fn processes(record: &Record) -> String {
    let spread = |(range, processes): (Range<Nanoseconds>, usize)| {
        format!("{processes}: {}", format::from_to(range, format::time))
    };
    record.processes().map(spread).unwrap_or_default()
}

fn items(record: &Record) -> String {
    maybe(record, |measured| {
        let item = measured.item.as_deref().unwrap_or("items");
        measured.metrics.items.map(|rate| format::items(rate, item))
    })
}

/// The warning that a number must not be read without.
fn mark(record: &Record) -> String {
    let mark = match record.verdict.state {
        _ if record.measurement.is_none() => "",
        State::Invalid if record.fake => "fake, invalid",
        State::Invalid => "invalid",
        _ if record.fake => "fake",
        State::Suspect => "?",
        State::Valid => "",
    };
    mark.to_owned()
}

/// The part of the peak of what bytes move over; of the arithmetic's where that is not known.
pub(super) fn peak_share(measured: &Measurement) -> Option<f64> {
    let compute = Quantity::Compute(measured.precision.clone());
    bandwidth_share(measured).or_else(|| measured.metrics.share(&compute))
}

/// The part of the peak of what bytes move over.
pub(super) fn bandwidth_share(measured: &Measurement) -> Option<f64> {
    measured.metrics.share(&Link::quantity(measured.link))
}

/// The part of the arithmetic's peak, where that is the one that binds.
fn compute_share(measured: &Measurement) -> Option<f64> {
    let roof = measured.metrics.roof.as_ref()?;
    matches!(roof.quantity, Quantity::Compute(_)).then_some(roof.of_peak)
}

/// Half the interval as a part of the median, where there are samples enough for an interval.
fn half_width(time: &Summary) -> f64 {
    if time.samples < SMALLEST_SAMPLE { f64::INFINITY } else { time.relative_half_width() }
}
