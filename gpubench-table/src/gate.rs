//! The outcome of a gate in words. Cases that could not be judged fail it too.

use gpubench_records::Threshold;
use gpubench_records::gate::{Gate, Unjudged};
use gpubench_stats::format;

/// The most cases that a line names.
const MAX_NAMED_CASES: usize = 8;

/// The number of regressions, such as `2 regressions` and ` of 5.00 % or more`.
pub fn regressions(gate: &Gate) -> (String, String) {
    let from = match gate.threshold {
        Threshold::Fraction(part) => format!(" of {} or more", format::percent(part)),
        Threshold::Noise => " beyond noise".to_owned(),
    };
    (format::counted(gate.regressions().len(), "regression"), from)
}

/// The cases that could not be judged, a sentence for each reason.
pub fn unjudged(gate: &Gate) -> Vec<String> {
    let mut lines: Vec<String> = gate.unjudged().into_iter().map(unjudged_line).collect();
    if gate.cases.is_empty() && gate.missing.is_empty() {
        lines.push("gate failed: the baseline has none of these results: save a baseline with them (--save-baseline)".to_owned());
    }
    lines
}

/// Returns the line about the cases `names`, which could not be judged because of `why`.
fn unjudged_line((why, names): (Unjudged, Vec<String>)) -> String {
    let more = if names.len() > MAX_NAMED_CASES { ", …" } else { "" };
    let shown = names[..names.len().min(MAX_NAMED_CASES)].join(", ");
    let cases = format::counted(names.len(), "result");
    format!("gate failed: {cases} {}: {shown}{more}{}", words(why), remedy(why))
}

/// Returns the phrase for a reason, such as `not comparable`.
pub fn words(why: Unjudged) -> &'static str {
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
fn remedy(why: Unjudged) -> &'static str {
    match why {
        Unjudged::NotMeasured => " (measure them too, or save a new baseline)",
        Unjudged::NotComparable => " (if the change is intended, save a new baseline)",
        Unjudged::Undecided => " (measure both with --runs 5)",
        Unjudged::NoiseUnknown => " (save the baseline with --runs 5, and measure with --runs 5)",
        Unjudged::NoNumber | Unjudged::NoInterval => "",
    }
}
