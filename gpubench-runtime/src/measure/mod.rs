//! The method of a measurement: warm-up, groups of samples, the stop policy. Judges nothing.

mod budget;
mod checked;
mod clock;
mod energy;
mod groups;
mod interleaving;
mod interrupted;
mod relocation;
mod sampling_loop;
mod second_clock;
mod stop_policy;
#[cfg(test)]
mod tests;
mod warm_up;
mod watch;

use std::time::Instant;

use crate::device::{Monitor, Sampler};
use gpubench_records::{ClockFaults, Failure, Samples, Sampling, Stage, Step, samples};
use gpubench_stats::{Nanoseconds, SMALLEST_SAMPLE};

use self::checked::CheckedGroups;
use self::clock::ClockReadings;

pub(crate) use self::energy::energy;
use self::groups::GroupSize;
pub use self::interleaving::{Placement, Rounds, compare};
use self::sampling_loop::TakenSamples;
use self::watch::Watch;

/// The launches of a case besides its warm-up and its samples: the checked one, and two on fresh inputs.
pub(crate) const LAUNCHES_BESIDE: usize = 3;

/// A launch that takes longer is steady from the first one on: what a first launch pays for is small beside it. Events and gaps between
/// kernels are too, so that nothing else is timed.
pub(crate) const LONG: Nanoseconds = Nanoseconds::from_seconds(0.01);

/// A launch shorter than this is also timed back-to-back.
const SHORT: Nanoseconds = Nanoseconds(5000.0);

/// Samples one case while `monitor` is read, until the result is precise enough or the budget is spent: `max_time` of
/// `sampling`, by the device's clock or by this machine's, whichever counts more. All launches of the case count. Ends before
/// `deadline`, with room for two launches after the samples. Calls `report_step` at each step.
///
/// # Errors
/// Returns an error if a launch or the device fails, or if its clock gives no times.
pub fn measure(
    sampler: &mut dyn Sampler,
    sampling: &Sampling,
    deadline: Instant,
    monitor: Option<Box<dyn Monitor>>,
    report_step: &mut dyn FnMut(Step),
) -> Result<Samples, Failure> {
    let asked = sampling;
    let sampling = &asked.on(sampler.method().path);
    let mut checked = CheckedGroups::new(sampler)?;
    let watch = monitor.map(Watch::over);
    let mut size = GroupSize::of_budget(sampling.max_time);
    let mut warming = ClockReadings::default();
    let warmed = warm_up::warm_up(sampler, &mut checked, asked, &mut size, &mut warming, report_step)?;
    let mut warm_up = warmed.warm_up;
    let others = LAUNCHES_BESIDE as f64 * warmed.launch_time().unwrap_or_default();
    let mut limit = sampling.max_time - warmed.beyond - others;
    let no_room = size.within(limit) == 0 && !size.fit_within(SMALLEST_SAMPLE, sampling.extended_max_time);
    let only = warmed.last.filter(|_| sampling.samples.is_none() && no_room);
    if only.is_none() {
        checked.timer = sampler.begin(checked.timer)?;
    }
    let taken = match only {
        Some(last) => {
            warm_up.launches -= last.cost.samples;
            warm_up.elapsed = warm_up.elapsed - last.cost.device;
            TakenSamples::of_warm_up(last, std::mem::take(&mut warming), sampling)
        }
        None => loop {
            let taken = TakenSamples::take(
                sampler,
                &mut checked,
                sampling,
                (limit, deadline),
                &mut size,
                report_step,
            )?;
            let spent = taken.spent();
            if !taken.were_warm_up(sampling) || warm_up.elapsed + spent > warm_up::longest(asked) {
                break taken;
            }
            warm_up.launches += taken.events.len();
            warm_up.elapsed += spent;
            limit = limit - spent;
            warming.extend(&taken.clocks);
            sampler.restart()?;
        },
    };
    let TakenSamples {
        begin,
        end,
        events,
        starts,
        mut overheads,
        beyond_overhead,
        groups,
        moves,
        elapsed,
        clocks,
        converged,
        last_look,
        ..
    } = taken;
    // Threads that wait now are known to have waited behind this.
    let waited = sampler.waited();
    let marks = sampler.interrupted();
    let (events, interrupted, interrupted_events) = match interrupted::split(&events, marks) {
        Some([undisturbed, interrupted]) => (undisturbed, interrupted, 0),
        None => {
            let among = interrupted::among(events.len(), marks);
            (events, Vec::new(), among)
        }
    };
    let conditions = watch.and_then(|watch| watch.conditions(begin, end, groups));
    report_step(Step::Afterwards(events.len()));
    let method = sampler.method();
    let is_number = |time: &Nanoseconds| time.is_finite();
    let stall = match last_look {
        Some((samples, stall)) if samples == events.len() => stall,
        _ => samples::stall(&events, &starts, &overheads, checked.timer),
    };
    let correction = second_clock::correct(&beyond_overhead, &mut overheads, &mut checked.timer);
    let time = samples::summary(&events, &starts, &overheads, checked.timer, stall.as_ref());
    let time = time.ok_or_else(|| took_none(checked.faults()))?;
    // The time by events alone.
    let cross_check = correction.map(|by| time.median + by);
    let mut samples = Samples {
        method,
        timer: checked.timer,
        warm_up,
        conditions,
        device_clock: clocks.after(&warming),
        clock_faults: checked.faults(),
        groups,
        relocations: moves,
        interleaved: false,
        processor_wait: waited,
        device_time: elapsed,
        wall_time: (end - begin).into(),
        converged,
        time,
        dram_stall: stall,
        back_to_back: None,
        stream_time: None,
        host_call_time: sampler.call().filter(is_number),
        prequeued_time: None,
        cross_check: cross_check.filter(is_number),
        correction,
        start_intervals: since_last(&starts),
        event_times: events,
        interrupted_times: interrupted,
        interrupted_count: interrupted_events,
        overheads,
    };
    if samples.time.median < SHORT {
        samples.back_to_back = sampler.in_a_row()?.filter(is_number);
    }
    if samples.time.median < LONG {
        samples.prequeued_time = sampler.held()?.filter(is_number);
        samples.stream_time = sampler.on_stream()?.filter(is_number);
    }
    Ok(samples)
}

/// Returns the time from each start to the next, and 0 for the first.
fn since_last(starts: &[Nanoseconds]) -> Vec<Nanoseconds> {
    let before = starts.first().into_iter().chain(starts);
    starts.iter().zip(before).map(|(start, before)| *start - *before).collect()
}

/// Returns the error of a case without samples. Its clock had these faults.
fn took_none(faults: Option<ClockFaults>) -> Failure {
    match faults {
        Some(faults) => Failure::new(Stage::Sampling, format_args!("broken clock: {faults}")),
        None => Failure::new(Stage::Sampling, "took no samples"),
    }
}
