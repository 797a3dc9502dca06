//! The verdict on a result: valid, suspect or invalid, with reasons, from the samples and the declared work of a case or from its failure.

pub mod claims;
pub mod launches;
mod reason;
#[cfg(test)]
pub(crate) mod tests;

use std::{cmp::Reverse, mem};

use crate::limits::{self, ImpossibleSpeed, OVERHEAD_ERROR_PER_PIECE, RELATIVE_AGREEMENT};
use crate::{
    Cache, DeclaredWork, DeviceClock, DeviceInfo, Measurement, Method, Samples, SensorRange,
    metrics::resolved,
};
use gpubench_stats::{Hertz, Nanoseconds, SMALLEST_SAMPLE, units::Range};

pub use self::launches::missing_work;
pub use self::reason::Reason;

gpubench_stats::stored! {
    /// The verdict on a result.
    #[non_exhaustive]
    pub struct Verdict {
        /// The worst state of all reasons; valid without reasons.
        pub state: State,
        /// The reasons why the result is suspect or invalid, and remarks on a valid one.
        pub reasons: Vec<Reason>,
    }

    /// The states of a result, from good to bad.
    #[derive(Copy, Eq, PartialOrd, Ord)]
    pub enum State {
        /// The time can be relied on.
        Valid,
        /// The time was measured, with a reservation.
        Suspect,
        /// There is no time, or none that may be used.
        Invalid,
    }
}

impl Verdict {
    /// Returns the verdict with these reasons, the worst first, whose state is that of the worst reason.
    pub fn of(mut reasons: Vec<Reason>) -> Self {
        gpubench_stats::sort_by_key(&mut reasons, |reason| Reverse(reason.state()));
        let state = reasons.first().map_or(State::Valid, Reason::state);
        Self { state, reasons }
    }

    /// Adds these reasons and updates the state. Without new reasons the state does not change.
    #[doc(hidden)]
    pub fn add(&mut self, reasons: impl IntoIterator<Item = Reason>) {
        let before = self.reasons.len();
        self.reasons.extend(reasons);
        if self.reasons.len() > before {
            *self = Self::of(mem::take(&mut self.reasons));
        }
    }

    /// Judges the declared work of `measured`, sampled in this cache state, by its samples and its checked launch. Replaces earlier reasons
    /// about declared work.
    #[doc(hidden)]
    pub fn judge_declared_work(&mut self, measured: &Measurement, cache: Cache, info: &DeviceInfo) {
        self.reasons.retain(|it| !matches!(it, Reason::NothingWritten { .. } | Reason::TrafficTooHigh(_)));
        let is = |wanted: fn(&Reason) -> bool| self.reasons.iter().any(wanted);
        if is(|reason| matches!(reason, Reason::BrokenClock(_))) {
            return;
        }
        let is_known = is(|reason| matches!(reason, Reason::ImpossibleSpeed(_)));
        let claim = measured.declared_work(cache);
        if let Some(reason) = impossible_speed(&measured.samples, &claim, info).filter(|_| !is_known) {
            self.reasons.retain(|reason| !reason.is_about_time_accuracy());
            self.reasons.insert(0, reason);
        }
        self.reasons.extend(claims::contradicted(&claim, &measured.launch));
        *self = Self::of(mem::take(&mut self.reasons));
    }
}

/// The largest relative half-width of the median's interval for a valid result, unless the user asks for less precision. The stop rule requires a
/// tenth of this; the limit is for results whose number of samples the user set.
pub const WIDEST: f64 = 0.05;

/// Returns the verdict on the samples of a launch with this declared work (`claim`) on the device `info`. `wanted` is the relative half-width
/// that sampling should reach.
pub fn judge(samples: &Samples, wanted: f64, claim: &DeclaredWork<'_>, info: &DeviceInfo) -> Verdict {
    if let Some(faults) = samples.clock_faults {
        return Verdict::of(vec![Reason::BrokenClock(faults)]);
    }
    let step = samples.timer.resolution;
    let resolution =
        (!resolved(samples.time.median, step)).then_some(Reason::BelowResolution { resolution: step });
    if let Some(reason) = impossible_speed(samples, claim, info) {
        // The precision of a time that must not be used does not matter.
        let reasons = [Some(reason), resolution];
        return Verdict::of(reasons.into_iter().flatten().collect());
    }
    let mut reasons: Vec<_> = resolution.or_else(|| imprecise_median(samples, wanted)).into_iter().collect();
    reasons.extend(interrupted_samples(samples));
    let Method { flush, flush_verification, .. } = samples.method;
    let fails = flush_verification.is_some_and(|proof| !proof.evicts_cache());
    reasons.extend(fails.then_some(Reason::FlushNotVerified { flush }));
    // On a shared processor other programs cause drifts and modes. Those within the width of a valid result do not matter.
    let least = if samples.shares_processors() { WIDEST } else { 0.0 };
    reasons.extend(samples.drift().filter(|drift| drift.change.abs() > least).map(Reason::Drift));
    reasons
        .extend(samples.modes().filter(|modes| modes.high / modes.low - 1.0 > least).map(Reason::TwoModes));
    let during = samples.conditions.as_ref().map(|conditions| &conditions.during);
    reasons.extend(clocks_fell(during, samples.device_clock.as_ref(), info.clock()));
    reasons.extend(during.and_then(other_processes));
    Verdict::of(reasons)
}

