//! The method of a measurement: warm-up, groups of samples, the stop policy. Judges nothing.

pub(crate) mod calibration;
mod checked;
mod energy;
pub(crate) mod group;
mod group_size;
mod interleaving;
pub(crate) mod marginal;
mod path;
mod recorded_path;
pub(crate) mod relocation;
mod sampler;
mod sampling_loop;
mod stop_policy;
#[cfg(test)]
mod tests;
mod warm_up;
mod watch;

use std::time::Instant;

use self::checked::{CheckedGroups, correct_by_second_clock, count_interrupted, split_interrupted};
use crate::device::{Monitor, Sampler};
use crate::method::watch::{ClockReadings, SensorWatch};
use crate::method::{group_size::GroupSize, sampling_loop::SampleCollector};
use gpubench_records::{ClockFaults, Failure, Path, Samples, Sampling, Stage, Step, samples};
use gpubench_stats::{Nanoseconds, SMALLEST_SAMPLE, median};

pub use self::calibration::{median_time, time_once, timer};
pub(crate) use self::energy::measure_energy;
pub use self::group::AnyWork;
pub use self::interleaving::{RoundLayout, Rounds, compare};
pub use self::sampler::{Chosen, pair_sampler, sampler};
pub use crate::method::sampler::choose_flush;

/// The number of launches that validate a case, in addition to its warm-up and its samples: the checked
/// launch, and two launches on fresh inputs. Sampling leaves time for this many launches.
pub(crate) const VALIDATION_LAUNCHES: usize = 3;

/// Launches longer than this (10 ms) are steady from the first launch on, since the extra cost of a first
/// launch is negligible. The errors of events and the gaps between kernels are negligible too, so their time
/// on a stream is not measured.
pub(crate) const LONG_LAUNCH: Nanoseconds = Nanoseconds::from_seconds(0.01);

/// Launches shorter than this (5 µs) are also timed back-to-back, as a cross-check.
const SHORT_LAUNCH: Nanoseconds = Nanoseconds(5000.0);

/// Warms up and samples one case until the result is precise enough or the budget is spent. The budget is
/// `max_time` of `sampling`, compared with the device time or the host time of all launches, whichever is
/// more. If a launch is so long that the budget has no time for samples, the last group of the warm-up serves
/// as the samples. Sampling ends before `deadline`, with time left for the launches that validate them.
///
/// A thread reads the sensors of `monitor` meanwhile. Calls `report_step` at each step.
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
    let watch = monitor.map(SensorWatch::start);
    let mut size = GroupSize::with_budget(sampling.max_time);
    let mut warming = ClockReadings::default();
    let warmed = warm_up::warm_up(sampler, &mut checked, asked, &mut size, &mut warming, report_step)?;
    let mut warm_up = warmed.warm_up;
    let launch = warmed.last.as_ref().and_then(|last| median(&last.events)).unwrap_or_default();
    let others = VALIDATION_LAUNCHES as f64 * launch;
    let mut limit = sampling.max_time - warmed.beyond - others;
    let no_time =
        size.size_within(limit) == 0 && !size.samples_fit_within(SMALLEST_SAMPLE, sampling.extended_max_time);
    let warm_up_group_as_result = warmed.last.filter(|_| sampling.samples.is_none() && no_time);
    let mut taken = match warm_up_group_as_result {
        Some(last) => {
            warm_up.launches -= last.cost.samples;
            warm_up.elapsed = warm_up.elapsed - last.cost.device;
            SampleCollector::from_warm_up_group(last, std::mem::take(&mut warming), sampling)
        }
        None => {
            // Launches on the host need the usual number of samples, however long they are.
            size.begin_samples(if sampler.method().path == Path::Host { Nanoseconds::ZERO } else { launch });
            checked.timer = sampler.begin(checked.timer)?;
            loop {
                let taken = SampleCollector::take_samples(
                    sampler,
                    &mut checked,
                    sampling,
                    (limit, deadline),
                    &mut size,
                    report_step,
                )?;
                let spent = taken.spent();
                if !taken.is_still_warm_up(sampling)
                    || warm_up.elapsed + spent > warm_up::longest_warm_up(asked)
                {
                    break taken;
                }
                warm_up.launches += taken.events.len();
                warm_up.elapsed += spent;
                limit = limit - spent;
                warming.extend(&taken.clocks);
                sampler.restart()?;
            }
        }
    };
    // Ends the waits that are under way, so that they count.
    let processor_wait = sampler.processor_wait();
    let marks = sampler.interrupted();
    let (events, interrupted, interrupted_events) = match split_interrupted(&taken.events, marks) {
        Some([undisturbed, interrupted]) => (undisturbed, interrupted, 0),
        None => {
            let among = count_interrupted(taken.events.len(), marks);
            (taken.events, Vec::new(), among)
        }
    };
    let conditions = watch.and_then(|watch| watch.into_conditions(taken.begin, taken.end, taken.groups));
    report_step(Step::Afterwards(events.len()));
    let method = sampler.method();
    let is_number = |time: &Nanoseconds| time.is_finite();
    let stall = match taken.last_check {
        Some((samples, stall)) if samples == events.len() => stall,
        _ => samples::stall(&events, &taken.starts, &taken.overheads, checked.timer),
    };
    let biases = &taken.second_clock_bias_per_group;
    let correction = correct_by_second_clock(biases, &mut taken.overheads, &mut checked.timer);
    let time = samples::summary(&events, &taken.starts, &taken.overheads, checked.timer, stall.as_ref());
    let time = time.ok_or_else(|| no_samples_failure(checked.faults()))?;
    // The time according to events, without the second clock.
    let cross_check = correction.map(|bias| time.median + bias);
    let other = sampler.other_times(time.median)?;
    Ok(Samples {
        method,
        timer: checked.timer,
        warm_up,
        conditions,
        device_clock: taken.clocks.summarize_after(&warming),
        clock_faults: checked.faults(),
        groups: taken.groups,
        relocations: taken.relocations,
        interleaved: false,
        processor_wait,
        device_time: taken.elapsed,
        wall_time: (taken.end - taken.begin).into(),
        converged: taken.converged,
        time,
        dram_stall: stall,
        back_to_back: other.back_to_back.filter(is_number),
        stream_time: other.stream.filter(is_number),
        host_call_time: other.host_call.filter(is_number),
        prequeued_time: other.prequeued.filter(is_number),
        cross_check: cross_check.filter(is_number),
        correction,
        start_intervals: start_intervals(&taken.starts),
        event_times: events,
        interrupted_times: interrupted,
        interrupted_count: interrupted_events,
        overheads: taken.overheads,
    })
}

/// Returns for each sample the time since the start of the previous sample; 0 for the first sample. Empty
/// without starts.
fn start_intervals(starts: &[Nanoseconds]) -> Vec<Nanoseconds> {
    let previous = starts.first().into_iter().chain(starts);
    starts.iter().zip(previous).map(|(start, previous)| *start - *previous).collect()
}

/// Returns the failure of a case without samples. If the clock had `faults`, the failure names them.
fn no_samples_failure(faults: Option<ClockFaults>) -> Failure {
    match faults {
        Some(faults) => Failure::new(Stage::Sampling, format_args!("broken clock: {faults}")),
        None => Failure::new(Stage::Sampling, "took no samples"),
    }
}
