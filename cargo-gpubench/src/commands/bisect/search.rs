//! The search of a list of commits for the first that has a change. In: their number, and one answer after another; out: the next to
//! ask about, and what is left at the end. The first commit of the list is 1; 0 is the one before, which has not the change, and
//! the last one has it.

use std::collections::BTreeSet;

/// A search.
#[derive(Debug)]
pub(super) struct Search {
    /// The latest that has not the change.
    without: usize,
    /// The earliest that has it.
    with: usize,
    /// Those that have no answer.
    skipped: BTreeSet<usize>,
    /// The answers that may still come.
    left: usize,
}

/// The answers beyond those that a list without skipped commits needs.
const SPARE: usize = 2;

impl Search {
    /// A search of `commits`, of which there is at least one.
    pub(super) fn of(commits: usize) -> Self {
        Self { without: 0, with: commits, skipped: BTreeSet::new(), left: most_answers(commits) }
    }

    /// Returns the commit to ask about: of those between, the nearest to the middle that is not skipped. Nothing at the end of the
    /// search.
    pub(super) fn next(&self) -> Option<usize> {
        let middle = (self.without + self.with) / 2;
        let between = (self.without + 1..self.with).filter(|commit| !self.skipped.contains(commit));
        between.min_by_key(|commit| commit.abs_diff(middle)).filter(|_| self.left > 0)
    }

    /// Takes the answer for the commit that was asked about.
    pub(super) fn answered(&mut self, commit: usize, has_it: bool) {
        self.left = self.left.saturating_sub(1);
        if has_it {
            self.with = commit;
        } else {
            self.without = commit;
        }
    }

    /// Leaves out a commit that gives no answer.
    pub(super) fn skip(&mut self, commit: usize) {
        self.skipped.insert(commit);
    }

    /// Returns the commits of which one is the first with the change: one, unless commits between were skipped.
    pub(super) fn found(&self) -> std::ops::RangeInclusive<usize> {
        self.without + 1..=self.with
    }

    /// Returns the number of commits of which one is the first, now.
    pub(super) fn candidates(&self) -> usize {
        self.with - self.without
    }
}

/// Returns the most answers that a search of so many commits takes: those of a search by halves, and two for what skipped commits
/// cost. The first comparison, of the commits that the user names, comes before it.
pub(super) fn most_answers(commits: usize) -> usize {
    commits.max(1).next_power_of_two().ilog2() as usize + SPARE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches a list in which `first` is the first with the change. Returns the answers that it took.
    fn search(commits: usize, first: usize, broken: &[usize]) -> (std::ops::RangeInclusive<usize>, usize) {
        let (mut search, mut answers) = (Search::of(commits), 0);
        while let Some(commit) = search.next() {
            assert!((1..commits).contains(&commit), "{commit} of {commits}");
            if broken.contains(&commit) {
                search.skip(commit);
            } else {
                answers += 1;
                search.answered(commit, commit >= first);
            }
        }
        (search.found(), answers)
    }

    #[test]
    fn each_place_is_found_by_halves() {
        for commits in 1..=70 {
            for first in 1..=commits {
                let (found, answers) = search(commits, first, &[]);
                assert_eq!(found, first..=first, "of {commits}");
                assert!(answers <= commits.next_power_of_two().ilog2() as usize, "{answers} of {commits}");
            }
        }
    }

    #[test]
    fn skipped_commits_leave_a_range_that_has_the_first() {
        assert_eq!(search(9, 5, &[4]).0, 4..=5);
        assert_eq!(search(9, 5, &[5]).0, 5..=6);
        assert_eq!(search(9, 5, &[2, 7]).0, 5..=5);
        let all: Vec<usize> = (1..9).collect();
        assert_eq!(search(9, 5, &all), (1..=9, 0));
        for first in 1..=64 {
            let (found, answers) = search(64, first, &[8, 9, 31, 32, 33, 50]);
            assert!(found.contains(&first) && answers <= most_answers(64), "{first}: {found:?}, {answers}");
        }
    }
}
