//! The space of a problem's variants as a map over two of its axes. In: the variants; out: the two axes with the greatest effect, and
//! for each pair of their values the best variant over all other axes.

use std::collections::BTreeSet;

use gpubench_records::tuning::{TunedProblem, TunedVariant};
use gpubench_stats::race::Standing;
use gpubench_stats::units::Nanoseconds;

/// The most columns and rows of a map that one can read.
const MOST: [usize; 2] = [24, 64];

/// A map of the best times over two axes, or over one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Space<'a> {
    /// The axis of the rows; nothing if only one axis has several values.
    pub(super) down: Option<&'a str>,
    /// The axis of the columns.
    pub(super) across: &'a str,
    /// The values of the columns.
    pub(super) columns: Vec<&'a str>,
    /// The rows, with their values.
    pub(super) rows: Vec<(&'a str, Vec<Cell<'a>>)>,
    /// The axes over which each cell is the best.
    pub(super) others: Vec<&'a str>,
}

/// What is known of a pair of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    /// The best variant, with its time over the best of all.
    Timed(&'a TunedVariant, f64),
    /// All failed that were measured.
    Failed,
    /// None was measured.
    NotMeasured,
    /// The benchmark has no such variant, or skips it.
    Missing,
}

/// Returns the map; nothing if no axis has several values, one has too many, or nothing was measured.
pub(super) fn space(problem: &TunedProblem) -> Option<Space<'_>> {
    let fastest = reference(problem)?;
    let timed: Vec<(&TunedVariant, f64)> =
        problem.variants.iter().filter_map(|variant| Some((variant, ratio(variant, fastest)?))).collect();
    let names = problem.variants.first()?.args.iter().map(|arg| &*arg.name);
    let mut axes: Vec<(&str, Vec<&str>, f64)> = names
        .map(|name| (name, values(problem, name), effect(&timed, name)))
        .filter(|(_, values, _)| values.len() > 1)
        .collect();
    // The first of those with the same effect.
    axes.sort_by(|a, b| b.2.total_cmp(&a.2));
    let others = axes.iter().skip(2).map(|(name, ..)| *name).collect();
    let mut chosen = axes.into_iter().take(2).map(|(name, values, _)| (name, values));
    let (first, second) = (chosen.next()?, chosen.next());
    // More values go down, where a page has more room.
    let (down, (across, columns)) = match second {
        None => (None, first),
        Some(second) if second.1.len() > first.1.len() => (Some(second), first),
        Some(second) => (Some(first), second),
    };
    let down_values = down.as_ref().map_or(1, |(_, values): &(&str, Vec<&str>)| values.len());
    if columns.len() > MOST[0] || down_values > MOST[1] {
        return None;
    }
    let cell = |row: Option<(&str, &str)>, column: &str| {
        let is_here = |variant: &&TunedVariant| {
            value(variant, across) == Some(column)
                && row.is_none_or(|(name, row)| value(variant, name) == Some(row))
        };
        let here: Vec<&TunedVariant> = problem.variants.iter().filter(is_here).collect();
        let times = here.iter().filter_map(|variant| Some((*variant, ratio(variant, fastest)?)));
        // An undecided one may seem to be faster than the best.
        let is_other = |variant: &TunedVariant| variant.standing != Standing::Best;
        match times.min_by(|a, b| is_other(a.0).cmp(&is_other(b.0)).then(a.1.total_cmp(&b.1))) {
            Some((variant, ratio)) => Cell::Timed(variant, ratio),
            None if here.is_empty() => Cell::Missing,
            None if here.iter().any(|variant| variant.standing == Standing::Failed) => Cell::Failed,
            None => Cell::NotMeasured,
        }
    };
    let cells = |row| columns.iter().map(|column| cell(row, column)).collect::<Vec<_>>();
    let rows = match &down {
        None => vec![("", cells(None))],
        Some((name, values)) => values.iter().map(|value| (*value, cells(Some((name, value))))).collect(),
    };
    let down = down.map(|(name, _)| name);
    Some(Space { down, across, columns, rows, others })
}

/// The least time of any variant alone, which is that of the best if there is one.
fn reference(problem: &TunedProblem) -> Option<f64> {
    let alone = |variant: &TunedVariant| variant.coarse.map(Nanoseconds::as_f64);
    problem
        .best()
        .and_then(alone)
        .or_else(|| problem.variants.iter().filter_map(alone).min_by(f64::total_cmp))
}

/// The time of a variant over that of the best: as the race found it, or else as each took alone.
fn ratio(variant: &TunedVariant, fastest: f64) -> Option<f64> {
    variant.ratio.map(|ratio| ratio.value).or(Some(variant.coarse?.as_f64() / fastest))
}

fn value<'a>(variant: &'a TunedVariant, name: &str) -> Option<&'a str> {
    variant.args.iter().find(|arg| arg.name == name).map(|arg| &*arg.value)
}

/// The values of an axis: numbers by their size, and else in the order of their texts.
fn values<'a>(problem: &'a TunedProblem, name: &str) -> Vec<&'a str> {
    let found: BTreeSet<&str> = problem.variants.iter().filter_map(|variant| value(variant, name)).collect();
    let mut values: Vec<&str> = found.into_iter().collect();
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::INFINITY);
    values.sort_by(|a, b| number(a).total_cmp(&number(b)));
    values
}

