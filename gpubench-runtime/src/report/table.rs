//! The results as one aligned table, a row for each case, and under it what speaks against rows. In: records; out: text.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use crate::device::Quantity;
use crate::format;
use crate::record::{Measurement, Record, Run};
use crate::verdict::{Reason, State};

const HEAD: [&str; 10] = ["", "", "time", "", "GB/s", "of peak", "GFLOP/s", "cold/hot", "samples", ""];

/// The columns from this one on hold numbers.
const FIRST_NUMBER: usize = 2;

/// The table of all records, the reasons of those that are not valid, and a line that counts them.
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
        let (path, short) = split(record);
        if module != Some((path, &record.device)) {
            table.add_row([path]);
            styles.push(Style::new().bold());
            (module, name) = (Some((path, &record.device)), None);
        }
        let repeated = name.as_ref() == Some(&short);
        let shown = if repeated { String::new() } else { format!("  {short}") };
        name = Some(short);
        table.add_row(row(shown, record));
        styles.push(style(record.verdict.state));
    }
    let mut text = String::new();
    for (number, line) in table.lines().enumerate() {
        let style = number.checked_sub(1).and_then(|row| styles.get(row)).copied().unwrap_or_default();
        // Writing to a string cannot fail.
        _ = writeln!(text, "{style}{}{style:#}", line.trim_end());
    }
    text + &reasons(run) + &summary(run)
}

fn row(name: String, record: &Record) -> Vec<String> {
    let measured = record.measurement.as_ref();
    let cells =
        measured.map_or_else(|| vec!["failed".to_owned()], |measured| cells(measured, record.verdict.state));
    [name, record.cache.to_string()].into_iter().chain(cells).collect()
}

fn cells(measured: &Measurement, state: State) -> Vec<String> {
    let metrics = &measured.metrics;
    let compute = Quantity::Compute(measured.precision.clone());
    let share = metrics.share(&Quantity::MemoryBandwidth).or_else(|| metrics.share(&compute));
    let or_nothing = Option::unwrap_or_default;
    let mark = if state == State::Suspect { "?" } else { "" };
    vec![
        format::time(measured.time.median),
        format::plus_minus(measured.time.relative_half_width()),
        or_nothing(metrics.bandwidth.map(format::gigabytes)),
        or_nothing(share.map(format::percent)),
        or_nothing(metrics.throughput.map(format::gigaflops)),
        or_nothing(metrics.cold_over_hot.map(format::ratio)),
        measured.time.samples.to_string(),
        mark.to_owned(),
    ]
}

/// A record's module and its name within it.
fn split(record: &Record) -> (&str, String) {
    let (module, _) = record.benchmark.rsplit_once("::").unwrap_or(("", &record.benchmark));
    let name = record.name();
    (module, name.strip_prefix(module).unwrap_or(&name).trim_start_matches(':').to_owned())
}

fn style(state: State) -> Style {
    match state {
        State::Valid => Style::new(),
        State::Suspect => AnsiColor::Yellow.on_default(),
        State::Invalid => AnsiColor::Red.on_default(),
    }
}

/// What speaks against rows. That a row has not converged its own interval shows, so that those are only counted.
fn reasons(run: &Run) -> String {
    let mut text = String::new();
    let mut not_converged = 0;
    for record in &run.records {
        for reason in &record.verdict.reasons {
            if let Reason::NotConverged { .. } = reason {
                not_converged += 1;
                continue;
            }
            let (state, name, cache) = (reason.state(), record.name(), record.cache);
            let style = style(state);
            _ = writeln!(text, "{style}{state}{style:#} {name} {cache}: {reason}");
        }
    }
    if not_converged > 0 {
        let (state, wanted) = (State::Suspect, 100.0 * run.sampling.precision);
        let style = style(state);
        _ = writeln!(
            text,
            "{style}{state}{style:#} {not_converged} cases marked ?: their time was spent before ± {wanted:.2} % was \
             reached (--max-time gives them more)"
        );
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn summary(run: &Run) -> String {
    let count = |state| run.records.iter().filter(|record| record.verdict.state == state).count();
    format!(
        "\n{} cases: {} valid, {} suspect, {} invalid, in {:.1} s\n",
        run.records.len(),
        count(State::Valid),
        count(State::Suspect),
        count(State::Invalid),
        run.wall
    )
}
