//! The page of a history: one file that a browser shows without a network and without a script. It has the answer, all changes, the newest
//! first, and a line for each case, those with the newest change first.

use std::fmt::Write as _;
use std::io::{self, Write};

use gpubench_stats::format::{change, counted, time};
use gpubench_table::text::plain;
use maud::{Markup, html};

use super::{CaseHistory, HistoryReport, Series, text};
use crate::html::document;

/// The number of changes that the first table shows.
const MOST: usize = 200;
/// The width and the height of a line.
const WIDTH: usize = 480;
const HEIGHT: usize = 48;
/// The space above and below the line.
const MARGIN: f64 = 4.0;
/// The least range of a line, as a fraction of its times: noise is not drawn as large as a change.
const LEAST_RANGE: f64 = 0.02;

/// Writes the page.
///
/// # Errors
/// If `out` takes no more.
pub fn write_html(report: &HistoryReport, out: &mut dyn Write) -> io::Result<()> {
    let answer = text::answer(report);
    let body = html! {
        header { h1 { "Over time" } }
        main {
            p { strong { (answer) } " in " (text::size(report)) "." }
            @if report.cases.iter().any(|case| case.case.fake) {
                p { strong.bad { "FAKE: stand-ins for tests. Their times are made up" } }
            }
            (changes(report))
            section aria-labelledby="cases" {
                h2 #cases { "Cases" }
                @for (number, it) in report.cases.iter().enumerate() { (case(it, number)) }
            }
            section aria-labelledby="notes" {
                h2 #notes { "Notes" }
                p { (text::rules(report)) "." }
                @for remark in text::remarks(report) { p.note { (remark) } }
                @if !report.faults.is_empty() {
                    details {
                        summary { (counted(report.faults.len(), "file")) " could not be read" }
                        ul { @for fault in &report.faults { li { (plain(fault)) } } }
                    }
                }
            }
        }
        footer { p.soft { "gpubench " (env!("CARGO_PKG_VERSION")) } }
    };
    let title = format!("Over time: {answer}");
    out.write_all(document(&title, "", include_str!("history.css"), &html! {}, &body).as_bytes())
}

/// Returns all changes, the newest first.
fn changes(report: &HistoryReport) -> Markup {
    let found = report.changes();
    let rows = text::rows(report);
    let number = |case: &CaseHistory| report.cases.iter().position(|other| std::ptr::eq(other, case));
    let is_number = |column: usize| (1..3).contains(&column);
    html! {
        @if !found.is_empty() {
            section aria-labelledby="changes" {
                h2 #changes { "Changes, the newest first" }
                div.wide tabindex="0" {
                    table.changes {
                        thead { tr {
                            @for (column, head) in text::HEADS.iter().enumerate() { th.number[is_number(column)] scope="col" { (head) } }
                        } }
                        tbody {
                            @for ((of, it), cells) in found.iter().zip(rows).take(MOST) {
                                tr {
                                    th scope="row" { a href={ "#c" (number(of).unwrap_or_default()) } { (cells[0]) } }
                                    td.number.slower[it.ratio > 1.0].faster[it.ratio < 1.0] { (cells[1]) }
                                    @for (column, cell) in cells.iter().enumerate().skip(2) {
                                        td.number[is_number(column)] { (cell) }
                                    }
                                }
                            }
                        }
                    }
                }
                @if found.len() > MOST { p.soft { (counted(found.len() - MOST, "older change")) " below, with the cases." } }
            }
        }
    }
}

fn case(case: &CaseHistory, number: usize) -> Markup {
    let last = case.series.last().and_then(|series| series.points.last());
    html! {
        article.history id={ "c" (number) } {
            h3 { (text::name(case)) }
            p.soft { (plain(&case.case.case.model)) " · " (plain(&case.case.suite))
                @if let Some(last) = last { " · now " (time(last.time)) } }
            @for (number, series) in case.series.iter().rev().enumerate() {
                @let runs = counted(series.points.len(), "run");
                @if case.series.len() > 1 {
                    p.soft { @if number > 0 { "Apart: " } (runs) (text::on(series.uuid())) }
                }
                (sparkline(series, &format!("{}: {runs}, {}", text::name(case), counted(series.changes.len(), "change"))))
                @if !series.changes.is_empty() {
                    ul {
                        @for it in &series.changes {
                            li {
                                b.slower[it.ratio > 1.0].faster[it.ratio < 1.0] { (change(it.ratio)) }
                                " on " (text::day(&it.begins)) " in " code { (text::commits(it)) }
                                ": " (time(it.times[0])) " → " (time(it.times[1]))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Draws the times of a series from left to right, and its changes. Of thousands of times each column shows the lowest and the highest.
fn sparkline(series: &Series, name: &str) -> Markup {
    let times = series.adjusted();
    let lowest = |times: &[f64]| times.iter().copied().fold(f64::MAX, f64::min);
    let highest = |times: &[f64]| times.iter().copied().fold(f64::MIN, f64::max);
    let (low, high) = (lowest(&times), highest(&times));
    let margin = (LEAST_RANGE * low - (high - low)).max(0.0) / 2.0;
    let (low, high) = (low - margin, high + margin);
    let x = |at: usize| at as f64 * WIDTH as f64 / times.len().saturating_sub(1).max(1) as f64;
    let y = |time: f64| MARGIN + (high - time) / (high - low) * (HEIGHT as f64 - 2.0 * MARGIN);
    let column = times.len().div_ceil(WIDTH).max(1);
    let mut path = String::new();
    for (number, times) in times.chunks(column).enumerate() {
        for time in if column == 1 { vec![times[0]] } else { vec![lowest(times), highest(times)] } {
            let command = if path.is_empty() { 'M' } else { 'L' };
            // Writing to a string does not fail.
            _ = write!(path, "{command}{:.0} {:.1}", x(number * column), y(time));
        }
    }
    html! {
        @if !times.is_empty() {
            svg.spark viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(name) {
                @for it in &series.changes {
                    path.slower[it.ratio > 1.0].faster[it.ratio <= 1.0] d=(format!("M{:.0} 0V{HEIGHT}", x(it.at))) {}
                }
                path.times d=(path) {}
            }
        }
    }
}
