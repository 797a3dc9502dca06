//! The warm-up: runs a case until its times are steady. It goes by time, since clocks, caches and thread pools need
//! time; it counts launches only if the user asks for a number. In: a sampler; out: the time it took, and true if the
//! case became steady.

use std::time::Instant;

use crate::device::Sampler;
use gpubench_records::failure::{Failure, Step};
use gpubench_records::method::Timer;
use gpubench_records::samples::WarmUp;
use gpubench_records::sampling::Sampling;
use gpubench_stats as stats;
use gpubench_stats::units::Nanoseconds;

use super::budget::Budget;
use super::checked::{CheckedGroups, Group};
use super::clock::ClockReadings;
use super::groups::GroupSize;

/// Successive groups agree when their medians differ by no more than this fraction.
const AGREEMENT: f64 = 0.01;
/// A case that is still not steady after this many times the wanted warm-up is measured all the same.
const PATIENCE: f64 = 5.0;
/// A warm-up may take so long in any case, beside the budget of the samples.
const ITS_OWN: Nanoseconds = Nanoseconds::from_seconds(1.0);

/// A warm-up that is over.
pub(super) struct WarmedUp {
    pub(super) warm_up: WarmUp,
    /// The time that it took beyond its own, which is missing from that of the samples.
    pub(super) overdrawn: Nanoseconds,
    /// Its last group, if there was one: when it began, and its event times.
    pub(super) last: Option<(Instant, Group, Vec<Nanoseconds>)>,
}

/// Warms up for the time asked for, and longer until the case is steady; or with the number of launches asked for.
pub(super) fn warm_up(
    sampler: &mut dyn Sampler,
    (timer, checked): (Timer, &mut CheckedGroups),
    sampling: &Sampling,
    size: &mut GroupSize,
    clocks: &mut ClockReadings,
    report_step: &mut dyn FnMut(Step),
) -> Result<WarmedUp, Failure> {
    let mut warm_up = WarmUp { launches: 0, elapsed: Nanoseconds(0.0), steady: false };
    let mut budget = Budget::of(PATIENCE * sampling.warm_up, timer);
    let mut median: Option<Nanoseconds> = None;
    let mut last: Option<(Instant, Group, Vec<Nanoseconds>)> = None;
    loop {
        let wanted = match sampling.warm_up_launches {
            Some(launches) => size.next().min(launches.saturating_sub(warm_up.launches)),
            None if warm_up.steady && budget.spent() >= sampling.warm_up => 0,
            None if budget.left() <= Nanoseconds::ZERO => 0,
            None => size.within(budget.left()),
        };
        if wanted == 0 {
            let own = match sampling.warm_up_launches {
                Some(_) => budget.spent(),
                None => ITS_OWN.max(PATIENCE * sampling.warm_up),
            };
            let overdrawn = (budget.spent() - own).max(Nanoseconds::ZERO);
            return Ok(WarmedUp { warm_up, overdrawn, last });
        }
        let mut events = last.take().map(|(.., events)| events).unwrap_or_default();
        events.clear();
        report_step(Step::WarmUp(warm_up.launches));
        let begin = Instant::now();
        let group = checked.take(sampler, wanted, &mut events)?;
        clocks.read(sampler, warm_up.launches + group.samples, warm_up.elapsed);
        size.learn(&group);
        budget.pay(&group);
        warm_up.launches += group.samples;
        warm_up.elapsed += group.device;
        let before = std::mem::replace(&mut median, stats::median(&events));
        warm_up.steady = match (before, median) {
            (Some(before), Some(median)) => (median - before).abs() <= (AGREEMENT * median).max(timer.step),
            _ => false,
        };
        last = Some((begin, group, events));
    }
}
