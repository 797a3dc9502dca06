//! The judgement of how a launch was sampled and of its outputs afterwards. In: what was seen of it, its samples, and what the
//! benchmark declares; out: the reasons against it.

use crate::{
    DeclaredWork, DeviceInfo, LaunchInfo, Observation, Reason, Relaunch, Reuse, Samples, State, Verdict,
    limits, verdict::observed::state,
};
use gpubench_stats::{Bytes, Nanoseconds};

/// The fraction of a launch's time from which a wait for the host counts as idle. On an H200, copies of 32
/// MiB from and to pageable memory, which the driver feeds in pieces, wait for 15 and 19 %.
const MIN_IDLE_FRACTION: f64 = 0.25;

/// Returns the reservations about a launch that was `seen` to do this and took these `samples`.
pub fn reservations(seen: &LaunchInfo, samples: &Samples, host_work: bool) -> Vec<Reason> {
    let suspect = |seen: &&Observation| state(seen, host_work) == State::Suspect;
    let mut reasons: Vec<_> =
        seen.observations.iter().filter(suspect).cloned().map(Reason::Observed).collect();
    let idle = samples.idle().filter(|(idle, _)| *idle > MIN_IDLE_FRACTION && !host_work);
    reasons.extend(idle.map(|(share, held)| Reason::GpuIdle { idle_fraction: share, prequeued_time: held }));
    reasons
}

/// Returns the verdict on a launch to which the host's part belongs: two modes of such a launch are the host's.
pub fn with_host_work(mut verdict: Verdict) -> Verdict {
    verdict.reasons.retain(|reason| !matches!(reason, Reason::TwoModes(_)));
    Verdict::of(verdict.reasons)
}

/// Returns the reasons against a case from its launches after the samples: stale outputs, and faster launches
/// on used inputs.
pub fn relaunched(relaunch: &Relaunch) -> Vec<Reason> {
    let stale = relaunch.stale().map(Reason::StaleOutputs);
    let faster = relaunch.reuse.filter(Reuse::is_faster).map(Reason::FasterOnUsedInputs);
    stale.into_iter().chain(faster).collect()
}

/// A launch takes no longer than an empty one, whose time is subtracted, if no more than this is left, or a step of the timer: the same
/// code takes some cycles more or less at another address.
const EMPTY_LAUNCH_ERROR: Nanoseconds = Nanoseconds(2.0);

/// Returns the reason that a launch did no work, or cannot have done the work of this claim, if there is one.
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
    let time = samples.time.median;
    if let Some(empty) = seen.empty_launch_time
        && time <= EMPTY_LAUNCH_ERROR.max(samples.timer.resolution)
    {
        return Some(Reason::NoLongerThanEmpty { time, empty });
    }
    let declared =
        Bytes(claim.counts.bytes.unwrap_or_default()).per(limits::longest_possible_time(samples, claim.cold));
    let limit = info.core_bandwidth.filter(|limit| declared.0 > limit.0)?;
    Some(Reason::AboveCoreBandwidth { declared, limit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relaunch::Rewritten;
    use gpubench_stats::units::{Bytes, Nanoseconds};

    #[test]
    fn two_modes_are_the_hosts_where_its_part_belongs_to_the_launch() {
        let modes =
            gpubench_stats::Modes { low: Nanoseconds(1.0), high: Nanoseconds(2.0), high_fraction: 0.5 };
        let wanted = Reason::NotConverged { reached: 0.1, requested: 0.005 };
        let verdict = Verdict::of(vec![Reason::TwoModes(modes), wanted.clone()]);
        assert_eq!(with_host_work(verdict).reasons, [wanted]);
    }

    #[test]
    fn launches_that_differ_and_do_their_work_are_no_reason() {
        let rewritten = Some(Rewritten { changed: Bytes(512), again: Bytes(512) });
        let relaunch = Relaunch { differs: Bytes(512), rewritten, ..Relaunch::default() };
        assert_eq!(relaunched(&relaunch), []);
    }

    #[test]
    fn stale_outputs_and_faster_launches_are_both_reported() {
        let stale = Rewritten { changed: Bytes(512), again: Bytes::ZERO };
        let reuse = Reuse { fresh: Nanoseconds(1e6), used: Nanoseconds(1e4) };
        let relaunch = Relaunch { rewritten: Some(stale), reuse: Some(reuse), ..Relaunch::default() };
        let reasons = relaunched(&relaunch);
        assert_eq!(reasons, [Reason::StaleOutputs(stale), Reason::FasterOnUsedInputs(reuse)]);
        assert_eq!(Verdict::of(reasons).state, State::Invalid);
    }
}
