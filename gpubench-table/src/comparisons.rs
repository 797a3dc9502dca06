//! The results of comparisons in words, for the terminal, Markdown and the page: of interleaved cases, of a run with its baseline, and of the
//! gate of `--fail-on-regression`.

use anstyle::Style;

use super::table::split;
use super::text::{
    NOTE, Page, answer_style, columns, heading, join_sections, left, paragraph, plain, styled, width, wrapped,
};
use gpubench_records::outcome::{Gate, Unjudged};
use gpubench_records::{
    Answer, AssumedSpread, BaselineComparison, BaselineFinding, Cache, CaseFinding, Compared, Comparison,
    Measurement, Run, Threshold, metrics::describe_changed_metrics,
};
use gpubench_stats::{DECISION_ERROR, Ratio, format, units::Range};

/// Returns up to two sentences about the answers of `check`: the rate of wrong ones, and the difference that is assumed between single
/// processes.
pub fn decision_sentences(check: &BaselineComparison) -> Vec<String> {
    false_discovery_sentence(check).into_iter().chain(assumption_sentence(check)).collect()
}

/// Returns the sentence about the spread that is assumed between single processes; `None` if no case needed
/// it.
fn assumption_sentence(check: &BaselineComparison) -> Option<String> {
    let allowed = check.findings.iter().filter_map(|line| match line.finding {
        BaselineFinding::Compared { assumed_spread: Some(AssumedSpread::UpTo(difference)), .. } => {
            Some(difference)
        }
        _ => None,
    });
    let differences = format::from_to(Range::of(allowed.clone())?, format::percent);
    Some(format!(
        "{}: two runs are assumed to differ by up to {differences}: measure both with --runs 5 to see smaller changes",
        format::counted(allowed.count(), "result")
    ))
}

/// Returns the sentence about the false discovery rate. `None` if fewer than two results were tested, and if none is called slower or
/// faster.
fn false_discovery_sentence(check: &BaselineComparison) -> Option<String> {
    let rows = Some(check.tested_together).filter(|rows| *rows > 1)?;
    let differs = |line: &&CaseFinding| {
        matches!(line.finding, BaselineFinding::Compared { answer: Answer::Slower | Answer::Faster, .. })
    };
    check.findings.iter().find(differs)?;
    let rate = 100.0 * DECISION_ERROR;
    Some(format!(
        "of the results called slower or faster, at most {rate:.0} % are expected to be wrong (false discovery rate over {rows} results)"
    ))
}

/// Returns the answer of a case in words, with the number of times that it was measured again, or the reason that it has none.
pub fn answer_text(finding: &BaselineFinding) -> String {
    match finding {
        BaselineFinding::NotComparable(why) => format!("not comparable: {}", why.join("; ")),
        BaselineFinding::New => "new".to_owned(),
        BaselineFinding::NoTime(why) => format!("no number: {why}"),
        BaselineFinding::Compared { answer, assumed_spread, remeasured, .. } => {
            let answer = match assumed_spread {
                Some(AssumedSpread::UpTo(difference)) if *answer == Answer::Undecided => {
                    format!("undecided: two runs can differ by {}", format::percent(*difference))
                }
                Some(AssumedSpread::Any) => {
                    "undecided: suspect, from one run (measure both with --runs 5)".to_owned()
                }
                _ => answer.to_string(),
            };
            match remeasured {
                0 => answer,
                times => format!("{answer}, measured again {times} times"),
            }
        }
    }
}

/// Returns the user's metrics that differ between a result and the one that it was interleaved with; empty if there are none.
pub fn changed_metrics(own: &Measurement, compared: &Compared) -> String {
    let others = &compared.measurement.user_metrics;
    format::joined(describe_changed_metrics(own.user_metrics.iter(), others, " against"), "; ")
}

/// Returns the time now, the time in the baseline, the change and its interval; `None` for a case without an answer.
pub(super) fn time_and_change(finding: &BaselineFinding) -> Option<[String; 4]> {
    let BaselineFinding::Compared { ratio, time, baseline_time, .. } = finding else { return None };
    let [change, interval] = changes(ratio);
    Some([time.to_string(), baseline_time.to_string(), change, interval])
}

/// Returns a change with its interval, such as `+2.04 % (+1.52 to +2.57 %)`.
pub fn change(ratio: &Ratio) -> String {
    changes(ratio).join(" ")
}

/// Returns a change and its interval as two texts, such as `+2.04 %` and `(+1.52 to +2.57 %)`.
pub(super) fn changes(ratio: &Ratio) -> [String; 2] {
    [format::change(ratio.value), format::changes(ratio.low, ratio.high)]
}

/// Returns the comparisons of `run`: the interleaved cases, the comparison with a baseline, and the outcome of the gate. Each is empty
/// if the run has none.
pub(super) fn render(run: &Run, page: Page) -> String {
    let check =
        run.baseline_comparison.as_ref().map(|check| baseline_table(check, run, page)).unwrap_or_default();
    join_sections([interleaved_table(run, page), check, gate_lines(run, page)])
}

