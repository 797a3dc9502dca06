//! The results of races as text for a terminal.

use std::collections::BTreeMap;

use anstyle::Style;

use crate::tuning::{RaceEnd, Standing, TunedBenchmark, TunedProblem, TunedVariant, Tuning};
use gpubench_records::{Answer, text::printable};
use gpubench_stats::format;
use gpubench_table::text::{NOTE, heading, of_answer, styled};
use gpubench_table::{Page, columns, paragraph, wrapped};

/// The maximum number of variants of each standing that the table shows. The file of `--save-tuning` contains
/// all.
const MAX_VARIANTS_PER_STANDING: usize = 8;

/// Returns the text of a tuning: for each problem the best variant, its ties and the others.
pub fn table(tuning: &Tuning, page: Page) -> String {
    let mut parts: Vec<String> = Vec::new();
    for info in &tuning.devices {
        let fake = if info.fake { ", a fake driver for tests: nothing here is a measurement" } else { "" };
        parts.push(paragraph(&format!("{}: {}{fake}", info.device, info.name), page));
    }
    for benchmark in &tuning.benchmarks {
        let TunedBenchmark { benchmark: name, device, cache, tuned_axes, problems, .. } = benchmark;
        let margin = format::plus_minus(tuning.method.equivalence_margin);
        let rest = format!(" on {device}, {cache}: {}; a tie is within {margin}", tuned_axes.join(", "));
        let mut text = heading(&printable(name), &printable(&rest), page);
        text.extend(problems.iter().map(|raced| problem_text(raced, page)));
        parts.push(text);
    }
    parts.push(paragraph(
        &format!(
            "{} simultaneous intervals; an undecided variant needs more time (--budget)",
            format::percent(1.0 - tuning.method.error)
        ),
        page,
    ));
    parts.extend(tuning.notes.iter().map(|note| styled_lines(note, "", NOTE, page)));
    parts.join("\n")
}

/// Returns the text of a problem's race: a line on the race, a line for each variant shown, and remarks on
/// all others.
fn problem_text(problem: &TunedProblem, page: Page) -> String {
    let name = if problem.args.is_empty() {
        String::new()
    } else {
        format!("{}: ", format::joined(&problem.args, ", "))
    };
    let skipped = match problem.skipped {
        0 => String::new(),
        number => format!(" (`skip_if` excluded {number} more)"),
    };
    let end = match problem.ended {
        RaceEnd::Decided => "",
        RaceEnd::LastAnalysis => ", the last analysis leaves some undecided",
        RaceEnd::Budget => ", ended by the budget",
        RaceEnd::Stopped => ", stopped",
    };
    let (variants, wall) =
        (format::counted(problem.variants.len(), "variant"), format::time(problem.wall_time));
    let mut text = styled_lines(&format!("{name}{variants}{skipped} in {wall}{end}"), "", Style::new(), page);
    let (mut cells, mut styles, mut remarks) = (Vec::new(), Vec::new(), Vec::new());
    for (standing, word, style) in [
        (Standing::Best, "best", of_answer(Answer::Faster)),
        (Standing::Tie, "tie", Style::new()),
        (Standing::Undecided, "undecided", NOTE),
        (Standing::Slower, "slower", Style::new()),
    ] {
        for variant in problem.of(standing).take(MAX_VARIANTS_PER_STANDING) {
            cells.push(variant_cells(variant, word));
            styles.push(style);
        }
        let more = problem.of(standing).count().saturating_sub(MAX_VARIANTS_PER_STANDING);
        if more > 0 {
            remarks.push(format!("{more} more: {word}"));
        }
    }
    for (row, style) in columns(&cells, 1..4, page).iter().zip(styles) {
        text += &styled(row, style);
    }
    let count = |standing| Some(problem.of(standing).count()).filter(|count| *count > 0);
    if let Some(behind) = count(Standing::LeftBehind) {
        remarks.push(format!("{behind} eliminated: much slower in a first, short measurement"));
    }
    if let Some(missing) = count(Standing::NotMeasured) {
        let end = if problem.ended == RaceEnd::Budget { "the budget ended" } else { "the race was stopped" };
        remarks.push(format!("{missing} not measured: {end} first, so that there is no winner"));
    }
    let mut reasons: BTreeMap<String, Vec<&TunedVariant>> = BTreeMap::new();
    for failed in problem.of(Standing::Failed) {
        let why = failed.failure.as_ref().map(ToString::to_string).unwrap_or_default();
        reasons.entry(why).or_default().push(failed);
    }
    for (why, failed) in reasons {
        let others = if failed.len() > 1 { format!(" and {} more", failed.len() - 1) } else { String::new() };
        remarks.push(format!("{}{others} failed: {why}", format::joined(&failed[0].args, ", ")));
    }
    text + &remarks.iter().map(|remark| styled_lines(remark, "  ", NOTE, page)).collect::<String>()
}

/// Returns the cells of a variant's line: its arguments, its time or its ratio to the best, the interval of
/// the ratio, and `word`, the standing.
fn variant_cells(variant: &TunedVariant, word: &str) -> Vec<String> {
    let [ratio, interval] = match variant.ratio.filter(|_| variant.standing != Standing::Best) {
        Some(ratio) => [format::change(ratio.value), format::changes(ratio.low, ratio.high)],
        None => [variant.coarse_time.map(format::time).unwrap_or_default(), String::new()],
    };
    vec![printable(&format::joined(&variant.args, ", ")), ratio, interval, word.to_owned()]
}

/// Returns `text` in printable characters, wrapped to the page with this indent and style.
fn styled_lines(text: &str, indent: &str, style: Style, page: Page) -> String {
    styled(&wrapped(&printable(text), indent, page), style)
}
