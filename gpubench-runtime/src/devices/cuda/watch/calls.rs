//! Judges the driver calls of a launch. Finds work on other streams, which timing would miss, and observes
//! what the launch does in addition to its work on the given stream. The given stream may wait for another
//! stream by an event; such work is timed.

use std::time::{Duration, Instant};

use gpubench_driver::sys::{self, CUDA_ERROR_NOT_READY, CUstream};
use gpubench_driver::{DriverCall, Enqueued, error_name, error_text};
use gpubench_stats::{Map, Set};

use super::super::driver::{CallError, Event, check};
use gpubench_records::launch::DriverCalls;
use gpubench_records::{Failure, Observation, Stage, verdict::launches};

/// The longest time for which the driver may report that a stream is busy after the work of the stream has
/// ended.
const BUSY_GRACE_TIME: Duration = Duration::from_micros(50);

/// Returns the stream of `call` if the call enqueued an operation that was not captured on another stream than
/// `own`. An allocation on a stream is no operation.
fn other_stream(own: CUstream, call: &DriverCall) -> Option<u64> {
    match call {
        DriverCall::Enqueued { work: Enqueued::Allocation, .. } => None,
        DriverCall::Enqueued { stream, captured: false, .. } => (*stream != own as u64).then_some(*stream),
        _ => None,
    }
}

/// Returns true if the work of a launch on streams other than `own` and the default streams can begin before
/// earlier work on `own` has ended, or end after later work on `own` has begun.
pub(crate) fn has_unordered_work(own: CUstream, calls: &[DriverCall]) -> bool {
    !is_ordered(own, calls.iter(), false) || !is_ordered(own, calls.iter().rev(), true)
}

/// Returns true if all work on other streams waits for `own`: its stream waits for an event that was recorded
/// before on `own`, or on a stream that waits for `own`. If `is_reversed` is true, the calls come in reverse
/// order, and the result is true if `own` waits for all work on other streams. Work on default streams is not
/// judged.
///
/// Calls after a wait for a value in memory are not judged either, since that may be such a wait.
fn is_ordered<'a>(own: CUstream, calls: impl Iterator<Item = &'a DriverCall>, is_reversed: bool) -> bool {
    let (mut ordered, mut events) = (Map::default(), Map::default());
    ordered.insert(own as u64, ());
    for call in calls {
        // A new stream may have the handle of a destroyed one.
        if let DriverCall::Destroyed(stream) = call {
            ordered.remove(stream);
        }
        let is_unordered = |on: u64| ordered.get(&on).is_none() && !DEFAULT_STREAMS.contains(&on);
        let (is_source, event, stream) = match call {
            DriverCall::Recorded { event, stream } => (!is_reversed, event, stream),
            DriverCall::StreamWaits { event: Some(event), stream } => (is_reversed, event, stream),
            DriverCall::StreamWaits { event: None, .. } => return true,
            call if other_stream(own, call).is_some_and(is_unordered) => return false,
            _ => continue,
        };
        let was_ordered = events.get(event) == Some(&true);
        if was_ordered && !is_source {
            ordered.insert(*stream, ());
        }
        // A record replaces the earlier one, so that a wait belongs to the last record before it.
        let stays = was_ordered && is_source == is_reversed;
        events.insert(*event, stays || is_source && ordered.get(stream).is_some());
    }
    true
}

/// Waits until `own` has passed an event, as at the end of a sample. Returns the number of other streams on
/// which work of the launch still runs then. Returns 0 without waiting if the launch used no other stream.
/// Streams that the launch destroyed do not count.
pub(crate) fn count_running_streams(own: CUstream, calls: &[DriverCall]) -> Result<usize, CallError> {
    let others: Set<u64> = calls.iter().filter_map(|call| other_stream(own, call)).collect();
    if others.is_empty() {
        return Ok(0);
    }
    let stop = Event::new()?;
    stop.record(own)?;
    stop.wait()?;
    let left = others.iter().filter(|stream| !calls.contains(&DriverCall::Destroyed(**stream)));
    left.map(|stream| is_still_busy(*stream as CUstream).map(usize::from)).sum()
}

