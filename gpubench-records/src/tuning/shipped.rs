//! The variants to ship over all problems of a benchmark. In: its races; out: the smallest set with one inside the band of each
//! problem's best, and the loss of shipping only one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::problem::TunedProblem;
use crate::id::Arg;
use gpubench_stats::race::{Standing, best_alone, cover};

/// The variants to ship.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shipped {
    /// A set of variants of which one is the best or its tie for every problem.
    pub variants: Vec<Vec<Arg>>,
    /// True if no smaller set exists. False of more than 16 problems, for which it was found greedily.
    pub is_smallest: bool,
    /// The best single variant; nothing if none was compared in all problems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<Alone>,
}

/// The best single variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Alone {
    /// The variant.
    pub args: Vec<Arg>,
    /// Its greatest time over the best's, of all problems.
    pub ratio: f64,
}

impl Shipped {
    /// Returns what to ship; nothing if a problem has no winner.
    #[must_use]
    pub fn of(problems: &[TunedProblem]) -> Option<Self> {
        let mut numbers: BTreeMap<&[Arg], usize> = BTreeMap::new();
        let all = problems.iter().flat_map(|problem| &problem.variants);
        all.for_each(|variant| {
            let next = numbers.len();
            numbers.entry(&variant.args).or_insert(next);
        });
        let is_good = |standing| matches!(standing, Standing::Best | Standing::Tie);
        let good: Vec<Vec<usize>> = problems
            .iter()
            .map(|problem| {
                let good = problem.variants.iter().filter(|variant| is_good(variant.standing));
                good.filter_map(|variant| numbers.get(&*variant.args).copied()).collect()
            })
            .collect();
        let found = cover(&good)?;
        let ratios: Vec<Vec<Option<f64>>> = problems
            .iter()
            .map(|problem| {
                let mut ratios = vec![None; numbers.len()];
                for variant in &problem.variants {
                    if let Some(number) = numbers.get(&*variant.args) {
                        ratios[*number] = variant.ratio.map(|ratio| ratio.value);
                    }
                }
                ratios
            })
            .collect();
        let named = |number: usize| {
            let named = numbers.iter().find(|(_, one)| **one == number);
            named.map(|(args, _)| args.to_vec()).unwrap_or_default()
        };
        let alone = best_alone(&ratios).map(|(number, ratio)| Alone { args: named(number), ratio });
        let variants = found.variants.into_iter().map(named).collect();
        Some(Self { variants, is_smallest: found.is_smallest, alone })
    }
}

#[cfg(test)]
mod tests {
    use super::super::problem::{RaceEnd, TunedVariant};
    use super::*;
    use gpubench_stats::Ratio;
    use gpubench_stats::units::Nanoseconds;

    fn args(value: &str) -> Vec<Arg> {
        vec![Arg { name: "BLOCK".to_owned(), value: value.to_owned() }]
    }

    fn problem(variants: &[(&str, Standing, f64)]) -> TunedProblem {
        let variant = |(value, standing, ratio): &(&str, Standing, f64)| {
            let ratio = Ratio { value: *ratio, low: *ratio, high: *ratio, confidence: 0.99 };
            TunedVariant { ratio: Some(ratio), ..TunedVariant::failed_or(args(value), *standing) }
        };
        let variants = variants.iter().map(variant).collect();
        TunedProblem {
            args: Vec::new(),
            ended: RaceEnd::Decided,
            variants,
            looks: Vec::new(),
            skipped: 0,
            wall: Nanoseconds::ZERO,
        }
    }

    #[test]
    fn a_tie_everywhere_is_enough_and_one_alone_has_its_loss() {
        use Standing::{Best, Slower, Tie};
        let small = problem(&[("64", Best, 1.0), ("128", Tie, 1.002), ("256", Slower, 1.2)]);
        let large = problem(&[("256", Best, 1.0), ("128", Tie, 1.001), ("64", Slower, 1.4)]);
        let shipped = Shipped::of(&[small.clone(), large]).expect("both have winners");
        assert_eq!(shipped.variants, [args("128")]);
        assert_eq!(shipped.alone, Some(Alone { args: args("128"), ratio: 1.002 }));
        let huge = problem(&[("256", Best, 1.0), ("128", Slower, 1.1), ("64", Slower, 1.5)]);
        let shipped = Shipped::of(&[small, huge]).expect("both have winners");
        assert_eq!((shipped.variants.len(), shipped.is_smallest), (2, true));
        assert_eq!(shipped.alone, Some(Alone { args: args("128"), ratio: 1.1 }));
    }

    #[test]
    fn a_problem_without_a_winner_ships_nothing() {
        let lost = problem(&[("64", Standing::Failed, 1.0)]);
        assert_eq!(Shipped::of(&[problem(&[("64", Standing::Best, 1.0)]), lost]), None);
    }
}
