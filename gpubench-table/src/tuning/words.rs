//! Sentences about a tuning. Control characters in them are still to be escaped.

use gpubench_records::id::{Arg, shown_name};
use gpubench_records::tuning::{RaceEnd, TunedBenchmark, TunedProblem, Tuning};
use gpubench_stats::format;
use gpubench_stats::race::Standing;

/// The certainty of all answers.
pub(super) fn certainty(tuning: &Tuning) -> String {
    let share = format::percent(1.0 - tuning.method.error);
    format!(
        "In {share} of races all intervals hold the truth together. A variant is slower or a tie beyond doubt, and else undecided."
    )
}

/// The number of a problem's variants, the time of its race, and its end.
pub(super) fn size(problem: &TunedProblem) -> String {
    let end = match problem.ended {
        RaceEnd::Decided => "",
        RaceEnd::LastLook => ", the last look leaves some undecided",
        RaceEnd::Budget => ", ended by the budget",
        RaceEnd::Stopped => ", stopped",
    };
    let skipped = match problem.skipped {
        0 => String::new(),
        skipped => format!(", {skipped} skipped"),
    };
    let variants = format::counted(problem.variants.len(), "variant");
    format!("{variants}{skipped} in {}{end}", format::time(problem.wall))
}

/// The sentence about variants that were not measured.
pub(super) fn missing(problem: &TunedProblem) -> Option<String> {
    let missing = problem.of(Standing::NotMeasured).count();
    let end = if problem.ended == RaceEnd::Budget { "the budget ended" } else { "the race was stopped" };
    (missing > 0).then(|| format!("{missing} not measured: {end} first, so that there is no winner"))
}

/// The variants to ship, where there is more than one problem.
pub(super) fn to_ship(benchmark: &TunedBenchmark) -> Option<String> {
    let shipped = benchmark.shipped.as_ref().filter(|_| benchmark.problems.len() > 1)?;
    let shown: Vec<String> = shipped.variants.iter().map(|args| shown_name("", args)).collect();
    let smallest = if shipped.is_smallest { "the smallest set" } else { "a small set, found greedily" };
    let mut text = format!("within the band of every problem's best, {smallest}: {}", shown.join(" and "));
    if let Some(alone) = &shipped.alone {
        let loss = format::change(alone.ratio);
        text += &format!("; {} alone is at most {loss} from the best", shown_name("", &alone.args));
    }
    Some(text)
}

/// The word for a standing.
pub(super) fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Best => "best",
        Standing::Tie => "tie",
        Standing::Undecided => "undecided",
        Standing::Slower => "slower",
        Standing::LeftBehind => "left behind",
        Standing::NotMeasured => "not measured",
        Standing::Failed => "failed",
    }
}

/// The arguments as they are given, such as `BLOCK=128, UNROLL=4`.
pub(super) fn names(args: &[Arg]) -> String {
    args.iter().map(Arg::to_string).collect::<Vec<_>>().join(", ")
}
