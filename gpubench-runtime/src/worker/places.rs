//! The places of a case's inputs, once its samples are taken. In: a case whose inputs may lie elsewhere; out: what else is measured of it,
//! over several places too, since where inputs lie moves a time.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use super::prepared::{Launches, PreparedCase, launch};
use crate::device::{Device, TraceOptions, Work};
use crate::measure::Placement;
use gpubench_records::facts::Facts;
use gpubench_records::failure::Failure;
use gpubench_records::method::Cache;
use gpubench_records::record::Measurement;
use gpubench_records::samples::Samples;
use gpubench_stats::median;
use gpubench_stats::units::{Bytes, Nanoseconds};

/// Inputs that take longer to make stay where they are.
const QUICK: Duration = Duration::from_millis(50);
/// So do inputs in more memory than this. An H200's driver clears memory that was freed, 0.5 GiB in a millisecond, and launches of a gigabyte
/// take 12 % longer meanwhile.
const MOST: Bytes = Bytes(320 << 20);
/// The places at which the second method times a launch whose inputs were moved.
const PLACES: usize = 4;

/// Returns true if the inputs of a case may be made anew between its groups. Those of a launch that builds on what the one before left
/// would be others each time.
pub(super) fn may_move(cache: Cache, prepared: &PreparedCase, accumulates: bool, facts: &Facts) -> bool {
    // A simulated device is the same on a slow machine.
    let quick = facts.fake || prepared.set_up <= QUICK;
    let little = prepared.seen.written.as_ref().is_some_and(|written| written.looked_at <= MOST);
    cache == Cache::Hot && quick && little && !accumulates
}

/// Puts the first inputs in the place of others.
pub(super) fn take_back(launches: &mut Launches<'_>, device: &mut dyn Device) {
    launches.take_back();
    // Inputs that were dropped may have left another device current.
    _ = device.make_current();
}

/// Times a case by the second method: at several places if its inputs were moved while these samples were taken. Returns the median; nothing where
/// it is not available.
///
/// # Errors
/// Returns the launch's own error, or the error that occurred on the device.
pub(super) fn marginal(
    launches: &mut Launches<'_>,
    device: &mut dyn Device,
    cache: Cache,
    samples: &Samples,
) -> Result<Option<Nanoseconds>, Failure> {
    let mut times = Vec::new();
    let mut places = drawn::<{ PLACES - 1 }>().into_iter();
    while let Some(time) = device.marginal(launches, cache, samples.method.flush)? {
        times.push(time);
        let next = places.next().filter(|_| samples.moves > 0);
        if !next.is_some_and(|place| launches.move_inputs(&mut || device.displace(place))) {
            break;
        }
        device.make_current()?;
        launch(launches.0, device)?;
    }
    Ok(median(&times))
}

/// Returns the options by which the launches of a case are traced as they were sampled.
pub(super) fn trace_options(cache: Cache, measured: &Measurement) -> TraceOptions {
    let Samples { method, moves, .. } = &measured.samples;
    let places = (*moves > 0).then(drawn);
    TraceOptions { cache, flush: method.flush, time: measured.median(), places }
}

/// Draws places at random.
fn drawn<const N: usize>() -> [u64; N] {
    let seed = RandomState::new().hash_one(0);
    // Each pair of rounds has a place of its own.
    std::array::from_fn(|number| Placement::of(2 * number, seed).place)
}
