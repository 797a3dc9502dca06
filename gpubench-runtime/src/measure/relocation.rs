//! The places of a case's inputs. In: a sampler that can make inputs anew; out: inputs that lie elsewhere before each group, where making
//! them is quick. Where inputs lie moves a time, by up to 4 % on an H200, and a process whose inputs stay where they are is as precise
//! about its own place as it is wrong about all others. Each group has a place of its own, or all have the first: groups are the units of the
//! interval.

use std::time::Instant;

use super::interleaving::Placement;
use crate::device::Sampler;
use gpubench_records::{Failure, Timer};
use gpubench_stats::Nanoseconds;

/// Inputs that take longer to make again stay where they are: eight groups, the fewest, would take a tenth of a second more.
const QUICK: Nanoseconds = Nanoseconds::from_seconds(0.012);

/// Moves a case's inputs before its groups.
pub(super) struct Places {
    seed: u64,
    pub moves: usize,
    /// False once it is known that they stay where they are.
    may_move: bool,
    /// True if the device's time has nothing to do with this machine's, whose clock then decides nothing.
    simulated: bool,
}

impl Places {
    /// Begins with the inputs where they are.
    pub(super) fn of(timer: Timer) -> Self {
        Self { seed: Placement::seed(timer.simulated), moves: 0, may_move: true, simulated: timer.simulated }
    }

    /// Moves the inputs before a group, unless a sample, which `costs` this much, is too long. The first move tells if that is quick.
    pub(super) fn next(
        &mut self,
        sampler: &mut dyn Sampler,
        costs: Option<Nanoseconds>,
    ) -> Result<(), Failure> {
        self.may_move &= costs.is_none_or(|cost| cost <= QUICK);
        if !self.may_move {
            return Ok(());
        }
        let begin = Instant::now();
        let moved = sampler.relocate_inputs(Placement::place(self.moves, self.seed))?;
        let is_first = self.moves == 0;
        let slow = !self.simulated && Nanoseconds::from(begin.elapsed()) > QUICK;
        if moved && is_first && slow {
            sampler.restore_inputs();
        }
        self.may_move = moved && !(is_first && slow);
        self.moves += usize::from(self.may_move);
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

    /// Moves inputs so many times, each time as slowly, and remembers the places.
    struct Moving {
        left: usize,
        slowly: Duration,
        places: Vec<u64>,
        taken_back: bool,
    }

    impl Moving {
        fn of(moves: usize, slowly: Duration) -> Self {
            Self { left: moves, slowly, places: Vec::new(), taken_back: false }
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

        fn relocate_inputs(&mut self, place: u64) -> Result<bool, Failure> {
            std::thread::sleep(self.slowly);
            let moves = self.left > 0;
            self.left -= usize::from(moves);
            if moves {
                self.places.push(place);
            }
            Ok(moves)
        }

        fn restore_inputs(&mut self) {
            self.taken_back = true;
        }
    }

    #[test]
    fn each_move_is_to_another_place_and_each_process_has_its_own() {
        let places = || {
            let (mut places, mut sampler) = (Places::of(timer(false)), Moving::of(100, Duration::ZERO));
            for _ in 0..20 {
                places.next(&mut sampler, None).expect("it moves");
            }
            assert_eq!((places.moves, sampler.places.len()), (20, 20));
            sampler.places
        };
        let all: BTreeSet<u64> = [places(), places()].concat().into_iter().collect();
        assert_eq!(all.len(), 40);
    }

    #[test]
    fn what_cannot_move_is_not_asked_again() {
        let (mut places, mut sampler) = (Places::of(timer(true)), Moving::of(3, Duration::ZERO));
        for _ in 0..5 {
            places.next(&mut sampler, None).expect("it moves, or stays");
        }
        sampler.left = 1;
        places.next(&mut sampler, None).expect("it stays");
        assert_eq!((places.moves, sampler.left, sampler.taken_back), (3, 1, false));
    }

    /// Each move launches once on the new inputs.
    #[test]
    fn inputs_of_long_launches_stay() {
        let (mut places, mut sampler) = (Places::of(timer(true)), Moving::of(9, Duration::ZERO));
        places.next(&mut sampler, Some(Nanoseconds::from_seconds(0.3))).expect("it stays");
        assert_eq!((places.moves, sampler.places.len()), (0, 0));
    }

    /// On a simulated device this machine's clock decides nothing.
    #[test]
    fn inputs_that_take_long_to_make_stay() {
        let slowly = Duration::from_millis(13);
        let (mut places, mut sampler) = (Places::of(timer(false)), Moving::of(9, slowly));
        for _ in 0..3 {
            places.next(&mut sampler, None).expect("it stays");
        }
        assert_eq!((places.moves, sampler.places.len(), sampler.taken_back), (0, 1, true));
        let (mut places, mut sampler) = (Places::of(timer(true)), Moving::of(9, slowly));
        places.next(&mut sampler, None).expect("it moves");
        assert_eq!((places.moves, sampler.taken_back), (1, false));
    }
}
