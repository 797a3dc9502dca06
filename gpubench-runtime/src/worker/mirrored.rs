//! Two launches that take turns with the other one first. In: the sampler of the second and the first; out: pairs in which the
//! first comes first again.

use crate::device::PairSampler;
use gpubench_records::failure::Failure;
use gpubench_records::method::{Method, Timer};
use gpubench_stats::units::Nanoseconds;

/// A sampler of two launches in the opposite order.
pub(super) struct Mirrored<'a>(pub(super) Box<dyn PairSampler + 'a>);

impl PairSampler for Mirrored<'_> {
    fn group(&mut self, pairs: usize, events: &mut Vec<[Nanoseconds; 2]>) -> Result<Nanoseconds, Failure> {
        let before = events.len();
        let elapsed = self.0.group(pairs, events)?;
        events[before..].iter_mut().for_each(|pair| pair.reverse());
        Ok(elapsed)
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        self.0.timer()
    }

    fn methods(&self) -> [Method; 2] {
        let [second, first] = self.0.methods();
        [first, second]
    }

    fn clock(&mut self) -> Option<u64> {
        self.0.clock()
    }
}
