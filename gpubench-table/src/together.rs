//! The decisions on many rows together, in words. In: a [`BaselineComparison`]; out: a sentence on the answers, one on rows that chance may
//! explain, those on differences that were assumed, for a row its answer, and the number of each answer.

use gpubench_records::comparison::{Answer, AssumedSpread, BaselineComparison, Finding};
use gpubench_stats::units::Range;
use gpubench_stats::{DECISION_ERROR, Ratio, format};

/// Returns the number of results with each answer, in words.
pub fn answer_counts(answers: impl Iterator<Item = Answer> + Clone) -> String {
    let count = |answer| answers.clone().filter(|it| *it == answer).count();
    let [slower, faster] = [Answer::Slower, Answer::Faster].map(count);
    let [same, undecided] = [Answer::Same, Answer::Undecided].map(count);
    format!("{slower} slower, {faster} faster, {same} the same, {undecided} undecided")
}

/// Returns the answers of a comparison.
pub fn answers(check: &BaselineComparison) -> impl Iterator<Item = Answer> + Clone {
    check.findings.iter().filter_map(|line| match line.finding {
        Finding::Compared { answer, .. } => Some(answer),
        _ => None,
    })
}

/// The sentences on the decisions of `check`: on all rows together, and on those of one process on each side.
pub fn sentences(check: &BaselineComparison) -> Vec<String> {
    let mut sentences = decided_together(check);
    sentences.extend(assumptions(check));
    sentences
}

/// The sentences on rows of one process on each side, with the difference that they allow for.
fn assumptions(check: &BaselineComparison) -> Vec<String> {
    let assumed = check.findings.iter().filter_map(|line| match line.finding {
        Finding::Compared { assumed_spread: assumed, .. } => assumed,
        _ => None,
    });
    let assumed: Vec<AssumedSpread> = assumed.collect();
    let up_to = assumed.iter().filter_map(|spread| match spread {
        AssumedSpread::UpTo(difference) => Some(*difference),
        AssumedSpread::Any => None,
    });
    let any = assumed.len() - up_to.clone().count();
    let rows = |count| format::counted(count, "row");
    let bounded = Range::of(up_to.clone()).map(|range| {
        let differences = format::from_to(range, format::percent);
        format!(
            "{}: one process then and one now do not show what processes differ by: differences up to {differences} are no answer \
             (measure both with --runs 5)",
            rows(up_to.count())
        )
    });
    let unbounded = (any > 0).then(|| {
        format!(
            "{}: a time that is suspect, from one process, says nothing about another process (measure both with --runs 5)",
            rows(any)
        )
    });
    bounded.into_iter().chain(unbounded).collect()
}

/// The sentences on the decisions of all rows. None for one row, and for runs whose rows were each decided alone.
fn decided_together(check: &BaselineComparison) -> Vec<String> {
    let Some(rows) = check.tested_together.filter(|rows| *rows > 1) else { return Vec::new() };
    let rate = 100.0 * DECISION_ERROR;
    let all = format!(
        "answers: all {rows} rows were decided together, so that at most {rate:.0} % of the slower and faster ones are so by chance"
    );
    let chance =
        match check.findings.iter().filter(|line| is_chance(&line.finding, check.equivalence_margin)).count()
        {
            0 => None,
            1 => Some("1 row is".to_owned()),
            many => Some(format!("{many} rows are")),
        };
    let chance = chance.map(|rows_are| {
        format!("{rows_are} undecided with an interval beyond the band: among {rows} rows that may be chance")
    });
    std::iter::once(all).chain(chance).collect()
}

/// Returns true if the row alone would have another answer.
fn is_chance(finding: &Finding, band: f64) -> bool {
    match finding {
        Finding::Compared { ratio, answer, assumed_spread, .. } => {
            *answer == Answer::Undecided
                && *assumed_spread != Some(AssumedSpread::Any)
                && Answer::of(ratio, band) != Answer::Undecided
        }
        _ => false,
    }
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
        Some(AssumedSpread::UpTo(_)) if *answer == Answer::Undecided => {
            "within what processes may differ by".to_owned()
        }
        Some(AssumedSpread::Any) => "undecided: suspect, from one process".to_owned(),
        _ => answer.to_string(),
    };
    match again {
        0 => answer,
        1 => format!("{answer}, measured again once"),
        times => format!("{answer}, measured again {times} times"),
    }
}

/// Returns the time now, the time in the baseline, the change and its interval; `None` for a case without an answer.
pub(super) fn figures(finding: &Finding) -> Option<[String; 4]> {
    let Finding::Compared { ratio, time, baseline_time, .. } = finding else { return None };
    let [change, interval] = changes(ratio);
    Some([time.to_string(), baseline_time.to_string(), change, interval])
}

/// Returns a change and its interval.
pub(super) fn changes(ratio: &Ratio) -> [String; 2] {
    [format::change(ratio.value), format::changes(ratio.low, ratio.high)]
}