/// Returns the reason against a launch that does its declared work faster than the device can, even in the
/// longest time that the launch can have taken. The reason states the median.
fn impossible_speed(samples: &Samples, claim: &DeclaredWork<'_>, info: &DeviceInfo) -> Option<Reason> {
    let speed = limits::violated_limit(claim, limits::longest_possible_time(samples, claim.cold), info)?;
    Some(Reason::ImpossibleSpeed(ImpossibleSpeed { time: samples.time.median, ..speed }))
}

/// The launches of a case with the fewest samples that have an interval: the checked one, the warm-up, the
/// samples, and two on fresh inputs.
const LAUNCHES_OF_SMALLEST_CASE: f64 = (SMALLEST_SAMPLE + 4) as f64;

/// Returns the reservation about the precision of a median: too few samples, not converged within the time budget, or a wide interval. An
/// interval of up to two steps of the timer, or twice the resolution of averages, is never too wide.
///
/// If launches share processors with other programs, more time may not narrow the interval: a result that has not converged is then
/// accepted if its interval is narrow enough for a valid result.
fn imprecise_median(samples: &Samples, wanted: f64) -> Option<Reason> {
    let time = &samples.time;
    let (reached, limit) = (time.relative_half_width(), wanted.max(WIDEST));
    if time.samples < SMALLEST_SAMPLE {
        // Flushes, resets and waits take time too.
        let each = samples.wall_time.max(samples.device_time) / time.samples.max(1) as f64;
        let budget = (!samples.converged).then(|| LAUNCHES_OF_SMALLEST_CASE * each.max(time.median));
        return Some(Reason::TooFewSamples { samples: time.samples, needed: SMALLEST_SAMPLE, budget });
    }
    if !samples.converged {
        let excused = reached <= limit && samples.shares_processors();
        (!excused).then_some(Reason::NotConverged { reached, requested: wanted })
    } else {
        let limit = limit.max(2.0 * samples.timer.effective_resolution() / time.median);
        (reached > limit).then_some(Reason::WideInterval { reached, limit })
    }
}

/// Returns the reservation about samples that other programs interrupted and that could not be left out.
fn interrupted_samples(samples: &Samples) -> Option<Reason> {
    let interrupted = samples.interrupted_count;
    (interrupted > 0).then_some(Reason::Interrupted { interrupted, samples: samples.event_times.len() })
}

/// The least difference up to which the times of one launch on two clocks agree; launches of several kernels and long
/// launches may differ by more. On an H100, events and the GPU's own clock differ by up to 0.37 µs, which depends on
/// the launch's grid.
const CLOCKS_AGREE: Nanoseconds = Nanoseconds(500.0);

/// Returns the reservation about a time that the second clock does not confirm; `None` if it does, or without a second clock.
pub fn methods_disagree(samples: &Samples) -> Option<Reason> {
    let (time, cross_check) = (samples.time.median, samples.cross_check?);
    let Method { kernel_count, operations, .. } = &samples.method;
    let further = operations.or(*kernel_count).unwrap_or_default().saturating_sub(1);
    let agreed = (CLOCKS_AGREE + OVERHEAD_ERROR_PER_PIECE * further as f64).max(RELATIVE_AGREEMENT * time);
    (samples.cross_check_difference()? > agreed).then_some(Reason::MethodsDisagree { time, cross_check })
}

/// The fraction of its highest value by which a clock may fall and still count as steady. If it falls further, the result is suspect.
const CLOCK_FALL_TOLERANCE: f64 = 0.03;

/// Returns the reservation about a clock that fell or was throttled during sampling. `counted` is the clock according to the device's own
/// counters, which are read after each group and preferred to the `sensors`. A fall is measured from the highest clock of the warm-up, where
/// a launch that draws too much power already lowers it. Sensors report a throttle reason for a while after it has ended, so that it counts only if
/// the clock is below the `rated` one, or if that is unknown.
fn clocks_fell(
    sensors: Option<&SensorRange>,
    counted: Option<&DeviceClock>,
    rated: Option<Hertz>,
) -> Option<Reason> {
    let slowed_by = sensors.map_or(&[][..], |span| &span.throttle_reasons);
    let own = counted.map(|clock| {
        let high = clock.before.map_or(Hertz(0), |before| before.high).max(clock.during.high);
        Range { high, ..clock.during }
    });
    let clock = own.or_else(|| sensors?.sm_clock)?;
    let is_below = |clock: Hertz, high: Hertz| clock.as_f64() < (1.0 - CLOCK_FALL_TOLERANCE) * high.as_f64();
    let is_low = rated.is_none_or(|rated| counted.is_none() || is_below(clock.low, rated));
    let held_down = !slowed_by.is_empty() && is_low;
    let fell = is_below(clock.low, clock.high);
    (fell || held_down).then(|| Reason::ClocksFell { clock, throttle_reasons: slowed_by.to_vec() })
}

/// Returns the reservation about other processes while samples were taken.
fn other_processes(sensors: &SensorRange) -> Option<Reason> {
    let count = sensors.other_processes.filter(|others| *others > 0)?;
    Some(Reason::OtherProcesses { count })
}
