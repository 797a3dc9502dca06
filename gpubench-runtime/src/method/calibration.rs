//! Calibration of the timer: the resolution of the clock, the empty-span reading, and the overhead subtracted from each event time. Each
//! [`Timer`] is measured once for a mode of launching and a state of the caches, and kept.
//!
//! A pair of events around a launch reads more than the launch takes: the launch begins some time after the first event, and the second
//! event comes some time after its end. Events around an empty launch read this overhead plus the empty launch. The time of the empty launch
//! itself is the time that one more empty launch adds to a sequence without events in between. Their difference is the overhead. On an H200
//! it brings the times of nearly all launches within 0.15 µs or 1 % of CUPTI's (`docs/evidence.md`, section 3).

use std::f64::consts::FRAC_PI_2;
use std::time::{Duration, Instant};

use super::group::{Groups, PRE_LAUNCH_DELAY, record};
use super::recorded_path::RecordedPath;
use super::sampler::SamplingPath;
use super::stream_path::StreamPath;
use crate::device::{
    Batch, Clock, LaunchMode, MarginalEmptyLaunch, OwnLaunch, Queue, QueueProperties, SampledGroup, Work,
};
use gpubench_records::{Cache, Failure, Flush, Timer};
use gpubench_stats::{
    DramStallPeriod, Hertz, Nanoseconds, interpolated_median, median, spread, standard_error, timer_step,
    trimmed_error, variance,
};

/// The pairs in a group, the number of warm-up groups, and the numbers of groups that count, around nothing and around launches.
const PAIRS: usize = 64;
const WARM_UP: usize = 2;
const GROUPS: usize = 8;
/// The same if time is limited: the fewest and the most pairs, and the fewest groups. A first group of the fewest pairs is the warm-up.
const LIMITED_PAIRS: [usize; 2] = [4, 32];
const FEWEST_GROUPS: usize = 3;
/// The copies of the empty kernel's code, and the number of their groups. The slots of a copy differ from group to group: after
/// [`COPIES`] groups, each copy has had every slot.
const COPIES: usize = 7;
const GROUPS_OF_COPIES: usize = 2 * COPIES;
/// The standard error between processes that no group shows, such as by the address of the code, and of inputs that are not relocated: an
/// absolute part and a relative one. Of ten processes on two H200s, with 48 results each, the intervals of the samples alone contained the
/// difference of two in 87 % of the pairs, and these intervals in 92 %.
const BETWEEN_PROCESSES: Nanoseconds = Nanoseconds(7.5);
const BETWEEN_PROCESSES_SHARE: f64 = 5e-4;
/// With a coarse timer, the standard error by rounding that all samples share, in units of the timer's resolution: the error of the time of
/// an empty launch, from two sequences of [`SEQUENCE_LENGTH`] launches.
const ROUNDING: f64 = 1.0 / SEQUENCE_LENGTH as f64;
/// With a coarse timer, the difference of times that averages of samples resolve, in units of the timer's resolution.
const AVERAGED: f64 = 1.0 / 16.0;

/// Returns the timer of samples that are launched in this mode, in this state of the cache.
///
/// # Errors
/// Returns an error if the device fails.
pub fn timer(queue: &mut dyn Queue, mode: LaunchMode, cache: Cache) -> Result<Timer, Failure> {
    if let Some(timer) = queue.calibration().timers.get(&(mode, cache)) {
        return Ok(*timer);
    }
    let QueueProperties { is_coarse, is_simulated, loads_parameters, .. } = queue.properties();
    let nothing = readings(queue, (mode, cache), Box::new(|| Ok(())))?;
    let empty = own_launch(queue, OwnLaunch::Empty(mode, cache))?;
    let launches = readings(queue, (mode, cache), empty)?;
    let step = queue.resolution().unwrap_or_else(|| timer_step(nothing.all().chain(launches.all())));
    let [empty_span, empty_launch] =
        [&nothing, &launches].map(|it| interpolated_median(&it.pairs, step).unwrap_or_default());
    let MarginalEmptyLaunch { time, error } = marginal_empty_launch(queue)?;
    let of_code = error_of_code(queue, cache, step)?;
    let between_processes = of_code.map(|_| BETWEEN_PROCESSES);
    let rounding = is_coarse.then_some(step * ROUNDING);
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
        averaged_resolution: is_coarse.then_some(step * AVERAGED),
        relative_error: of_code.map(|_| BETWEEN_PROCESSES_SHARE),
        empty_launch_spread: spread(&launches.pairs),
        group_median_spread: spread(&launches.group_medians),
        dram_stall_period: queue.calibration().dram_stall,
        simulated: is_simulated,
        timestamp_kernels: mode.clock == Clock::Stamps,
    };
    queue.calibration().timers.insert((mode, cache), timer);
    Ok(timer)
}

