//! Calibration of the timer: the resolution of the event clock, the empty-span reading of a path, and the overhead subtracted from each
//! event time. Each [`Timer`] is measured once for a path and a state of the caches, and kept.
//!
//! A pair of events around a launch reads more than the launch takes: the launch begins some time after the first event, and the second
//! event comes some time after its end. Events around an empty launch read this overhead plus the empty launch. The time of the empty launch
//! itself is the time that one more empty launch adds to a sequence without events in between. Their difference is the overhead. On an H200
//! it brings the times of nearly all launches within 0.15 µs or 1 % of CUPTI's (`docs/evidence.md`, section 3).

use std::time::{Duration, Instant};
use std::{f64::consts::FRAC_PI_2, rc::Rc};

use super::empty::{Empty, MarginalEmptyLaunch, SEQUENCE_LENGTH};
use super::graph_path::GraphPath;
use super::path::{SamplingPath, StreamPath};
use super::samples::{SamplingState, Works};
use crate::device::{SampledGroup, Work};
use crate::devices::cuda::Cuda;
use crate::devices::cuda::kernels::{EmptyKernels, waits_for_parameters};
use gpubench_records::{Cache, Failure, Flush, Path, Timer};
use gpubench_stats::{
    DramStallPeriod, Hertz, Nanoseconds, interpolated_median, median, spread, standard_error, timer_step,
    variance,
};

/// The pairs in a group, the number of warm-up groups, and the numbers of groups that count, around nothing and around launches.
const PAIRS: usize = 64;
const WARM_UP: usize = 2;
const GROUPS: usize = 8;
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
/// The launches in a short and in a long back-to-back graph, and the number of times each is timed.
const FEW_BACK_TO_BACK: usize = 8;
const MANY_BACK_TO_BACK: usize = 72;
const REPLAYS: usize = 15;

/// The kind of groups that a timer is calibrated for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CalibrationKey {
    Stream,
    /// Launches of graphs on the stream.
    StreamOfGraphs,
    Graph,
    /// Graphs that are copied to the device first.
    CopiedGraph,
    /// Copied graphs with stamps instead of events.
    StampedGraph,
}

impl CalibrationKey {
    fn path(self) -> Path {
        if matches!(self, Self::Stream | Self::StreamOfGraphs) { Path::Stream } else { Path::Graph }
    }
}

/// Returns the timer of samples on this path.
pub(crate) fn calibrated(path: &mut SamplingPath<'_>) -> Result<Timer, Failure> {
    let key = match path {
        SamplingPath::Stream(SamplingState { works: Works::InterleavedWithEmpty(_, empty), .. }, _)
            if empty.is_graph() =>
        {
            CalibrationKey::StreamOfGraphs
        }
        SamplingPath::Stream(..) => CalibrationKey::Stream,
        SamplingPath::Graph(path) => match (path.samples.uses_stamps, path.copies) {
            (true, _) => CalibrationKey::StampedGraph,
            (false, true) => CalibrationKey::CopiedGraph,
            (false, false) => CalibrationKey::Graph,
        },
    };
    let samples = path.samples();
    calibrated_for(samples.device, key, samples.cache)
}