/// Waits until `stream` has no work, at most [`BUSY_GRACE_TIME`]. Returns true if it still has work then.
fn is_still_busy(stream: CUstream) -> Result<bool, CallError> {
    let begin = Instant::now();
    loop {
        // SAFETY: the launch has just used the stream, and not destroyed it.
        match unsafe { sys::cuStreamQuery(stream) } {
            CUDA_ERROR_NOT_READY if begin.elapsed() > BUSY_GRACE_TIME => return Ok(true),
            CUDA_ERROR_NOT_READY => {}
            result => return check(result).map(|()| false),
        }
    }
}

/// Returns true if a launch enqueued anything on `own`, or on the NULL stream, with which `own` may be
/// synchronized, or made either of them wait for another stream.
pub(crate) fn uses_given_stream(own: CUstream, calls: &[DriverCall]) -> bool {
    calls.iter().any(|call| {
        matches!(call, DriverCall::Enqueued { stream, .. } | DriverCall::StreamWaits { stream, .. } if [own as u64, 0].contains(stream))
    })
}

/// Returns the work that these driver calls enqueued, each with the handle of its stream.
pub(super) fn enqueued(calls: &[DriverCall]) -> impl Iterator<Item = (u64, &Enqueued)> {
    calls.iter().filter_map(|call| match call {
        DriverCall::Enqueued { stream, work, .. } => Some((*stream, work)),
        _ => None,
    })
}

/// Returns the failure of a launch that enqueued nothing on its stream, so that there is nothing to time.
pub(crate) fn no_work_failure() -> Failure {
    let message = "no work on its stream: at least one launch enqueued nothing on the given stream: enqueue the work in each launch, and pass the given stream to every call";
    Failure::new(Stage::Launch, message)
}

/// Returns the failure of a launch for which [`has_unordered_work`] is true.
pub(crate) fn unordered_work_failure() -> Failure {
    Failure::new(Stage::Launch, launches::describe_observation(&Observation::Unordered))
}

/// Returns the failure of a launch with work on other streams. `seen` is a clause that describes that work.
pub(crate) fn work_elsewhere_failure(seen: &str) -> Failure {
    let hint = launches::observation_hint(&Observation::Unordered);
    Failure::new(Stage::Launch, format_args!("work elsewhere: {seen}: {hint}"))
}

/// The handles of the default streams: `NULL`, `CU_STREAM_LEGACY` and `CU_STREAM_PER_THREAD`. Work on them is
/// reported as [`Observation::DefaultStream`], and work on any other stream as [`Observation::OtherStreams`].
const DEFAULT_STREAMS: [u64; 3] = [0, 1, 2];

/// A launch counts as waiting for work if at least this many successive queries of the launch find that the
/// work is not done.
const LEAST_POLLS_OF_WAIT: usize = 2;

/// Returns the observations of a launch with these driver calls, the gravest first. An observation is
/// something that a reader of its time should know: work on another stream than `own`, or host functions,
/// allocations, graphs and waits on any stream. Kernels, copies and memsets on `own` are not observed.
pub(super) fn observations(own: CUstream, calls: &[DriverCall]) -> Vec<Observation> {
    let [mut waits, mut asks, mut allocates, mut loads, mut switches] = [const { Vec::new() }; 5];
    let [mut on_default, mut host_functions, mut in_order, mut graphs] = [0; 4];
    let (mut failed, mut other_streams) = (None, Vec::new());
    for (index, call) in calls.iter().enumerate() {
        match call {
            // One question that is answered is no wait: allocators ask so which memory is free again.
            DriverCall::Waited(call) if !call.contains("Query") => waits.push(*call),
            DriverCall::Polled { call, times, .. } if *times >= LEAST_POLLS_OF_WAIT => waits.push(*call),
            DriverCall::Waited(call) | DriverCall::Polled { call, .. } => asks.push(*call),
            DriverCall::Allocated(call) => allocates.push(*call),
            DriverCall::Loaded(call) => loads.push(*call),
            DriverCall::SwitchedContext(call) => switches.push(*call),
            DriverCall::Failed { call, code } => failed = failed.or_else(|| Some(ignored_error(call, *code))),
            DriverCall::Destroyed(_) | DriverCall::Recorded { .. } | DriverCall::StreamWaits { .. } => {}
            DriverCall::Enqueued { stream, work, .. } => {
                match work {
                    Enqueued::HostFunction => host_functions += 1,
                    Enqueued::Allocation => in_order += 1,
                    Enqueued::Graph { .. } => graphs += 1,
                    _ => {}
                }
                if *stream == own as u64 {
                    continue;
                }
                if DEFAULT_STREAMS.contains(stream) {
                    on_default += usize::from(!is_blocking_copy(calls.get(index + 1)));
                } else if *work != Enqueued::Allocation {
                    other_streams.push(*stream);
                }
            }
        }
    }
    let is_unordered = waits.is_empty() && uses_given_stream(own, calls) && has_unordered_work(own, calls);
    let asks = if waits.is_empty() { asks } else { Vec::new() };
    let named = |calls: Vec<&'static str>, observation: fn(DriverCalls) -> Observation| {
        calls.first().map(|first| observation(DriverCalls::new(*first, calls.len())))
    };
    let some = |count: usize, observation: fn(usize) -> Observation| (count > 0).then(|| observation(count));
    let (operations, streams) = (other_streams.len(), other_streams.into_iter().collect::<Set<_>>().len());
    let all = [
        failed,
        named(waits, Observation::Waits),
        named(allocates, Observation::Allocates),
        some(on_default, |operations| Observation::DefaultStream { operations }),
        is_unordered.then_some(Observation::Unordered),
        named(loads, Observation::LoadsCode),
        some(host_functions, |count| Observation::HostFunctions { count }),
        (operations > 0 && !is_unordered).then_some(Observation::OtherStreams { streams, operations }),
        some(in_order, |count| Observation::AllocatesInOrder { count }),
        some(graphs, |count| Observation::LaunchesGraphs { count }),
        named(asks, Observation::Asks),
        named(switches, Observation::SwitchesContext),
    ];
    all.into_iter().flatten().collect()
}

