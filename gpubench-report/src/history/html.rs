//! The page of a history: one file that a browser shows without a network and without a script. In: a [`HistoryReport`]; out: HTML: the
//! answer, all changes, the newest first, and a line for each case, those with the newest change first.

use gpubench_records::history::{CaseHistory, HistoryReport};
use gpubench_stats::format::{self, counted};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::sparkline::sparkline;
use super::words;
use crate::html::style;
use gpubench_table::text::plain;

/// The browser fetches and runs nothing, whatever a name contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The number of changes that the first table shows.
const MOST: usize = 200;

/// The page.
#[must_use]
pub fn page(report: &HistoryReport) -> String {
    let answer = words::answer(report);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                title { "Over time: " (answer) }
                style { (PreEscaped(style())) (PreEscaped(include_str!("history.css"))) }
            }
            body {
                header { h1 { "Over time" } }
                main {
                    p { strong { (answer) } " in " (words::size(report)) "." }
                    @if report.cases.iter().any(|case| case.case.fake) {
                        p { strong.bad { "FAKE: stand-ins for tests. Their times are made up" } }
                    }
                    (changes(report))
                    section aria-labelledby="cases" {
                        h2 #cases { "Cases" }
                        @for (number, it) in report.cases.iter().enumerate() { (case(it, number)) }
                    }
                    (notes(report))
                }
                footer { p.soft { "gpubench " (env!("CARGO_PKG_VERSION")) } }
            }
        }
    }
    .into_string()
}

/// All changes, the newest first.
fn changes(report: &HistoryReport) -> Markup {
    let found = report.changes();
    let again = words::has_confirmations(report);
    let number = |case: &CaseHistory| report.cases.iter().position(|other| std::ptr::eq(other, case));
    html! {
        @if !found.is_empty() {
            section aria-labelledby="changes" {
                h2 #changes { "Changes, the newest first" }
                div.wide tabindex="0" {
                    table.changes {
                        thead { tr {
                            th scope="col" { "case" }
                            th.number scope="col" { "change" }
                            th.number scope="col" { "95 % interval" }
                            th.number scope="col" { "by chance" }
                            th scope="col" { "commits" }
                            th scope="col" { "day" }
                            @if again { th scope="col" { "measured again" } }
                        } }
                        tbody {
                            @for (of, it) in found.iter().take(MOST) {
                                tr {
                                    th scope="row" { a href={ "#c" (number(of).unwrap_or_default()) } { (words::case_of(it, of)) } }
                                    td.number.slower[it.ratio > 1.0].faster[it.ratio < 1.0] { (format::change(it.ratio)) }
                                    td.number { (format::changes(it.interval[0], it.interval[1])) }
                                    td.number { (words::chance(it)) }
                                    td { code { (words::commits(it)) } }
                                    td { (words::day(&it.begins)) }
                                    @if again { td { (words::confirmation(it)) } }
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
    let name = words::case(case);
    let latest = case.series.last();
    html! {
        article.history id={ "c" (number) } {
            h3 { (name) }
            p.soft { (plain(&case.case.case.model)) " · " (plain(&case.case.suite))
                @if let Some(latest) = latest { " · now " (words::last_time(latest)) } }
            @for (number, series) in case.series.iter().rev().enumerate() {
                @if case.series.len() > 1 {
                    p.soft { @if number > 0 { "Apart: " } (counted(series.count, "run")) (words::on_device(series)) }
                }
                (PreEscaped(sparkline(series, &format!("{name}: {}, {}", counted(series.count, "run"), counted(series.changes.len(), "change")))))
                @if !series.changes.is_empty() {
                    ul {
                        @for it in &series.changes {
                            li {
                                b.slower[it.ratio > 1.0].faster[it.ratio < 1.0] { (format::change(it.ratio)) }
                                " on " (words::day(&it.begins)) " in " code { (words::commits(it)) }
                                ": " (format::time(it.times[0])) " → " (format::time(it.times[1]))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn notes(report: &HistoryReport) -> Markup {
    let remarks = words::remarks(report);
    html! {
        section aria-labelledby="notes" {
            h2 #notes { "Notes" }
            p { (words::rules(report)) "." }
            @for remark in &remarks { p.note { (remark) } }
            @if !report.faults.is_empty() {
                details {
                    summary { (counted(report.faults.len(), "file")) " could not be read" }
                    ul { @for fault in &report.faults { li { (plain(fault)) } } }
                }
            }
        }
    }
}
