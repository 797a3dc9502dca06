//! The judgement of what a launch does beside its work on the given stream. In: an observation, and true if the benchmark declares
//! that the host's part belongs to the launch; out: the best verdict of a launch that does this, and a hint.

use crate::{LaunchInfo, Observation, State};

/// Returns true if the first launch may have done what no other does, or what only a launch behind other work shows.
pub fn needs_another_look(seen: &LaunchInfo, host_work: bool) -> bool {
    let asks = |seen: &Observation| matches!(seen, Observation::Asks(_)) && !host_work;
    seen.observations.iter().any(|seen| state(seen, host_work) == State::Invalid || asks(seen))
}

/// Returns the first observation that makes a launch invalid, with its remedy. `host_work` is true if the benchmark declares that the
/// host's part belongs to the launch.
pub fn first_invalid(seen: &LaunchInfo, host_work: bool) -> Option<String> {
    seen.observations.iter().find(|seen| state(seen, host_work) == State::Invalid).map(with_hint)
}

/// Returns what a launch does, with the remedy.
pub fn with_hint(seen: &Observation) -> String {
    format!("{seen}: {}", hint(seen))
}

/// Returns the best verdict of a launch that does this. `host_work` is true if the benchmark declares that the host's part
/// belongs to the launch.
pub fn state(seen: &Observation, host_work: bool) -> State {
    match seen {
        Observation::IgnoresError { .. }
        | Observation::DefaultStream { .. }
        | Observation::KeepsMemory { .. } => State::Invalid,
        Observation::Waits(_) | Observation::Allocates(_) | Observation::LoadsCode(_) if !host_work => {
            State::Invalid
        }
        Observation::HostFunctions { .. } if !host_work => State::Suspect,
        Observation::NoWork => State::Suspect,
        _ => State::Valid,
    }
}

/// Returns the reason that a launch which does this cannot be valid, and its remedy.
pub fn hint(seen: &Observation) -> &'static str {
    match seen {
        Observation::NoWork => "the launch function never calls `stream.run`: pass its work to that",
        Observation::Waits(_) => {
            "a graph cannot capture that, and the time would be mostly the host's: leave the wait to the caller, copy with `…Async` \
             on the given stream, or declare `host_work` if the host's part belongs to the launch"
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
        Observation::HostFunctions { .. } => {
            "the device waits for the host meanwhile: remove them, or declare `host_work` if they belong to the launch"
        }
        Observation::IgnoresError { .. } => {
            "its work did not run: correct the call, and return the driver's error"
        }
        _ => "it is timed with the launch",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::DriverCalls;
    use gpubench_stats::units::Bytes;

    #[test]
    fn what_the_host_does_is_allowed_where_it_is_declared() {
        let calls = || DriverCalls::of("cuStreamSynchronize", 2);
        for (seen, without, with) in [
            (Observation::Waits(calls()), State::Invalid, State::Valid),
            (Observation::Allocates(calls()), State::Invalid, State::Valid),
            (Observation::LoadsCode(calls()), State::Invalid, State::Valid),
            (Observation::HostFunctions { count: 1 }, State::Suspect, State::Valid),
            (Observation::NoWork, State::Suspect, State::Suspect),
            (Observation::DefaultStream { operations: 1 }, State::Invalid, State::Invalid),
            (Observation::AllocatesInOrder { count: 2 }, State::Valid, State::Valid),
            (Observation::KeepsMemory { bytes: Bytes(512) }, State::Invalid, State::Invalid),
            (Observation::OtherStreams { streams: 1, operations: 2 }, State::Valid, State::Valid),
        ] {
            assert_eq!((state(&seen, false), state(&seen, true)), (without, with), "{seen}");
        }
    }

    #[test]
    fn the_first_invalid_one_is_told_with_its_remedy() {
        let observations = vec![Observation::LaunchesGraphs { count: 1 }];
        let mut seen = LaunchInfo { observations, ..LaunchInfo::default() };
        assert_eq!(first_invalid(&seen, false), None);
        seen.observations.push(Observation::Waits(DriverCalls::of("cuStreamSynchronize", 2)));
        let told = first_invalid(&seen, false).expect("waits are invalid");
        assert!(
            told.starts_with(
                "waits for the GPU: cuStreamSynchronize and 1 more call: a graph cannot capture that"
            ),
            "{told}"
        );
        assert_eq!(first_invalid(&seen, true), None);
    }

    #[test]
    fn only_what_may_be_the_first_launchs_own_is_looked_at_again() {
        let calls = || DriverCalls::of("cuStreamQuery", 1);
        for (seen, without, with) in [
            (Observation::Waits(calls()), true, false),
            (Observation::Asks(calls()), true, false),
            (Observation::DefaultStream { operations: 1 }, true, true),
            (Observation::HostFunctions { count: 1 }, false, false),
            (Observation::AllocatesInOrder { count: 2 }, false, false),
        ] {
            let info = LaunchInfo { observations: vec![seen.clone()], ..LaunchInfo::default() };
            let looks = [false, true].map(|host_work| needs_another_look(&info, host_work));
            assert_eq!(looks, [without, with], "{seen}");
        }
        assert!(!needs_another_look(&LaunchInfo::default(), false));
    }
}
