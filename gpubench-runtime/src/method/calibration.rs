//! Calibration of the timer: the resolution of the clock, the empty-span reading, and the overhead subtracted
//! from each event time. Each [`Timer`] is measured once for a mode of launching and a state of the caches,
//! and stored. Also searches for the DRAM stall.
//!
//! A pair of events around a launch reads more than the launch takes: the launch begins some time after the
//! first event, and the second event comes some time after its end. Events around an empty launch read this
//! overhead plus the empty launch. The time of the empty launch itself is the time that one more empty launch
//! adds to a sequence without events in between. Their difference is the overhead. On an H200 it brings the
//! times of nearly all launches within 0.15 µs or 1 % of CUPTI's (`docs/book/accuracy.md`).

use std::{f64::consts::FRAC_PI_2, time::Instant};

use gpubench_records::{Cache, Failure, Flush, Timer};
use gpubench_stats::{
    DramStallPeriod, Hertz, Nanoseconds, interpolated_median, median, spread, standard_error, timer_step,
    variance,
};

use crate::device::{
    Clock, LaunchMode, MarginalEmptyLaunch, OwnLaunch, Queue, QueueProperties, SampledGroup, Work,
};
use crate::method::group::{AnyWork, GroupRunner, record_batch, require_own_launch};
use crate::method::marginal::{DELAYS_PER_SEQUENCE, marginal_empty_launch, time_batch};
use crate::method::{path::SamplingPath, recorded_path::RecordedPath};

/// The number of samples in a calibration group, unless the device limits the time of a calibration.
pub(super) const SAMPLES_PER_GROUP: usize = 64;
/// The number of calibration groups that are discarded before the counted ones. If the device limits the
/// time, one group of the fewest samples is discarded instead.
const WARM_UP_GROUPS: usize = 2;
/// The number of calibration groups that count: this many around nothing, and this many around empty
/// launches. If the device limits the time, there may be fewer, down to [`FEWEST_LIMITED_GROUPS`].
pub(super) const COUNTED_GROUPS: usize = 8;
/// The fewest and the most samples in a calibration group if the device limits the time. The time of a first
/// group of the fewest samples determines the number.
const SAMPLES_PER_LIMITED_GROUP: [usize; 2] = [4, 32];
/// The fewest calibration groups that count, even if the device's time limit is over.
const FEWEST_LIMITED_GROUPS: usize = 3;
/// The number of copies of the empty kernel, each with its code at another address.
const KERNEL_COPIES: usize = 7;
/// The number of groups in which the copies of the empty kernel are interleaved. A copy gets other slots in
/// each group: after [`KERNEL_COPIES`] groups, each copy has had every slot.
const KERNEL_COPY_GROUPS: usize = 2 * KERNEL_COPIES;
/// The part of the standard error that differs from process to process but not between the groups of one
/// process. It comes, for example, from the address of the code, or from inputs that are not relocated.
/// Measured with ten processes on two H200s, with 48 results each: the intervals of the samples alone
/// contained the difference of two processes in 87 % of the pairs, and in 92 % with this error and a
/// [`RELATIVE_PROCESS_ERROR`] of 0.05 %.
const PROCESS_ERROR: Nanoseconds = Nanoseconds(7.5);
/// The part of the standard error between processes that grows with the time of a launch, as a fraction of
/// that time. Measured on H200s in eleven series of three or four processes with 119 results each: the
/// intervals contain the difference of two processes of a series in 93.8 % of 6,366 pairs, and in 89.5 % with
/// 0.05 % instead.
const RELATIVE_PROCESS_ERROR: f64 = 1.2e-3;
/// With a coarse timer, the standard error that all samples share because of rounding, in units of the
/// timer's resolution. It is the error of the time of an empty launch, which is computed from two sequences
/// of [`DELAYS_PER_SEQUENCE`] delays.
const SHARED_ROUNDING_ERROR: f64 = 1.0 / DELAYS_PER_SEQUENCE as f64;
/// The smallest significant difference between two averages of samples, as a fraction of the resolution of a
/// coarse timer. Averages resolve more than single readings.
const AVERAGED_RESOLUTION: f64 = 1.0 / 16.0;

