//! The table of all cases, which is read without a script, and which the page's script sorts, filters and opens. Each row is a body of its
//! own, with a second line for its details.

use gpubench_records::record::{Measurement, Record};
use gpubench_records::verdict::State;
use gpubench_stats::{SMALLEST_SAMPLE, format};
use maud::{Markup, html};

use super::details::Details;
use super::view::{PageCase, View};
use gpubench_table::roof;
use gpubench_table::text::plain;

/// The text of a cell, and the number that it is sorted by.
type Cell = fn(&Measurement) -> Option<(String, f64)>;

/// The columns after the name: the title; true for one that a narrow screen leaves out, because the row's details have it; the cell.
const COLUMNS: [(&str, bool, Cell); 7] = [
    ("time", false, |it| Some((format::time(it.median()), it.median().as_f64()))),
    ("95 % interval", true, |it| {
        let time = &it.samples.time;
        let half = if time.samples < SMALLEST_SAMPLE { f64::INFINITY } else { time.relative_half_width() };
        Some((format::plus_minus(half), half))
    }),
    ("GB/s", true, |it| it.metrics.bandwidth.map(|rate| (format::gigabytes(rate), rate.as_f64()))),
    ("GFLOP/s", true, |it| it.metrics.throughput.map(|rate| (format::gigaflops(rate), rate.as_f64()))),
    ("of its roof", false, |it| roof::binding(it).map(|share| (roof::cell(share), share.fraction))),
    ("cold/hot", true, |it| it.metrics.cold_over_hot.map(|ratio| (format::ratio(ratio), ratio))),
    ("samples", true, |it| Some((it.samples.time.samples.to_string(), it.samples.time.samples as f64))),
];

/// The section with the table and its filters.
pub(super) fn cases(view: &View<'_>) -> Markup {
    let details = Details::new(view);
    html! {
        section #cases aria-labelledby="cases-title" {
            h2 #cases-title { "Cases" }
            (controls())
            p #count.soft aria-live="polite" { (format::counted(view.cases.len(), "row")) }
            @if !view.prefix.is_empty() { p.soft { "Names begin with " code { (plain(view.prefix)) } } }
            div.wide {
                table #table {
                    thead {
                        tr {
                            th scope="col" data-kind="text" { "case" }
                            @if view.several_devices { th.device-cell scope="col" data-kind="text" { "device" } }
                            th scope="col" data-kind="text" { "cache" }
                            @for (title, is_wide, _) in COLUMNS { th.number.wide-only[is_wide] scope="col" { (title) } }
                            th scope="col" data-kind="text" { "verdict" }
                        }
                    }
                    @for case in &view.cases { (row(view, case, &details)) }
                }
            }
            p #more hidden { button type="button" { "Show more rows" } }
            @for note in details.notes() { p.soft { (note) } }
            @for skipped in &view.run.skipped {
                p.soft { "skipped " (plain(&skipped.name())) ": " (plain(&skipped.reason)) }
            }
        }
    }
}

/// The filters, which only a script obeys.
fn controls() -> Markup {
    html! {
        form #controls.needs-script role="search" aria-label="Filter rows" {
            label { "Filter " input #filter type="search" placeholder="part of a name" autocomplete="off"; }
            fieldset {
                legend { "Verdict" }
                @for state in [State::Valid, State::Suspect, State::Invalid] {
                    label { input type="checkbox" name="verdict" value=(state.to_string()) checked; " " (state.to_string()) }
                }
            }
            label {
                "Cache "
                select #cache {
                    option value="" { "both" }
                    option value="hot" { "hot" }
                    option value="cold" { "cold" }
                }
            }
        }
    }
}

fn row(view: &View<'_>, case: &PageCase<'_>, details: &Details<'_>) -> Markup {
    let record = case.record;
    let number = case.number;
    let state = record.verdict.state.to_string();
    html! {
        tbody #{ "r" (number) } data-cache=(record.case.cache.to_string()) data-verdict=(state) {
            tr {
                th scope="row" { a.name href={ "#m" (number) } { (case.short_name()) } }
                @if view.several_devices { td.device-cell { (plain(&record.device)) } }
                td { (record.case.cache.to_string()) }
                @for (_, is_wide, cell) in COLUMNS {
                    @let cell = record.measurement.as_ref().and_then(cell);
                    td.number.wide-only[is_wide] data-v=[cell.as_ref().map(|(_, value)| value)] { @if let Some((text, _)) = &cell { (text) } }
                }
                td class=(state) { (mark(record)) }
            }
            tr.more #{ "m" (number) } { td colspan="11" { (details.of_case(case)) } }
        }
    }
}

/// The verdict in words; `failed` if there is no measurement.
fn mark(record: &Record) -> String {
    let fake = if record.fake { "fake, " } else { "" };
    match record.measurement {
        None => "failed".to_owned(),
        Some(_) => format!("{fake}{}", record.verdict.state),
    }
}
