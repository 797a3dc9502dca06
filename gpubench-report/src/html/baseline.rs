//! Comparisons with a baseline and of interleaved cases: the outcome of the gate, and the cases that are slower, faster or not comparable.

use gpubench_records::{Answer, BaselineComparison, BaselineFinding};
use gpubench_stats::{Nanoseconds, Ratio, format};
use gpubench_table::{comparisons, text::plain};
use maud::{Markup, html};

use super::view::{PageCase, View};

/// The comparison of a case.
struct Row {
    name: String,
    compared: Option<Compared>,
    /// The result in words.
    result: String,
}

/// The times of two measurements: the other one and that of the run, their ratio, and the answer.
struct Compared {
    times: [Nanoseconds; 2],
    ratio: Ratio,
    answer: Answer,
}

pub(super) fn baseline(view: &View<'_>) -> Markup {
    let (check, gate) = (view.run.baseline_comparison.as_ref(), view.run.gate());
    let interleaved = interleaved(view);
    html! {
        @if check.is_some() || gate.is_some() || !interleaved.is_empty() {
            @if let Some(gate) = gate {
                @let (count, from) = comparisons::regression_count(&gate);
                p { @if gate.regressions().is_empty() { (count) } @else { strong.bad { (count) } } (from) }
                @for line in comparisons::unjudged_lines(&gate) { p { strong.bad { (plain(&line)) } } }
            }
            @if let Some(check) = check { (against(view, check)) }
            @if !interleaved.is_empty() { (table("Interleaved", ["other", "this"], interleaved)) }
        }
    }
}

/// The results of a comparison with a baseline.
fn against(view: &View<'_>, check: &BaselineComparison) -> Markup {
    let rows = check.findings.iter().map(|line| {
        let (compared, regressed) = match line.finding {
            BaselineFinding::Compared { ratio, time, baseline_time, answer, regressed, .. } => {
                (Some(Compared { times: [baseline_time, time], ratio, answer }), regressed)
            }
            _ => (None, false),
        };
        let result = comparisons::answer_text(&line.finding) + if regressed { ", a regression" } else { "" };
        Row { name: format!("{} {}", view.short(&line.name), line.cache), compared, result }
    });
    let margin = format::plus_minus(check.equivalence_margin);
    let title = format!(
        "Against baseline {}, where a change within {margin} counts as the same",
        plain(&check.baseline)
    );
    let missing = check.missing.iter().map(|name| format!("{}: was not measured", view.short(name)));
    let others = check.remarks.iter().cloned().chain(missing).chain(comparisons::decision_sentences(check));
    let others: Vec<String> = others.collect();
    html! {
        @if !check.findings.is_empty() { (table(&title, ["was", "now"], rows.collect())) }
        @if !others.is_empty() { ul { @for line in &others { li { (plain(line)) } } } }
    }
}

/// The cases that were interleaved with another.
fn interleaved(view: &View<'_>) -> Vec<Row> {
    let row = |case: &PageCase<'_>| {
        let other = case.record.compared.as_ref()?;
        let measured = case.record.measurement.as_ref()?;
        let (answer, threshold) = (other.comparison.answer, view.run.regression_threshold);
        let regressed = threshold.is_some_and(|threshold| other.comparison.regressed(threshold));
        let metrics = comparisons::changed_metrics(measured, other);
        let metrics = if metrics.is_empty() { metrics } else { format!("; {metrics}") };
        let times = [other.measurement.median(), measured.median()];
        Some(Row {
            name: format!("{} / {}", case.name(), view.short(&other.with.to_string())),
            compared: Some(Compared { times, ratio: other.comparison.ratio?, answer }),
            result: format!("{answer}{}{metrics}", if regressed { ", a regression" } else { "" }),
        })
    };
    view.cases.iter().filter_map(row).collect()
}

/// The number of each answer, and a table of the cases that are not the same, the slower ones first. The table of all cases has the
/// changes of the others. `times` are the titles of the columns with times.
fn table(title: &str, times: [&str; 2], mut rows: Vec<Row>) -> Markup {
    let count = |answer| rows.iter().flat_map(|row| &row.compared).filter(|it| it.answer == answer).count();
    let [slower, faster] = [Answer::Slower, Answer::Faster].map(count);
    let [same, undecided] = [Answer::Same, Answer::Undecided].map(count);
    rows.retain(|row| row.compared.as_ref().is_none_or(|it| it.answer != Answer::Same));
    let ratio = |row: &Row| row.compared.as_ref().map_or(0.0, |it| it.ratio.value);
    rows.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
    let confidence = rows.iter().find_map(|row| Some(row.compared.as_ref()?.ratio.confidence));
    let interval = confidence.map_or("interval".to_owned(), |part| format!("{:.0} % interval", 100.0 * part));
    html! {
        h3 { (title) ": " (slower) " slower, " (faster) " faster, " (same) " the same, " (undecided) " undecided" }
        @if !rows.is_empty() { div.wide tabindex="0" {
            table {
                thead { tr { @for head in ["case", times[0], times[1], "change", &interval, "answer"] { th scope="col" { (head) } } } }
                @for Row { name, compared, result } in &rows {
                    @let is = |answer| compared.as_ref().is_some_and(|it| it.answer == answer);
                    tr.slower[is(Answer::Slower)].faster[is(Answer::Faster)] {
                        th scope="row" { (plain(name)) }
                        @if let Some(Compared { times, ratio, .. }) = compared {
                            @for time in times { td.number { (format::time(*time)) } }
                            td.number { (format::change(ratio.value)) }
                            td.number { (format::changes(ratio.low, ratio.high)) }
                        } @else {
                            td colspan="4" {}
                        }
                        td { (plain(result)) }
                    }
                }
            }
        } }
    }
}
