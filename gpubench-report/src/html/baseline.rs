//! Comparisons with a baseline and of interleaved cases: the outcome of the gate, and the cases that are slower, faster or not comparable.

use gpubench_records::{Answer, BaselineComparison, Finding};
use gpubench_stats::format;
use gpubench_table::{gate, text::plain, together};
use maud::{Markup, html};

use super::view::{PageCase, View};

pub(super) fn baseline(view: &View<'_>) -> Markup {
    let (check, gate) = (view.run.baseline_comparison.as_ref(), view.run.gate());
    let mut cases: Vec<_> =
        view.cases.iter().filter(|case| case.finding.is_some() || case.change().is_some()).collect();
    let counts = together::answer_counts(cases.iter().filter_map(|case| Some(case.change()?.1)));
    let is_compared = !cases.is_empty();
    cases.retain(|case| !matches!(case.change(), Some((_, Answer::Same | Answer::Undecided))));
    let ratio = |case: &PageCase<'_>| case.change().map_or(0.0, |(ratio, _)| ratio.value);
    cases.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
    html! {
        @if let Some(gate) = gate {
            @let (count, from) = gate::regressions(&gate);
            p { @if gate.regressions().is_empty() { (count) } @else { strong.bad { (count) } } (from) }
            @for line in gate::unjudged(&gate) { p { strong.bad { (plain(&line)) } } }
        }
        @if is_compared { h3 { (check.map_or_else(|| "Interleaved".to_owned(), against)) ": " (counts) } }
        @if !cases.is_empty() {
            div.wide tabindex="0" {
                table {
                    thead { tr { @for head in ["case", "change", "95 % interval", "answer"] { th scope="col" { (head) } } } }
                    @for case in cases { (row(view, case)) }
                }
            }
        }
        @if let Some(check) = check {
            @let missing = check.missing.iter().map(|name| format!("{}: was not measured", view.short(name)));
            ul { @for line in check.remarks.iter().cloned().chain(missing).chain(together::sentences(check)) { li { (plain(&line)) } } }
        }
    }
}

/// The title of a comparison with a baseline.
fn against(check: &BaselineComparison) -> String {
    let margin = format::plus_minus(check.equivalence_margin);
    format!("Against baseline {}, where {margin} does not matter", plain(&check.baseline))
}

fn row(view: &View<'_>, case: &PageCase<'_>) -> Markup {
    let (compared, threshold) = (case.record.compared.as_ref(), view.run.regression_threshold);
    let name = match compared {
        Some(compared) if case.finding.is_none() => {
            format!("{} / {}", case.name(), view.short(&compared.with.to_string()))
        }
        _ => case.name(),
    };
    let (result, regressed) = match (case.finding, compared) {
        (Some(finding), _) => {
            (together::result(finding), matches!(finding, Finding::Compared { regressed: true, .. }))
        }
        (None, Some(compared)) => (
            compared.comparison.answer.to_string(),
            threshold.is_some_and(|threshold| compared.comparison.regressed(threshold)),
        ),
        (None, None) => return html! {},
    };
    let change = case.change();
    let is = |answer| change.is_some_and(|(_, it)| it == answer);
    html! {
        tr.slower[is(Answer::Slower)].faster[is(Answer::Faster)] {
            th scope="row" { a href=(case.target()) { (plain(&name)) } }
            td.number { @if let Some((ratio, _)) = change { (format::change(ratio.value)) } }
            td.number { @if let Some((ratio, _)) = change { (format::changes(ratio.low, ratio.high)) } }
            td { (plain(&result)) @if regressed { ", a regression" } }
        }
    }
}
