//! Delays that an H200 adds to a launch's own time. They are off unless a test enables them.
//!
//! - The position of an event in a graph has an error, which is the same in each replay.
//! - After a flush, the launch data and the parameters of a graph's node are read from DRAM.
//! - In a graph that was not uploaded to the device, successive kernels begin late.
//! - After kernels have run on two streams, every launch begins later.

use std::sync::Arc;

use crate::kernels::Launch;
use crate::model::{STEP, Unrest};
use crate::work::Work;

/// So many kernels on a second stream make all later ones begin later.
const KERNELS_OF_A_SECOND_STREAM: usize = 100;

/// The shortest delay before a group, in nanoseconds.
const DELAY_BEFORE_A_GROUP: f64 = 1e6;

/// The delays that a test asks for, in nanoseconds but for one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Delays {
    /// The standard deviation of what two events of a graph read, over places.
    pub(crate) places: f64,
    /// The most by which a kernel takes longer for the place of its memory, as a part of its time.
    pub(crate) memory: f64,
    /// By how much later a kernel of a graph begins behind a flush.
    pub(crate) cold_node: f64,
    /// By how much later again one begins there that reads its parameters.
    pub(crate) cold_parameters: f64,
    /// By how much later a kernel directly behind another begins when a graph runs that was not copied to the device.
    pub(crate) uncopied: f64,
    /// By how much later each kernel begins once two streams have had kernels.
    pub(crate) second_stream: f64,
    /// By how much longer two events read in about half of the groups of a stream, each of which begins with a long delay.
    pub(crate) groups: f64,
}

impl Delays {
    /// The error of each node's place, for those that record an event.
    pub(crate) fn of_places(self, nodes: &[Work], unrest: &mut Unrest) -> Arc<[f64]> {
        let mut error = |node: &Work| match node {
            // Two of them make a reading.
            Work::Record(_) if self.places > 0.0 => self.places / 2.0_f64.sqrt() * unrest.normal(),
            _ => 0.0,
        };
        nodes.iter().map(&mut error).collect()
    }

    /// Returns the factor by which a kernel takes longer whose memory begins at this address.
    pub(crate) fn of_memory(self, address: u64) -> f64 {
        // The lines of 512 bytes are spread as Knuth's multiplicative hash spreads them.
        let spread = (address >> 9).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        1.0 + self.memory * spread as f64 / f64::from(1 << 24)
    }

    /// Returns true if this work leaves nothing of a graph's launch data in an L2 of this size.
    pub(crate) fn is_flush(self, work: &Work, l2: u64) -> bool {
        let touched: u64 = match work {
            Work::Memset(range, _) => range.end - range.start,
            Work::Kernel(launch) if launch.is_ours() => {
                launch.doing(STEP).touched.iter().map(|(range, _)| range.end - range.start).sum()
            }
            _ => 0,
        };
        self.cold_node + self.cold_parameters > 0.0 && touched >= l2 / 2
    }
}

/// The state of the delays of a GPU.
#[derive(Debug, Default)]
pub(crate) struct Delayed {
    /// The error of the next event's place, in a graph.
    pub(crate) place: f64,
    /// True if the launch data of the next node lies in memory.
    pub(crate) is_cold: bool,
    /// True if the next node is of a graph that runs for the first time and was not copied, and stands behind a kernel there.
    pub(crate) waits_for_copy: bool,
    /// The first stream that had a kernel.
    first: Option<usize>,
    /// The kernels on others.
    of_others: usize,
    /// The groups that have begun.
    groups: u64,
}

impl Delayed {
    /// Begins a group if a delay of this duration does that.
    pub(crate) fn delay(&mut self, duration: f64) {
        self.groups += u64::from(duration >= DELAY_BEFORE_A_GROUP);
    }

    /// Returns by how much longer two events read in this group.
    pub(crate) fn group(&self, delays: Delays) -> f64 {
        // As irregular as Knuth's multiplicative hash.
        let is_longer = self.groups.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1;
        if is_longer { delays.groups } else { 0.0 }
    }

    /// Returns by how much later a kernel on this stream begins.
    pub(crate) fn kernel(&mut self, stream: usize, launch: &Launch, delays: Delays) -> f64 {
        let first = *self.first.get_or_insert(stream);
        self.of_others += usize::from(stream != first);
        let of_streams = if self.of_others > KERNELS_OF_A_SECOND_STREAM { delays.second_stream } else { 0.0 };
        // A flush is long enough that nobody sees when it begins.
        let of_node = match &*launch.name {
            name if !self.is_cold || name.starts_with("gpubench_discard") => 0.0,
            "gpubench_empty" => delays.cold_node,
            _ => delays.cold_node + delays.cold_parameters,
        };
        let of_copy = if self.waits_for_copy { delays.uncopied } else { 0.0 };
        of_streams + of_node + of_copy
    }
}
