//! The sections of the page about the run as a whole: the summary, the comparisons, and the method and the environment.

use gpubench_records::{Answer, BaselineComparison, BaselineFinding, DeviceInfo, Run, files::time_of_day};
use gpubench_stats::{Nanoseconds, Ratio, format};
use gpubench_table::{case_name, comparisons, devices, remarks, text::plain};
use maud::{Markup, html};

use super::view::{PageCase, PageView};

/// The most suspect and invalid results that the summary lists. A line below has the number of the others.
const MAX_LISTED_RESULTS: usize = 6;

/// Returns the top of the page: the devices, the number of results of each verdict, and the suspect and invalid
/// results.
pub(super) fn summary(view: &PageView<'_>) -> Markup {
    let run = view.run;
    html! {
        @for note in devices::notes(run) { p.note { (plain(&note)) } }
        @for info in &run.devices {
            p.device {
                b { (plain(&info.device)) } ": " (plain(&info.name))
                @if info.fake { " " strong.bad { "FAKE: a fake driver for tests. Its times are invented" } }
            }
        }
        p.soft { (plain(remarks::summary(run).trim())) }
        (doubtful_results(view))
    }
}

/// Returns a list of suspect and invalid results, the worst first, each with its first reason. Lists at most
/// [`MAX_LISTED_RESULTS`], and the number of the others.
fn doubtful_results(view: &PageView<'_>) -> Markup {
    let mut cases: Vec<_> =
        view.cases.iter().filter(|case| !case.record.verdict.reasons.is_empty()).collect();
    cases.sort_by_key(|case| std::cmp::Reverse(case.record.verdict.state));
    html! {
        @if !cases.is_empty() {
            h3 { "Suspect and invalid results" }
            ol {
                @for case in cases.iter().take(MAX_LISTED_RESULTS) {
                    li {
                        a href=(case.target()) { (plain(&case_name(case.record, view.several_devices))) } ": "
                        @for reason in case.record.verdict.reasons.iter().take(1) { (plain(&reason.to_string())) }
                    }
                }
            }
            @if cases.len() > MAX_LISTED_RESULTS { p.soft { "and " (cases.len() - MAX_LISTED_RESULTS) " more" } }
        }
    }
}

/// Returns the end of the page, folded: the method, the machine and the devices.
pub(super) fn appendix(run: &Run) -> Markup {
    html! {
        details { summary { "Method" } (measurement_method(run)) }
        details { summary { "Environment" } (environment(run)) }
    }
}

/// Returns a description of the method of measurement: how long cases are sampled, and how.
fn measurement_method(run: &Run) -> Markup {
    let sampling = &run.sampling;
    html! {
        p {
            "Medians of event times less the timer's overhead. A case is sampled until the 95 % interval of its median is at "
            (format::plus_minus(sampling.precision)) ", for at most " (format::time(sampling.max_time))
            ", after at least " (format::time(sampling.min_warm_up_time)) " of warm-up; a benchmark or the command line may say otherwise."
        }
        ul { @for line in remarks::methods(run).lines() { li { (plain(line)) } } }
    }
}

/// Returns the properties of the program, the machine and the devices.
fn environment(run: &Run) -> Markup {
    let (program, machine) = (&run.program, &run.environment);
    let package = program.package.as_ref().map(|package| {
        let commit = package.commit.as_ref().map_or_else(String::new, |commit| format!(", commit {commit}"));
        format!("{} {}{commit}", package.name, package.version)
    });
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let built = format!("{}, {}, opt-level {}", program.version, program.target, program.opt_level);
    let rows = [
        ("gpubench", Some(built)),
        ("suite", some(&program.suite)),
        ("package", package),
        ("host", machine.host.clone()),
        ("system", machine.system.clone()),
        ("kernel", machine.kernel.clone()),
        ("CPU", machine.cpu.clone()),
        ("settings", some(&format::joined(machine.settings().iter().map(devices::shown), "; "))),
        ("task", machine.task.as_ref().map(|task| format!("{task} ({})", task.share))),
        ("command", some(&machine.command.join(" "))),
        ("begun", Some(time_of_day(run.started))),
        ("wall time", Some(format::time(run.wall_time))),
    ];
    html! {
        (definition_list(rows))
        @for info in &run.devices { (device(info)) }
    }
}

/// Returns a list of names and texts. Names without a text are left out.
pub(super) fn definition_list<'a>(facts: impl IntoIterator<Item = (&'a str, Option<String>)>) -> Markup {
    html! {
        dl {
            @for (name, text) in facts { @if let Some(text) = text { dt { (name) } dd { (plain(&text)) } } }
        }
    }
}

/// Returns the properties and peaks of a device.
fn device(info: &DeviceInfo) -> Markup {
    html! {
        h3 { (plain(&info.device)) ": " (plain(&info.name)) }
        ul {
            @for property in &info.properties { li { (devices::shown(property)) } }
            @for peak in &info.peaks { li { "peak " (plain(&devices::shown_peak(peak))) } }
        }
    }
}

/// A row of a table of comparisons, with a baseline or of interleaved cases.
struct ComparisonRow {
    name: String,
    /// The times; `None` if they were not compared.
    compared: Option<ComparedTimes>,
    /// The result in words.
    result: String,
}

