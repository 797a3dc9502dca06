//! Traces launches with CUPTI, for `--verify cupti`. They are enqueued on the stream, as an application does.
//! A group fails if its records differ from what was enqueued, so that lost records or broken time stamps
//! never yield a time.

mod launches;
mod slowdown;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use gpubench_driver::StreamOp;
use gpubench_driver::cupti::{self, Activity, Cupti, Tracing};

use self::launches::{EnqueuedGroup, TracedLaunch, activity_name, stamp_step};
use self::slowdown::{EventTimer, slowdown};
use super::driver::{EventPair, wait_for_context};
use super::{Cuda, flush::PersistingL2Disabled, guarded::Guarded};
use crate::device::{RELOCATIONS_PER_TRACE, TraceOptions, Work};
use crate::method::{group::PRE_LAUNCH_DELAY, relocation::relocate_inputs};
use gpubench_records::{Cache, CuptiTimes, Failure, Flush, Stage, TracedActivity};
use gpubench_stats::{CONFIDENCE, Interval, Nanoseconds, Summary, standard_error, student_quantile};

/// The delay on the GPU before a group, during which the host enqueues the group, so that the GPU does not
/// wait for the host.
const PREQUEUE_DELAY: Duration = Duration::from_millis(2);
/// The most launches in a group. The host can usually enqueue this many during the delay.
const MOST_LAUNCHES_PER_GROUP: usize = 32;

/// Starts CUPTI tracing of this process. Tracing ends when the returned value is dropped.
fn begin_tracing() -> Result<Tracing, Failure> {
    let failed = |error: &cupti::CuptiError| Failure::new(Stage::Sampling, error);
    let cupti = cupti::load().map_err(failed)?;
    cupti.trace().map_err(|error| failed(&error))
}

/// Begins a group: enqueues the delay during which the host enqueues the rest of the group, and an untimed
/// launch of `work` if the cache is hot.
fn begin_prequeued(device: &Cuda, work: &mut Guarded<'_>, cache: Cache) -> Result<(), Failure> {
    device.kernels.delay(PREQUEUE_DELAY, device.stream)?;
    if cache == Cache::Hot { work.launch() } else { Ok(()) }
}

/// Enqueues a launch with what precedes it, in this order: a mark and a reset if `work` has a reset, a mark,
/// the flush, the launch between the two events of `pair` if it is given. A mark is a delay kernel whose
/// record separates launches.
fn enqueue_launch(
    device: &Cuda,
    work: &mut Guarded<'_>,
    (cache, flush): (Cache, Flush),
    pair: Option<&EventPair>,
) -> Result<(), Failure> {
    let stream = device.stream;
    let kernels = &device.kernels;
    if work.resets() {
        kernels.delay(Duration::ZERO, stream)?;
        work.reset()?;
    }
    kernels.delay(if cache == Cache::Hot { PRE_LAUNCH_DELAY } else { Duration::ZERO }, stream)?;
    device.flusher.enqueue(flush, stream)?;
    pair.map_or(Ok(()), |pair| pair.start.record(stream))?;
    work.launch()?;
    Ok(pair.map_or(Ok(()), |pair| pair.stop.record(stream))?)
}

/// Launches `work` `count` times as a group, at most [`MOST_LAUNCHES_PER_GROUP`], waits for all, and returns
/// the launches according to CUPTI. Returns a failure if the records differ from what was enqueued. `pieces`
/// is the number of operations of a launch, `None` if it is unknown and not to be compared.
fn trace_group(
    device: &Cuda,
    work: &mut Guarded<'_>,
    how: (Cache, Flush),
    (count, pieces): (usize, Option<usize>),
    tracing: &Tracing,
) -> Result<Vec<TracedLaunch>, Failure> {
    begin_prequeued(device, work, how.0)?;
    (0..count).try_for_each(|_| enqueue_launch(device, work, how, None))?;
    wait_for_context()?;
    let records: Vec<Activity> = tracing.take().map_err(|error| Failure::new(Stage::Sampling, error))?;
    let expected = EnqueuedGroup {
        launches: count,
        marks: if work.resets() { 2 } else { 1 },
        flush: operations_of_flush(how.1),
        pieces,
    };
    let launches = launches::find_launches(records, &expected);
    launches.map_err(|why| Failure::new(Stage::Sampling, format_args!("CUPTI: {why}")))
}

/// Returns the number of operations that a flush enqueues.
fn operations_of_flush(flush: Flush) -> usize {
    match flush {
        Flush::None | Flush::Lines => 0,
        Flush::Read | Flush::Write => 1,
        Flush::Discard => 2,
    }
}

/// Returns the number of operations of a launch for which CUPTI has a record, according to the checked
/// launches: kernels, copies and memsets. Returns `None` if the number differs between checked launches, if a
/// launch contains a graph, or if no launch was checked.
fn operations_per_launch(device: &Cuda) -> Option<usize> {
    let mut counts = device.checked.iter().map(|work| {
        let count = |(_, op): &(bool, StreamOp)| match op {
            StreamOp::Kernel(_) | StreamOp::Copy(_) | StreamOp::Memset(_) => Some(1),
            StreamOp::HostFunction => Some(0),
            StreamOp::Graph => None,
        };
        work.iter().map(count).sum::<Option<usize>>()
    });
    let first = counts.next()??;
    counts.all(|other| other == Some(first)).then_some(first)
}

