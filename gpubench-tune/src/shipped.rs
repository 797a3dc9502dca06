//! The variants to ship: a small set with a good variant for every problem, and the best single variant.

use std::collections::BTreeMap;

use crate::tuning::{Alone, Shipped, Standing, TunedProblem, TunedVariant};
use gpubench_records::id::Arg;

impl Shipped {
    /// Chooses the variants to ship. `None` if a problem has no winner.
    #[must_use]
    pub fn new(problems: &[TunedProblem]) -> Option<Self> {
        // The variants by first appearance, each with its results for all problems.
        let mut variants: Vec<(&[Arg], Vec<Option<&TunedVariant>>)> = Vec::new();
        let mut numbers = BTreeMap::new();
        for (place, problem) in problems.iter().enumerate() {
            for variant in &problem.variants {
                let number = *numbers.entry(&*variant.args).or_insert(variants.len());
                if number == variants.len() {
                    variants.push((&variant.args, vec![None; problems.len()]));
                }
                variants[number].1[place] = Some(variant);
            }
        }
        let is_good = |one: &Option<&TunedVariant>| one.is_some_and(|one| one.standing <= Standing::Tie);
        let covers: Vec<Vec<usize>> = variants
            .iter()
            .map(|(_, results)| (0..problems.len()).filter(|place| is_good(&results[*place])).collect())
            .collect();
        let chosen = cover(&covers, problems.len())?;
        let worst = |results: &[Option<&TunedVariant>]| {
            results.iter().try_fold(0.0, |worst: f64, one| Some(worst.max((*one)?.ratio?.value)))
        };
        let alone = variants
            .iter()
            .filter_map(|(args, results)| Some(Alone { args: args.to_vec(), ratio: worst(results)? }));
        Some(Self {
            variants: chosen.into_iter().map(|number| variants[number].0.to_vec()).collect(),
            alone: alone.min_by(|a, b| a.ratio.total_cmp(&b.ratio)),
        })
    }
}

/// Returns a set of variants that covers all problems. Each time it adds the variant that covers most of the rest. A smaller set may
/// exist, by a factor of 1 + ln(problems) at most (Chvátal, *A greedy heuristic for the set-covering problem*, Mathematics of Operations
/// Research 4, 1979).
fn cover(covers: &[Vec<usize>], problems: usize) -> Option<Vec<usize>> {
    let (mut left, mut set) = (vec![true; problems], Vec::new());
    while left.contains(&true) {
        let gain = |variant: &usize| covers[*variant].iter().filter(|place| left[**place]).count();
        // The first of those that cover as many.
        let best = (0..covers.len()).rev().max_by_key(gain).filter(|best| gain(best) > 0)?;
        covers[best].iter().for_each(|place| left[*place] = false);
        set.push(best);
    }
    set.sort_unstable();
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_stats::Ratio;

    #[test]
    fn many_problems_are_covered() {
        let problems: Vec<TunedProblem> = (0..40)
            .map(|place| {
                let own = (2 + place).to_string();
                let names = if place % 2 == 0 { ["0", &own] } else { ["1", &own] };
                problem(&names.map(|name| (name, Standing::Tie, 1.0)))
            })
            .collect();
        let shipped = Shipped::new(&problems).expect("each has one");
        assert_eq!(shipped.variants, [args("0"), args("1")]);
    }

    #[test]
    fn a_problem_without_a_good_variant_has_no_cover() {
        assert_eq!(cover(&[vec![0]], 2), None);
        assert_eq!(cover(&[vec![], vec![0]], 1), Some(vec![1]));
        let lost = problem(&[("64", Standing::Failed, 1.0)]);
        assert_eq!(Shipped::new(&[problem(&[("64", Standing::Best, 1.0)]), lost]), None);
    }

    fn args(value: &str) -> Vec<Arg> {
        vec![Arg { name: "BLOCK".to_owned(), value: value.to_owned() }]
    }

    fn problem(variants: &[(&str, Standing, f64)]) -> TunedProblem {
        let variant = |(value, standing, ratio): &(&str, Standing, f64)| {
            let ratio = Ratio { value: *ratio, low: *ratio, high: *ratio, confidence: 0.99 };
            TunedVariant { standing: *standing, ratio: Some(ratio), ..TunedVariant::new(args(value), None) }
        };
        let variants = variants.iter().map(variant).collect();
        TunedProblem { variants, ..TunedProblem::new(Vec::new()) }
    }

    #[test]
    fn a_tie_everywhere_is_enough_and_one_alone_has_its_loss() {
        use Standing::{Best, Slower, Tie};
        let small = problem(&[("64", Best, 1.0), ("128", Tie, 1.002), ("256", Slower, 1.2)]);
        let large = problem(&[("256", Best, 1.0), ("128", Tie, 1.001), ("64", Slower, 1.4)]);
        let shipped = Shipped::new(&[small.clone(), large]).expect("both have winners");
        assert_eq!(shipped.variants, [args("128")]);
        assert_eq!(shipped.alone, Some(Alone { args: args("128"), ratio: 1.002 }));
        let huge = problem(&[("256", Best, 1.0), ("128", Slower, 1.1), ("64", Slower, 1.5)]);
        let shipped = Shipped::new(&[small, huge]).expect("both have winners");
        assert_eq!(shipped.variants.len(), 2);
        assert_eq!(shipped.alone, Some(Alone { args: args("128"), ratio: 1.1 }));
    }

    #[test]
    fn one_that_was_not_compared_everywhere_is_not_shipped_alone() {
        use Standing::{Best, LeftBehind, Slower};
        let first = problem(&[("64", Best, 1.0), ("128", Slower, 1.02), ("256", Slower, 1.5)]);
        let mut second = problem(&[("256", Best, 1.0), ("128", Slower, 1.04), ("64", LeftBehind, 1.0)]);
        second.variants[2].ratio = None;
        let alone = Shipped::new(&[first, second]).expect("both have winners").alone;
        assert_eq!(alone, Some(Alone { args: args("128"), ratio: 1.04 }));
    }
}