/// Returns the timer for samples in this launch mode and state of the cache: its resolution, overhead and
/// errors. The first call for a mode and state measures the timer with empty launches, and stores it in the
/// calibration of `queue`; later calls return the stored timer.
///
/// # Errors
/// Returns an error if the device fails.
pub fn timer(queue: &mut dyn Queue, mode: LaunchMode, cache: Cache) -> Result<Timer, Failure> {
    if let Some(timer) = queue.calibration().timers.get(&(mode, cache)) {
        return Ok(*timer);
    }
    let QueueProperties { is_coarse, is_simulated, loads_parameters, .. } = queue.properties();
    let nothing = calibration_groups(queue, (mode, cache), Box::new(|| Ok(())))?;
    let empty = require_own_launch(queue, OwnLaunch::Empty(mode, cache))?;
    let launches = calibration_groups(queue, (mode, cache), empty)?;
    let groups = nothing.iter().chain(&launches);
    let step = queue
        .resolution()
        .unwrap_or_else(|| timer_step(groups.flat_map(|group| group.events.iter().chain([&group.elapsed]))));
    let events = |group: &SampledGroup| group.events.clone();
    let [nothing, empty] =
        [&nothing, &launches].map(|groups| groups.iter().flat_map(events).collect::<Vec<_>>());
    let [empty_span, empty_launch] =
        [&nothing, &empty].map(|pairs| interpolated_median(pairs, step).unwrap_or_default());
    let medians: Vec<Nanoseconds> = launches.iter().filter_map(|group| median(&group.events)).collect();
    let MarginalEmptyLaunch { time, error } = marginal_empty_launch(queue)?;
    let of_code = code_address_error(queue, cache, step)?;
    let between_processes = of_code.map(|_| PROCESS_ERROR);
    let rounding = is_coarse.then_some(step * SHARED_ROUNDING_ERROR);
    let errors = [Some(error), of_code, between_processes, rounding];
    let square = |error: Nanoseconds| error.as_f64().powi(2);
    let timer = Timer {
        resolution: step,
        // A clock that is read at once reads nothing, or a part of its resolution less.
        empty_span: if empty_span.abs() < step { empty_span.max(Nanoseconds::ZERO) } else { empty_span },
        empty_launch_time: Some(empty_launch),
        marginal_empty_launch: Some(time),
        reads_parameter: loads_parameters && mode.recorded && cache == Cache::Cold,
        overhead: (empty_launch - time).max(Nanoseconds::ZERO),
        shared_error: Some(Nanoseconds(errors.into_iter().flatten().map(square).sum::<f64>().sqrt())),
        averaged_resolution: is_coarse.then_some(step * AVERAGED_RESOLUTION),
        relative_error: of_code.map(|_| RELATIVE_PROCESS_ERROR),
        empty_launch_spread: spread(&empty),
        group_median_spread: spread(&medians),
        dram_stall_period: queue.calibration().dram_stall,
        simulated: is_simulated,
        timestamp_kernels: mode.clock == Clock::Stamps,
    };
    queue.calibration().timers.insert((mode, cache), timer);
    Ok(timer)
}