/// Makes a launch that every queue has.
pub(super) fn own_launch(queue: &mut dyn Queue, launch: OwnLaunch) -> Result<Box<dyn Work>, Failure> {
    queue.own_launch(launch)?.ok_or_else(|| {
        Failure::new(
            gpubench_records::Stage::Device,
            format_args!("this device has no launch of its own that is {launch:?}"),
        )
    })
}

/// The event times of each pair, and of each whole group.
#[derive(Default)]
struct CalibrationReadings {
    pairs: Vec<Nanoseconds>,
    groups: Vec<Nanoseconds>,
    group_medians: Vec<Nanoseconds>,
}

impl CalibrationReadings {
    fn all(&self) -> impl Iterator<Item = &Nanoseconds> {
        self.pairs.iter().chain(&self.groups)
    }
}

/// Measures pairs around `work`, in the same groups as samples.
fn readings(
    queue: &mut dyn Queue,
    (mode, cache): (LaunchMode, Cache),
    work: Box<dyn Work>,
) -> Result<CalibrationReadings, Failure> {
    let QueueProperties { calibration_limit, usual_flush, .. } = queue.properties();
    let flush = if cache == Cache::Hot { Flush::None } else { usual_flush };
    let mut path = SamplingPath::new(Groups::alone(queue, work, mode, cache, flush));
    let begin = Instant::now();
    let pairs = match calibration_limit {
        None => {
            for _ in 0..WARM_UP {
                path.group(PAIRS)?;
            }
            PAIRS
        }
        Some(limit) => {
            let [fewest, most] = LIMITED_PAIRS;
            path.group(fewest)?;
            let of_pair = begin.elapsed().as_secs_f64() / fewest as f64;
            ((limit.as_secs_f64() / GROUPS as f64 / of_pair) as usize).clamp(fewest, most)
        }
    };
    let mut readings = CalibrationReadings::default();
    for number in 0..GROUPS {
        if number >= FEWEST_GROUPS && calibration_limit.is_some_and(|limit| begin.elapsed() >= limit) {
            break;
        }
        let group = path.group(pairs)?;
        readings.group_medians.extend(median(&group.events));
        readings.pairs.extend(group.events);
        readings.groups.push(group.elapsed);
    }
    Ok(readings)
}

