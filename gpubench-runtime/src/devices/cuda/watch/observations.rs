//! The driver's calls of a launch as named observations. In: the calls, and the stream that the launch was given; out: what it does
//! beside its work on that stream. Judges nothing.

use std::collections::BTreeSet;

use gpubench_driver::sys::CUstream;
use gpubench_driver::{DriverCall, Enqueued, error_name, error_text};

use gpubench_records::observation::{DriverCalls, Observation};

/// The handles of default streams: `NULL`, `CU_STREAM_LEGACY` and `CU_STREAM_PER_THREAD`.
const DEFAULT_STREAMS: [u64; 3] = [0, 1, 2];

/// A launch that asks as often as this in a row if the same work is done waits for it.
const SPINS: usize = 2;

/// Returns what a launch of these calls does beside its work on `own`, the gravest first.
pub(super) fn observations(own: CUstream, calls: &[DriverCall]) -> Vec<Observation> {
    let work = |wanted: fn(&Enqueued) -> bool| {
        calls.iter().filter(|call| matches!(call, DriverCall::Enqueued { work, .. } if wanted(work))).count()
    };
    let some = |count: usize, observation: fn(usize) -> Observation| (count > 0).then(|| observation(count));
    let failed = calls.iter().find_map(|call| match call {
        DriverCall::Failed { call, code } => Some(ignored(call, *code)),
        _ => None,
    });
    // One question that is answered is no wait: allocators ask so which memory is free again.
    let waits = named(calls, |call| match call {
        DriverCall::Waited { call, .. } if !call.contains("Query") => Some(call),
        DriverCall::Polled { call, times, .. } if *times >= SPINS => Some(call),
        _ => None,
    });
    let asks = named(calls, |call| match call {
        DriverCall::Waited { call, .. } if call.contains("Query") => Some(call),
        DriverCall::Polled { call, times, .. } if *times < SPINS => Some(call),
        _ => None,
    });
    let asks = asks.filter(|_| waits.is_none());
    let allocates = named(calls, |call| match call {
        DriverCall::Allocated(call) => Some(call),
        _ => None,
    });
    let loads = named(calls, |call| match call {
        DriverCall::Loaded(call) => Some(call),
        _ => None,
    });
    let switches = named(calls, |call| match call {
        DriverCall::SwitchedContext(call) => Some(call),
        _ => None,
    });
    let (by_default, others) = (by_default(own, calls), others(own, calls));
    let all = [
        failed,
        waits.map(Observation::Waits),
        allocates.map(Observation::Allocates),
        some(by_default, |pieces| Observation::DefaultStream { operations: pieces }),
        loads.map(Observation::LoadsCode),
        some(work(|work| *work == Enqueued::HostFunction), |count| Observation::HostFunctions { count }),
        (others.1 > 0).then_some(Observation::OtherStreams { streams: others.0, operations: others.1 }),
        some(work(|work| *work == Enqueued::Allocation), |count| Observation::AllocatesInOrder { count }),
        some(work(|work| *work == Enqueued::Graph), |count| Observation::LaunchesGraphs { count }),
        asks.map(Observation::Asks),
        switches.map(Observation::SwitchesContext),
    ];
    all.into_iter().flatten().collect()
}

/// Returns the observation of a failed call whose error the launch did not return.
pub(crate) fn ignored(call: &str, code: u32) -> Observation {
    Observation::IgnoresError {
        call: call.to_owned(),
        error: format!("{code} ({}): {}", error_name(code), error_text(code)),
    }
}

/// Returns the calls that `of` names.
fn named<'a>(
    calls: &'a [DriverCall],
    of: impl Fn(&'a DriverCall) -> Option<&'a &'static str>,
) -> Option<DriverCalls> {
    let mut names = calls.iter().filter_map(of);
    let first = names.next()?;
    Some(DriverCalls::of(*first, 1 + names.count()))
}

