//! Relocates a case's inputs before each group, if making them is quick.
//!
//! The addresses of inputs change a time, by up to 4 % on an H200. With inputs at fixed addresses, the interval of a process is narrow, but
//! wrong for all other addresses. Either each group has its own addresses, or all groups have those of the first inputs: groups are the
//! units of the interval.

use std::time::Instant;

use super::interleaving::Placement;
use crate::device::Sampler;
use gpubench_records::{Failure, Timer};
use gpubench_stats::Nanoseconds;

/// Inputs that take longer to make are not relocated: eight groups, the fewest, would take a tenth of a second more.
const QUICK: Nanoseconds = Nanoseconds::from_seconds(0.012);

/// Relocates a case's inputs before its groups.
pub(super) struct InputRelocator {
    seed: u64,
    pub relocations: usize,
    /// False once it is known that the inputs cannot be relocated.
    may_move: bool,
    /// True if the device is simulated: the host's clock then decides nothing.
    simulated: bool,
}

impl InputRelocator {
    /// Begins with the first inputs.
    pub(super) fn new(timer: Timer) -> Self {
        Self {
            seed: Placement::seed(timer.simulated),
            relocations: 0,
            may_move: true,
            simulated: timer.simulated,
        }
    }

    /// Relocates the inputs before a group, unless the time `cost` of a sample is too long. The first relocation shows whether that is quick.
    pub(super) fn relocate(
        &mut self,
        sampler: &mut dyn Sampler,
        cost: Option<Nanoseconds>,
    ) -> Result<(), Failure> {
        self.may_move &= cost.is_none_or(|cost| cost <= QUICK);
        if !self.may_move {
            return Ok(());
        }
        let begin = Instant::now();
        let moved = sampler.relocate_inputs(Placement::allocation_seed(self.relocations, self.seed))?;
        let is_first = self.relocations == 0;
        let slow = !self.simulated && Nanoseconds::from(begin.elapsed()) > QUICK;
        if moved && is_first && slow {
            sampler.restore_inputs();
        }
        self.may_move = moved && !(is_first && slow);
        self.relocations += usize::from(self.may_move);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;
    use crate::device::SampledGroup;
    use gpubench_records::method::{Method, Path};

    /// Relocates inputs `left` times, takes `duration` each time, and remembers the allocation seeds.
    struct Moving {
        left: usize,
        duration: Duration,
        allocation_seeds: Vec<u64>,
        restored: bool,
    }

    impl Moving {
        fn new(left: usize, duration: Duration) -> Self {
            Self { left, duration, allocation_seeds: Vec::new(), restored: false }
        }
    }

    fn timer(simulated: bool) -> Timer {
        let mut timer = Timer::new(Nanoseconds(32.0));
        timer.simulated = simulated;
        timer
    }

    impl Sampler for Moving {
        fn group(&mut self, _: usize) -> Result<SampledGroup, Failure> {
            unreachable!("no group is asked for")
        }

        fn timer(&mut self) -> Result<Timer, Failure> {
            Ok(timer(true))
        }

        fn method(&self) -> Method {
            Method::new(Path::Graph)
        }

        fn relocate_inputs(&mut self, allocation_seed: u64) -> Result<bool, Failure> {
            std::thread::sleep(self.duration);
            let moves = self.left > 0;
            self.left -= usize::from(moves);
            if moves {
                self.allocation_seeds.push(allocation_seed);
            }
            Ok(moves)
        }

        fn restore_inputs(&mut self) {
            self.restored = true;
        }
    }

    #[test]
    fn each_relocation_and_each_process_has_its_own_allocation_seed() {
        let seeds = || {
            let (mut relocator, mut sampler) =
                (InputRelocator::new(timer(false)), Moving::new(100, Duration::ZERO));
            for _ in 0..20 {
                relocator.relocate(&mut sampler, None).expect("it moves");
            }
            assert_eq!((relocator.relocations, sampler.allocation_seeds.len()), (20, 20));
            sampler.allocation_seeds
        };
        let all: BTreeSet<u64> = [seeds(), seeds()].concat().into_iter().collect();
        assert_eq!(all.len(), 40);
    }

    #[test]
    fn relocation_is_not_tried_again_after_it_failed() {
        let (mut relocator, mut sampler) = (InputRelocator::new(timer(true)), Moving::new(3, Duration::ZERO));
        for _ in 0..5 {
            relocator.relocate(&mut sampler, None).expect("it moves, or stays");
        }
        sampler.left = 1;
        relocator.relocate(&mut sampler, None).expect("it stays");
        assert_eq!((relocator.relocations, sampler.left, sampler.restored), (3, 1, false));
    }

    /// Each relocation launches once on the new inputs.
    #[test]
    fn inputs_of_long_launches_are_not_relocated() {
        let (mut relocator, mut sampler) = (InputRelocator::new(timer(true)), Moving::new(9, Duration::ZERO));
        relocator.relocate(&mut sampler, Some(Nanoseconds::from_seconds(0.3))).expect("it stays");
        assert_eq!((relocator.relocations, sampler.allocation_seeds.len()), (0, 0));
    }

    /// On a simulated device, the host's clock decides nothing.
    #[test]
    fn inputs_that_take_long_to_make_are_not_relocated() {
        let duration = Duration::from_millis(13);
        let (mut relocator, mut sampler) = (InputRelocator::new(timer(false)), Moving::new(9, duration));
        for _ in 0..3 {
            relocator.relocate(&mut sampler, None).expect("it stays");
        }
        assert_eq!((relocator.relocations, sampler.allocation_seeds.len(), sampler.restored), (0, 1, true));
        let (mut relocator, mut sampler) = (InputRelocator::new(timer(true)), Moving::new(9, duration));
        relocator.relocate(&mut sampler, None).expect("it moves");
        assert_eq!((relocator.relocations, sampler.restored), (1, false));
    }
}
