//! Work that a launch puts on other streams than the one it is given. In: the calls that it enqueued; out: the work
//! that timing would miss. The given stream may wait for another by an event; such work is timed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gpubench_driver::sys::{self, CUDA_ERROR_NOT_READY, CUstream};
use gpubench_driver::{DriverCall, Enqueued};

use crate::devices::cuda::driver::event::Event;
use crate::devices::cuda::driver::{CallError, check};
use gpubench_records::failure::{Failure, Stage};

/// The longest time after one stream has ended during which another, which ended before it, may still report busy.
const GRACE: Duration = Duration::from_micros(50);

/// Counts the work that was not captured, for each stream but `own`. If `waits_count`, leaves out streams that the host
/// has waited for since.
fn others(own: CUstream, calls: &[DriverCall], waits_count: bool) -> BTreeMap<u64, usize> {
    let mut streams = BTreeMap::new();
    for call in calls {
        match call {
            DriverCall::Enqueued { work: Enqueued::Allocation, .. } => {}
            DriverCall::Enqueued { stream, captured: false, .. } if *stream != own as u64 => {
                *streams.entry(*stream).or_default() += 1;
            }
            DriverCall::Waited { stream: Some(stream), .. } if waits_count => _ = streams.remove(stream),
            DriverCall::Waited { stream: None, .. } if waits_count => streams.clear(),
            _ => {}
        }
    }
    streams
}

/// Counts the work of a launch captured on `own` that went elsewhere and was not waited for: no graph contains it.
pub(crate) fn escaped(own: CUstream, calls: &[DriverCall]) -> usize {
    others(own, calls, true).into_values().sum()
}

/// Returns true if work of a launch captured on `own` ran at once, even if the host waited for it.
pub(crate) fn some_at_once(own: CUstream, calls: &[DriverCall]) -> bool {
    !others(own, calls, false).is_empty()
}

/// Waits for `own`, as the second event of a launch would, and counts the other streams on which work of this launch is
/// still running.
pub(crate) fn still_running(own: CUstream, calls: &[DriverCall]) -> Result<usize, CallError> {
    let others = others(own, calls, false);
    if others.is_empty() {
        return Ok(0);
    }
    let stop = Event::new()?;
    stop.record(own)?;
    stop.wait()?;
    let destroyed = |stream: u64| calls.contains(&DriverCall::Destroyed(stream));
    let mut running = 0;
    for stream in others.into_keys().filter(|stream| !destroyed(*stream)) {
        running += usize::from(goes_on(stream as CUstream)?);
    }
    Ok(running)
}

/// Returns true if a stream has work left, and is still busy once its end would have been reported.
fn goes_on(stream: CUstream) -> Result<bool, CallError> {
    let begin = Instant::now();
    loop {
        // SAFETY: the launch has just used the stream, and not destroyed it.
        match unsafe { sys::cuStreamQuery(stream) } {
            CUDA_ERROR_NOT_READY if begin.elapsed() > GRACE => return Ok(true),
            CUDA_ERROR_NOT_READY => {}
            result => return check(result).map(|()| false),
        }
    }
}

/// Returns true if a launch put anything on `own`, or on the NULL stream, which `own` may wait for.
pub(crate) fn some_here(own: CUstream, calls: &[DriverCall]) -> bool {
    let here = |it: &DriverCall| matches!(it, DriverCall::Enqueued { stream, .. } if [own as u64, 0].contains(stream));
    calls.iter().any(here)
}

/// Returns the failure of a launch without any work on its stream: there is nothing to time.
pub(crate) fn no_work() -> Failure {
    let message = "no work on its stream: the launch enqueued nothing on the stream that it was given";
    Failure::new(Stage::Launch, message)
}

/// Returns the failure of a launch with work elsewhere; `seen` describes that work.
pub(crate) fn work_elsewhere(seen: &str) -> Failure {
    let remedy = "put it on the given stream, or have that wait for it (an event, cuStreamWaitEvent)";
    Failure::new(
        Stage::Launch,
        format_args!("work elsewhere: {seen}, so that not all of its time would be measured: {remedy}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(stream: u64, captured: bool) -> DriverCall {
        DriverCall::Enqueued { stream, captured, work: Enqueued::Memset(1) }
    }

    fn waited(stream: Option<u64>) -> DriverCall {
        DriverCall::Waited { stream, call: "cuStreamSynchronize" }
    }

    #[test]
    fn what_no_graph_has_and_nobody_waits_for_has_escaped() {
        let own = 7 as CUstream;
        // Captured together with the own stream, or on it.
        assert_eq!(escaped(own, &[on(7, true), on(8, true), on(7, false)]), 0);
        assert_eq!(escaped(own, &[on(7, true), on(8, false), on(9, false), on(9, false)]), 3);
        let waits = [on(8, false), on(9, false), waited(Some(8)), on(9, false)];
        assert_eq!((escaped(own, &waits), some_at_once(own, &waits)), (2, true));
        let waits = [on(8, false), waited(None), DriverCall::Destroyed(8)];
        assert_eq!((escaped(own, &waits), some_at_once(own, &waits)), (0, true));
        assert!(!some_at_once(own, &[on(7, true), waited(None)]));
        assert!(some_here(own, &[on(0, false)]) && !some_here(own, &[on(8, true), waited(Some(7))]));
    }
}