/// Returns true if work that was enqueued on a default stream belongs to a blocking copy. A blocking copy is
/// recorded as two calls: the work, and as the `next` call a wait of `cuMemcpy…`.
fn is_blocking_copy(next: Option<&DriverCall>) -> bool {
    matches!(next, Some(DriverCall::Waited(call)) if call.starts_with("cuMemcpy"))
}

/// Returns the observation that the launch did not return the error of the failed driver call `call`. `code`
/// is the result of that call.
pub(crate) fn ignored_error(call: &str, code: u32) -> Observation {
    Observation::IgnoresError {
        call: call.to_owned(),
        error: format!("{code} ({}): {}", error_name(code), error_text(code)),
    }
}

#[cfg(test)]
mod other_stream_tests {
    use super::*;

    fn on(stream: u64, captured: bool) -> DriverCall {
        DriverCall::Enqueued { stream, captured, work: Enqueued::Memset(1) }
    }

    #[test]
    fn operations_on_other_streams_are_found_unless_they_are_captured() {
        let own = 7 as CUstream;
        let calls = [on(7, true), on(7, false), on(8, true), on(8, false), on(9, false)];
        let found: Vec<u64> = calls.iter().filter_map(|call| other_stream(own, call)).collect();
        assert_eq!(found, [8, 9]);
        assert!(uses_given_stream(own, &[on(0, false)]) && !uses_given_stream(own, &[on(8, true)]));
    }

    fn record(event: u64, stream: u64) -> DriverCall {
        DriverCall::Recorded { event, stream }
    }

    fn wait(stream: u64, event: Option<u64>) -> DriverCall {
        DriverCall::StreamWaits { stream, event }
    }