/// The effect of an axis: the ratio of its worst to its best value, each with the best of all other axes.
fn effect(timed: &[(&TunedVariant, f64)], name: &str) -> f64 {
    let values: BTreeSet<&str> = timed.iter().filter_map(|(variant, _)| value(variant, name)).collect();
    let best_with = |one: &&str| {
        let here = timed.iter().filter(|(variant, _)| value(variant, name) == Some(*one));
        here.map(|(_, ratio)| *ratio).fold(f64::INFINITY, f64::min)
    };
    let best: Vec<f64> = values.iter().map(best_with).collect();
    best.iter().copied().fold(0.0, f64::max) / best.iter().copied().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::id::Arg;
    use gpubench_records::tuning::RaceEnd;

    /// Variants of these axes, each with its time; 0 has failed, and a negative one was not measured.
    fn problem(names: &[&str], variants: &[(&[&str], f64)]) -> TunedProblem {
        let variant = |(values, time): &(&[&str], f64)| {
            let arg =
                |(name, value): (&&str, &&str)| Arg { name: (*name).to_owned(), value: (*value).to_owned() };
            let standing = match *time {
                0.0 => Standing::Failed,
                time if time < 0.0 => Standing::NotMeasured,
                100.0 => Standing::Best,
                _ => Standing::LeftBehind,
            };
            let coarse = Some(Nanoseconds(*time)).filter(|_| *time > 0.0);
            TunedVariant {
                coarse,
                ..TunedVariant::failed_or(names.iter().zip(*values).map(arg).collect(), standing)
            }
        };
        TunedProblem {
            args: Vec::new(),
            ended: RaceEnd::Decided,
            variants: variants.iter().map(variant).collect(),
            looks: Vec::new(),
            skipped: 0,
            wall: Nanoseconds(1.0),
        }
    }

    fn ratios<'a>(space: &'a Space<'_>) -> Vec<(&'a str, Vec<f64>)> {
        let ratio = |cell: &Cell<'_>| match cell {
            Cell::Timed(_, ratio) => *ratio,
            Cell::Failed => 0.0,
            Cell::NotMeasured => -1.0,
            Cell::Missing => -2.0,
        };
        space.rows.iter().map(|(name, cells)| (*name, cells.iter().map(ratio).collect())).collect()
    }

    #[test]
    fn the_two_axes_with_the_greatest_effect_are_chosen_and_others_are_at_their_best() {
        let found = problem(
            &["tile", "small", "steps"],
            &[
                (&["64", "a", "2"], 100.0),
                (&["64", "b", "2"], 101.0),
                (&["64", "a", "10"], 150.0),
                (&["128", "a", "2"], 300.0),
                (&["128", "b", "2"], 200.0),
                (&["128", "b", "10"], 400.0),
            ],
        );
        let space = space(&found).expect("there are axes");
        assert_eq!((space.down, space.across, &space.others[..]), (Some("tile"), "steps", &["small"][..]));
        assert_eq!(space.columns, ["2", "10"]);
        assert_eq!(ratios(&space), [("64", vec![1.0, 1.5]), ("128", vec![2.0, 4.0])]);
    }

    #[test]
    fn pairs_without_a_time_say_why() {
        let found = problem(
            &["x", "y"],
            &[(&["1", "1"], 100.0), (&["1", "2"], 0.0), (&["2", "1"], -1.0), (&["3", "1"], 150.0)],
        );
        let space = space(&found).expect("there are axes");
        // Three values go down.
        assert_eq!((space.down, space.across), (Some("x"), "y"));
        assert_eq!(ratios(&space), [("1", vec![1.0, 0.0]), ("2", vec![-1.0, -2.0]), ("3", vec![1.5, -2.0])]);
    }

    #[test]
    fn the_best_is_on_the_map_beside_one_that_seems_to_be_faster() {
        let found = problem(
            &["x", "y", "z"],
            &[
                (&["1", "1", "1"], 100.0),
                (&["1", "1", "2"], 99.0),
                (&["2", "1", "1"], 150.0),
                (&["2", "2", "1"], 170.0),
            ],
        );
        let space = space(&found).expect("there are axes");
        assert_eq!(space.others, ["z"]);
        assert_eq!(ratios(&space), [("1", vec![1.0, 1.5]), ("2", vec![-2.0, 1.7])]);
    }

    #[test]
    fn one_axis_is_a_row_and_none_is_no_map() {
        let found = problem(&["x", "y"], &[(&["1", "1"], 100.0), (&["2", "1"], 110.0)]);
        let one = space(&found).expect("there is an axis");
        assert_eq!((one.down, one.across, ratios(&one)), (None, "x", vec![("", vec![1.0, 1.1])]));
        let many: Vec<String> = (0..25).map(|value| value.to_string()).collect();
        let values: Vec<[&str; 1]> = many.iter().map(|value| [value.as_str()]).collect();
        let variants: Vec<(&[&str], f64)> = values.iter().map(|value| (&value[..], 100.0)).collect();
        assert!(space(&problem(&["x"], &variants[..24])).is_some());
        assert_eq!(space(&problem(&["x"], &variants)), None);
        assert_eq!(space(&problem(&["x"], &[(&["1"], 100.0)])), None);
        assert_eq!(space(&problem(&["x"], &[(&["1"], 0.0), (&["2"], 0.0)])), None);
    }
}