/// Measures [`COUNTED_GROUPS`] groups of samples of `work` in the same way as samples of a case, or fewer
/// groups if the device limits the time. Discards warm-up groups. With a `work` that enqueues nothing, the
/// event times are empty-span readings.
fn calibration_groups(
    queue: &mut dyn Queue,
    (mode, cache): (LaunchMode, Cache),
    work: Box<dyn Work>,
) -> Result<Vec<SampledGroup>, Failure> {
    let QueueProperties { calibration_limit, usual_flush, .. } = queue.properties();
    let flush = if cache == Cache::Hot { Flush::None } else { usual_flush };
    let mut path = SamplingPath::new(GroupRunner::alone(queue, AnyWork::Owned(work), mode, cache, flush));
    let begin = Instant::now();
    let pairs = match calibration_limit {
        None => {
            for _ in 0..WARM_UP_GROUPS {
                path.group(SAMPLES_PER_GROUP)?;
            }
            SAMPLES_PER_GROUP
        }
        Some(limit) => {
            let [fewest, most] = SAMPLES_PER_LIMITED_GROUP;
            path.group(fewest)?;
            let of_pair = begin.elapsed().as_secs_f64() / fewest as f64;
            ((limit.as_secs_f64() / COUNTED_GROUPS as f64 / of_pair) as usize).clamp(fewest, most)
        }
    };
    let mut groups = Vec::with_capacity(COUNTED_GROUPS);
    let is_over = || calibration_limit.is_some_and(|limit| begin.elapsed() >= limit);
    while groups.len() < FEWEST_LIMITED_GROUPS || groups.len() < COUNTED_GROUPS && !is_over() {
        groups.push(path.group(pairs)?);
    }
    Ok(groups)
}

/// Measures how much the time of a launch depends on the address of its code, with interleaved copies of the
/// empty kernel, and returns the standard deviation over addresses. On an H200 it is some 20 ns for cold
/// launches, whose code comes from memory too, and 10 ns for hot ones. `step` is the resolution of the timer.
/// Returns `None` if the device has no copies of the kernel.
fn code_address_error(
    queue: &mut dyn Queue,
    cache: Cache,
    step: Nanoseconds,
) -> Result<Option<Nanoseconds>, Failure> {
    let mut copies = Vec::with_capacity(KERNEL_COPIES);
    for _ in 0..KERNEL_COPIES {
        let Some(copy) = queue.own_launch(OwnLaunch::EmptyAtNewAddress(cache))? else { return Ok(None) };
        copies.push(copy);
    }
    let mut next = 0;
    let launch_next = move || {
        next += 1;
        copies[(next - 1) % KERNEL_COPIES].launch()
    };
    let flush = if cache == Cache::Hot { Flush::None } else { queue.properties().usual_flush };
    let launches = AnyWork::Owned(Box::new(launch_next));
    let groups = GroupRunner::alone(queue, launches, LaunchMode::RECORDED, cache, flush);
    let mut path = RecordedPath::new(groups);
    // A launch that is not timed goes before each hot group.
    let untimed = usize::from(cache == Cache::Hot);
    let mut deviations = vec![Vec::new(); KERNEL_COPIES];
    for group in 0..KERNEL_COPY_GROUPS {
        let SampledGroup { events, .. } = path.group(SAMPLES_PER_GROUP)?;
        let middle = median(&events).unwrap_or_default();
        let first = group * (SAMPLES_PER_GROUP + untimed) + untimed;
        for (launch, event) in (first..).zip(events) {
            deviations[launch % KERNEL_COPIES].push(event - middle);
        }
    }
    let middles: Vec<Nanoseconds> =
        deviations.iter().filter_map(|all| interpolated_median(all, step)).collect();
    // The median of normal noise has π/2 times the variance of the mean.
    let noise: f64 = deviations.iter().map(|all| FRAC_PI_2 * standard_error(all).as_f64().powi(2)).sum();
    Ok(Some(Nanoseconds((variance(&middles) - noise / KERNEL_COPIES as f64).max(0.0).sqrt())))
}

/// Returns the median event time of `samples` recorded launches, each after `flush`; 0 without samples.
/// Discards a first group of `samples` launches. With a coarse timer, whose readings must be averaged, takes
/// 16 groups of `samples` launches. Does not subtract the overhead.
///
/// # Errors
/// Returns an error if the device fails.
pub fn median_time(
    queue: &mut dyn Queue,
    work: &mut dyn Work,
    flush: Flush,
    samples: usize,
) -> Result<Nanoseconds, Failure> {
    let cache = if flush == Flush::None { Cache::Hot } else { Cache::Cold };
    let groups = if queue.properties().is_coarse { GROUPS_OF_COARSE_TIMER } else { 1 };
    let work = AnyWork::Borrowed(work);
    let mut path = RecordedPath::new(GroupRunner::alone(queue, work, LaunchMode::RECORDED, cache, flush));
    let mut events = Vec::with_capacity((1 + groups) * samples);
    for _ in 0..=groups {
        events.extend(path.group(samples)?.events);
    }
    let events = &events[samples..];
    let time =
        if groups > 1 { interpolated_median(events, timer_step(events.iter())) } else { median(events) };
    Ok(time.unwrap_or_default())
}