/// The most traced launches whose times are reported.
const MOST_TRACED_LAUNCHES: usize = 64;
/// The total time of the traced launches (0.2 s). Fewer than [`MOST_TRACED_LAUNCHES`] are traced if they would take
/// longer.
const TRACED_TIME_BUDGET: Nanoseconds = Nanoseconds::from_seconds(0.2);
/// The fewest traced launches whose times are reported, even if they exceed the budget.
const FEWEST_TRACED_LAUNCHES: usize = 3;
/// The number of sets of inputs if inputs were relocated between the samples: the first set, and one for each
/// allocation seed.
const INPUT_SETS: usize = RELOCATIONS_PER_TRACE + 1;
/// The number of traced launches that are discarded first, since tracing makes the first launch of a kernel
/// longer.
const DISCARDED_LAUNCHES: usize = 2;
/// The assumed additional time of a launch for its flush and for tracing (40 µs).
const OVERHEAD_PER_LAUNCH: Nanoseconds = Nanoseconds(40e3);
/// The most operations of a launch that are reported by name. Later ones are only counted.
const MOST_NAMED_ACTIVITIES: usize = 32;

/// Traces launches of `work` after the samples of its case, on relocated inputs too if `wanted` has
/// allocation seeds. Returns the times of the launches and of their operations according to CUPTI, and the
/// slowdown by tracing.
pub(crate) fn trace_case(
    device: &mut Cuda,
    work: &mut dyn Work,
    wanted: &TraceOptions,
) -> Result<CuptiTimes, Failure> {
    let began = Instant::now();
    let mut work = Guarded::checked(work, device);
    let persisting_l2 = PersistingL2Disabled::begin(wanted.flush)?;
    let how = (wanted.cache, wanted.flush);
    let by_events = EventTimer::new(how, (wanted.time, OVERHEAD_PER_LAUNCH))?;
    let untraced = by_events.times(device, &mut work)?;
    let tracing = begin_tracing()?;
    let known = operations_per_launch(device);
    trace_group(device, &mut work, how, (DISCARDED_LAUNCHES, known), &tracing)?;
    let count = ((TRACED_TIME_BUDGET / (wanted.time + OVERHEAD_PER_LAUNCH)) as usize)
        .clamp(FEWEST_TRACED_LAUNCHES, MOST_TRACED_LAUNCHES);
    let mut launches = Vec::with_capacity(count);
    let mut allocation_seeds = wanted.allocation_seeds.iter().flatten();
    let longest = if wanted.allocation_seeds.is_some() {
        count.div_ceil(INPUT_SETS).min(MOST_LAUNCHES_PER_GROUP)
    } else {
        MOST_LAUNCHES_PER_GROUP
    };
    while launches.len() < count {
        let next = (count - launches.len()).min(longest);
        launches.extend(trace_group(device, &mut work, how, (next, known), &tracing)?);
        if let Some(allocation_seed) = allocation_seeds.next().filter(|_| launches.len() < count) {
            relocate_inputs(device, &mut work, *allocation_seed)?;
            // Discards the records of the launches of the relocation.
            drop(tracing.take());
        }
    }
    work.restore_inputs();
    let slowed = slowdown(&untraced, &by_events.times(device, &mut work)?);
    // Discards the records of these launches, so that no later pass reads them.
    drop(tracing.take());
    drop((tracing, persisting_l2));
    let times: Vec<Nanoseconds> = launches.iter().map(TracedLaunch::time).collect();
    let summary = Summary::of(&times, stamp_step(&launches)).zip(interval_of_mean(&times));
    let (time, mean_ci) = summary.ok_or_else(|| Failure::new(Stage::Sampling, "CUPTI traced no launch"))?;
    let first = launches.first().map_or(&[][..], |launch| &launch.pieces);
    let gaps: Nanoseconds = launches.iter().map(TracedLaunch::gaps).sum();
    Ok(CuptiTimes {
        version: cupti::load().map_or_else(|_| String::new(), Cupti::version),
        time,
        mean_ci,
        activities: activities(&launches),
        activity_count: first.len(),
        gaps: gaps / launches.len() as f64,
        streams: first.iter().map(|piece| piece.stream).collect::<HashSet<_>>().len(),
        slowdown: slowed.map(|slowed| slowed.by),
        slowdown_half_width: slowed.map(|slowed| slowed.half_width),
        wall_time: began.elapsed().into(),
    })
}

/// Returns the first [`MOST_NAMED_ACTIVITIES`] operations of the launches, with the names that they have in
/// the first launch. The time of each is the mean over all launches that have an operation at this position.
fn activities(launches: &[TracedLaunch]) -> Vec<TracedActivity> {
    let first = launches.first().map_or(&[][..], |launch| &launch.pieces);
    let named = first.iter().enumerate().take(MOST_NAMED_ACTIVITIES).map(|(position, piece)| {
        let there = launches.iter().filter_map(|launch| launch.pieces.get(position));
        let times: Vec<Nanoseconds> =
            there.map(|piece| Nanoseconds((piece.end - piece.begin) as f64)).collect();
        TracedActivity {
            name: activity_name(piece),
            time: times.iter().copied().sum::<Nanoseconds>() / times.len() as f64,
        }
    });
    named.collect()
}

/// Returns the 95 % interval of the mean of independent times, by Student's t. For one time it is the time
/// itself; `None` for no times.
fn interval_of_mean(times: &[Nanoseconds]) -> Option<Interval> {
    let mean = times.iter().copied().sum::<Nanoseconds>() / times.len() as f64;
    let half_width = match times.len() {
        0 => return None,
        1 => Nanoseconds::ZERO,
        count => student_quantile(CONFIDENCE, count - 1) * standard_error(times),
    };
    Some(Interval { low: mean - half_width, high: mean + half_width })
}
