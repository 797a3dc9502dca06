//! The judgement of launches that declare work and cannot have done it, on devices that run code of the measuring program: the
//! compiler removes a loop whose results nothing reads.

use crate::device_info::DeviceInfo;
use crate::launch::LaunchInfo;
use crate::limits::{self, DeclaredWork};
use crate::observation::Observation;
use crate::samples::Samples;
use crate::verdict::Reason;
use gpubench_stats::units::{Bytes, Nanoseconds};

/// A launch takes no longer than an empty one if the two differ by no more than this, or by a step of the timer: a launch function is
/// called through 5 ns of code. A core that loads 128 bytes in a cycle of 6 GHz reads 16 KiB in 21 ns.
const CALL: Nanoseconds = Nanoseconds(10.0);

/// Returns the reason that a launch with this claim cannot have done its work, if there is one.
#[must_use]
pub fn missing_work(
    claim: &DeclaredWork<'_>,
    samples: &Samples,
    seen: &LaunchInfo,
    info: &DeviceInfo,
) -> Option<Reason> {
    // That says the same, and names the cause.
    if seen.observations.contains(&Observation::NoWork) {
        return None;
    }
    let [bytes, flops] = [claim.counts.bytes, claim.counts.flops].map(Option::unwrap_or_default);
    let time = samples.time.median;
    if let Some(empty) = seen.empty_launch_time.filter(|_| bytes > 0 || flops > 0)
        && time - empty <= CALL.max(samples.timer.resolution)
    {
        return Some(Reason::NoLongerThanEmpty { time, empty });
    }
    let declared = Bytes(bytes).per(limits::longest(samples, claim.cold));
    let limit = info.core_bandwidth.filter(|limit| declared.0 > limit.0)?;
    Some(Reason::AboveCoreBandwidth { declared, limit })
}
