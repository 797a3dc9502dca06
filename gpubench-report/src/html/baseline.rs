//! Comparisons with a baseline and of interleaved cases: the outcome of the gate, and the cases that are slower, faster or not comparable.

use gpubench_records::{Answer, BaselineComparison, Finding};
use gpubench_stats::{Nanoseconds, Ratio, format};
use gpubench_table::{gate, text::plain, together};
use maud::{Markup, html};

use super::view::View;

/// The comparison of a case.
struct Row {
    name: String,
    /// The ratio of the times and the answer, if there is one.
    compared: Option<(Ratio, Answer)>,
    /// The times of the baseline and of this run.
    times: Option<[Nanoseconds; 2]>,
    /// The result in words.
    result: String,
}

pub(super) fn baseline(view: &View<'_>) -> Markup {
    let (check, gate) = (view.run.baseline_comparison.as_ref(), view.run.gate());
    let interleaved = interleaved(view);
    html! {
        @if check.is_some() || gate.is_some() || !interleaved.is_empty() {
            @if let Some(gate) = gate {
                @let (count, from) = gate::regressions(&gate);
                p { @if gate.regressions().is_empty() { (count) } @else { strong.bad { (count) } } (from) }
                @for line in gate::unjudged(&gate) { p { strong.bad { (plain(&line)) } } }
            }
            @if let Some(check) = check { (against(view, check)) }
            @if !interleaved.is_empty() { (table("Interleaved", interleaved)) }
        }
    }
}

/// The results of a comparison with a baseline.
fn against(view: &View<'_>, check: &BaselineComparison) -> Markup {
    let rows = check.findings.iter().map(|line| {
        let (compared, times, regressed) = match line.finding {
            Finding::Compared { ratio, time, baseline_time, answer, regressed, .. } => {
                (Some((ratio, answer)), Some([baseline_time, time]), regressed)
            }
            _ => (None, None, false),
        };
        let result = together::result(&line.finding) + if regressed { ", a regression" } else { "" };
        Row { name: format!("{} {}", view.short(&line.name), line.cache), compared, times, result }
    });
    let margin = format::plus_minus(check.equivalence_margin);
    let title = format!(
        "Against baseline {}, where a change within {margin} counts as the same",
        plain(&check.baseline)
    );
    let missing = check.missing.iter().map(|name| format!("{}: was not measured", view.short(name)));
    let others = check.remarks.iter().cloned().chain(missing).chain(together::sentences(check));
    let others: Vec<String> = others.collect();
    html! {
        @if !check.findings.is_empty() { (table(&title, rows.collect())) }
        @if !others.is_empty() { ul { @for line in &others { li { (plain(line)) } } } }
    }
}

/// The cases that were interleaved with another.
fn interleaved(view: &View<'_>) -> Vec<Row> {
    view.cases
        .iter()
        .filter_map(|case| {
            let compared = case.record.compared.as_ref()?;
            let answer = compared.comparison.answer;
            let threshold = view.run.regression_threshold;
            let regressed = threshold.is_some_and(|threshold| compared.comparison.regressed(threshold));
            let metrics = together::changed_metrics(case.record.measurement.as_ref()?, compared);
            let metrics = if metrics.is_empty() { metrics } else { format!("; {metrics}") };
            let result = format!("{answer}{}{metrics}", if regressed { ", a regression" } else { "" });
            let name = format!("{} / {}", case.name(), view.short(&compared.with.to_string()));
            Some(Row { name, compared: Some((compared.comparison.ratio?, answer)), times: None, result })
        })
        .collect()
}

/// Returns the number of results with each answer, in words.
fn answer_counts(answers: impl Iterator<Item = Answer> + Clone) -> String {
    let count = |answer| answers.clone().filter(|it| *it == answer).count();
    let [slower, faster] = [Answer::Slower, Answer::Faster].map(count);
    let [same, undecided] = [Answer::Same, Answer::Undecided].map(count);
    format!("{slower} slower, {faster} faster, {same} the same, {undecided} undecided")
}

/// The number of each answer, and a table of the cases that are not the same, the slower ones first. The table of all cases has the
/// changes of the others.
fn table(title: &str, mut rows: Vec<Row>) -> Markup {
    let counts = answer_counts(rows.iter().filter_map(|row| Some(row.compared?.1)));
    rows.retain(|row| !matches!(row.compared, Some((_, Answer::Same))));
    let ratio = |row: &Row| row.compared.map_or(0.0, |(ratio, _)| ratio.value);
    rows.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
    let has_times = rows.iter().any(|row| row.times.is_some());
    let confidence = rows.iter().find_map(|row| Some(row.compared?.0.confidence));
    let interval = confidence.map_or("interval".to_owned(), |part| format!("{:.0} % interval", 100.0 * part));
    html! {
        h3 { (title) ": " (counts) }
        @if !rows.is_empty() { div.wide tabindex="0" {
            table {
                thead { tr {
                    th scope="col" { "case" }
                    @if has_times { th scope="col" { "was" } th scope="col" { "now" } }
                    @for head in ["change", &interval, "answer"] { th scope="col" { (head) } }
                } }
                @for Row { name, compared, times, result } in &rows {
                    @let is = |answer| compared.is_some_and(|(_, it)| it == answer);
                    tr.slower[is(Answer::Slower)].faster[is(Answer::Faster)] {
                        th scope="row" { (plain(name)) }
                        @if has_times { @for number in 0..2 {
                            td.number { @if let Some(times) = times { (format::time(times[number])) } }
                        } }
                        td.number { @if let Some((ratio, _)) = compared { (format::change(ratio.value)) } }
                        td.number { @if let Some((ratio, _)) = compared { (format::changes(ratio.low, ratio.high)) } }
                        td { (plain(result)) }
                    }
                }
            }
        } }
    }
}