/// Measures how much the time of a launch depends on the address of its code, as a standard deviation: from interleaved copies of the empty
/// kernel. On an H200 it is some 20 ns cold, where code comes from memory too, and 10 ns hot. `None` if the device has no copies.
fn error_of_code(
    queue: &mut dyn Queue,
    cache: Cache,
    step: Nanoseconds,
) -> Result<Option<Nanoseconds>, Failure> {
    let mut copies = Vec::with_capacity(COPIES);
    for _ in 0..COPIES {
        let Some(copy) = queue.own_launch(OwnLaunch::EmptyCopy(cache))? else { return Ok(None) };
        copies.push(copy);
    }
    let mut next = 0;
    let launch_next = move || {
        next += 1;
        copies[(next - 1) % COPIES].launch()
    };
    let flush = if cache == Cache::Hot { Flush::None } else { queue.properties().usual_flush };
    let groups = Groups::alone(queue, Box::new(launch_next), LaunchMode::RECORDED, cache, flush);
    let mut path = RecordedPath::new(groups);
    // A launch that is not timed goes before each hot group.
    let untimed = usize::from(cache == Cache::Hot);
    let mut deviations = vec![Vec::new(); COPIES];
    for group in 0..GROUPS_OF_COPIES {
        let SampledGroup { events, .. } = path.group(PAIRS)?;
        let middle = median(&events).unwrap_or_default();
        let first = group * (PAIRS + untimed) + untimed;
        for (launch, event) in (first..).zip(events) {
            deviations[launch % COPIES].push(event - middle);
        }
    }
    let middles: Vec<Nanoseconds> =
        deviations.iter().filter_map(|all| interpolated_median(all, step)).collect();
    // The median of normal noise has π/2 times the variance of the mean.
    let noise: f64 = deviations.iter().map(|all| FRAC_PI_2 * standard_error(all).as_f64().powi(2)).sum();
    Ok(Some(Nanoseconds((variance(&middles) - noise / COPIES as f64).max(0.0).sqrt())))
}

/// The number of delays in a sequence.
const SEQUENCE_LENGTH: usize = 32;
/// Each sequence is launched and read twice, and a third time if the results differ by more than this: occasionally the whole GPU stalls for
/// some microseconds.
const TOLERANCE: Nanoseconds = Nanoseconds(50.0);
/// The number of measurements of an empty launch. Two on each side may be disturbed.
const MEASUREMENTS: usize = 16;
/// The number of discarded measurements before them.
const WARM_UP_MEASUREMENTS: usize = 3;

/// Returns the time that one more empty launch adds to a sequence of delays, or of back-to-back launches if the device has no delays.
///
/// The context has launched kernels on one stream at most. Once an H200 has run kernels of two streams, every launch of the context, on any
/// stream, begins 0.2 to 0.35 µs later than before, and takes no longer itself. Pairs of events around empty launches among the samples
/// contain that latency.
pub(crate) fn marginal_empty_launch(queue: &mut dyn Queue) -> Result<MarginalEmptyLaunch, Failure> {
    if let Some(measured) = queue.calibration().marginal_empty_launch {
        return Ok(measured);
    }
    let times = if queue.properties().has_gaps { delayed_times(queue)? } else { row_times(queue)? };
    let time = median(&times).unwrap_or_default().max(Nanoseconds::ZERO);
    let measured = MarginalEmptyLaunch { time, error: trimmed_error(&times) };
    queue.calibration().marginal_empty_launch = Some(measured);
    Ok(measured)
}

/// Returns times that one more empty launch adds to a row of empty launches with nothing between them.
fn row_times(queue: &mut dyn Queue) -> Result<Vec<Nanoseconds>, Failure> {
    let [mut first, mut few, mut many] = [
        own_launch(queue, OwnLaunch::EmptyRow(1))?,
        own_launch(queue, OwnLaunch::EmptyRow(FEW_BACK_TO_BACK))?,
        own_launch(queue, OwnLaunch::EmptyRow(MANY_BACK_TO_BACK))?,
    ];
    back_to_back_slopes(queue, &mut |launches| match launches {
        FEW_BACK_TO_BACK => few.launch(),
        MANY_BACK_TO_BACK => many.launch(),
        _ => first.launch(),
    })
}

/// Returns times per launch that empty launches after each delay of a sequence add to it.
fn delayed_times(queue: &mut dyn Queue) -> Result<Vec<Nanoseconds>, Failure> {
    let mut empty = own_launch(queue, OwnLaunch::Empty(LaunchMode::AT_ONCE, Cache::Hot))?;
    // An idle GPU's clock takes some milliseconds to rise.
    for _ in 0..WARM_UP_MEASUREMENTS {
        delayed_time(queue, &mut *empty)?;
    }
    (0..MEASUREMENTS).map(|_| delayed_time(queue, &mut *empty)).collect()
}

