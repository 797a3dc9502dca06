//! The answer of races as text. In: a [`Tuning`]; out: for each problem the best, its ties and the rest, and what to ship.

use std::collections::BTreeMap;

use anstyle::Style;

use super::words::{certainty, missing, names, size, to_ship, word};
use crate::aligned::columns;
use crate::page::Page;
use crate::style::{NOTE, heading, of_answer, styled};
use crate::text::{paragraph, plain, wrapped};
use gpubench_records::comparison::Answer;
use gpubench_records::tuning::{TunedBenchmark, TunedProblem, TunedVariant, Tuning};
use gpubench_stats::format;
use gpubench_stats::race::Standing;

/// The most variants of a kind that are shown; the file has them all.
const MOST_ROWS: usize = 8;

/// The text of a tuning.
#[must_use]
pub fn tuning(tuning: &Tuning, page: Page) -> String {
    let mut parts: Vec<String> = Vec::new();
    for facts in &tuning.devices {
        let fake = if facts.fake { ", a stand-in for tests: nothing here is a measurement" } else { "" };
        parts.push(paragraph(&format!("{}: {}{fake}", facts.device, facts.name), page));
    }
    for benchmark in &tuning.benchmarks {
        parts.push(tuned(benchmark, tuning.method.band, page));
    }
    parts.push(paragraph(&certainty(tuning), page));
    parts.extend(tuning.notes.iter().map(|note| styled(&wrapped(&plain(note), "", page), NOTE)));
    parts.join("\n")
}

fn tuned(benchmark: &TunedBenchmark, band: f64, page: Page) -> String {
    let TunedBenchmark { benchmark: name, device, cache, tune, .. } = benchmark;
    let rest = format!(
        " on {device}, {cache}: {}, where {} does not matter",
        tune.join(", "),
        format::plus_minus(band)
    );
    let mut text = heading(&plain(name), &plain(&rest), page);
    for raced in &benchmark.problems {
        text += &problem(raced, page);
    }
    text + &to_ship(benchmark)
        .map(|words| styled(&wrapped(&plain(&words), "", page), Style::new()))
        .unwrap_or_default()
}

/// The race of a problem: a line for itself, and one for each variant that is worth it.
fn problem(problem: &TunedProblem, page: Page) -> String {
    let of = if problem.args.is_empty() { String::new() } else { format!("{}: ", names(&problem.args)) };
    let title = format!("{of}{}", size(problem));
    let mut text = styled(&wrapped(&plain(&title), "", page), Style::new());
    let shown: Vec<&TunedVariant> = [Standing::Best, Standing::Tie, Standing::Undecided, Standing::Slower]
        .into_iter()
        .flat_map(|standing| problem.of(standing).take(MOST_ROWS))
        .collect();
    let cells: Vec<Vec<String>> = shown.iter().map(|variant| row(variant)).collect();
    for (lines, variant) in columns(&cells, 1..4, page).iter().zip(&shown) {
        text += &styled(lines, style(variant.standing));
    }
    text + &the_rest(problem, page)
}

fn row(variant: &TunedVariant) -> Vec<String> {
    let mut cells = vec![plain(&names(&variant.args))];
    match (variant.standing, variant.ratio) {
        (Standing::Best, _) | (_, None) => {
            let time = variant.coarse.map(format::time).unwrap_or_default();
            cells.extend([time, String::new()]);
        }
        (_, Some(ratio)) => {
            cells.extend([format::change(ratio.value), format::changes(ratio.low, ratio.high)]);
        }
    }
    let look = variant.decided_at.map(|look| format!(", look {look}")).unwrap_or_default();
    let word = word(variant.standing);
    cells.push(format!("{word}{look}"));
    cells
}

fn style(standing: Standing) -> Style {
    match standing {
        Standing::Best => of_answer(Answer::Faster),
        Standing::Undecided => NOTE,
        Standing::Tie
        | Standing::Slower
        | Standing::LeftBehind
        | Standing::NotMeasured
        | Standing::Failed => Style::new(),
    }
}

/// The numbers of those that have no row, and the failures, each reason once.
fn the_rest(problem: &TunedProblem, page: Page) -> String {
    let mut lines = Vec::new();
    for (standing, word) in
        [(Standing::Tie, "ties"), (Standing::Undecided, "undecided"), (Standing::Slower, "slower")]
    {
        let more = problem.of(standing).count().saturating_sub(MOST_ROWS);
        if more > 0 {
            lines.push(format!("{more} more {word}"));
        }
    }
    let behind = problem.of(Standing::LeftBehind).count();
    if behind > 0 {
        lines.push(format!("{behind} left behind: far slower when measured alone"));
    }
    lines.extend(missing(problem));
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for failed in problem.of(Standing::Failed) {
        let why = failed.failure.as_ref().map(ToString::to_string).unwrap_or_default();
        reasons.entry(why).or_default().push(names(&failed.args));
    }
    for (why, failed) in reasons {
        let others = match failed.len() {
            1 => String::new(),
            number => format!(" and {} more", number - 1),
        };
        lines.push(format!("{}{others} failed: {why}", failed[0]));
    }
    let lines = lines.iter().flat_map(|line| wrapped(&plain(line), "  ", page)).collect::<Vec<_>>();
    styled(&lines, NOTE)
}