fn calibrated_for(device: &mut Cuda, key: CalibrationKey, cache: Cache) -> Result<Timer, Failure> {
    if let Some(timer) = device.timers.get(&(key, cache)) {
        return Ok(*timer);
    }
    let path = key.path();
    let mut empty = Empty::matching(device, path, cache);
    if key == CalibrationKey::StreamOfGraphs {
        empty = empty.into_graph()?;
    }
    let nothing = readings(device, (key, cache), &mut || Ok(()))?;
    let launches = readings(device, (key, cache), &mut empty)?;
    let step = timer_step(nothing.all().chain(launches.all()));
    let [empty_span, empty_launch] =
        [&nothing, &launches].map(|it| interpolated_median(&it.pairs, step).unwrap_or_default());
    let MarginalEmptyLaunch { time, error } = device.marginal_empty_launch;
    let of_code = error_of_code(device, cache, step)?;
    let rounding = if device.dither.is_some() { step * ROUNDING } else { Nanoseconds::ZERO };
    let squares = [error, of_code, BETWEEN_PROCESSES, rounding].map(|error| error.as_f64().powi(2));
    let shared_error = squares.iter().sum::<f64>().sqrt();
    let timer = Timer {
        resolution: step,
        empty_span,
        empty_launch_time: Some(empty_launch),
        marginal_empty_launch: Some(time),
        reads_parameter: waits_for_parameters(path, cache),
        overhead: (empty_launch - time).max(Nanoseconds::ZERO),
        shared_error: Some(Nanoseconds(shared_error)),
        averaged_resolution: device.dither.is_some().then_some(step * AVERAGED),
        relative_error: Some(BETWEEN_PROCESSES_SHARE),
        empty_launch_spread: spread(&launches.pairs),
        group_median_spread: spread(&launches.group_medians()),
        dram_stall_period: device.dram_stall,
        simulated: gpubench_driver::load().is_ok_and(|driver| driver.fake),
        timestamp_kernels: key == CalibrationKey::StampedGraph,
    };
    device.timers.insert((key, cache), timer);
    Ok(timer)
}

/// The event times of each pair, and of each whole group.
#[derive(Default)]
struct Readings {
    pairs: Vec<Nanoseconds>,
    groups: Vec<Nanoseconds>,
}

impl Readings {
    fn all(&self) -> impl Iterator<Item = &Nanoseconds> {
        self.pairs.iter().chain(&self.groups)
    }

    fn group_medians(&self) -> Vec<Nanoseconds> {
        self.pairs.chunks(PAIRS).filter_map(median).collect()
    }
}

/// Measures pairs around `work`, in the same groups as samples.
fn readings(
    device: &mut Cuda,
    (key, cache): (CalibrationKey, Cache),
    work: &mut dyn Work,
) -> Result<Readings, Failure> {
    let samples = state(device, work, cache)?;
    let mut path = match key {
        CalibrationKey::Stream | CalibrationKey::StreamOfGraphs => {
            SamplingPath::Stream(samples, StreamPath::default())
        }
        CalibrationKey::Graph => SamplingPath::Graph(GraphPath::new(samples)),
        CalibrationKey::CopiedGraph => SamplingPath::Graph(GraphPath::new(samples).with_copies(true)),
        CalibrationKey::StampedGraph => SamplingPath::Graph(GraphPath::new(samples).with_stamps()?),
    };
    for _ in 0..WARM_UP {
        path.group(PAIRS)?;
    }
    let mut readings = Readings::default();
    for _ in 0..GROUPS {
        let group = path.group(PAIRS)?;
        readings.pairs.extend(group.events);
        readings.groups.push(group.elapsed);
    }
    Ok(readings)
}

fn state<'a>(
    device: &'a mut Cuda,
    work: &'a mut dyn Work,
    cache: Cache,
) -> Result<SamplingState<'a>, Failure> {
    let flush = if cache == Cache::Hot { Flush::None } else { device.usual_flush() };
    SamplingState::alone(device, work, cache, flush)
}

/// Measures how much the time of a launch depends on the address of its code, as a standard deviation: from interleaved copies of the empty
/// kernel. On an H200 it is some 20 ns cold, where code comes from memory too, and 10 ns hot.
fn error_of_code(device: &mut Cuda, cache: Cache, step: Nanoseconds) -> Result<Nanoseconds, Failure> {
    let kernels = (0..COPIES).map(|_| EmptyKernels::load()).collect::<Result<Vec<_>, _>>()?;
    let (stream, mut next) = (device.stream, kernels.iter().cycle());
    let mut copies = || match next.next() {
        Some(copy) => Empty::new(copy.matching(Path::Graph, cache), stream).launch(),
        None => Ok(()),
    };
    let mut path = GraphPath::new(state(device, &mut copies, cache)?);
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
    Ok(Nanoseconds((variance(&middles) - noise / COPIES as f64).max(0.0).sqrt()))
}

