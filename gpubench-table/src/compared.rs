//! The results of comparisons on a terminal: interleaved cases, and cases that were compared with a baseline.

use anstyle::Style;

use super::style::{NOTE, heading, of_answer, styled};
use super::text::{joined, left, paragraph, plain, width, wrapped};
use super::{aligned::columns, gate, page::Page, table::split, together};
use gpubench_records::{Answer, BaselineComparison, Cache, CaseFinding, Compared, Comparison, Finding, Run};
use gpubench_stats::{DECISION_ERROR, format};

/// Both kinds of comparisons of `run`.
pub(super) fn compared(run: &Run, page: Page) -> String {
    let check =
        run.baseline_comparison.as_ref().map(|check| baseline_table(check, run, page)).unwrap_or_default();
    joined([interleaved_table(run, page), check, gate_lines(run, page)])
}

/// Returns the table of interleaved cases; empty if there are none.
fn interleaved_table(run: &Run, page: Page) -> String {
    let rows = run.measured().filter_map(|(record, it)| Some((record, it, record.compared.as_ref()?)));
    let rows: Vec<_> = rows.collect();
    let Some((_, _, first)) = rows.first() else { return String::new() };
    let mut text = comparison_title(
        &format!("interleaved with {}", first.with.benchmark),
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
        cells
            .extend(ratio.map_or_else(|| ["?".to_owned(), String::new()], |ratio| together::changes(&ratio)));
        cells.push(answer_phrase(compared));
        cells
    });
    for (lines, (_, measured, compared)) in columns(&cells.collect::<Vec<_>>(), 2..6, page).iter().zip(&rows)
    {
        text += &styled(lines, of_answer(compared.comparison.answer));
        let metrics = together::changed_metrics(measured, compared);
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

/// Returns a phrase such as `faster than sum`, with the reason if there is no interval.
fn answer_phrase(compared: &Compared) -> String {
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
    let mut text =
        comparison_title(&format!("against baseline `{}`", check.baseline), check.equivalence_margin, page);
    let longest = check.findings.iter().map(|line| width(&plain(&line.name))).max().unwrap_or_default();
    let case = |line: &CaseFinding| {
        format!(
            "{}  {:4}",
            left(&plain(&line.name), longest),
            cache_and_device(line.cache, &line.device, run)
        )
    };
    let cells = check.findings.iter().map(|line| {
        let mut cells = vec![case(line)];
        if let Some([now, then, change, interval]) = together::figures(&line.finding) {
            cells.extend([now, format!("was {then}"), change, interval, together::result(&line.finding)]);
        }
        cells
    });
    for (shown, line) in columns(&cells.collect::<Vec<_>>(), 1..5, page).iter().zip(&check.findings) {
        text += &match &line.finding {
            Finding::Compared { answer, .. } => styled(shown, of_answer(*answer)),
            other => {
                let style = if *other == Finding::New { Style::new() } else { NOTE };
                let line = format!("{}  {}", case(line), plain(&together::result(other)));
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
    for sentence in together::sentences(check).into_iter().chain(processes_sentence(check)) {
        text += &paragraph(&sentence, page);
    }
    text
}

/// Returns the sentence about the number of processes of results whose spread between processes is known; `None` without such results.
fn processes_sentence(check: &BaselineComparison) -> Option<String> {
    // Rows that were measured again have more processes than the others, and say so.
    let known = check.findings.iter().filter_map(|line| match line.finding {
        Finding::Compared { processes, noise_known: true, remeasured, .. } => Some((remeasured, processes)),
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
    let (count, from) = gate::regressions(&gate);
    let found = gate.regressions();
    let colour = of_answer(if found.is_empty() { Answer::Same } else { Answer::Slower });
    let mut text = format!("{colour}{count}{colour:#}{from}\n");
    for (case, ratio) in found {
        text += &paragraph(&format!("  {case}: {}", together::change(&ratio)), page);
    }
    for line in gate::unjudged(&gate) {
        text += &styled(&wrapped(&plain(&line), "", page), NOTE);
    }
    text
}

/// Returns the heading of a comparison, with its confidence and equivalence margin (`band`).
fn comparison_title(what: &str, band: f64, page: Page) -> String {
    let (confidence, band) = (100.0 * (1.0 - DECISION_ERROR), format::plus_minus(band));
    let meaning = format!(", {confidence:.0} % intervals; a change within {band} counts as the same");
    heading(&plain(what), &meaning, page)
}
