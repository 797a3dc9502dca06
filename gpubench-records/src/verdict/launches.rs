//! The judgement of a launch apart from its time: what it does besides its work on the given stream, how it was sampled, and its outputs
//! afterwards.

use crate::{
    DeclaredWork, DeviceInfo, LaunchInfo, Observation, Reason, Relaunch, Reuse, Samples, State, Verdict,
    limits,
};
use gpubench_stats::{Bytes, Nanoseconds};

/// The fraction of a launch's time above which waits for the host make a result suspect. On an H200, copies of 32
/// MiB from and to pageable memory, which the driver feeds in pieces, wait for 15 and 19 %.
const MIN_IDLE_FRACTION: f64 = 0.25;

/// Returns the reservations about a launch: suspect observations, and waits for the host. `host_work` is true
/// if the benchmark declares that the host's part belongs to the launch.
pub fn reservations(seen: &LaunchInfo, samples: &Samples, host_work: bool) -> Vec<Reason> {
    let suspect = |seen: &&Observation| observation_state(seen, host_work) == State::Suspect;
    let mut reasons: Vec<_> =
        seen.observations.iter().filter(suspect).cloned().map(Reason::Observed).collect();
    let idle = samples.idle().filter(|(idle, _)| *idle > MIN_IDLE_FRACTION && !host_work);
    reasons.extend(idle.map(|(share, held)| Reason::GpuIdle { idle_fraction: share, prequeued_time: held }));
    reasons
}

/// Removes the reservation about two modes from the verdict. It is for launches to which the host's part
/// belongs, where the host causes the modes.
pub fn with_host_work(mut verdict: Verdict) -> Verdict {
    verdict.reasons.retain(|reason| !matches!(reason, Reason::TwoModes(_)));
    Verdict::of(verdict.reasons)
}

/// Returns the reasons against a case that follow from the launches after its samples: stale outputs, and
/// faster launches on used inputs.
pub fn relaunched(relaunch: &Relaunch) -> Vec<Reason> {
    let stale = relaunch.stale().map(Reason::StaleOutputs);
    let faster = relaunch.reuse.filter(Reuse::is_faster).map(Reason::FasterOnUsedInputs);
    stale.into_iter().chain(faster).collect()
}

/// The longest time of a launch that did no work, after the time of an empty launch is subtracted; a longer
/// step of the timer replaces it. The same code takes some cycles more or less at another address.
const EMPTY_LAUNCH_ERROR: Nanoseconds = Nanoseconds(2.0);

/// Returns the reason why a launch did no work, or cannot have done its declared work (`claim`): it took no
/// longer than an empty launch, or its bandwidth exceeds that of the cores. `None` if neither holds, and if
/// an observation already reports that there was no work.
pub fn missing_work(
    claim: &DeclaredWork<'_>,
    samples: &Samples,
    seen: &LaunchInfo,
    info: &DeviceInfo,
) -> Option<Reason> {
    // The observation already reports this, with its cause.
    if seen.observations.contains(&Observation::NoWork) {
        return None;
    }
    let time = samples.time.median;
    if let Some(empty) = seen.empty_launch_time
        && time <= EMPTY_LAUNCH_ERROR.max(samples.timer.resolution)
    {
        return Some(Reason::NoLongerThanEmpty { time, empty });
    }
    let bytes = Bytes(claim.counts.bytes.unwrap_or_default());
    let least = bytes.per(limits::longest_possible_time(samples, claim.cold));
    let limit = info.core_bandwidth.filter(|limit| least.0 > limit.0)?;
    Some(Reason::AboveCoreBandwidth { declared: bytes.per(time.max(samples.timer.resolution)), limit })
}

/// Returns true if another launch must be observed before the case is judged: the first launch did something
/// invalid, such as loading code, or queried the device although the benchmark does not declare `host_work`.
/// Libraries may do either in their first launch alone.
pub fn needs_another_launch(seen: &LaunchInfo, host_work: bool) -> bool {
    let is_undeclared_query = |seen: &Observation| matches!(seen, Observation::Asks(_)) && !host_work;
    let is_invalid = |seen: &Observation| observation_state(seen, host_work) == State::Invalid;
    seen.observations.iter().any(|seen| is_invalid(seen) || is_undeclared_query(seen))
}

/// Returns the first observation that makes a launch invalid, in words with its remedy; `None` if there is
/// none. `host_work` is true if the benchmark declares that the host's part belongs to the launch.
pub fn first_invalid_observation(seen: &LaunchInfo, host_work: bool) -> Option<String> {
    seen.observations
        .iter()
        .find(|seen| observation_state(seen, host_work) == State::Invalid)
        .map(describe_observation)
}

/// Returns an observation in words, with its remedy.
pub fn describe_observation(seen: &Observation) -> String {
    format!("{seen}: {}", observation_hint(seen))
}