/// Counts the work on default streams that the host does not wait for in the same call: a blocking copy is a wait.
fn by_default(own: CUstream, calls: &[DriverCall]) -> usize {
    let blocks = |index: usize, on: u64| matches!(calls.get(index + 1), Some(DriverCall::Waited { stream, call }) if *stream == Some(on) && call.starts_with("cuMemcpy"));
    let by_default = |(index, call): &(usize, &DriverCall)| match call {
        DriverCall::Enqueued { stream, .. } => {
            DEFAULT_STREAMS.contains(stream) && *stream != own as u64 && !blocks(*index, *stream)
        }
        _ => false,
    };
    calls.iter().enumerate().filter(by_default).count()
}

/// Counts the other streams that are no default ones, and the work on them.
fn others(own: CUstream, calls: &[DriverCall]) -> (usize, usize) {
    let elsewhere: Vec<u64> = calls
        .iter()
        .filter_map(|call| match call {
            DriverCall::Enqueued { work: Enqueued::Allocation, .. } => None,
            DriverCall::Enqueued { stream, .. } => Some(*stream),
            _ => None,
        })
        .filter(|stream| *stream != own as u64 && !DEFAULT_STREAMS.contains(stream))
        .collect();
    (elsewhere.iter().collect::<BTreeSet<_>>().len(), elsewhere.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(stream: u64, work: Enqueued) -> DriverCall {
        DriverCall::Enqueued { stream, captured: false, work }
    }

    fn told(calls: &[DriverCall]) -> Vec<String> {
        observations(7 as CUstream, calls).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn work_on_the_given_stream_is_nothing_to_tell() {
        assert_eq!(told(&[on(7, Enqueued::Memset(64)), on(7, Enqueued::Copy(64))]), [""; 0]);
    }

    #[test]
    fn the_default_stream_is_told_apart_from_a_blocking_copy() {
        let waited = |call| DriverCall::Waited { stream: Some(0), call };
        assert_eq!(
            told(&[on(0, Enqueued::Memset(1)), on(7, Enqueued::Memset(1))]),
            ["work elsewhere: 1 piece of the launch's work on the default stream"]
        );
        assert_eq!(
            told(&[on(0, Enqueued::CopyOut(0)), waited("cuMemcpyDtoH_v2")]),
            ["waits for the GPU: cuMemcpyDtoH_v2"]
        );
        assert_eq!(
            told(&[on(0, Enqueued::Memset(1)), waited("cuStreamSynchronize")]),
            [
                "waits for the GPU: cuStreamSynchronize",
                "work elsewhere: 1 piece of the launch's work on the default stream"
            ]
        );
    }

    #[test]
    fn asking_again_and_again_is_a_wait() {
        let polled = |times| DriverCall::Polled { call: "cuStreamQuery", about: 7, times };
        let answered = DriverCall::Waited { stream: Some(7), call: "cuStreamQuery" };
        let asks = ["asks if work is done: cuStreamQuery and 1 call"];
        assert_eq!(told(&[polled(1), answered.clone()]), asks);
        assert_eq!(told(&[polled(2), answered]), ["waits for the GPU: cuStreamQuery"]);
    }

    #[test]
    fn the_gravest_comes_first() {
        let calls = [
            on(7, Enqueued::HostFunction),
            on(8, Enqueued::Memset(1)),
            on(8, Enqueued::Allocation),
            DriverCall::Loaded("cuModuleLoadData"),
            DriverCall::Allocated("cuMemAlloc_v2"),
            DriverCall::Allocated("cuMemFree_v2"),
            DriverCall::SwitchedContext("cuCtxSetCurrent"),
            DriverCall::Failed { call: "cuLaunchKernel", code: 1 },
        ];
        let [failed, rest @ ..] = &told(&calls)[..] else { panic!("there are some") };
        assert!(
            failed.starts_with("failed call: cuLaunchKernel returned 1 (CUDA_ERROR_INVALID_VALUE)"),
            "{failed}"
        );
        assert_eq!(
            rest,
            [
                "allocates: cuMemAlloc_v2 and 1 call",
                "loads code: cuModuleLoadData",
                "host functions: the device calls 1 function of the host",
                "other streams: 1 piece of work on 1 other stream, which the given one waits for",
                "allocates in order of a stream: 1 call",
                "switches the context: cuCtxSetCurrent"
            ]
        );
    }
}
