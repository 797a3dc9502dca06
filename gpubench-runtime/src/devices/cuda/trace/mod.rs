//! Launches as CUPTI traces them, enqueued on the stream as an application does. In: a launch and the state of the cache; out: the
//! begin and the end of its work by CUPTI's clock. Whatever is not as it was enqueued makes a group fail, so that a lost record or a
//! broken stamp becomes no time.

mod launches;
mod pass;
mod path;
mod profile;
mod slowdown;

use std::time::Duration;

use gpubench_driver::cupti::{self, Activity, Tracing};
use gpubench_driver::{Piece, sys};

pub(crate) use self::launches::TracedLaunch;
pub(crate) use self::pass::pass;
pub(crate) use self::path::OnCupti;
pub(crate) use self::profile::profile;

use self::launches::Expected;
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
pub(crate) const LONGEST: usize = 32;

/// Begins to trace this process.
pub(crate) fn begin() -> Result<Tracing, Failure> {
    let failed = |error: &cupti::CuptiError| Failure::new(Stage::Sampling, error);
    let cupti = cupti::load().map_err(failed)?;
    cupti.trace().map_err(|error| failed(&error))
}

/// Launches `count` times, at most [`LONGEST`] times, each between two events of a pair where there is one for it, and waits for all.
///
/// Before each launch goes a delay of the GPU, whose record separates it from the one before; then the flush if it is cold. Before a
/// hot group goes one launch that does not count.
fn launch(
    device: &Cuda,
    work: &mut Guarded<'_>,
    (cache, flush): (Cache, Flush),
    count: usize,
    pairs: &[EventPair],
) -> Result<(), Failure> {
    let stream = device.stream;
    let kernels = &device.kernels;
    let hot = cache == Cache::Hot;
    let mark = |pause| kernels.delay(pause, stream);
    mark(HOLD)?;
    if hot {
        work.launch()?;
    }
    for number in 0..count {
        if work.resets() {
            mark(Duration::ZERO)?;
            work.reset()?;
        }
        mark(if hot { SPACE } else { Duration::ZERO })?;
        device.flusher.enqueue(flush, kernels, stream)?;
        let pair = pairs.get(number);
        pair.map_or(Ok(()), |pair| pair.start.record(stream))?;
        work.launch()?;
        pair.map_or(Ok(()), |pair| pair.stop.record(stream))?;
    }
    // SAFETY: waits for the current context, so that work on all of its streams is done and recorded.
    Ok(check(unsafe { sys::cuCtxSynchronize() })?)
}

/// Launches as [`launch`] does, and returns each launch's work as CUPTI saw it: as many `pieces` as are known to be enqueued.
pub(crate) fn group(
    device: &Cuda,
    work: &mut Guarded<'_>,
    how: (Cache, Flush),
    (count, pieces): (usize, Option<usize>),
    (tracing, pairs): (&Tracing, &[EventPair]),
) -> Result<Vec<TracedLaunch>, Failure> {
    launch(device, work, how, count, pairs)?;
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
pub(crate) fn pieces(device: &Cuda) -> Option<usize> {
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
