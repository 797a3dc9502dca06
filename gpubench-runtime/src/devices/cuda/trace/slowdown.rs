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

/// The groups of each kind of launch. One of them may read a microsecond more than the next: where a launch lies in the stream's commands
/// decides whether the GPU waits for them.
const GROUPS: usize = 6;

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

    /// Returns by how much longer events read around a launch of `work` than around an empty one, several times: each the difference of
    /// the medians of two groups. Whatever events themselves take longer while CUPTI traces is in both.
    pub(super) fn times(&self, work: &mut Guarded<'_>) -> Result<Vec<Nanoseconds>, Failure> {
        let mut empty = Empty { kernel: self.device.kernels.empty, stream: self.device.stream };
        let mut empty = Guarded::new(&mut empty, self.device.own);
        (0..GROUPS).map(|_| Ok(self.read(work)? - self.read(&mut empty)?)).collect()
    }

    fn read(&self, work: &mut Guarded<'_>) -> Result<Nanoseconds, Failure> {
        launch(self.device, work, self.how, self.pairs.len(), &self.pairs)?;
        let times = self.pairs.iter().map(EventPair::read).collect::<Result<Vec<_>, _>>()?;
        Ok(median(&times).unwrap_or_default())
    }
}
