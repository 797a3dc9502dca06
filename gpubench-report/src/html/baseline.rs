//! Comparisons with a baseline and of interleaved cases: tables of the changes with their intervals, and sentences about cases that could
//! not be compared.

use gpubench_records::comparison::{Answer, BaselineComparison, Finding};
use gpubench_stats::{Ratio, format};
use maud::{Markup, html};

use super::view::View;
use gpubench_table::text::plain;
use gpubench_table::together::{self, AnswerCounts};

/// The most rows of a table: the largest changes.
const MOST: usize = 150;

/// A change: the case, the ratio of its times, the answer, and the answer in words.
type Change = (String, Ratio, Answer, String);

pub(super) fn baseline(view: &View<'_>) -> Markup {
    let check = view.run.baseline_comparison.as_ref();
    let interleaved = interleaved(view);
    html! {
        @if check.is_some() || !interleaved.is_empty() {
            section #baseline aria-labelledby="baseline-title" {
                h2 #baseline-title { "Comparisons" }
                @if let Some(check) = check { (against(view, check)) }
                @if !interleaved.is_empty() { (table("Interleaved", interleaved)) }
            }
        }
    }
}

/// The changes since a baseline.
fn against(view: &View<'_>, check: &BaselineComparison) -> Markup {
    let changes = check.findings.iter().filter_map(|line| match &line.finding {
        Finding::Compared { ratio, assumed_spread, answer, regressed, .. } => {
            let regression = if *regressed { ", a regression" } else { "" };
            let words = together::answer(*answer, *assumed_spread, 0) + regression;
            Some((format!("{} {}", view.short(&line.name), line.cache), *ratio, *answer, words))
        }
        _ => None,
    });
    let changes: Vec<Change> = changes.collect();
    let margin = format::plus_minus(check.equivalence_margin);
    let title = format!("Against baseline {}, where {margin} does not matter", plain(&check.baseline));
    let words = |finding: &Finding| match finding {
        Finding::Compared { assumed_spread, answer, remeasured: again @ 1.., .. } => {
            Some(together::answer(*answer, *assumed_spread, *again))
        }
        Finding::Compared { .. } => None,
        Finding::NotComparable(why) => Some(format!("not comparable: {}", why.join("; "))),
        Finding::New => Some("new".to_owned()),
        Finding::NoTime(why) => Some(format!("no number: {why}")),
    };
    let findings = check.findings.iter();
    let others = findings.filter_map(|line| {
        Some(format!("{} {}: {}", view.short(&line.name), line.cache, words(&line.finding)?))
    });
    let missing = check.missing.iter().map(|name| format!("{}: was not measured", view.short(name)));
    let others: Vec<String> = check
        .remarks
        .iter()
        .cloned()
        .chain(others)
        .chain(missing)
        .chain(together::sentences(check))
        .collect();
    html! {
        @if !changes.is_empty() { (table(&title, changes)) }
        @if !others.is_empty() { ul { @for line in &others { li { (plain(line)) } } } }
    }
}

/// The cases that were interleaved with another.
fn interleaved(view: &View<'_>) -> Vec<Change> {
    let change = |case: &super::view::PageCase<'_>| {
        let compared = case.record.compared.as_ref()?;
        let (ratio, answer) = (compared.comparison.ratio?, compared.comparison.answer);
        let with = compared.with.to_string();
        let name = format!("{} / {}", case.name(), view.short(&with));
        Some((name, ratio, answer, together::answer(answer, None, 0)))
    };
    view.cases.iter().filter_map(change).collect()
}

/// The largest of the changes, the slower ones first.
fn table(title: &str, mut changes: Vec<Change>) -> Markup {
    let counts = AnswerCounts::of(changes.iter().map(|(_, _, answer, _)| *answer));
    let all = changes.len();
    let size = |(_, ratio, ..): &Change| (ratio.value - 1.0).abs();
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)));
    changes.truncate(MOST);
    changes.sort_by(|(_, a, ..), (_, b, ..)| b.value.total_cmp(&a.value));
    html! {
        h3 { (title) ": " (counts.to_string()) }
        @if all > MOST { p.soft { "The " (MOST) " largest changes of " (all) "." } }
        div.wide tabindex="0" {
            table {
                thead { tr { @for head in ["case", "change", "95 % interval", "answer"] { th scope="col" { (head) } } } }
                @for (name, ratio, answer, words) in &changes {
                    tr.slower[*answer == Answer::Slower].faster[*answer == Answer::Faster] {
                        th scope="row" { (plain(name)) }
                        td.number { (format::change(ratio.value)) }
                        td.number { (format::changes(ratio.low, ratio.high)) }
                        td { (words) }
                    }
                }
            }
        }
    }
}