/// The times of two measurements, the earlier or other one first, with their ratio and the answer.
struct ComparedTimes {
    times: [Nanoseconds; 2],
    ratio: Ratio,
    answer: Answer,
}

/// Returns the comparisons with a baseline and of interleaved cases, with the outcome of the gate; empty
/// without any of these.
pub(super) fn comparisons(view: &PageView<'_>) -> Markup {
    let (gate, interleaved) = (view.run.gate(), interleaved_rows(view));
    html! {
        @if let Some(gate) = gate {
            @let (count, from) = comparisons::regression_count(&gate);
            p { @if gate.regressions().is_empty() { (count) } @else { strong.bad { (count) } } (from) }
            @for line in comparisons::unjudged_lines(&gate) { p { strong.bad { (plain(&line)) } } }
        }
        @if let Some(check) = &view.run.baseline_comparison { (baseline_results(view, check)) }
        @if !interleaved.is_empty() { (comparison_table("Interleaved", ["other", "this"], interleaved)) }
    }
}

/// Returns the results of a comparison with a baseline.
fn baseline_results(view: &PageView<'_>, check: &BaselineComparison) -> Markup {
    let rows = check.findings.iter().map(|line| {
        let (compared, regressed) = match line.finding {
            BaselineFinding::Compared { ratio, time, baseline_time, answer, regressed, .. } => {
                (Some(ComparedTimes { times: [baseline_time, time], ratio, answer }), regressed)
            }
            _ => (None, false),
        };
        let result = comparisons::answer_text(&line.finding) + if regressed { ", a regression" } else { "" };
        ComparisonRow {
            name: format!("{} {}", view.without_prefix(&line.name), line.cache),
            compared,
            result,
        }
    });
    let margin = format::plus_minus(check.equivalence_margin);
    let title = format!(
        "Against baseline {}, where a change within {margin} counts as the same",
        plain(&check.baseline)
    );
    let missing = check.missing.iter().map(|name| format!("{}: was not measured", view.without_prefix(name)));
    let others = check.remarks.iter().cloned().chain(missing).chain(comparisons::decision_sentences(check));
    let others: Vec<String> = others.collect();
    html! {
        @if !check.findings.is_empty() { (comparison_table(&title, ["was", "now"], rows.collect())) }
        @if !others.is_empty() { ul { @for line in &others { li { (plain(line)) } } } }
    }
}

/// Returns a row for each case that was interleaved with another case, if both were measured and their ratio
/// is known.
fn interleaved_rows(view: &PageView<'_>) -> Vec<ComparisonRow> {
    let row = |case: &PageCase<'_>| {
        let other = case.record.compared.as_ref()?;
        let measured = case.record.measurement.as_ref()?;
        let (answer, threshold) = (other.comparison.answer, view.run.regression_threshold);
        let regressed = threshold.is_some_and(|threshold| other.comparison.regressed(threshold));
        let metrics = comparisons::changed_metrics(measured, other);
        let metrics = if metrics.is_empty() { metrics } else { format!("; {metrics}") };
        let times = [other.measurement.median(), measured.median()];
        Some(ComparisonRow {
            name: format!("{} / {}", case.name(), view.without_prefix(&other.with.to_string())),
            compared: Some(ComparedTimes { times, ratio: other.comparison.ratio?, answer }),
            result: format!("{answer}{}{metrics}", if regressed { ", a regression" } else { "" }),
        })
    };
    view.cases.iter().filter_map(row).collect()
}

/// Returns a heading with the number of each answer, and a table of the comparisons whose answer is not
/// "same". The table begins with the slowest, and ends with cases that were not compared. `times` are the
/// headings of the columns with times.
fn comparison_table(title: &str, times: [&str; 2], mut rows: Vec<ComparisonRow>) -> Markup {
    let count = |answer| rows.iter().flat_map(|row| &row.compared).filter(|it| it.answer == answer).count();
    let [slower, faster] = [Answer::Slower, Answer::Faster].map(count);
    let [same, undecided] = [Answer::Same, Answer::Undecided].map(count);
    rows.retain(|row| row.compared.as_ref().is_none_or(|it| it.answer != Answer::Same));
    let ratio = |row: &ComparisonRow| row.compared.as_ref().map_or(0.0, |it| it.ratio.value);
    rows.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
    let ratios = rows.iter().filter_map(|row| Some(row.compared.as_ref()?.ratio));
    let interval = comparisons::interval_name(ratios).unwrap_or_else(|| "interval".to_owned());
    html! {
        h3 { (title) ": " (slower) " slower, " (faster) " faster, " (same) " the same, " (undecided) " undecided" }
        @if !rows.is_empty() { div.wide tabindex="0" {
            table {
                thead { tr { @for head in ["case", times[0], times[1], "change", &interval, "answer"] { th scope="col" { (head) } } } }
                @for ComparisonRow { name, compared, result } in &rows {
                    @let is = |answer| compared.as_ref().is_some_and(|it| it.answer == answer);
                    tr.slower[is(Answer::Slower)].faster[is(Answer::Faster)] {
                        th scope="row" { (plain(name)) }
                        @if let Some(ComparedTimes { times, ratio, .. }) = compared {
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