/// The time limit for the additional launches on the stream of a case that is sampled in graphs.
const STREAM_TIME_LIMIT: Duration = Duration::from_millis(500);

/// Returns the time of a launch on the stream, with the gaps between its kernels that a user sees.
pub(crate) fn stream_time(samples: &mut SamplingState<'_>) -> Result<Nanoseconds, Failure> {
    let timer = calibrated_for(samples.device, CalibrationKey::Stream, samples.cache)?;
    let mut path = StreamPath::default();
    let begin = Instant::now();
    // The first group measures how long the others take to enqueue, and how many there is time for.
    path.group(samples, 1)?;
    let fitting = (STREAM_TIME_LIMIT.as_secs_f64() / GROUPS as f64 / begin.elapsed().as_secs_f64()) as usize;
    let mut events = Vec::new();
    for _ in 0..GROUPS {
        if events.is_empty() || begin.elapsed() < STREAM_TIME_LIMIT {
            events.extend(path.group(samples, fitting.clamp(1, PAIRS))?.events);
        }
    }
    Ok(median(&events).unwrap_or_default() - timer.overhead)
}

/// Returns the time of one more hot launch among back-to-back launches: the time difference of a long and a short graph, divided by the
/// difference in launches.
pub(crate) fn marginal_launch_time(path: &mut GraphPath<'_>) -> Result<Nanoseconds, Failure> {
    let (short, long) =
        (path.capture_back_to_back(FEW_BACK_TO_BACK)?, path.capture_back_to_back(MANY_BACK_TO_BACK)?);
    let mut slopes = Vec::with_capacity(REPLAYS);
    for _ in 0..REPLAYS {
        let mut time = |graph| Ok::<_, Failure>(path.replay(graph, 0..1)?.events[0]);
        let [short, long] = [time(&short)?, time(&long)?];
        slopes.push((long - short) / (MANY_BACK_TO_BACK - FEW_BACK_TO_BACK) as f64);
    }
    Ok(median(&slopes).unwrap_or_default())
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
    /// The period of the DRAM stall, if there is one.
    pub(crate) stall: Option<DramStallPeriod>,
    /// The resolution of the timer, from the starts of all reads.
    pub(crate) resolution: Nanoseconds,
    /// The clock of the multiprocessors after the reads.
    pub(crate) clock: Option<Hertz>,
}

/// Looks for the DRAM stall with reads of half the L2's size each, in a context that has launched kernels on one stream at most. On an
/// H200, work that waits for memory stalls for 1.4 µs every 100.19 µs. Samples of cases are then compared with this period only: a search
/// in each case would also find a period in kernels that alternate between two times.
pub(crate) fn read_memory(device: &mut Cuda) -> Result<MemoryReads, Failure> {
    let (flusher, stream) = (Rc::clone(&device.flusher), device.stream);
    let mut number = 0;
    let mut reads = || {
        number += 1;
        Ok(flusher.read_half(number, stream)?)
    };
    let mut path = GraphPath::new(SamplingState::alone(device, &mut reads, Cache::Cold, Flush::None)?);
    for _ in 0..WARM_UP_READ_GROUPS {
        path.group(READS)?;
    }
    let mut found = MemoryReads { stall: None, resolution: Nanoseconds::default(), clock: None };
    for _ in 0..ATTEMPTS {
        let (mut events, mut starts) = (Vec::new(), Vec::new());
        for _ in 0..READ_GROUPS {
            let group = path.group(READS)?;
            events.extend(group.events);
            starts.extend(group.starts);
            found.clock = group.clock;
        }
        found.stall = DramStallPeriod::find(&starts, &events, timer_step(events.iter()));
        found.resolution = timer_step(events.iter().chain(&starts));
        if found.stall.is_some() {
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
