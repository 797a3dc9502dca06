//! Comparisons: with a baseline, and of cases that took turns. In: the findings of a run; out: a forest plot of the changes
//! with their intervals, and sentences about cases that could not be compared.

use gpubench_records::comparison::{Answer, AssumedSpread, BaselineComparison, Finding};
use gpubench_stats::{Ratio, format};
use maud::{Markup, PreEscaped, html};

use super::view::View;
use crate::drawing::{Change, Forest};
use gpubench_table::text::plain;
use gpubench_table::together::{self, AnswerCounts};

/// The most rows of a drawing: the largest changes.
const MOST: usize = 150;

pub(super) fn baseline(view: &View<'_>) -> Markup {
    let check = view.run.baseline_comparison.as_ref();
    let turns = in_turn(view);
    html! {
        @if check.is_some() || !turns.is_empty() {
            section #baseline aria-labelledby="baseline-title" {
                h2 #baseline-title { "Comparisons" }
                @if let Some(check) = check { (against(view, check)) }
                @if !turns.is_empty() {
                    figure tabindex="0" { (PreEscaped(forest("Interleaved", "against the benchmark that each was interleaved with".to_owned(), 0.0, turns))) }
                }
            }
        }
    }
}

/// The changes since a baseline.
fn against(view: &View<'_>, check: &BaselineComparison) -> Markup {
    let change = |line: &gpubench_records::comparison::CaseFinding| {
        let Finding::Compared { ratio, assumed_spread: assumed, answer, regressed, .. } = &line.finding
        else {
            return None;
        };
        let name = plain(&format!("{} {}", view.short(&line.name), line.cache));
        Some((*answer, of_ratio(name, ratio, (*answer, *assumed), *regressed)))
    };
    let changes: Vec<(Answer, Change)> = check.findings.iter().filter_map(change).collect();
    let name = plain(&check.baseline);
    let others = check.findings.iter().filter_map(|line| {
        let why = match &line.finding {
            Finding::Compared { .. } => return None,
            Finding::NotComparable(why) => format!("not comparable: {}", why.join("; ")),
            Finding::New => "new".to_owned(),
            Finding::NoTime(why) => format!("no number: {why}"),
        };
        Some(format!("{} {}: {why}", view.short(&line.name), line.cache))
    });
    let missing = check.missing.iter().map(|name| format!("{}: was not measured", view.short(name)));
    let again = check.findings.iter().filter_map(|line| match &line.finding {
        Finding::Compared { assumed_spread, answer, remeasured: again @ 1.., .. } => Some(format!(
            "{} {}: {}",
            view.short(&line.name),
            line.cache,
            together::answer(*answer, *assumed_spread, *again)
        )),
        _ => None,
    });
    let others: Vec<String> = check
        .remarks
        .iter()
        .cloned()
        .chain(others)
        .chain(missing)
        .chain(again)
        .chain(together::sentences(check))
        .collect();
    html! {
        @if !changes.is_empty() {
            figure tabindex="0" {
                (PreEscaped(forest(
                    &format!("Against baseline {name}"),
                    format!("within {} a change does not matter (shaded)", format::plus_minus(check.equivalence_margin)),
                    check.equivalence_margin,
                    changes,
                )))
            }
        }
        @if !others.is_empty() { ul { @for line in &others { li { (plain(line)) } } } }
    }
}

/// The cases that took turns with another.
fn in_turn(view: &View<'_>) -> Vec<(Answer, Change)> {
    let change = |case: &super::view::PageCase<'_>| {
        let compared = case.record.compared.as_ref()?;
        let ratio = compared.comparison.ratio.as_ref()?;
        let with = compared.with.to_string();
        let name = format!("{} / {}", case.name(), plain(view.short(&with)));
        let answer = compared.comparison.answer;
        Some((answer, of_ratio(name, ratio, (answer, None), false)))
    };
    view.cases.iter().filter_map(change).collect()
}

fn of_ratio(
    name: String,
    ratio: &Ratio,
    (answer, assumed): (Answer, Option<AssumedSpread>),
    regressed: bool,
) -> Change {
    let index = match answer {
        Answer::Slower => 1,
        Answer::Faster => 2,
        Answer::Same => 0,
        Answer::Undecided => 5,
    };
    let regression = if regressed { ", a regression" } else { "" };
    Change {
        name,
        value: ratio.value - 1.0,
        interval: [ratio.low - 1.0, ratio.high - 1.0],
        note: format!("{} {}{regression}", format::change(ratio.value), together::answer(answer, assumed, 0)),
        index,
    }
}

fn forest(what: &str, subtitle: String, band: f64, changes: Vec<(Answer, Change)>) -> String {
    let title = format!("{what}: {}", AnswerCounts::of(changes.iter().map(|(answer, _)| *answer)));
    let mut changes: Vec<Change> = changes.into_iter().map(|(_, change)| change).collect();
    let all = changes.len();
    changes.sort_by(|a, b| b.value.total_cmp(&a.value));
    let most = if all > MOST { format!("; the {MOST} largest changes of {all}") } else { String::new() };
    if all > MOST {
        changes.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
        changes.truncate(MOST);
        changes.sort_by(|a, b| b.value.total_cmp(&a.value));
    }
    let label = "change of the time".to_owned();
    Forest { title, subtitle: subtitle + &most, label, band, rows: changes }.drawing().element()
}
