//! The number of samples to submit at once, so that synchronisation is rare and the group ends within the
//! budget.

use super::checked::{GroupCost, MIN_GROUPS};
use gpubench_stats::Nanoseconds;

/// The fewest samples at which the stop rule may end sampling. The budget may end it with fewer.
pub(super) const MIN_SAMPLES: usize = 30;
/// The same for launches of at least [`FEW_SAMPLES_LAUNCH`].
const MIN_LONG_SAMPLES: usize = 2 * MIN_GROUPS;
/// The time of launches from which on [`MIN_LONG_SAMPLES`] are enough (0.25 ms). On an H200, the standard deviation of 33 of
/// 40 such launches is below 0.8 %. The others are transfers, which need more samples.
const FEW_SAMPLES_LAUNCH: Nanoseconds = Nanoseconds(0.25e6);

/// The target device time of a group of the warm-up, and of a round of a comparison (10 ms). The target is less
/// if the budget has no time for [`USUAL_GROUPS_OF_BUDGET`] such groups.
const TARGET_TIME: Nanoseconds = Nanoseconds(10e6);
/// The most for the target device time of a group after the warm-up (1.25 ms). It is less if the budget has no
/// time for twice [`USUAL_GROUPS_OF_BUDGET`] such groups. Cases need at least [`MIN_GROUPS`] groups. With 2.5 ms,
/// 24 cold cases take 8 % longer on an H200.
const SAMPLES_TARGET_TIME: Nanoseconds = Nanoseconds(1.25e6);
/// The number of groups that should fit into the budget of a case. Groups of the fewest samples may be longer.
const USUAL_GROUPS_OF_BUDGET: f64 = 24.0;
/// The number of groups that must fit into the budget of a case, even if a group then has fewer samples than
/// [`GroupSize::fewest`] asks for.
const GROUPS_OF_BUDGET: f64 = 12.0;
/// The most samples or pairs of a group, however short they are.
const LARGEST_GROUP: usize = 256;
/// The largest factor from the size of a group to the size of the next.
const LARGEST_GROWTH: usize = 8;

/// Chooses the number of samples of the next group.
#[derive(Clone, Copy)]
pub(super) struct GroupSize {
    /// The present size of groups in samples. The next group has this many, or fewer at the end of the budget,
    /// before the deadline, or if fewer samples are missing.
    pub samples: usize,
    /// The fewest samples at which the stop rule may end sampling: 1 during the warm-up.
    pub fewest: usize,
    /// The target device time of a group.
    target: Nanoseconds,
    /// The longest budgeted time of a group with more than the fewest samples, including the work of the
    /// host.
    usual: Nanoseconds,
    /// The longest budgeted time of a group with the fewest samples.
    longest: Nanoseconds,
    /// The time from the budget that each sample of the last group took; `None` before the first group.
    pub cost: Option<Nanoseconds>,
}

/// The fraction by which the estimated time of a group may exceed the remaining budget.
const BUDGET_TOLERANCE: f64 = 0.1;

impl GroupSize {
    /// Starts with groups of one sample, for a case with this time budget.
    pub(super) fn with_budget(budget: Nanoseconds) -> Self {
        let (usual, longest) = (budget / USUAL_GROUPS_OF_BUDGET, budget / GROUPS_OF_BUDGET);
        Self { samples: 1, fewest: 1, target: TARGET_TIME.min(usual), usual, longest, cost: None }
    }

    /// Ends the warm-up of launches that take `launch`: from here on, [`MIN_GROUPS`] groups have at least
    /// [`Self::fewest`] samples if the budget allows that, and the target is [`SAMPLES_TARGET_TIME`].
    pub(super) fn begin_samples(&mut self, launch: Nanoseconds) {
        self.target = SAMPLES_TARGET_TIME.min(self.usual / 2.0);
        self.fewest = if launch >= FEW_SAMPLES_LAUNCH { MIN_LONG_SAMPLES } else { MIN_SAMPLES };
        if let Some(cost) = self.cost {
            self.samples = self.samples.max(self.smallest_size(cost));
        }
    }

    /// Returns the fewest samples of the next group, if each takes `cost`: one group's part of
    /// [`Self::fewest`], or what fits into [`Self::longest`] if that is less, as a power of two.
    fn smallest_size(&self, cost: Nanoseconds) -> usize {
        let fewest = self.fewest.div_ceil(MIN_GROUPS);
        largest_power_of_two(samples_within(self.longest, cost).min(fewest)).max(1)
    }

    /// Returns the number of samples of the next group if the time `left` remains of the budget: the largest
    /// power of two up to the present size whose estimated time is at most 110 % of `left` plus the target
    /// time of a group. Returns 0 if no time is left, or if not even one sample fits. Before the first group,
    /// returns the present size, whatever is left.
    pub(super) fn size_within(self, left: Nanoseconds) -> usize {
        let Some(cost) = self.cost else { return self.samples };
        let time = if left > Nanoseconds::ZERO {
            (1.0 + BUDGET_TOLERANCE) * left + self.target
        } else {
            Nanoseconds::ZERO
        };
        largest_power_of_two(samples_within(time, cost).min(self.samples))
    }

    /// Returns true if `samples` samples are estimated to take at most `time`. Returns false before the first
    /// group.
    pub(super) fn samples_fit_within(self, samples: usize, time: Nanoseconds) -> bool {
        self.cost.is_some_and(|cost| cost * samples as f64 <= time)
    }

