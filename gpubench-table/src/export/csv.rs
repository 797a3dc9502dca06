//! CSV with quotes as in RFC 4180, and lines that end with LF: a row for each case, under columns that name their units. Numbers
//! have all their digits, so that they are read back exactly. The last columns are the benchmarks' own metrics and the arguments
//! of the run, one for each.

use std::io::{self, Write};

use gpubench_records::{Arg, Energy, Quantity, Record, Run, UserMetric, unique};
use gpubench_stats::{Map, format::joined};
use serde::Serialize;
use serde_json::Value;

/// A column of the CSV, and the function that returns its cell for a record; empty if the record has no such
/// value.
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
            $(CsvColumn { head: $head, cell: |_, record| record.measurement.as_ref().map(|$it| cell_text($cell)).unwrap_or_default() },)+
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

/// Returns the cells of a record in columns that only some runs have, each with its head.
type OwnCells = fn(&Record) -> Vec<(String, String)>;

/// The benchmarks' own metrics, such as `metric.fill (%)`, then the arguments, such as `arg.n`.
const OWN_CELLS: [OwnCells; 2] = [
    |record| {
        let metrics = record.measurement.iter().flat_map(|it| &it.user_metrics);
        let cell = |UserMetric { name, unit, value }: &UserMetric| {
            let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
            (format!("metric.{name}{unit}"), cell_text(value))
        };
        metrics.map(cell).collect()
    },
    |record| {
        record.case.args.iter().map(|Arg { name, value }| (format!("arg.{name}"), value.clone())).collect()
    },
];

/// Writes `run` as CSV.
pub(super) fn write(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    // In the order in which they first appear.
    let own_cells = OWN_CELLS.iter().flat_map(|of| run.records.iter().flat_map(of));
    let own_heads = unique(own_cells.map(|(head, _)| head));
    let heads = COLUMNS.iter().map(|column| column.head.to_owned());
    write_row(out, heads.chain(own_heads.iter().cloned()))?;
    for record in &run.records {
        let own: Map<String, String> = OWN_CELLS.iter().flat_map(|of| of(record)).collect();
        let cells = COLUMNS.iter().map(|column| (column.cell)(run, record));
        write_row(out, cells.chain(own_heads.iter().map(|head| own.get(head).cloned().unwrap_or_default())))?;
    }
    out.flush()
}

/// Writes fields, with quotes around those that need them.
fn write_row(out: &mut dyn Write, fields: impl Iterator<Item = String>) -> io::Result<()> {
    let quoted = |field: String| match field.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    };
    writeln!(out, "{}", joined(fields.map(quoted), ","))
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
