//! Launches after the samples: does a sampled launch still do the work of the checked one? Devices and the worker fill it in,
//! records keep it, `verdict` judges it.

use gpubench_stats::{Bytes, Nanoseconds};

gpubench_stats::stored! {
    /// Launches after the samples: first on the inputs that the samples left, then on fresh inputs.
    #[derive(Default)]
    pub struct Relaunch {
        /// The size of the blocks that a launch left different from the checked launch, although all memory was as before that one.
        pub differs: Bytes,
        /// True if the benchmark's check passed after one launch on fresh inputs. Nothing if there is no check.
        pub checked: Option<bool>,
        /// Writes to the largest output after its contents were replaced.
        pub rewritten: Option<Rewritten>,
        /// The times of launches on fresh and on used inputs.
        pub reuse: Option<Reuse>,
    }

    /// Writes of launches on the inputs that the samples left. Before each launch, the largest output of the checked launch is given
    /// other contents.
    #[derive(Copy)]
    pub struct Rewritten {
        /// The size of the blocks of that output that the checked launch changed.
        pub changed: Bytes,
        /// The most that one of these launches changed: in that output or, if more, in all memory.
        pub again: Bytes,
    }

    /// Times of single launches, each after a flush of the cache.
    #[derive(Copy)]
    pub struct Reuse {
        /// The first launch on fresh inputs, the fastest of those that were timed.
        pub fresh: Nanoseconds,
        /// A launch on inputs that another launch has used, the slowest of those that were timed.
        pub used: Nanoseconds,
    }
}

impl Relaunch {
    /// The fraction of the checked launch's writes that a later launch must write; with less, it left the
    /// output out.
    const MIN_REWRITTEN_FRACTION: f64 = 0.5;

    /// Returns the output that sampled launches do not write, if they leave out most of it.
    pub fn stale(&self) -> Option<Rewritten> {
        self.rewritten.filter(|it| !Self::is_rewritten(it.changed, it.again))
    }

    /// Returns true if a launch that changed `again` bytes does the work of one that changed `changed`.
    pub fn is_rewritten(changed: Bytes, again: Bytes) -> bool {
        again.as_f64() >= Self::MIN_REWRITTEN_FRACTION * changed.as_f64()
    }
}

impl Reuse {
    /// The factor and the time by which a launch on fresh inputs must exceed one on used inputs, which then
    /// counts as faster. Single launches on the same inputs differ by less.
    const MIN_FASTER: (f64, Nanoseconds) = (1.5, Nanoseconds(2_000.0));

    /// Returns true if launches on used inputs do less work than those on fresh ones.
    pub fn is_faster(&self) -> bool {
        let (factor, least) = Self::MIN_FASTER;
        self.fresh > factor * self.used && self.fresh - self.used > least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_that_are_not_written_again_are_stale() {
        let stale = |again| {
            let rewritten = Some(Rewritten { changed: Bytes(1000), again: Bytes(again) });
            Relaunch { rewritten, ..Relaunch::default() }.stale().is_some()
        };
        assert!(stale(0) && stale(499) && !stale(500) && !stale(2000));
        assert_eq!(Relaunch::default().stale(), None);
    }

    #[test]
    fn used_inputs_are_faster_by_a_factor_and_a_time() {
        let is_faster =
            |fresh, used| Reuse { fresh: Nanoseconds(fresh), used: Nanoseconds(used) }.is_faster();
        assert!(!is_faster(1.4e4, 1e4) && is_faster(1e4, 2e3) && !is_faster(2e3, 1e4));
        // Three times as long, and within what two launches differ by.
        assert!(!is_faster(1500.0, 500.0));
    }
}
