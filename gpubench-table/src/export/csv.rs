//! CSV according to RFC 4180: a row for each case, under columns that name their units. Numbers have all their digits, so that
//! they are read back exactly. The last columns are the benchmarks' own metrics and the arguments of the run, one for each.

use std::io::{self, Write};

use gpubench_records::{Arg, Energy, Measurement, Quantity, Record, Run, work::UserMetric};
use gpubench_stats::format::joined;
use serde::Serialize;
use serde_json::Value;

/// A column, and the function that returns its cell for a record.
struct CsvColumn {
    head: &'static str,
    cell: fn(&Run, &Record) -> String,
}

/// Defines columns: those of the case, then those of its measurement, whose cells are empty if it failed.
macro_rules! columns {
    (
        case { $($case_head:literal: |$run:ident, $record:ident| $case_cell:expr,)+ }
        measurement { $($head:literal: |$it:ident| $cell:expr,)+ }
    ) => {
        const COLUMNS: &[CsvColumn] = &[
            $(CsvColumn { head: $case_head, cell: |$run, $record| cell_text($case_cell) },)+
            $(CsvColumn { head: $head, cell: |_, record| measured_cell(record, |$it| cell_text($cell)) },)+
        ];
    };
}

columns! {
    case {
        "suite": |run, _record| &*run.program.suite,
        "started_s": |run, _record| run.started,
        "benchmark": |_run, record| &*record.case.benchmark,
        "name": |_run, record| record.case.name(),
        "device": |_run, record| &*record.device,
        "device_name": |run, record| run.device_of(record).map(|info| &*info.name),
        "cache": |_run, record| record.case.cache,
        "fake": |_run, record| record.fake,
        "verdict": |_run, record| record.verdict.state,
        "reasons": |_run, record| joined(&record.verdict.reasons, "; "),
        "processes": |_run, record| 1 + record.other_processes.len(),
        "processes_low_ns": |_run, record| record.processes().map(|(medians, _)| medians.low),
        "processes_high_ns": |_run, record| record.processes().map(|(medians, _)| medians.high),
    }
    measurement {
        "time_ns": |it| it.median(),
        "time_low_ns": |it| it.samples.time.median_ci.low,
        "time_high_ns": |it| it.samples.time.median_ci.high,
        "min_ns": |it| it.samples.time.min,
        "p5_ns": |it| it.samples.time.p5,
        "p95_ns": |it| it.samples.time.p95,
        "p99_ns": |it| it.samples.time.p99,
        "max_ns": |it| it.samples.time.max,
        "mean_ns": |it| it.samples.time.mean,
        "standard_deviation_ns": |it| it.samples.time.standard_deviation,
        "samples": |it| it.samples.time.samples,
        "effective_samples": |it| it.samples.time.effective_samples,
        "converged": |it| it.samples.converged,
        "back_to_back_ns": |it| it.samples.back_to_back,
        "stream_time_ns": |it| it.samples.stream_time,
        "host_call_ns": |it| it.call_time,
        "first_launch_ns": |it| it.launch.first_launch_time,
        "overhead_ns": |it| it.samples.overhead(),
        "timer_resolution_ns": |it| it.samples.timer.resolution,
        "path": |it| it.samples.method.path,
        "flush": |it| it.samples.method.flush,
        "link": |it| it.link,
        "data_type": |it| &*it.data_type,
        "read_bytes": |it| it.counts.reads,
        "written_bytes": |it| it.counts.writes,
        "intermediate_bytes": |it| it.counts.intermediates,
        "moved_bytes": |it| it.counts.bytes,
        "operations_flop": |it| it.counts.flops,
        "items": |it| it.counts.items,
        "item": |it| it.item.as_deref(),
        "read_bytes_per_s": |it| it.metrics.read_bandwidth,
        "written_bytes_per_s": |it| it.metrics.write_bandwidth,
        "bandwidth_bytes_per_s": |it| it.metrics.bandwidth,
        "throughput_flop_per_s": |it| it.metrics.throughput,
        "items_per_s": |it| it.metrics.items_per_second,
        "bandwidth_of_peak": |it| it.metrics.share(&Quantity::moved_over(it.link)),
        "throughput_of_peak": |it| it.metrics.share(&Quantity::Compute(it.data_type.clone())),
        "intensity_flop_per_byte": |it| it.metrics.arithmetic_intensity,
        "cold_over_hot": |it| it.metrics.cold_over_hot,
        "setup_memory_bytes": |it| it.setup_memory,
        "launch_memory_bytes": |it| it.launch.memory,
        "energy_j": |it| it.energy.as_ref().and_then(Energy::per_launch),
    }
}

/// Writes `run` as CSV.
pub(super) fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let (args, metrics) = (argument_names(run), metric_columns(run));
    let heads = COLUMNS.iter().map(|column| column.head.to_owned());
    let heads = heads.chain(metrics.iter().cloned());
    write_row(out, heads.chain(args.iter().map(|name| format!("arg.{name}"))))?;
    for record in &run.records {
        let fixed = COLUMNS.iter().map(|column| (column.cell)(run, record));
        let own = metrics.iter().map(|head| metric_value(record, head).map(cell_text).unwrap_or_default());
        let args =
            args.iter().map(|name| argument_value(&record.case.args, name).unwrap_or_default().to_owned());
        write_row(out, fixed.chain(own).chain(args))?;
    }
    out.flush()
}

/// The head of the column of a benchmark's own metric, such as `metric.fill (%)`.
fn metric_column_name(UserMetric { name, unit, .. }: &UserMetric) -> String {
    if unit.is_empty() { format!("metric.{name}") } else { format!("metric.{name} ({unit})") }
}

/// Returns the column names of all own metrics of `run`, in the order of their first appearance.
fn metric_columns(run: &Run) -> Vec<String> {
    let mut heads = Vec::new();
    for head in run.measured().flat_map(|(_, it)| &it.user_metrics).map(metric_column_name) {
        if !heads.contains(&head) {
            heads.push(head);
        }
    }
    heads
}

/// Returns the record's value of the own metric whose column is `head`; `None` if it lacks that.
fn metric_value(record: &Record, head: &str) -> Option<f64> {
    let mut metrics = record.measurement.iter().flat_map(|it| &it.user_metrics);
    metrics.find(|metric| metric_column_name(metric) == head).map(|metric| metric.value)
}

/// Writes fields, with quotes around those that need them.
fn write_row(out: &mut dyn Write, fields: impl Iterator<Item = String>) -> io::Result<()> {
    let quoted = |field: String| match field.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    };
    writeln!(out, "{}", joined(fields.map(quoted), ","))
}

/// The names of all arguments, in the order in which they first appear.
fn argument_names(run: &Run) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for Arg { name, .. } in run.records.iter().flat_map(|record| &record.case.args) {
        if !names.contains(&&**name) {
            names.push(name);
        }
    }
    names
}

/// Returns the value of the argument `name`, if there is one.
fn argument_value<'a>(args: &'a [Arg], name: &str) -> Option<&'a str> {
    args.iter().find(|arg| arg.name == name).map(|arg| &*arg.value)
}

/// Returns the cell for a record's measurement; empty if the case failed.
fn measured_cell(record: &Record, cell: impl FnOnce(&Measurement) -> String) -> String {
    record.measurement.as_ref().map(cell).unwrap_or_default()
}

/// Returns a value as the text of a cell. Numbers have the fewest digits that read back as the same number;
/// missing values are empty.
fn cell_text(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        Ok(Value::Number(number)) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => number.to_string(),
            None => number.to_string(),
        },
        Ok(Value::Bool(is)) => is.to_string(),
        _ => String::new(),
    }
}
