//! The search for the DRAM stall, by timed reads of memory.

use super::group::{AnyWork, GroupRunner, require_own_launch};
use super::recorded_path::RecordedPath;
use crate::device::{LaunchMode, OwnLaunch, Queue};
use gpubench_records::{Cache, Failure, Flush};
use gpubench_stats::{DramStallPeriod, Hertz, Nanoseconds, timer_step};

/// The number of timed reads in a group.
const READS_PER_GROUP: usize = 64;
/// The number of groups that are discarded first, since the clock of an idle GPU takes some milliseconds to
/// rise.
const WARM_UP_READ_GROUPS: usize = 2;
/// The number of groups in which a search looks for the period.
const COUNTED_READ_GROUPS: usize = 16;
/// The most searches for the period. On H200s the first search succeeded in ten of eleven processes.
const SEARCHES: usize = 2;

/// Searches for the period of the DRAM stall by timing reads of half the size of the cache, and stores the
/// period, or `None`, in the calibration of `queue`. Samples of cases are then compared with this period
/// only: a search in each case would also find a period in kernels that alternate between two times. On an
/// H200, work that waits for memory stalls for 1.4 µs every 100.19 µs.
///
/// Call this before the context has launched kernels on a second stream. Returns the resolution of the timer,
/// from the starts and times of all reads, and the GPU clock after the last group of reads.
pub(crate) fn search_dram_stall(queue: &mut dyn Queue) -> Result<(Nanoseconds, Option<Hertz>), Failure> {
    let reads = require_own_launch(queue, OwnLaunch::ReadHalf)?;
    let groups =
        GroupRunner::alone(queue, AnyWork::Owned(reads), LaunchMode::RECORDED, Cache::Cold, Flush::None);
    let mut path = RecordedPath::new(groups);
    for _ in 0..WARM_UP_READ_GROUPS {
        path.group(READS_PER_GROUP)?;
    }
    let (mut resolution, mut clock) = (Nanoseconds::ZERO, None);
    for _ in 0..SEARCHES {
        let (mut events, mut starts) = (Vec::new(), Vec::new());
        for _ in 0..COUNTED_READ_GROUPS {
            let group = path.group(READS_PER_GROUP)?;
            events.extend(group.events);
            starts.extend(group.starts);
            clock = group.clock;
        }
        let stall = DramStallPeriod::find(&starts, &events, timer_step(events.iter()));
        path.groups.queue.calibration().dram_stall = stall;
        resolution = timer_step(events.iter().chain(&starts));
        if stall.is_some() {
            break;
        }
    }
    Ok((resolution, clock))
}