    /// Sets the size for the next group, after a group of this cost: the largest power of two whose device time
    /// is at most [`Self::target`] and whose time from the budget is at most [`Self::usual`], but at least
    /// [`Self::smallest_size`]. The size grows by a factor of at most [`LARGEST_GROWTH`], since the first
    /// launches of a case do not predict later ones, and to at most [`LARGEST_GROUP`]. It is a power of two, so
    /// that it does not follow every change of the cost.
    pub(super) fn adapt(&mut self, group: &GroupCost) {
        let samples = group.samples.max(1) as f64;
        let cost = group.spent / samples;
        self.cost = Some(cost);
        let fitting =
            samples_within(self.target, group.device / samples).min(samples_within(self.usual, cost));
        let fitting = fitting.max(self.smallest_size(cost));
        self.samples =
            largest_power_of_two(fitting.clamp(1, (LARGEST_GROWTH * self.samples).min(LARGEST_GROUP)));
    }
}

/// Returns the number of samples that fit into `time` if each takes `cost`, but at least a nanosecond.
fn samples_within(time: Nanoseconds, cost: Nanoseconds) -> usize {
    (time / cost.max(Nanoseconds(1.0))) as usize
}

/// Returns the largest power of two up to `most`; 0 for 0.
fn largest_power_of_two(most: usize) -> usize {
    (most + 1).next_power_of_two() / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A budget in which groups reach their target time.
    const LONG: Nanoseconds = Nanoseconds(240e6);

    fn after(groups: usize, cost: f64) -> usize {
        let mut size = GroupSize::with_budget(LONG);
        for _ in 0..groups {
            size.adapt(&group(size.samples, cost));
        }
        size.samples
    }

    /// A group whose samples take `cost` nanoseconds each.
    fn group(samples: usize, cost: f64) -> GroupCost {
        let time = Nanoseconds(cost * samples as f64);
        GroupCost { samples, device: time, spent: time }
    }

    #[test]
    fn a_group_grows_to_its_target_and_no_further() {
        assert_eq!((after(1, 100e3), after(2, 100e3)), (8, 64));
        assert_eq!(after(20, 100e3), 64);
        assert_eq!(after(20, 100.0), LARGEST_GROUP);
        assert_eq!(after(20, 50e6), 1);
    }

    #[test]
    fn a_group_ends_within_what_is_left() {
        let mut size = GroupSize::with_budget(LONG);
        assert_eq!(size.size_within(Nanoseconds(1.0)), 1, "nothing is known of it");
        for _ in 0..20 {
            size.adapt(&group(size.samples, 100e3));
        }
        let within = |left| size.size_within(Nanoseconds(left));
        assert_eq!([within(1e9), within(1.0)], [64, 64], "a usual group may overdraw it");
        assert_eq!([within(0.0), within(-1e9), within(f64::NAN)], [0; 3]);
        size.adapt(&group(64, 5e6));
        let within = |left| size.size_within(Nanoseconds(left));
        assert_eq!([within(1e9), within(1e6)], [2, 2]);
        size.adapt(&group(1, 2e9));
        let within = |left| size.size_within(Nanoseconds(left));
        assert_eq!([within(3e9), within(1.9e9), within(1e9)], [1, 1, 0]);
    }

    /// A launch of 500 µs: 20 of them take 10 ms, and a budget of 50 ms allows groups of 4, not of 16.
    #[test]
    fn a_short_budget_allows_many_groups() {
        let mut size = GroupSize::with_budget(Nanoseconds(50e6));
        let mut long = GroupSize::with_budget(Nanoseconds(3e9));
        for _ in 0..5 {
            size.adapt(&group(size.samples, 500e3));
            long.adapt(&group(long.samples, 500e3));
        }
        assert_eq!((size.samples, long.samples), (4, 16));
    }

    /// Eight groups of four, or of two for long launches, are the fewest groups with the fewest samples. A
    /// budget of 3 s allows twelve groups of 250 ms.
    #[test]
    fn long_launches_have_as_many_samples_in_a_group_as_the_fewest_groups_need() {
        let of = |cost: f64, launch: f64| {
            let mut size = GroupSize::with_budget(Nanoseconds(3e9));
            size.adapt(&group(1, cost));
            let warm_up = size.samples;
            size.begin_samples(Nanoseconds(launch));
            let first = size.samples;
            size.adapt(&group(first, cost));
            (warm_up, first, size.samples)
        };
        let costs = [100e3, 4e6, 60e6, 70e6, 200e6, 2e9];
        let found = costs.map(|cost| of(cost, 0.0));
        assert_eq!(found, [(8, 8, 8), (2, 4, 4), (1, 4, 4), (1, 2, 2), (1, 1, 1), (1, 1, 1)]);
        let found = costs.map(|cost| of(cost, cost));
        assert_eq!(
            found,
            [(8, 8, 8), (2, 2, 2), (1, 2, 2), (1, 2, 2), (1, 1, 1), (1, 1, 1)],
            "long launches"
        );
    }

    /// A launch of 10 µs that keeps the host busy for 100 ms.
    #[test]
    fn the_time_of_the_host_counts_against_what_is_left() {
        let mut size = GroupSize::with_budget(Nanoseconds(3e9));
        let (device, wall) = (Nanoseconds(10e3), Nanoseconds(100e6));
        size.adapt(&GroupCost { samples: 1, device, spent: wall });
        let within = |left| size.size_within(Nanoseconds(left));
        assert_eq!((size.samples, within(200e6), within(100e6), within(50e6)), (1, 1, 1, 0));
    }
}
