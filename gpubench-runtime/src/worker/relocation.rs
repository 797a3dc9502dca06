//! Decides whether the inputs of a case are relocated between samples, since a time depends on where inputs lie.

use std::time::Duration;

use super::prepared::{Launches, PreparedCase};
use crate::device::{Device, TraceOptions, Work};
use crate::measure::Placement;
use gpubench_records::device_info::DeviceInfo;
use gpubench_records::method::Cache;
use gpubench_records::record::Measurement;
use gpubench_records::samples::Samples;
use gpubench_stats::units::Bytes;

/// Inputs are not made anew if making them and launching on them took longer the first time, which contains compiling and loading.
const QUICK: Duration = Duration::from_millis(100);
/// The same for a simulated device, whose time does not depend on this machine: a slow machine alone takes less than this.
const QUICK_SIMULATED: Duration = Duration::from_millis(300);
/// Inputs in more memory than this stay. An H200's driver clears memory that was freed, 0.5 GiB in a millisecond, and launches of a gigabyte
/// take 12 % longer meanwhile.
const MOST: Bytes = Bytes(320 << 20);

/// Returns true if the inputs of a case may be relocated between its groups. A launch that builds on the outputs of the one before
/// would get other inputs each time; of a launch that was not observed, as in a race, the amount of memory is unknown.
pub(super) fn may_move(cache: Cache, prepared: &PreparedCase, accumulates: bool, info: &DeviceInfo) -> bool {
    let quick = prepared.first_launch + prepared.set_up <= if info.fake { QUICK_SIMULATED } else { QUICK };
    let little = prepared.seen.written.as_ref().is_some_and(|written| written.examined <= MOST);
    cache == Cache::Hot && quick && little && !accumulates
}

/// Puts the first inputs in the place of others.
pub(super) fn restore_inputs(launches: &mut Launches<'_>, device: &mut dyn Device) {
    launches.restore_inputs();
    // Inputs that were dropped may have left another device current.
    _ = device.make_current();
}

/// Returns the options by which the launches of a case are traced as they were sampled.
pub(super) fn trace_options(cache: Cache, measured: &Measurement) -> TraceOptions {
    let samples = &measured.samples;
    let places = (samples.relocations > 0).then(|| drawn(samples));
    TraceOptions { cache, flush: samples.method.flush, time: measured.median(), places }
}

/// Draws places at random.
fn drawn<const N: usize>(samples: &Samples) -> [u64; N] {
    let seed = Placement::seed(samples.timer.simulated);
    std::array::from_fn(|number| Placement::place(number, seed))
}