/// Returns the best state that a launch with this observation can have. `host_work` is true if the benchmark
/// declares that the host's part belongs to the launch.
pub fn observation_state(seen: &Observation, host_work: bool) -> State {
    match seen {
        Observation::IgnoresError { .. }
        | Observation::DefaultStream { .. }
        | Observation::KeepsMemory { .. } => State::Invalid,
        Observation::Waits(_)
        | Observation::Allocates(_)
        | Observation::LoadsCode(_)
        | Observation::Unordered
            if !host_work =>
        {
            State::Invalid
        }
        Observation::HostFunctions { .. } if !host_work => State::Suspect,
        Observation::NoWork => State::Suspect,
        _ => State::Valid,
    }
}

/// Returns why an observation makes a launch invalid or suspect, and the remedy. For a harmless observation,
/// returns that it is timed with the launch.
pub fn observation_hint(seen: &Observation) -> &'static str {
    match seen {
        Observation::NoWork => "the launch function never calls `stream.run`: do its work in `stream.run(…)`",
        Observation::Waits(_) => {
            "a graph cannot capture that, and the time would be mostly the host's: remove the wait (gpubench waits itself), copy with \
             `…Async` on the given stream, or declare `host_work` if the host's part belongs to the launch"
        }
        Observation::Allocates(_) => {
            "the driver waits for the device meanwhile: allocate in `setup`, use `cuMemAllocAsync` on the given stream, or \
             declare `host_work`"
        }
        Observation::KeepsMemory { .. } => {
            "samples would fill the device: free it by `cuMemFreeAsync` on the given stream, or allocate in `setup`"
        }
        Observation::LoadsCode(_) => {
            "each launch would wait for that: load in `setup`, or declare `host_work` if loading belongs to the launch"
        }
        Observation::DefaultStream { .. } => {
            "gpubench times only the given stream, and the default stream also waits for all others: pass the given stream to \
             every call"
        }
        Observation::Unordered => {
            "not all of its time would be measured: put this work on the given stream, or let its stream first wait for the given \
             stream, and the given stream wait for it at the end (cuStreamWaitEvent)"
        }
        Observation::HostFunctions { .. } => {
            "the device waits for the host meanwhile: remove such calls, or declare `host_work` if they belong to the launch"
        }
        Observation::IgnoresError { .. } => {
            "its work did not run: correct the call, and return the driver's error"
        }
        _ => "it is timed with the launch",
    }
}

#[cfg(test)]
mod launched_tests {
    use super::*;
    use crate::launch::Rewritten;
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

#[cfg(test)]
mod observed_tests {
    use super::*;
    use crate::launch::DriverCalls;
    use gpubench_stats::units::Bytes;

    #[test]
    fn what_the_host_does_is_allowed_where_it_is_declared() {
        let calls = || DriverCalls::new("cuStreamSynchronize", 2);
        for (seen, without, with) in [
            (Observation::Waits(calls()), State::Invalid, State::Valid),
            (Observation::Allocates(calls()), State::Invalid, State::Valid),
            (Observation::LoadsCode(calls()), State::Invalid, State::Valid),
            (Observation::HostFunctions { count: 1 }, State::Suspect, State::Valid),
            (Observation::NoWork, State::Suspect, State::Suspect),
            (Observation::DefaultStream { operations: 1 }, State::Invalid, State::Invalid),
            (Observation::Unordered, State::Invalid, State::Valid),
            (Observation::AllocatesInOrder { count: 2 }, State::Valid, State::Valid),
            (Observation::KeepsMemory { bytes: Bytes(512) }, State::Invalid, State::Invalid),
            (Observation::OtherStreams { streams: 1, operations: 2 }, State::Valid, State::Valid),
        ] {
            assert_eq!(
                (observation_state(&seen, false), observation_state(&seen, true)),
                (without, with),
                "{seen}"
            );
        }
    }

    #[test]
    fn the_first_invalid_one_is_told_with_its_remedy() {
        let observations = vec![Observation::LaunchesGraphs { count: 1 }];
        let mut seen = LaunchInfo { observations, ..LaunchInfo::default() };
        assert_eq!(first_invalid_observation(&seen, false), None);
        seen.observations.push(Observation::Waits(DriverCalls::new("cuStreamSynchronize", 2)));
        let told = first_invalid_observation(&seen, false).expect("waits are invalid");
        assert!(
            told.starts_with(
                "waits for the GPU: cuStreamSynchronize and 1 more call: a graph cannot capture that"
            ),
            "{told}"
        );
        assert_eq!(first_invalid_observation(&seen, true), None);
    }

    #[test]
    fn only_what_may_be_the_first_launchs_own_is_looked_at_again() {
        let calls = || DriverCalls::new("cuStreamQuery", 1);
        for (seen, without, with) in [
            (Observation::Waits(calls()), true, false),
            (Observation::Asks(calls()), true, false),
            (Observation::DefaultStream { operations: 1 }, true, true),
            (Observation::HostFunctions { count: 1 }, false, false),
            (Observation::AllocatesInOrder { count: 2 }, false, false),
        ] {
            let info = LaunchInfo { observations: vec![seen.clone()], ..LaunchInfo::default() };
            let looks = [false, true].map(|host_work| needs_another_launch(&info, host_work));
            assert_eq!(looks, [without, with], "{seen}");
        }
        assert!(!needs_another_launch(&LaunchInfo::default(), false));
    }
}