fn delayed_time(queue: &mut dyn Queue, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
    queue.reserve(1)?;
    let [with, without] = [record_delays(queue, Some(work))?, record_delays(queue, None)?];
    let read = |queue: &mut dyn Queue, sequence: &Batch| -> Result<Nanoseconds, Failure> {
        queue.submit(sequence)?;
        queue.wait()?;
        Ok(queue.times(&[0], Clock::Events)?[0])
    };
    // The first launch of a graph takes longer for each of its kernels: on an H200, 0.4 µs.
    for sequence in [&with, &without] {
        read(queue, sequence)?;
    }
    let mut difference = || -> Result<Nanoseconds, Failure> {
        Ok((read(queue, &with)? - read(queue, &without)?) / SEQUENCE_LENGTH as f64)
    };
    let mut times = vec![difference()?, difference()?];
    if (times[0] - times[1]).abs() > TOLERANCE {
        times.push(difference()?);
    }
    queue.release(without);
    queue.release(with);
    Ok(median(&times).unwrap_or_default())
}

/// Records a sequence of delays, with a launch of `work` after each delay.
fn record_delays(queue: &mut dyn Queue, mut work: Option<&mut dyn Work>) -> Result<Batch, Failure> {
    record(queue, false, |queue| {
        let mut launch = || work.as_deref_mut().map_or(Ok(()), Work::launch);
        launch()?;
        queue.start(0, Clock::Events)?;
        for number in 0..SEQUENCE_LENGTH {
            queue.gap(PRE_LAUNCH_DELAY, number)?;
            launch()?;
        }
        queue.stop(0, Clock::Events)
    })
}

/// The launches in a short and in a long row of back-to-back launches, and the number of times each is timed.
const FEW_BACK_TO_BACK: usize = 8;
const MANY_BACK_TO_BACK: usize = 72;
const REPLAYS: usize = 15;

/// Returns times of one more launch among back-to-back launches: the time difference of a long and a short row, divided by the difference
/// in launches. `launch` enqueues this many launches.
pub(super) fn back_to_back_slopes(
    queue: &mut dyn Queue,
    launch: &mut dyn FnMut(usize) -> Result<(), Failure>,
) -> Result<Vec<Nanoseconds>, Failure> {
    let replays = queue.properties().replays;
    queue.reserve(1)?;
    let mut record_row = |queue: &mut dyn Queue, launches: usize| {
        record(queue, true, |queue| {
            launch(1)?;
            queue.start(0, Clock::Events)?;
            launch(launches)?;
            queue.stop(0, Clock::Events)
        })
    };
    let lengths = [FEW_BACK_TO_BACK, MANY_BACK_TO_BACK];
    let mut rows = [record_row(queue, lengths[0])?, record_row(queue, lengths[1])?];
    let mut slopes = Vec::with_capacity(REPLAYS);
    for _ in 0..REPLAYS {
        let [short, long] = [time_of(queue, &rows[0])?, time_of(queue, &rows[1])?];
        slopes.push((long - short) / (MANY_BACK_TO_BACK - FEW_BACK_TO_BACK) as f64);
        for (row, launches) in rows.iter_mut().zip(lengths).filter(|_| !replays) {
            let recorded = record_row(queue, launches)?;
            queue.release(std::mem::replace(row, recorded));
        }
    }
    rows.into_iter().for_each(|row| queue.release(row));
    Ok(slopes)
}

/// Submits a batch with one slot as a group, and returns its time.
fn time_of(queue: &mut dyn Queue, batch: &Batch) -> Result<Nanoseconds, Failure> {
    queue.open_group()?;
    queue.submit(batch)?;
    queue.close_group()?;
    queue.wait()?;
    Ok(queue.times(&[0], Clock::Events)?[0])
}

