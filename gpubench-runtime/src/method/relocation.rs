//! Relocates a case's inputs before each group, if making them is quick.
//!
//! The addresses of inputs change a time, by up to 4 % on an H200. With inputs at fixed addresses, the
//! interval of a process is narrow, but wrong for all other addresses. Usually, either each group has its own
//! addresses, or all groups have those of the first inputs: groups are the units of the interval. If a later
//! relocation fails, the groups after it have the addresses of the first inputs.

use std::time::Instant;

use super::interleaving::RoundLayout;
use crate::device::{Queue, Sampler, Work};
use gpubench_records::{Failure, Timer};
use gpubench_stats::Nanoseconds;

/// The longest first relocation, with its trial launches, and the longest sample, for which inputs are relocated
/// (12 ms). Relocations before eight groups, the fewest of a case, then take at most a tenth of a second.
const LONGEST_RELOCATION: Nanoseconds = Nanoseconds::from_seconds(0.012);

/// Relocates the inputs of a case before its groups, each time with a new allocation seed.
pub(super) struct InputRelocator {
    seed: u64,
    /// The number of relocations so far. A relocation that took too long does not count.
    pub relocations: usize,
    /// False once the inputs keep their addresses for good, since they cannot be relocated or since samples
    /// or the first relocation take too long.
    may_move: bool,
    /// True if the device is simulated. The host time of a relocation is then ignored, so that results are
    /// reproducible.
    simulated: bool,
}

impl InputRelocator {
    /// Starts without relocations. Draws a random seed, or uses a fixed one if `timer` is that of a simulated
    /// device.
    pub(super) fn new(timer: Timer) -> Self {
        Self {
            seed: RoundLayout::random_seed(timer.simulated),
            relocations: 0,
            may_move: true,
            simulated: timer.simulated,
        }
    }

    /// Relocates the inputs before a group, if possible. `cost` is the time of one sample of the last group,
    /// if there was one.
    ///
    /// Three events end relocation for good: a sample takes longer than [`LONGEST_RELOCATION`]; the inputs
    /// keep their addresses; or the first relocation takes longer than [`LONGEST_RELOCATION`], after which
    /// the first inputs are restored. From then on, calls do nothing.
    pub(super) fn relocate(
        &mut self,
        sampler: &mut dyn Sampler,
        cost: Option<Nanoseconds>,
    ) -> Result<(), Failure> {
        self.may_move &= cost.is_none_or(|cost| cost <= LONGEST_RELOCATION);
        if !self.may_move {
            return Ok(());
        }
        let begin = Instant::now();
        let moved =
            sampler.relocate_inputs(RoundLayout::derive_allocation_seed(self.relocations, self.seed))?;
        let is_first = self.relocations == 0;
        let slow = !self.simulated && Nanoseconds::from(begin.elapsed()) > LONGEST_RELOCATION;
        if moved && is_first && slow {
            sampler.restore_inputs();
        }
        self.may_move = moved && !(is_first && slow);
        self.relocations += usize::from(self.may_move);
        Ok(())
    }
}

/// Makes new inputs of `work` at addresses that depend on `allocation_seed`, and launches once on them.
/// Returns true if later launches use the new inputs. Returns false if no other inputs could be made, or if
/// the launch fails; later launches then use the first inputs.
pub(crate) fn relocate_inputs(
    queue: &mut dyn Queue,
    work: &mut dyn Work,
    allocation_seed: u64,
) -> Result<bool, Failure> {
    let moved = work.relocate_inputs(&mut || queue.set_allocation_seed(allocation_seed));
    // Discard the error of an allocation that the driver refused.
    _ = queue.remark();
    queue.synchronize()?;
    if !moved {
        return Ok(false);
    }
    let succeeds = try_launch(queue, work)?;
    if !succeeds {
        // It succeeds on the first inputs.
        work.restore_inputs();
    }
    Ok(succeeds)
}

/// The divisor of the L2's size that gives the lower end of the range of sizes around the L2. Inputs are not
/// relocated if the size of the memory that a launch can reach is within this range, both ends included.
///
/// In this range, the L2 keeps lines of the former inputs for many launches. On an H100 with an L2 of 50 MiB,
/// a hot sum of 40 MiB takes 9.0 to 9.9 µs, but 13.5 to 12.0 µs in the first 32 launches after its input was
/// relocated.
const AROUND_L2_DIVISOR: u64 = 2;
/// The factor of the L2's size that gives the upper end of the range described at [`AROUND_L2_DIVISOR`].
const AROUND_L2_FACTOR: u64 = 4;

/// Returns true if inputs can be relocated: the size of the memory that a launch can reach is known and
/// outside of the range of [`AROUND_L2_DIVISOR`], and a launch succeeds on relocated inputs and again on the
/// first ones. The launch on the first inputs fails if `setup` keeps state of the newest inputs elsewhere.
/// Restores the first inputs in any case.
pub(super) fn can_relocate(
    queue: &mut dyn Queue,
    work: &mut dyn Work,
    allocation_seed: u64,
) -> Result<bool, Failure> {
    let l2 = queue.properties().last_level_cache.0;
    let around_l2 = l2 / AROUND_L2_DIVISOR..=l2 * AROUND_L2_FACTOR;
    if queue.reachable().is_none_or(|memory| around_l2.contains(&memory.0)) {
        return Ok(false);
    }
    let moved = relocate_inputs(queue, work, allocation_seed)?;
    work.restore_inputs();
    Ok(moved && try_launch(queue, work)?)
}

/// Resets and launches `work` once, and waits. Returns true if the reset and the launch succeed. Samples must
/// not contain this launch on new inputs, in which libraries and the driver do additional work.
fn try_launch(queue: &mut dyn Queue, work: &mut dyn Work) -> Result<bool, Failure> {
    let launched = work.reset().and_then(|()| work.launch());
    queue.synchronize()?;
    _ = queue.remark();
    Ok(launched.is_ok())
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
