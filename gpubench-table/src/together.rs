//! The answers of a comparison in words, for the terminal, Markdown and the page.

use gpubench_records::{
    Answer, AssumedSpread, BaselineComparison, CaseFinding, Compared, Finding, Measurement,
    metrics::describe_changed_metrics,
};
use gpubench_stats::{DECISION_ERROR, Ratio, format, units::Range};

/// The sentences on the decisions of `check`: on all rows together, and on those of one process on each side.
pub fn sentences(check: &BaselineComparison) -> Vec<String> {
    false_discovery_sentence(check).into_iter().chain(assumption_sentence(check)).collect()
}

/// Returns the sentence about the spread that is assumed between single processes; `None` if no case needed
/// it.
fn assumption_sentence(check: &BaselineComparison) -> Option<String> {
    let allowed = check.findings.iter().filter_map(|line| match line.finding {
        Finding::Compared { assumed_spread: Some(AssumedSpread::UpTo(difference)), .. } => Some(difference),
        _ => None,
    });
    let differences = format::from_to(Range::of(allowed.clone())?, format::percent);
    Some(format!(
        "{}: without --runs 5 on both sides, two runs are assumed to differ by up to {differences}",
        format::counted(allowed.count(), "result")
    ))
}

/// Returns the sentence about the false discovery rate; `None` for one row, and if no row is called slower or faster.
fn false_discovery_sentence(check: &BaselineComparison) -> Option<String> {
    let rows = Some(check.tested_together).filter(|rows| *rows > 1)?;
    let differs = |line: &&CaseFinding| {
        matches!(line.finding, Finding::Compared { answer: Answer::Slower | Answer::Faster, .. })
    };
    check.findings.iter().find(differs)?;
    let rate = 100.0 * DECISION_ERROR;
    Some(format!(
        "of the results called slower or faster, at most {rate:.0} % are expected to be wrong (false discovery rate over {rows} results)"
    ))
}

/// Returns the result of a case in words: its answer, or the reason that it has none.
pub fn result(finding: &Finding) -> String {
    let (answer, assumed, again) = match finding {
        Finding::Compared { answer, assumed_spread, remeasured, .. } => (answer, assumed_spread, remeasured),
        Finding::NotComparable(why) => return format!("not comparable: {}", why.join("; ")),
        Finding::New => return "new".to_owned(),
        Finding::NoTime(why) => return format!("no number: {why}"),
    };
    let answer = match assumed {
        Some(AssumedSpread::UpTo(difference)) if *answer == Answer::Undecided => {
            format!("undecided: two runs can differ by {}", format::percent(*difference))
        }
        Some(AssumedSpread::Any) => {
            "undecided: suspect, from one run (measure both with --runs 5)".to_owned()
        }
        _ => answer.to_string(),
    };
    match again {
        0 => answer,
        times => format!("{answer}, measured again {times} times"),
    }
}

/// Returns the user's metrics that differ between a result and the one that it was interleaved with; empty if there are none.
pub fn changed_metrics(own: &Measurement, compared: &Compared) -> String {
    let others = &compared.measurement.user_metrics;
    format::joined(describe_changed_metrics(own.user_metrics.iter(), others, " against"), "; ")
}

/// Returns the time now, the time in the baseline, the change and its interval; `None` for a case without an answer.
pub(super) fn figures(finding: &Finding) -> Option<[String; 4]> {
    let Finding::Compared { ratio, time, baseline_time, .. } = finding else { return None };
    let [change, interval] = changes(ratio);
    Some([time.to_string(), baseline_time.to_string(), change, interval])
}

/// Returns a change with its interval, such as `+2.04 % (+1.52 to +2.57 %)`.
pub fn change(ratio: &Ratio) -> String {
    changes(ratio).join(" ")
}

/// Returns a change and its interval.
pub(super) fn changes(ratio: &Ratio) -> [String; 2] {
    [format::change(ratio.value), format::changes(ratio.low, ratio.high)]
}
