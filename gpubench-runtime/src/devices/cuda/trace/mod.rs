//! Launches as CUPTI traces them, enqueued on the stream as an application does. In: a launch and the state of the cache; out: the
//! begin and the end of its work by CUPTI's clock. Whatever is not as it was enqueued makes a group fail, so that a lost record or a
//! broken stamp becomes no time.

mod launches;
mod pass;
mod profile;
mod slowdown;

use std::time::Duration;

use gpubench_driver::cupti::{self, Activity, Tracing};
use gpubench_driver::{Piece, sys};

pub(crate) use self::pass::pass;
pub(crate) use self::profile::profile;

use self::launches::{Expected, TracedLaunch};
use crate::device::Work;
use crate::devices::cuda::Cuda;
use crate::devices::cuda::driver::check;
use crate::devices::cuda::driver::event::EventPair;
use crate::devices::cuda::guarded::Guarded;
use crate::devices::cuda::sampling::samples::SPACE;
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::method::{Cache, Flush};

/// The delay before a group, within which it is enqueued, so that the GPU does not wait for the host within it.
const HOLD: Duration = Duration::from_millis(2);
/// The most launches that are enqueued within that, if their calls take no longer than usual.
const LONGEST: usize = 32;

/// Begins to trace this process.
fn begin() -> Result<Tracing, Failure> {
    let failed = |error: &cupti::CuptiError| Failure::new(Stage::Sampling, error);
    let cupti = cupti::load().map_err(failed)?;
    cupti.trace().map_err(|error| failed(&error))
}

/// Launches `count` times, at most [`LONGEST`] times, and waits for all.
fn launch(device: &Cuda, work: &mut Guarded<'_>, how: (Cache, Flush), count: usize) -> Result<(), Failure> {
    hold(device, work, how.0)?;
    (0..count).try_for_each(|_| enqueue(device, work, how, None))?;
    wait()
}

/// Begins a group: enqueues the delay within which the host enqueues the rest, and before hot launches one of `work` that does not
/// count.
fn hold(device: &Cuda, work: &mut Guarded<'_>, cache: Cache) -> Result<(), Failure> {
    device.kernels.delay(HOLD, device.stream)?;
    if cache == Cache::Hot { work.launch() } else { Ok(()) }
}

/// Enqueues a launch, between two events if there is a pair for it. Before it go a delay of the GPU, whose record separates it from the
/// launch before, and the flush if it is cold.
fn enqueue(
    device: &Cuda,
    work: &mut Guarded<'_>,
    (cache, flush): (Cache, Flush),
    pair: Option<&EventPair>,
) -> Result<(), Failure> {
    let stream = device.stream;
    let kernels = &device.kernels;
    if work.resets() {
        kernels.delay(Duration::ZERO, stream)?;
        work.reset()?;
    }
    kernels.delay(if cache == Cache::Hot { SPACE } else { Duration::ZERO }, stream)?;
    device.flusher.enqueue(flush, kernels, stream)?;
    pair.map_or(Ok(()), |pair| pair.start.record(stream))?;
    work.launch()?;
    Ok(pair.map_or(Ok(()), |pair| pair.stop.record(stream))?)
}

/// Waits until all work is done and recorded.
fn wait() -> Result<(), Failure> {
    // SAFETY: waits for the current context, so that work on all of its streams is done and recorded.
    Ok(check(unsafe { sys::cuCtxSynchronize() })?)
}

/// Launches as [`launch`] does, and returns each launch's work as CUPTI saw it: as many `pieces` as are known to be enqueued.
fn group(
    device: &Cuda,
    work: &mut Guarded<'_>,
    how: (Cache, Flush),
    (count, pieces): (usize, Option<usize>),
    tracing: &Tracing,
) -> Result<Vec<TracedLaunch>, Failure> {
    launch(device, work, how, count)?;
    let records: Vec<Activity> = tracing.take().map_err(|error| Failure::new(Stage::Sampling, error))?;
    let expected = Expected {
        launches: count,
        marks: if work.resets() { 2 } else { 1 },
        flush: device.flusher.pieces(how.1),
        pieces,
    };
    let launches = launches::of(records, &expected);
    launches.map_err(|why| Failure::new(Stage::Sampling, format_args!("CUPTI: {why}")))
}

/// The pieces of a launch that CUPTI has a record of, as the driver's forwarders saw them enqueued; `None` if that may differ, or if
/// there is none to hold launches against.
fn pieces(device: &Cuda) -> Option<usize> {
    let mut counts = device.checked.iter().map(|work| {
        let count = |(_, piece): &(bool, Piece)| match piece {
            Piece::Kernel { .. } | Piece::Copy(_) | Piece::Memset(_) => Some(1),
            Piece::HostFunction => Some(0),
            Piece::Graph => None,
        };
        work.iter().map(count).sum::<Option<usize>>()
    });
    let first = counts.next()??;
    counts.all(|other| other == Some(first)).then_some(first)
}
