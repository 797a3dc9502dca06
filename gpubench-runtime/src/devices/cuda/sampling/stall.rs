//! The search for the stall of the memory: on an H200 all work that waits for memory is held up 1.4 µs every 100.19 µs. In: the
//! device; out: the period of its stalls, if it has any. Samples of cases are then compared with that period alone, since a period
//! that each case would look for itself is also found in kernels that alternate between two times of their own.

use std::rc::Rc;

use gpubench_driver::sys::CUstream;

use crate::device::{SampleOptions, Work};
use crate::devices::cuda::Cuda;
use crate::devices::cuda::flush::Flusher;
use crate::devices::cuda::guarded::Guarded;
use crate::devices::cuda::kernels::Kernels;
use crate::devices::cuda::sampling::graph_path::GraphPath;
use crate::devices::cuda::sampling::samples::{SamplingState, Works};
use crate::devices::cuda::sampling::timer;
use gpubench_records::failure::Failure;
use gpubench_records::method::{Cache, Flush};
use gpubench_stats::DramStallPeriod;
use gpubench_stats::units::{Hertz, Nanoseconds};

/// The reads of a group, the groups that are not looked at, since an idle GPU's clock takes some milliseconds to rise, and those
/// that are.
const READS: usize = 64;
const UNREAD_GROUPS: usize = 2;
const GROUPS: usize = 16;
/// The times that the period is looked for. On H200s it was found at once in ten of eleven processes.
const ATTEMPTS: usize = 2;

/// What reads of memory show.
pub(crate) struct MemoryReads {
    /// The period of the memory's stalls, if it has any.
    pub(crate) stall: Option<DramStallPeriod>,
    /// The resolution of the timer, which the starts of all reads show.
    pub(crate) resolution: Nanoseconds,
    /// The clock of the multiprocessors behind them.
    pub(crate) clock: Option<Hertz>,
}

/// Looks for the period by reads of half the L2's size each, in a context that has launched kernels on one stream at most.
pub(crate) fn measure(device: &mut Cuda) -> Result<MemoryReads, Failure> {
    let (kernels, flusher) = (Rc::clone(&device.kernels), Rc::clone(&device.flusher));
    let mut reads = Reads { flusher, kernels, stream: device.stream, number: 0 };
    let works = Works::One(Guarded::new(&mut reads, device.own));
    let state = SamplingState::new(device, works, &SampleOptions::new(Cache::Cold), Flush::None)?;
    let mut path = GraphPath::new(state);
    for _ in 0..UNREAD_GROUPS {
        path.group(READS)?;
    }
    let mut found = MemoryReads { stall: None, resolution: Nanoseconds::default(), clock: None };
    for _ in 0..ATTEMPTS {
        let (mut events, mut starts) = (Vec::new(), Vec::new());
        for _ in 0..GROUPS {
            let group = path.group(READS)?;
            events.extend(group.events);
            starts.extend(group.starts);
            found.clock = group.clock;
        }
        found.stall = DramStallPeriod::find(&starts, &events, timer::step(events.iter()));
        found.resolution = timer::step(events.iter().chain(&starts));
        if found.stall.is_some() {
            break;
        }
    }
    Ok(found)
}

/// Reads one part of a buffer after the other. All parts together have twice the L2's size, so that each comes from memory.
struct Reads {
    flusher: Rc<Flusher>,
    kernels: Rc<Kernels>,
    stream: CUstream,
    number: usize,
}

impl Work for Reads {
    fn launch(&mut self) -> Result<(), Failure> {
        self.number += 1;
        Ok(self.flusher.read_half(self.number, &self.kernels, self.stream)?)
    }
}
