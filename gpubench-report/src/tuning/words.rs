//! The words of a tuning that its text and its page share. In: its parts; out: sentences, which are not cleaned of controls yet.

use gpubench_records::id::{Arg, shown_name};
use gpubench_records::tuning::{Objective, RaceEnd, TunedBenchmark, TunedProblem, Tuning};
use gpubench_stats::format;
use gpubench_stats::race::Standing;

/// The certainty of all answers.
pub(super) fn certainty(tuning: &Tuning) -> String {
    let share = format::percent(1.0 - tuning.method.error);
    let energies = match tuning.method.objective {
        Objective::Time => "",
        Objective::Energy => {
            " In as many the intervals of energies do. Beyond doubt, another variant takes less time or energy than a dominated one and no more of the other, and none does of the front."
        }
    };
    format!(
        "In {share} of races all intervals hold the truth together. A variant is slower or a tie beyond doubt, and else undecided.{energies}"
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

/// The longest name of a row in a drawing, in characters.
const LONGEST_NAME: usize = 36;

/// Names of variants as short as they can be told apart in a drawing, and the sentence that explains them.
pub(super) struct ShortNames {
    pub(super) names: Vec<String>,
    /// The arguments that all have, and the order of values that have no names; may be empty.
    pub(super) explained: String,
}

/// Leaves out the arguments that all have, and if the rest is too long the names of the axes.
pub(super) fn short_names<'a>(variants: impl Iterator<Item = &'a [Arg]>) -> ShortNames {
    let variants: Vec<&[Arg]> = variants.collect();
    let is_common = |arg: &Arg| variants.len() > 1 && variants.iter().all(|args| args.contains(arg));
    let rest = |args: &[Arg]| args.iter().filter(|arg| !is_common(arg)).cloned().collect::<Vec<_>>();
    let short: Vec<Vec<Arg>> = variants.iter().map(|args| rest(args)).collect();
    let first: &[Arg] = variants.first().copied().unwrap_or_default();
    let common: Vec<Arg> = first.iter().filter(|arg| is_common(arg)).cloned().collect();
    let all = if common.is_empty() { String::new() } else { format!("all with {}", names(&common)) };
    let named: Vec<String> = short.iter().map(|args| names(args)).collect();
    if named.iter().all(|name| name.chars().count() <= LONGEST_NAME) {
        return ShortNames { names: named, explained: all };
    }
    let values = |args: &Vec<Arg>| args.iter().map(|arg| arg.value.as_str()).collect::<Vec<_>>().join(" · ");
    let order: Vec<&str> = short[0].iter().map(|arg| arg.name.as_str()).collect();
    let order = format!("named by {}", order.join(" · "));
    let explained = if all.is_empty() { order } else { format!("{order}; {all}") };
    ShortNames { names: short.iter().map(values).collect(), explained }
}

/// The arguments as they are given, such as `BLOCK=128, UNROLL=4`.
pub(super) fn names(args: &[Arg]) -> String {
    args.iter().map(Arg::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(args: &[(&str, &str)]) -> Vec<Arg> {
        args.iter()
            .map(|(name, value)| Arg { name: (*name).to_owned(), value: (*value).to_owned() })
            .collect()
    }

    #[test]
    fn names_of_rows_are_as_short_as_they_can_be_told_apart() {
        let short = |variants: &[Vec<Arg>]| {
            let short = short_names(variants.iter().map(Vec::as_slice));
            (short.names, short.explained)
        };
        let [a, b] = ["64", "128"].map(|rows| variant(&[("rows", rows), ("depth", "32")]));
        assert_eq!(
            short(&[a.clone(), b]),
            (vec!["rows=64".to_owned(), "rows=128".to_owned()], "all with depth=32".to_owned())
        );
        assert_eq!(short(&[a]), (vec!["rows=64, depth=32".to_owned()], String::new()));
        let long = |rows, columns| {
            variant(&[("rows_of_a_warp", rows), ("columns_of_a_warp", columns), ("depth", "32")])
        };
        assert_eq!(
            short(&[long("64", "32"), long("32", "64")]),
            (
                vec!["64 · 32".to_owned(), "32 · 64".to_owned()],
                "named by rows_of_a_warp · columns_of_a_warp; all with depth=32".to_owned()
            )
        );
        assert_eq!(short(&[]), (Vec::new(), String::new()));
    }
}