/// Returns the median time of a recorded launch after `flush`: of `samples` samples, after as many that do not count. With a coarse timer,
/// whose readings are averaged, of many times as many.
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
    let groups = if queue.properties().is_coarse { COARSE_GROUPS } else { 1 };
    let launch = Box::new(|| work.launch());
    let mut path = RecordedPath::new(Groups::alone(queue, launch, LaunchMode::RECORDED, cache, flush));
    let mut events = Vec::with_capacity((1 + groups) * samples);
    for _ in 0..=groups {
        events.extend(path.group(samples)?.events);
    }
    let events = &events[samples..];
    let time =
        if groups > 1 { interpolated_median(events, timer_step(events.iter())) } else { median(events) };
    Ok(time.unwrap_or_default())
}

/// The number of groups with a coarse timer.
const COARSE_GROUPS: usize = 16;

/// The time limit for the additional launches on the stream of a case that is sampled in batches.
const STREAM_TIME_LIMIT: Duration = Duration::from_millis(500);

/// Returns the time of a launch on the stream, with the gaps between its kernels that a user sees.
pub(super) fn stream_time(groups: &mut Groups<'_>) -> Result<Nanoseconds, Failure> {
    let timer = timer(groups.queue, LaunchMode::AT_ONCE, groups.cache)?;
    let mut path = StreamPath::default();
    let begin = Instant::now();
    // The first group measures how long the others take to enqueue, and how many there is time for.
    path.group(groups, 1)?;
    let fitting = (STREAM_TIME_LIMIT.as_secs_f64() / GROUPS as f64 / begin.elapsed().as_secs_f64()) as usize;
    let mut events = Vec::new();
    for _ in 0..GROUPS {
        if events.is_empty() || begin.elapsed() < STREAM_TIME_LIMIT {
            events.extend(path.group(groups, fitting.clamp(1, PAIRS))?.events);
        }
    }
    Ok(median(&events).unwrap_or_default() - timer.overhead)
}

/// The number of reads in a group.
const READS: usize = 64;
/// The number of discarded groups: an idle GPU's clock takes some milliseconds to rise.
const WARM_UP_READ_GROUPS: usize = 2;
/// The number of groups that count.
const READ_GROUPS: usize = 16;
/// The number of searches for the period. On H200s the first one succeeded in ten of eleven processes.
const ATTEMPTS: usize = 2;

/// The results of timed reads of memory.
pub(crate) struct MemoryReads {
    /// The resolution of the timer, from the starts of all reads.
    pub(crate) resolution: Nanoseconds,
    /// The clock of the multiprocessors after the reads.
    pub(crate) clock: Option<Hertz>,
}

/// Looks for the DRAM stall with reads of half the cache's size each, in a context that has launched kernels on one stream at most. On an
/// H200, work that waits for memory stalls for 1.4 µs every 100.19 µs. Samples of cases are then compared with this period only: a search
/// in each case would also find a period in kernels that alternate between two times.
pub(crate) fn read_memory(queue: &mut dyn Queue) -> Result<MemoryReads, Failure> {
    let reads = own_launch(queue, OwnLaunch::ReadHalf)?;
    let groups = Groups::alone(queue, reads, LaunchMode::RECORDED, Cache::Cold, Flush::None);
    let mut path = RecordedPath::new(groups);
    for _ in 0..WARM_UP_READ_GROUPS {
        path.group(READS)?;
    }
    let mut found = MemoryReads { resolution: Nanoseconds::default(), clock: None };
    for _ in 0..ATTEMPTS {
        let (mut events, mut starts) = (Vec::new(), Vec::new());
        for _ in 0..READ_GROUPS {
            let group = path.group(READS)?;
            events.extend(group.events);
            starts.extend(group.starts);
            found.clock = group.clock;
        }
        let stall = DramStallPeriod::find(&starts, &events, timer_step(events.iter()));
        path.groups.queue.calibration().dram_stall = stall;
        found.resolution = timer_step(events.iter().chain(&starts));
        if stall.is_some() {
            break;
        }
    }
    Ok(found)
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
