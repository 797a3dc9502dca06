//! The warm-up: runs a case until its times are steady. It goes by time, since clocks, caches and thread pools need
//! time; it counts launches only if the user asks for a number. In: a sampler; out: the time it took, and true if the
//! case became steady.

use crate::device::Sampler;
use gpubench_records::failure::{Failure, Step};
use gpubench_records::method::Timer;
use gpubench_records::samples::WarmUp;
use gpubench_records::sampling::Sampling;
use gpubench_stats as stats;
use gpubench_stats::units::Nanoseconds;

use super::clock::ClockReadings;
use super::groups::GroupSize;

/// Successive groups agree when their medians differ by no more than this fraction.
const AGREEMENT: f64 = 0.01;
/// A case that is still not steady after this many times the wanted warm-up is measured all the same.
const PATIENCE: f64 = 5.0;

/// Warms up for the time asked for, and longer until the case is steady; or with the number of launches asked for.
pub(super) fn warm_up(
    sampler: &mut dyn Sampler,
    timer: Timer,
    sampling: &Sampling,
    size: &mut GroupSize,
    clocks: &mut ClockReadings,
    report_step: &mut dyn FnMut(Step),
) -> Result<WarmUp, Failure> {
    let mut warm_up = WarmUp { launches: 0, elapsed: Nanoseconds(0.0), steady: false };
    let mut last: Option<Nanoseconds> = None;
    let mut events = Vec::new();
    loop {
        let left = sampling
            .warm_up_launches
            .map_or(usize::MAX, |launches| launches.saturating_sub(warm_up.launches));
        let enough = if warm_up.steady { sampling.warm_up } else { PATIENCE * sampling.warm_up };
        if left == 0 || (sampling.warm_up_launches.is_none() && warm_up.elapsed >= enough) {
            return Ok(warm_up);
        }
        events.clear();
        report_step(Step::WarmUp(warm_up.launches));
        let elapsed = sampler.group(size.next().min(left), &mut events)?;
        clocks.read(sampler, warm_up.launches + events.len(), warm_up.elapsed);
        size.learn(events.len(), elapsed);
        warm_up.launches += events.len();
        warm_up.elapsed += elapsed;
        let median = stats::median(&events);
        warm_up.steady = match (last, median) {
            (Some(last), Some(median)) => (median - last).abs() <= (AGREEMENT * median).max(timer.step),
            _ => false,
        };
        last = median;
    }
}
