//! The number of samples to submit at once. In: the cost of earlier groups; out: the size of the next group, chosen so
//! that synchronisation stays rare and the end of the budget is noticed soon.

use gpubench_stats::units::Nanoseconds;

/// The target time of a group.
const TARGET: Nanoseconds = Nanoseconds(10e6);
const LARGEST: usize = 256;

/// The size of the next group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupSize {
    samples: usize,
}

impl Default for GroupSize {
    fn default() -> Self {
        Self { samples: 1 }
    }
}

impl GroupSize {
    pub(super) fn next(self) -> usize {
        self.samples
    }

    /// Moves towards the target after a group of `samples`, at most doubling: the first launches of a case say little
    /// about the rest. Sizes are powers of two, so a device that prepares a group of each size does so only a few
    /// times.
    pub(super) fn learn(&mut self, samples: usize, elapsed: Nanoseconds) {
        let cost = elapsed / samples.max(1) as f64;
        let fitting = if cost > Nanoseconds::ZERO { (TARGET / cost) as usize } else { LARGEST };
        let fitting = fitting.clamp(1, (2 * self.samples).min(LARGEST));
        self.samples = (fitting + 1).next_power_of_two() / 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(groups: usize, cost: f64) -> usize {
        let mut size = GroupSize::default();
        for _ in 0..groups {
            size.learn(size.next(), Nanoseconds(cost * size.next() as f64));
        }
        size.next()
    }

    #[test]
    fn a_group_grows_to_its_target_and_no_further() {
        assert_eq!(after(3, 100e3), 8);
        assert_eq!(after(20, 100e3), 64);
        assert_eq!(after(20, 100.0), LARGEST);
        assert_eq!(after(20, 50e6), 1);
    }
}