/// Returns the table of interleaved cases; empty if there are none.
fn interleaved_table(run: &Run, page: Page) -> String {
    let rows = run.measured().filter_map(|(record, it)| Some((record, it, record.compared.as_ref()?)));
    let rows: Vec<_> = rows.collect();
    let Some((_, _, first)) = rows.first() else { return String::new() };
    let mut text = comparison_title(
        &format!("interleaved with {}", first.with.benchmark),
        rows.iter().filter_map(|(.., compared)| compared.comparison.ratio),
        first.comparison.equivalence_margin,
        page,
    );
    let cells = rows.iter().map(|(record, measured, compared)| {
        let ratio = compared.comparison.ratio;
        let name = split(&record.case.benchmark, &record.case.args).1;
        let mut cells = vec![
            name,
            cache_and_device(record.case.cache, &record.device, run),
            measured.median().to_string(),
            format!("against {}", compared.measurement.median()),
        ];
        cells.extend(ratio.map_or_else(|| ["?".to_owned(), String::new()], |ratio| changes(&ratio)));
        cells.push(answer_phrase(compared));
        cells
    });
    for (lines, (_, measured, compared)) in columns(&cells.collect::<Vec<_>>(), 2..6, page).iter().zip(&rows)
    {
        text += &styled(lines, answer_style(compared.comparison.answer));
        let metrics = changed_metrics(measured, compared);
        if !metrics.is_empty() {
            text += &paragraph(&format!("    {metrics}"), page);
        }
    }
    text
}

/// Returns the cache state, with the device if the run has several.
fn cache_and_device(cache: Cache, device: &str, run: &Run) -> String {
    if run.devices.len() > 1 { format!("{cache} {device}") } else { cache.to_string() }
}

/// Returns a phrase such as `faster than sum`, with the likely reasons if there is no interval.
pub(super) fn answer_phrase(compared: &Compared) -> String {
    let Comparison { answer, ratio, .. } = &compared.comparison;
    let link = match answer {
        Answer::Faster | Answer::Slower => "than",
        Answer::Same => "as",
        Answer::Undecided => "against",
    };
    let why = match ratio {
        Some(_) => "",
        None => {
            " (too few samples for an interval, or times below the timer's resolution: take more samples, or do more work per launch)"
        }
    };
    format!("{answer} {link} {}{why}", split(&compared.with.benchmark, &compared.with.args).1)
}

/// Returns the table of the comparison with a baseline, with the lines under it.
fn baseline_table(check: &BaselineComparison, run: &Run, page: Page) -> String {
    let ratios = check.findings.iter().filter_map(|line| match line.finding {
        BaselineFinding::Compared { ratio, .. } => Some(ratio),
        _ => None,
    });
    let title = format!("against baseline `{}`", check.baseline);
    let mut text = comparison_title(&title, ratios, check.equivalence_margin, page);
    let longest = check.findings.iter().map(|line| width(&plain(&line.name))).max().unwrap_or_default();
    let case = |line: &CaseFinding| {
        let name = left(&plain(&line.name), longest);
        format!("{name}  {:4}", cache_and_device(line.cache, &line.device, run))
    };
    let cells = check.findings.iter().map(|line| {
        let mut cells = vec![case(line)];
        if let Some([now, then, change, interval]) = time_and_change(&line.finding) {
            cells.extend([now, format!("was {then}"), change, interval, answer_text(&line.finding)]);
        }
        cells
    });
    for (shown, line) in columns(&cells.collect::<Vec<_>>(), 1..5, page).iter().zip(&check.findings) {
        text += &match &line.finding {
            BaselineFinding::Compared { answer, .. } => styled(shown, answer_style(*answer)),
            other => {
                let style = if *other == BaselineFinding::New { Style::new() } else { NOTE };
                let line = format!("{}  {}", case(line), plain(&answer_text(other)));
                styled(&wrapped(&line, "  ", page), style)
            }
        };
    }
    for missing in &check.missing {
        text += &styled(&wrapped(&plain(&format!("missing: {missing} was not measured")), "", page), NOTE);
    }
    if !check.remarks.is_empty() {
        text += &paragraph(&format!("changed since the baseline: {}", check.remarks.join("; ")), page);
    }
    for sentence in decision_sentences(check).into_iter().chain(processes_sentence(check)) {
        text += &paragraph(&sentence, page);
    }
    text
}

