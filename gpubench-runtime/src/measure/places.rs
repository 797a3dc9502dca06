//! The places of a case's inputs. In: the time that groups take; out: inputs that lie elsewhere before the next group, where making
//! them is quick enough. Where inputs lie moves a time, by up to 4 % on an H200, and a process whose inputs stay where they are is as precise
//! about its own place as it is wrong about all others.

use std::hash::{BuildHasher, RandomState};
use std::time::Instant;

use super::turns::Placement;
use crate::device::Sampler;
use gpubench_records::failure::Failure;
use gpubench_records::method::Timer;
use gpubench_stats::units::Nanoseconds;

/// Moving inputs may take this part of the time that the groups themselves take.
const PART: f64 = 0.5;

/// Moves a case's inputs between its groups.
#[derive(Debug)]
pub(super) struct Places {
    seed: u64,
    /// The time that moving took so far.
    taken: Nanoseconds,
    moves: usize,
    /// False once the sampler has said that they stay where they are.
    may_move: bool,
    /// True if the device's time has nothing to do with this machine's, whose clock then decides nothing.
    simulated: bool,
}

impl Places {
    /// Begins with the inputs where they are.
    pub(super) fn of(timer: Timer) -> Self {
        // What is simulated is the same in each process.
        let seed = if timer.simulated { 0 } else { RandomState::new().hash_one(0) };
        Self { seed, taken: Nanoseconds::ZERO, moves: 0, may_move: true, simulated: timer.simulated }
    }

    /// Moves the inputs, unless that took too much of the time so far, which is `spent`.
    pub(super) fn next(&mut self, sampler: &mut dyn Sampler, spent: Nanoseconds) -> Result<(), Failure> {
        let is_affordable = self.simulated || self.taken <= PART * (spent - self.taken);
        if !self.may_move || !is_affordable {
            return Ok(());
        }
        let begin = Instant::now();
        // Each pair of rounds has a place of its own.
        let place = Placement::of(2 * self.moves, self.seed).place;
        self.may_move = sampler.move_inputs(place)?;
        self.moves += usize::from(self.may_move);
        self.taken += begin.elapsed().into();
        Ok(())
    }

    /// Returns how often the inputs were moved.
    pub(super) fn moves(&self) -> usize {
        self.moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::method::{Method, Path};

    /// Moves inputs so many times, and remembers the places.
    struct Moving {
        left: usize,
        places: Vec<u64>,
        timer: Timer,
    }

    impl Moving {
        fn of(moves: usize) -> Self {
            Self { left: moves, places: Vec::new(), timer: timer(true) }
        }
    }

    fn timer(simulated: bool) -> Timer {
        let mut timer = Timer::new(Nanoseconds(32.0));
        timer.simulated = simulated;
        timer
    }

    impl Sampler for Moving {
        fn group(&mut self, _: usize, _: &mut Vec<Nanoseconds>) -> Result<Nanoseconds, Failure> {
            unreachable!("no group is asked for")
        }

        fn timer(&mut self) -> Result<Timer, Failure> {
            Ok(self.timer)
        }

        fn method(&self) -> Method {
            Method::new(Path::Graph)
        }

        fn move_inputs(&mut self, place: u64) -> Result<bool, Failure> {
            let moves = self.left > 0;
            self.left -= usize::from(moves);
            if moves {
                self.places.push(place);
            }
            Ok(moves)
        }
    }

    #[test]
    fn each_move_is_to_another_place_and_each_process_has_its_own() {
        let places = || {
            let (mut places, mut sampler) = (Places::of(timer(false)), Moving::of(100));
            for _ in 0..20 {
                places.next(&mut sampler, Nanoseconds::from_seconds(1.0)).expect("it moves");
            }
            assert_eq!((places.moves(), sampler.places.len()), (20, 20));
            sampler.places
        };
        let all: std::collections::BTreeSet<u64> = [places(), places()].concat().into_iter().collect();
        assert_eq!(all.len(), 40);
    }

    #[test]
    fn what_cannot_move_is_not_asked_again() {
        let (mut places, mut sampler) = (Places::of(timer(true)), Moving::of(3));
        for _ in 0..5 {
            places.next(&mut sampler, Nanoseconds::ZERO).expect("it moves, or stays");
        }
        sampler.left = 1;
        places.next(&mut sampler, Nanoseconds::ZERO).expect("it stays");
        assert_eq!((places.moves(), sampler.left), (3, 1));
    }

    #[test]
    fn moving_takes_half_as_long_as_the_groups_at_most() {
        let (mut places, mut sampler) = (Places::of(timer(false)), Moving::of(9));
        let mut next = |taken, spent| {
            places.taken = Nanoseconds(taken);
            let before = places.moves();
            places.next(&mut sampler, Nanoseconds(spent)).expect("it moves, or stays");
            places.moves() > before
        };
        assert!(next(0.0, 1e9), "the first costs nothing yet");
        assert!(next(1e9, 3.1e9));
        assert!(!next(1e9, 2.9e9));
    }
}