    #[test]
    fn work_is_ordered_if_it_waits_for_the_given_stream_and_the_given_stream_waits_for_it() {
        let is_ordered = |calls: &[&[DriverCall]]| !has_unordered_work(7 as CUstream, &calls.concat());
        let (one, other) = ([on(8, false)], [on(9, false)]);
        let (fork, join) = ([record(1, 7), wait(8, Some(1))], [record(2, 8), wait(7, Some(2))]);
        assert!(is_ordered(&[&fork, &one, &join]));
        // The second event may have the first one's handle.
        assert!(is_ordered(&[&fork, &one, &[record(1, 8), wait(7, Some(1))]]));
        // Without either, before the fork, and after the join.
        assert!(!is_ordered(&[&one, &join]) && !is_ordered(&[&fork, &one]));
        assert!(!is_ordered(&[&one, &fork, &join]) && !is_ordered(&[&fork, &join, &one]));
        // By way of another stream, to and fro.
        let further = [record(3, 8), wait(9, Some(3))];
        assert!(is_ordered(&[&fork, &further, &other, &[record(4, 9), wait(8, Some(4))], &join]));
        assert!(!is_ordered(&[&fork, &further, &other, &join]));
        assert!(is_ordered(&[&fork, &further, &other, &[record(4, 9), wait(7, Some(4))]]));
        // Two streams wait for the same event.
        assert!(is_ordered(&[&fork, &one, &join, &[wait(9, Some(2))]]));
        // One event for two joins: the wait is for its last record.
        let both = [&fork[..], &[wait(9, Some(1))], &one, &other].concat();
        assert!(!is_ordered(&[&both, &[record(3, 8), record(3, 9), wait(7, Some(3))]]));
        let twice = [record(3, 8), wait(7, Some(3)), record(3, 9), wait(7, Some(3))];
        assert!(is_ordered(&[&both, &twice]));
        // A new stream with the handle of a destroyed one does not wait.
        assert!(!is_ordered(&[&fork, &one, &join, &[DriverCall::Destroyed(8)], &one, &join]));
        assert!(is_ordered(&[&fork, &one, &[record(2, 8), DriverCall::Destroyed(8), wait(7, Some(2))]]));
        // The default stream of a thread does not wait for other streams.
        assert!(!is_ordered(&[&[record(1, 2), wait(8, Some(1))], &one, &join]));
        // An event that was not recorded in this launch, or last on a stream that does not wait.
        assert!(!is_ordered(&[&[wait(8, Some(1))], &one, &join]));
        assert!(!is_ordered(&[&[record(1, 7), record(1, 9), wait(8, Some(1))], &one, &join]));
        // A flag in memory may be set by work of the given stream.
        assert!(is_ordered(&[&[wait(8, None)], &one, &join]) && is_ordered(&[&fork, &one, &[wait(7, None)]]));
        // Captured work does not run, and work on the default stream is reported as such.
        assert!(is_ordered(&[&[on(8, true), on(0, false)]]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(stream: u64, work: Enqueued) -> DriverCall {
        DriverCall::Enqueued { stream, captured: false, work }
    }

    fn observed(calls: &[DriverCall]) -> Vec<String> {
        observations(7 as CUstream, calls).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn work_on_the_given_stream_is_nothing_to_tell() {
        assert_eq!(observed(&[on(7, Enqueued::Memset(64)), on(7, Enqueued::Copy(64))]), [""; 0]);
    }

    #[test]
    fn the_default_stream_is_distinguished_from_a_blocking_copy() {
        let waited = DriverCall::Waited;
        assert_eq!(
            observed(&[on(0, Enqueued::Memset(1)), on(7, Enqueued::Memset(1))]),
            ["work elsewhere: 1 piece of the launch's work went to the default stream"]
        );
        assert_eq!(
            observed(&[on(0, Enqueued::CopyOut(0)), waited("cuMemcpyDtoH_v2")]),
            ["waits for the GPU: cuMemcpyDtoH_v2"]
        );
        assert_eq!(
            observed(&[on(0, Enqueued::Memset(1)), waited("cuStreamSynchronize")]),
            [
                "waits for the GPU: cuStreamSynchronize",
                "work elsewhere: 1 piece of the launch's work went to the default stream"
            ]
        );
    }

    #[test]
    fn asking_again_and_again_is_a_wait() {
        let polled = |times| DriverCall::Polled { call: "cuStreamQuery", about: 7, times };
        let answered = DriverCall::Waited("cuStreamQuery");
        let asks = ["asks if work is done: cuStreamQuery and 1 more call"];
        assert_eq!(observed(&[polled(1), answered.clone()]), asks);
        assert_eq!(observed(&[polled(2), answered]), ["waits for the GPU: cuStreamQuery"]);
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
        let [failed, rest @ ..] = &observed(&calls)[..] else { panic!("there are some") };
        assert!(
            failed.starts_with("failed call: cuLaunchKernel returned 1 (CUDA_ERROR_INVALID_VALUE)"),
            "{failed}"
        );
        assert_eq!(
            rest,
            [
                "allocates: cuMemAlloc_v2 and 1 more call",
                "work elsewhere: work on another stream can begin or end outside the sample",
                "loads code: cuModuleLoadData",
                "host functions: the device calls 1 function on the host",
                "allocates in order of a stream: 1 call",
                "switches the context: cuCtxSetCurrent"
            ]
        );
    }
}
