//! The top of the page: the devices, the verdicts in numbers, the outcome of a comparison, and rows with reservations.

use gpubench_records::counts::ResultCounts;
use gpubench_records::record::Run;
use gpubench_records::verdict::State;
use gpubench_table::text::plain;
use gpubench_table::{gate, header, remarks, together};
use maud::{Markup, html};

use super::view::View;

/// The number of rows with reservations that are named.
const NAMED: usize = 6;

pub(super) fn summary(view: &View<'_>) -> Markup {
    let run = view.run;
    let ResultCounts { valid, suspect, invalid, skipped, .. } = run.counts();
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
            ul.verdicts {
                @for (state, count) in [(State::Valid, valid), (State::Suspect, suspect), (State::Invalid, invalid)] {
                    li class=(state.to_string()) { b { (count) } " " (state.to_string()) }
                }
                @if skipped > 0 { li { b { (skipped) } " skipped" } }
            }
            p.soft { (plain(remarks::summary(run).trim())) }
            (comparison(run))
            (reservations(view))
        }
    }
}

/// The number of each answer of a comparison with a baseline, and the outcome of its gate.
fn comparison(run: &Run) -> Markup {
    html! {
        @if let Some(check) = &run.baseline_comparison {
            p { a href="#baseline" { "Against baseline " (plain(&check.baseline)) } ": " (together::answer_counts(together::answers(check))) }
        }
        @if let Some(gate) = run.gate() {
            @let (count, from) = gate::regressions(&gate);
            p { @if gate.regressions().is_empty() { (count) } @else { strong.bad { (count) } } (from) }
            @for line in gate::unjudged(&gate) { p { strong.bad { (line) } } }
        }
    }
}

/// The rows with reasons against them, the worst first.
fn reservations(view: &View<'_>) -> Markup {
    let mut cases: Vec<_> =
        view.cases.iter().filter(|case| !case.record.verdict.reasons.is_empty()).collect();
    cases.sort_by_key(|case| std::cmp::Reverse(case.record.verdict.state));
    html! {
        @if !cases.is_empty() {
            h3 { "Rows with a reservation" }
            ol {
                @for case in cases.iter().take(NAMED) {
                    li {
                        a href=(case.target()) { (case.full_name(view.several_devices)) } ": "
                        @for reason in case.record.verdict.reasons.iter().take(1) { (plain(&reason.to_string())) }
                    }
                }
            }
            @if cases.len() > NAMED { p.soft { "and " (cases.len() - NAMED) " more" } }
        }
    }
}
