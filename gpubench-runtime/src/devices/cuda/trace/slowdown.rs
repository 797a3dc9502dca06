//! The time of launches by events on the stream, taken before CUPTI traces and again while it does, so that a launch that tracing itself
//! slows is told from one whose samples are wrong. In: a launch; out: its time, less that of an empty launch.

use super::{LONGEST, launch};
use crate::devices::cuda::Cuda;
use crate::devices::cuda::driver::event::EventPair;
use crate::devices::cuda::guarded::Guarded;
use crate::devices::cuda::sampling::empty::Empty;
use gpubench_records::failure::Failure;
use gpubench_records::method::{Cache, Flush};
use gpubench_stats::median;
use gpubench_stats::units::Nanoseconds;

/// The rounds of groups. On an H200 every second cold group reads a microsecond more than the one before, so that a round has two of each
/// kind of launch, one in either place.
const ROUNDS: usize = 4;

/// Events around launches of a stream.
pub(super) struct ByEvents<'a> {
    device: &'a Cuda,
    how: (Cache, Flush),
    pairs: Vec<EventPair>,
}

impl<'a> ByEvents<'a> {
    pub(super) fn new(device: &'a Cuda, how: (Cache, Flush)) -> Result<Self, Failure> {
        let pairs = (0..LONGEST).map(|_| EventPair::new()).collect::<Result<_, _>>()?;
        Ok(Self { device, how, pairs })
    }

    /// Returns by how much longer events read around a launch of `work` than around an empty one, once a round: the difference of
    /// the medians of two groups, in both orders. Whatever events themselves take longer while CUPTI traces is in both.
    pub(super) fn times(&self, work: &mut Guarded<'_>) -> Result<Vec<Nanoseconds>, Failure> {
        let mut empty = Empty::bare(self.device);
        let mut empty = Guarded::new(&mut empty, self.device.own);
        let rounds = (0..ROUNDS).map(|_| {
            let [first, before] = [self.read(work)?, self.read(&mut empty)?];
            let [after, second] = [self.read(&mut empty)?, self.read(work)?];
            Ok((first + second - before - after) / 2.0)
        });
        rounds.collect()
    }

    fn read(&self, work: &mut Guarded<'_>) -> Result<Nanoseconds, Failure> {
        launch(self.device, work, self.how, self.pairs.len(), &self.pairs)?;
        let times = self.pairs.iter().map(EventPair::read).collect::<Result<Vec<_>, _>>()?;
        Ok(median(&times).unwrap_or_default())
    }
}
