//! The results as one aligned table, a row for each case. In: records; out: text.

use std::fmt::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, Table};

use super::has_several_devices;
use super::style::{BOLD, of_state};
use gpubench_records::facts::Quantity;
use gpubench_records::id::{Arg, shown_name};
use gpubench_records::record::{Measurement, Record, Run};
use gpubench_records::samples::Energy;
use gpubench_records::verdict::State;
use gpubench_records::work::Link;
use gpubench_stats::format;
use gpubench_stats::units::{Joules, Nanoseconds, Range};
use gpubench_stats::{SMALLEST_SAMPLE, Summary};

const HEAD: [&str; 15] = [
    "",
    "",
    "time",
    "",
    "processes",
    "in a row",
    "GB/s",
    "of peak",
    "GFLOP/s",
    "of peak",
    "items",
    "energy",
    "cold/hot",
    "samples",
    "",
];

/// The columns from this one on hold numbers.
const FIRST_NUMBER: usize = 2;
/// These are shown where there is something in them.
const PROCESSES: usize = 4;
const IN_A_ROW: usize = 5;
const COMPUTE_SHARE: usize = 9;
const ITEMS: usize = 10;
const ENERGY: usize = 11;

/// The table of all records.
#[must_use]
pub(super) fn table(run: &Run) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(HEAD);
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if number >= FIRST_NUMBER {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    // One style for each line below the head.
    let mut styles = Vec::new();
    let (mut module, mut name) = (None, None);
    for record in &run.records {
        let (path, short) = split(&record.case.benchmark, &record.case.args);
        if module != Some((path, &record.case.device)) {
            // With one device, the line above the table has said which.
            let on = if has_several_devices(run) {
                format!("{path} on {}", record.case.device)
            } else {
                path.to_owned()
            };
            table.add_row([on]);
            styles.push(BOLD);
            (module, name) = (Some((path, &record.case.device)), None);
        }
        let repeated = name.as_ref() == Some(&short);
        let shown = if repeated { String::new() } else { format!("  {short}") };
        name = Some(short);
        table.add_row(row(shown, record));
        styles.push(of_state(record.verdict.state));
    }
    let any = |has: fn(&Measurement) -> bool| {
        run.records.iter().filter_map(|record| record.measurement.as_ref()).any(has)
    };
    let optional = [
        (PROCESSES, run.records.iter().any(|record| record.processes().is_some())),
        (IN_A_ROW, any(|measured| measured.in_a_row.is_some())),
        (COMPUTE_SHARE, any(|measured| compute_share(measured).is_some())),
        (ITEMS, any(|measured| measured.metrics.items.is_some())),
        (ENERGY, any(|measured| per_launch(measured).is_some())),
    ];
    for (column, _) in optional.into_iter().filter(|(_, any)| !any) {
        if let Some(column) = table.column_mut(column) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
    let mut text = String::new();
    for (number, line) in table.lines().enumerate() {
        let style = number.checked_sub(1).and_then(|row| styles.get(row)).copied().unwrap_or_default();
        // Writing to a string cannot fail.
        _ = writeln!(text, "{style}{}{style:#}", line.trim_end());
    }
    text
}

fn row(name: String, record: &Record) -> Vec<String> {
    let measured = record.measurement.as_ref();
    let cells = measured.map_or_else(|| vec!["failed".to_owned()], |measured| cells(record, measured));
    [name, record.case.cache.to_string()].into_iter().chain(cells).collect()
}

/// What a number must not be read without.
fn mark(record: &Record) -> &'static str {
    match record.verdict.state {
        State::Invalid if record.fake => "fake, invalid",
        State::Invalid => "invalid",
        _ if record.fake => "fake",
        State::Suspect => "?",
        State::Valid => "",
    }
}

fn cells(record: &Record, measured: &Measurement) -> Vec<String> {
    let metrics = &measured.metrics;
    let compute = Quantity::Compute(measured.precision.clone());
    let share = metrics.share(&Link::quantity(measured.link)).or_else(|| metrics.share(&compute));
    let or_nothing = Option::unwrap_or_default;
    vec![
        format::time(measured.time.median),
        format::plus_minus(half_width(&measured.time)),
        or_nothing(record.processes().map(spread)),
        or_nothing(measured.in_a_row.map(format::time)),
        or_nothing(metrics.bandwidth.map(format::gigabytes)),
        or_nothing(share.map(format::percent)),
        or_nothing(metrics.throughput.map(format::gigaflops)),
        or_nothing(compute_share(measured).map(format::percent)),
        or_nothing(
            metrics.items.map(|rate| format::items(rate, measured.item.as_deref().unwrap_or("items"))),
        ),
        or_nothing(per_launch(measured).map(format::energy)),
        or_nothing(metrics.cold_over_hot.map(format::ratio)),
        measured.time.samples.to_string(),
        mark(record).to_owned(),
    ]
}

/// The range of the medians of several processes, such as `5: 320.0 µs to 332.8 µs`.
fn spread((range, processes): (Range<Nanoseconds>, usize)) -> String {
    format!("{processes}: {}", format::from_to(range, format::time))
}

/// The part of the arithmetic's peak, where that is the one that binds.
fn compute_share(measured: &Measurement) -> Option<f64> {
    let roof = measured.metrics.roof.as_ref()?;
    matches!(roof.quantity, Quantity::Compute(_)).then_some(roof.of_peak)
}

fn per_launch(measured: &Measurement) -> Option<Joules> {
    measured.energy.as_ref().and_then(Energy::per_launch)
}

/// Half the interval as a part of the median, where there are samples enough for an interval.
fn half_width(time: &Summary) -> f64 {
    if time.samples < SMALLEST_SAMPLE { f64::INFINITY } else { time.relative_half_width() }
}

/// A case's module, and its name within it.
pub(super) fn split<'a>(benchmark: &'a str, args: &[Arg]) -> (&'a str, String) {
    let (module, _) = benchmark.rsplit_once("::").unwrap_or(("", benchmark));
    let name = shown_name(benchmark, args);
    (module, name.strip_prefix(module).unwrap_or(&name).trim_start_matches(':').to_owned())
}
