//! The decisions on many rows together, in words. In: a [`Check`]; out: a sentence on the answers, one on rows that chance may
//! explain, and for a row the number of times that it was measured again.

use gpubench_records::comparison::{Answer, Check, Finding};
use gpubench_stats::DECISION_ERROR;

/// The sentences on the decisions of `check`. None for one row, and for runs whose rows were each decided alone.
pub(super) fn sentences(check: &Check) -> Vec<String> {
    let Some(rows) = check.together.filter(|rows| *rows > 1) else { return Vec::new() };
    let rate = 100.0 * DECISION_ERROR;
    let all = format!(
        "answers: all {rows} rows were decided together, so that at most {rate:.0} % of the slower and faster ones are so by chance"
    );
    let chance = match check.lines.iter().filter(|line| is_chance(&line.finding, check.band)).count() {
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
        Finding::Compared { ratio, answer, .. } => {
            *answer == Answer::Undecided && Answer::of(ratio, band) != Answer::Undecided
        }
        _ => false,
    }
}

/// The answer of a row, with the number of times that it was measured again.
pub(super) fn answer(answer: Answer, again: usize) -> String {
    match again {
        0 => answer.to_string(),
        1 => format!("{answer}, measured again once"),
        times => format!("{answer}, measured again {times} times"),
    }
}
