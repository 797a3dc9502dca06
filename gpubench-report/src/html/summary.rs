//! The top of the page: the devices, the verdicts in numbers, and the first things to look at, which are regressions and rows with
//! reservations.

use gpubench_records::comparison::{Answer, BaselineComparison, CaseFinding, Finding};
use gpubench_records::counts::ResultCounts;
use gpubench_records::verdict::State;
use gpubench_stats::{Ratio, format};
use maud::{Markup, html};

use super::view::{PageCase, View};
use gpubench_table::text::plain;
use gpubench_table::{gate, header, remarks};

/// The number of rows that each list names.
const NAMED: usize = 6;

pub(super) fn summary(view: &View<'_>) -> Markup {
    let run = view.run;
    html! {
        section #summary aria-labelledby="summary-title" {
            h2 #summary-title { "Summary" }
            @for note in header::notes(run) { p.note { (plain(&note)) } }
            @for info in &run.devices {
                p.device {
                    b { (plain(&info.device)) } ": " (plain(&info.name))
                    @if info.fake { " " strong.bad { "FAKE: a stand-in for tests. Its times are made up" } }
                }
            }
            (verdicts(view))
            p.soft { (plain(remarks::summary(run).trim())) }
            div.columns {
                (slower(view))
                (reservations(view))
            }
        }
    }
}

/// The number of rows of each verdict.
fn verdicts(view: &View<'_>) -> Markup {
    let ResultCounts { valid, suspect, invalid, skipped, .. } = view.run.counts();
    html! {
        ul.verdicts {
            @for (state, count) in [(State::Valid, valid), (State::Suspect, suspect), (State::Invalid, invalid)] {
                li class=(state.to_string()) { b { (count) } " " (state.to_string()) }
            }
            @if skipped > 0 { li { b { (skipped) } " skipped" } }
        }
    }
}

fn link(view: &View<'_>, case: &PageCase<'_>) -> Markup {
    html! { a href=(case.target()) { (case.full_name(view.several_devices)) } }
}

/// The results that are slower than a gate allows, or without a gate those that are slower than the baseline.
fn slower(view: &View<'_>) -> Markup {
    let run = view.run;
    let Some(gate) = run.gate() else {
        let slower: Vec<(String, Ratio)> = run.baseline_comparison.iter().flat_map(slower_than).collect();
        return html! { @if let Some(check) = &run.baseline_comparison {
            div {
                h3 { "Slower than " (plain(&check.baseline)) }
                @if slower.is_empty() { p { "None." } }
                (changes(view, &slower))
            }
        } };
    };
    let (regressions, (_, from)) = (gate.regressions(), gate::regressions(&gate));
    let is_less = |line: &&CaseFinding| {
        matches!(line.finding, Finding::Compared { answer: Answer::Slower, regressed: false, .. })
    };
    let less = run.baseline_comparison.iter().flat_map(|check| &check.findings).filter(is_less).count();
    html! {
        div {
            h3 { "Regressions" }
            @if regressions.is_empty() { p { "None" (from) "." } }
            @for line in &gate::unjudged(&gate) { p { strong.bad { (line) } } }
            (changes(view, &regressions))
            @if less > 0 { p.soft { (format::counted(less, "result")) " slower by less: " a href="#baseline" { "comparisons" } } }
        }
    }
}

/// The results of a check that are called slower.
fn slower_than(check: &BaselineComparison) -> impl Iterator<Item = (String, Ratio)> {
    check.findings.iter().filter_map(|line| match line.finding {
        Finding::Compared { ratio, answer: Answer::Slower, .. } => {
            Some((format!("{} {}", line.name, line.cache), ratio))
        }
        _ => None,
    })
}

/// The first of the results with their changes, and the number of the others.
fn changes(view: &View<'_>, results: &[(String, Ratio)]) -> Markup {
    html! {
        ol {
            @for (name, ratio) in results.iter().take(NAMED) {
                li { (plain(view.short(name))) ": " (format::change(ratio.value)) " " span.soft { (format::changes(ratio.low, ratio.high)) } }
            }
        }
        @if results.len() > NAMED { p.soft { "and " (results.len() - NAMED) " more: " a href="#baseline" { "all of them" } } }
    }
}

/// The rows with reasons against them, the worst first.
fn reservations(view: &View<'_>) -> Markup {
    let mut cases: Vec<_> =
        view.cases.iter().filter(|case| !case.record.verdict.reasons.is_empty()).collect();
    cases.sort_by_key(|case| std::cmp::Reverse(case.record.verdict.state));
    html! {
        @if !cases.is_empty() {
            div {
                h3 { "Rows with a reservation" }
                ol {
                    @for case in cases.iter().take(NAMED) {
                        li {
                            (link(view, case)) ": "
                            @for reason in case.record.verdict.reasons.iter().take(1) { (plain(&reason.to_string())) }
                        }
                    }
                }
                @if cases.len() > NAMED { p.soft { "and " (cases.len() - NAMED) " more" } }
            }
        }
    }
}