/// Returns the sentence about the number of processes on each side. It is about the result that was measured
/// again least often, of those whose spread between processes is known; of several, the first. `None` without
/// such results.
fn processes_sentence(check: &BaselineComparison) -> Option<String> {
    // Rows that were measured again have more processes than the others, and say so.
    let known = check.findings.iter().filter_map(|line| match line.finding {
        BaselineFinding::Compared { processes, noise_known: true, remeasured, .. } => {
            Some((remeasured, processes))
        }
        _ => None,
    });
    let (_, [now, then]) = known.min_by_key(|(again, _)| *again)?;
    Some(format!(
        "processes: {now} now, {then} in the baseline; a time is the mean of the processes' medians, and intervals include the variation between processes"
    ))
}

/// Returns the regressions and the cases that could not be judged; empty without a gate.
fn gate_lines(run: &Run, page: Page) -> String {
    let Some(gate) = run.gate() else { return String::new() };
    let (count, from) = regression_count(&gate);
    let found = gate.regressions();
    let colour = answer_style(if found.is_empty() { Answer::Same } else { Answer::Slower });
    let mut text = format!("{colour}{count}{colour:#}{from}\n");
    for (case, ratio) in found {
        text += &paragraph(&format!("  {case}: {}", change(&ratio)), page);
    }
    for line in unjudged_lines(&gate) {
        text += &styled(&wrapped(&plain(&line), "", page), NOTE);
    }
    text
}

/// Returns the heading of a comparison, with the confidence of the intervals of `ratios` and the equivalence
/// margin (`band`).
fn comparison_title(what: &str, ratios: impl Iterator<Item = Ratio>, band: f64, page: Page) -> String {
    let intervals = interval_name(ratios).map_or_else(String::new, |name| format!(" {name}s;"));
    let meaning = format!(",{intervals} a change within {} counts as the same", format::plus_minus(band));
    heading(&plain(what), &meaning, page)
}

/// Returns a name with the confidence of the intervals of `ratios`, such as `99.7 to 99.9 % interval`: an
/// earlier analysis has a higher confidence. `None` without ratios.
pub fn interval_name(ratios: impl Iterator<Item = Ratio>) -> Option<String> {
    let levels = Range::of(ratios.map(|ratio| 100.0 * ratio.confidence))?;
    Some(format!("{} % interval", format::from_to(levels, format::number)))
}

/// The most cases that a sentence about the gate names; `…` follows if there are more.
const MAX_UNJUDGED_CASES: usize = 8;

/// Returns two texts: the number of regressions, such as `2 regressions`, and the threshold of the gate, such as ` of 5.00 % or more` or
/// ` beyond noise`.
pub fn regression_count(gate: &Gate) -> (String, String) {
    let from = match gate.threshold {
        Threshold::Fraction(part) => format!(" of {} or more", format::percent(part)),
        Threshold::Noise => " beyond noise".to_owned(),
    };
    (format::counted(gate.regressions().len(), "regression"), from)
}

/// Returns a sentence for each reason that cases could not be judged, with these cases. If nothing was
/// compared or missing, returns a sentence that says so.
pub fn unjudged_lines(gate: &Gate) -> Vec<String> {
    let mut lines: Vec<String> = gate.unjudged().into_iter().map(unjudged_line).collect();
    if gate.cases.is_empty() && gate.missing.is_empty() {
        lines.push("gate failed: the baseline has none of these results: save a baseline with them (--save-baseline)".to_owned());
    }
    lines
}

/// Returns the sentence about the cases `names`, which the gate could not judge for the reason `why`. It
/// names the first [`MAX_UNJUDGED_CASES`].
fn unjudged_line((why, names): (Unjudged, Vec<String>)) -> String {
    let more = if names.len() > MAX_UNJUDGED_CASES { ", …" } else { "" };
    let shown = names[..names.len().min(MAX_UNJUDGED_CASES)].join(", ");
    let cases = format::counted(names.len(), "result");
    format!("gate failed: {cases} {}: {shown}{more}{}", unjudged_phrase(why), unjudged_remedy(why))
}

/// Returns the phrase for a reason, such as `not comparable`.
pub fn unjudged_phrase(why: Unjudged) -> &'static str {
    match why {
        Unjudged::NotMeasured => "of the baseline not measured",
        Unjudged::NotComparable => "not comparable",
        Unjudged::NoNumber => "without a number",
        Unjudged::NoInterval => "without an interval of the difference",
        Unjudged::Undecided => "slower by as much, and not beyond doubt",
        Unjudged::NoiseUnknown => "whose noise is unknown",
    }
}

/// Returns the remedy in parentheses; empty if none is known.
fn unjudged_remedy(why: Unjudged) -> &'static str {
    match why {
        Unjudged::NotMeasured => " (measure them too, or save a new baseline)",
        Unjudged::NotComparable => " (if the change is intended, save a new baseline)",
        Unjudged::Undecided => " (measure both in more processes: --runs; with `ab`: --pairs)",
        Unjudged::NoiseUnknown => " (save the baseline with --runs 5, and measure with --runs 5)",
        Unjudged::NoNumber | Unjudged::NoInterval => "",
    }
}
