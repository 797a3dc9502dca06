//! The variants to ship over several problems. In: for each problem the variants that are certainly within the band of its best, and
//! how much worse each is; out: the smallest set that has one of them for every problem, and the best single one with its loss.

/// The most problems of which the smallest set is found exactly: each subset of them has a bit.
const EXACT_PROBLEMS: usize = 16;

/// A set of variants with one within the band for every problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// The numbers of the variants.
    pub variants: Vec<usize>,
    /// True if no smaller set exists; false if it was found greedily, and may be larger by a factor of 1 + ln(problems) (Chvátal,
    /// *A greedy heuristic for the set-covering problem*, Mathematics of Operations Research 4, 1979).
    pub is_smallest: bool,
}

/// Returns a set of variants that has one of each problem's `good` ones. `None` if a problem has none.
#[must_use]
pub fn cover(good: &[Vec<usize>]) -> Option<Cover> {
    if good.is_empty() || good.iter().any(Vec::is_empty) {
        return None;
    }
    let variants = 1 + good.iter().flatten().copied().max()?;
    let covers: Vec<Vec<usize>> = (0..variants)
        .map(|variant| (0..good.len()).filter(|problem| good[*problem].contains(&variant)).collect())
        .collect();
    if good.len() > EXACT_PROBLEMS {
        return Some(Cover { variants: greedy(&covers, good.len()), is_smallest: false });
    }
    Some(Cover { variants: smallest(&covers, good.len()), is_smallest: true })
}

/// Returns the smallest set, by the least number of variants for each subset of problems.
fn smallest(covers: &[Vec<usize>], problems: usize) -> Vec<usize> {
    let masks: Vec<usize> = covers.iter().map(|covered| covered.iter().map(|bit| 1 << bit).sum()).collect();
    let all = (1_usize << problems) - 1;
    // For each subset the number of variants that cover it, with the last of them and the subset before.
    let mut reached: Vec<Option<(usize, usize, usize)>> = vec![None; all + 1];
    reached[0] = Some((0, 0, 0));
    for subset in 0..all {
        let Some((count, ..)) = reached[subset] else { continue };
        // The first problem that is not covered yet must be by someone.
        let missing = 1 << (!subset).trailing_zeros();
        for (variant, mask) in masks.iter().enumerate().filter(|(_, mask)| **mask & missing != 0) {
            let next = subset | mask;
            if reached[next].is_none_or(|(fewest, ..)| count + 1 < fewest) {
                reached[next] = Some((count + 1, variant, subset));
            }
        }
    }
    let (mut set, mut at) = (Vec::new(), all);
    while let Some((_, variant, before)) = reached[at].filter(|_| at != 0) {
        set.push(variant);
        at = before;
    }
    set.sort_unstable();
    set
}

/// Returns a set to which the variant that covers most of what is left was added each time.
fn greedy(covers: &[Vec<usize>], problems: usize) -> Vec<usize> {
    let (mut left, mut set) = (vec![true; problems], Vec::new());
    while left.contains(&true) {
        let gain = |variant: &usize| covers[*variant].iter().filter(|problem| left[**problem]).count();
        // The first of those that cover as many.
        let Some(best) = (0..covers.len()).rev().max_by_key(gain) else { break };
        covers[best].iter().for_each(|problem| left[*problem] = false);
        set.push(best);
    }
    set.sort_unstable();
    set
}

/// Returns the variant whose greatest ratio over all problems is the least, with that ratio. `ratios` has a row for each problem; a
/// variant without a ratio for some problem is not eligible.
#[must_use]
pub fn best_alone(ratios: &[Vec<Option<f64>>]) -> Option<(usize, f64)> {
    let variants = ratios.iter().map(Vec::len).min()?;
    let worst = |variant: usize| -> Option<f64> {
        ratios.iter().map(|problem| problem[variant]).try_fold(0.0, |worst: f64, one| Some(worst.max(one?)))
    };
    let eligible = (0..variants).filter_map(|variant| Some((variant, worst(variant)?)));
    eligible.min_by(|(_, a), (_, b)| a.total_cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Greedy takes the large one first and then needs two more; two suffice.
    #[test]
    fn the_smallest_set_is_smaller_than_the_greedy_one() {
        let good = [vec![0, 1], vec![0, 1], vec![0, 2], vec![0, 2], vec![1], vec![2]];
        let found = cover(&good).expect("all have one");
        assert_eq!(found, Cover { variants: vec![1, 2], is_smallest: true });
        let covers = [vec![0, 1, 2, 3], vec![0, 1, 4], vec![2, 3, 5]];
        assert_eq!(greedy(&covers, 6), [0, 1, 2]);
    }

    #[test]
    fn many_problems_are_covered_greedily() {
        let good: Vec<Vec<usize>> = (0..40).map(|problem| vec![problem % 2, 2 + problem]).collect();
        assert_eq!(cover(&good), Some(Cover { variants: vec![0, 1], is_smallest: false }));
    }

    #[test]
    fn a_problem_without_a_good_variant_has_no_cover() {
        assert_eq!(cover(&[vec![0], vec![]]), None);
        assert_eq!(cover(&[]), None);
        assert_eq!(cover(&[vec![7]]).map(|found| found.variants), Some(vec![7]));
    }

    #[test]
    fn one_alone_is_the_one_with_the_least_greatest_loss() {
        let ratios = [
            vec![Some(1.0), Some(1.02), Some(1.5)],
            vec![Some(1.3), Some(1.04), Some(1.0)],
            vec![Some(1.0), Some(1.0), None],
        ];
        assert_eq!(best_alone(&ratios), Some((1, 1.04)));
        assert_eq!(best_alone(&[vec![None]]), None);
        assert_eq!(best_alone(&[]), None);
    }
}