/// Records a reset, a flush and one launch of `work`, runs them, and waits. Returns the event time of the
/// launch, without subtracting the overhead. The output is kept or dropped as the caller last set with
/// [`Work::keep_output`].
///
/// # Errors
/// Returns an error if the launch or the device fails.
pub fn time_once(queue: &mut dyn Queue, work: &mut dyn Work, flush: Flush) -> Result<Nanoseconds, Failure> {
    let batch = record_batch(queue, false, |queue| {
        work.reset()?;
        queue.flush(flush)?;
        queue.start(0, Clock::Events)?;
        work.launch()?;
        queue.stop(0, Clock::Events)
    })?;
    let time = time_batch(queue, &batch);
    queue.release(batch);
    time
}

/// The number of groups that [`median_time`] takes with a coarse timer.
const GROUPS_OF_COARSE_TIMER: usize = 16;

/// The number of timed reads in a group of the search for the DRAM stall.
const READS_PER_GROUP: usize = 64;
/// The number of groups of reads that are discarded before a search, since the clock of an idle GPU takes
/// some milliseconds to rise.
const WARM_UP_READ_GROUPS: usize = 2;
/// The number of groups of reads in which one search looks for the period of the DRAM stall.
const COUNTED_READ_GROUPS: usize = 16;
/// The most searches for the period of the DRAM stall. If all fail, the calibration has no period. On H200s
/// the first search succeeded in ten of eleven processes.
const SEARCHES: usize = 2;

/// Searches for the period of the DRAM stall by timing reads of half the size of the cache, and stores the
/// period, or `None`, in the calibration of `queue`. Samples of cases are compared only with this period: a
/// search in the samples of a case would also find a period in kernels that alternate between two times. On
/// an H200, work that waits for memory stalls for 1.4 µs every 100.19 µs.
///
/// Call this before the context has launched kernels on a second stream. Returns the resolution of the timer,
/// computed from the start times and times of the reads in the last search, and the GPU clock after the last
/// group of reads.
pub(crate) fn search_dram_stall(queue: &mut dyn Queue) -> Result<(Nanoseconds, Option<Hertz>), Failure> {
    let reads = require_own_launch(queue, OwnLaunch::ReadHalf)?;
    let groups =
        GroupRunner::alone(queue, AnyWork::Owned(reads), LaunchMode::RECORDED, Cache::Cold, Flush::None);
    let mut path = RecordedPath::new(groups);
    for _ in 0..WARM_UP_READ_GROUPS {
        path.group(READS_PER_GROUP)?;
    }
    let (mut resolution, mut clock) = (Nanoseconds::ZERO, None);
    for _ in 0..SEARCHES {
        let (mut events, mut starts) = (Vec::new(), Vec::new());
        for _ in 0..COUNTED_READ_GROUPS {
            let group = path.group(READS_PER_GROUP)?;
            events.extend(group.events);
            starts.extend(group.starts);
            clock = group.clock;
        }
        let stall = DramStallPeriod::find(&starts, &events, timer_step(events.iter()));
        path.groups.queue.calibration().dram_stall = stall;
        resolution = timer_step(events.iter().chain(&starts));
        if stall.is_some() {
            break;
        }
    }
    Ok((resolution, clock))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_divides_every_reading() {
        // Typical event readings on an H200.
        let readings = [1280.0, 1312.0, 1280.0, 3040.0].map(Nanoseconds);
        assert_eq!(timer_step(readings.iter()), Nanoseconds(32.0));
        assert_eq!(timer_step([].iter()), Nanoseconds(1.0));
    }
}
