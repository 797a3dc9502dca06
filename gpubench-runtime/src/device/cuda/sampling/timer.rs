//! The timer's own readings: the step of the event clock, the floor of a path, and the overhead taken off each event
//! time. In: a path; out: a [`Timer`], measured once for each path and kept.
//!
//! An empty pair of events reads the floor. A pair around a launch that does nothing reads more than twice that: the
//! launch begins and ends, and the second event waits for it. A convention decides how much of this belongs to the
//! events and how much to the launch. Ours is that they get half each. On an H200 that is within 0.3 µs of Nsight
//! Compute, for empty launches of any shape and for launches that only wait (`docs/evidence.md` has the table,
//! `examples/overhead` makes it).

use std::time::{Duration, Instant};

use gpubench_driver::sys::CUstream;

use crate::device::cuda::Cuda;
use crate::device::cuda::guarded::Guarded;
use crate::device::cuda::kernels::LoadedKernel;
use crate::device::cuda::sampling::graph_path::GraphPath;
use crate::device::cuda::sampling::samples::{SamplingState, Works};
use crate::device::cuda::sampling::stream_path::StreamPath;
use crate::device::{Nothing, SampleOptions, Work};
use gpubench_records::failure::Failure;
use gpubench_records::method::{Cache, Path, Timer};
use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{Summary, median};

/// The pairs in a group, the number of warm-up groups, and the number of groups that count, each of another graph.
const PAIRS: usize = 64;
const WARM_UP: usize = 16;
const GROUPS: usize = 8;
/// The number of times those graphs are made anew to measure the overhead: each graph has an error of its own.
const ROUNDS: usize = 4;
/// The launches in a short and in a long back-to-back group, and the number of times each is timed.
const SHORT_ROW: usize = 8;
const LONG_ROW: usize = 72;
const ROWS: usize = 15;

/// Returns the timer of `path` on `device`.
pub(crate) fn of(device: &mut Cuda, path: Path) -> Result<Timer, Failure> {
    if let Some(timer) = device.timers.get(&path) {
        return Ok(*timer);
    }
    let mut empty = Empty { kernel: device.kernels.empty, stream: device.stream };
    let nothing = readings(device, path, &mut Nothing, 1)?;
    let launches = readings(device, path, &mut empty, ROUNDS)?;
    let step = step(nothing.all().chain(launches.all()));
    let [floor, empty_launch] = [&nothing, &launches].map(|it| median(&it.pairs).unwrap_or_default());
    let mut timer = Timer::new(step).with_floor(floor);
    timer.empty_launch = Some(empty_launch);
    timer.overhead = empty_launch / 2.0;
    timer.spread = spread(&launches.pairs);
    timer.group_spread = spread(&launches.group_medians());
    timer.simulated = gpubench_driver::load().is_ok_and(|driver| driver.fake);
    device.timers.insert(path, timer);
    Ok(timer)
}

/// The readings of events: those of each pair, and those around each group.
#[derive(Default)]
struct Readings {
    pairs: Vec<Nanoseconds>,
    groups: Vec<Nanoseconds>,
}

impl Readings {
    fn all(&self) -> impl Iterator<Item = &Nanoseconds> {
        self.pairs.iter().chain(&self.groups)
    }

    /// Adds the readings of groups, but for the first `unread` of them.
    fn take(
        &mut self,
        unread: usize,
        group: &mut dyn FnMut(&mut Vec<Nanoseconds>) -> Result<Nanoseconds, Failure>,
    ) -> Result<(), Failure> {
        for _ in 0..unread {
            group(&mut Vec::new())?;
        }
        for _ in 0..GROUPS {
            self.groups.push(group(&mut self.pairs)?);
        }
        Ok(())
    }

    fn group_medians(&self) -> Vec<Nanoseconds> {
        self.pairs.chunks(PAIRS).filter_map(median).collect()
    }
}

/// Measures pairs around `work` on `path`. A flush goes before each, also for hot samples: pairs with nothing between
/// them let the GPU idle, and then read more (1.3 to 1.8 µs on an H200, where those behind a flush read 1.28).
fn readings(device: &mut Cuda, path: Path, work: &mut dyn Work, rounds: usize) -> Result<Readings, Failure> {
    let flush = device.usual_flush();
    let mut readings = Readings::default();
    let mut unread = WARM_UP;
    for _ in 0..rounds {
        let works = Works::One(Guarded::new(work, device.own));
        let mut samples = SamplingState::new(device, works, &SampleOptions::new(Cache::Cold), flush)?;
        match path {
            Path::Stream => {
                let mut path = StreamPath::default();
                readings.take(unread, &mut |events| path.group(&mut samples, PAIRS, events))?;
            }
            _ => {
                let mut path = GraphPath::new(samples);
                readings.take(unread, &mut |events| path.group(PAIRS, events))?;
            }
        }
        unread = 0;
    }
    Ok(readings)
}

/// The time that launches on the stream may take beside those of a graph.
const BESIDE: Duration = Duration::from_millis(500);

/// Returns the time of a launch on the stream, with the gaps between its kernels that a user sees.
pub(crate) fn on_stream(samples: &mut SamplingState<'_>) -> Result<Nanoseconds, Failure> {
    let timer = of(samples.device, Path::Stream)?;
    let mut path = StreamPath::default();
    let mut events = Vec::new();
    let begin = Instant::now();
    // The first group measures how long the others take to enqueue, and how many there is time for.
    path.group(samples, 1, &mut events)?;
    let fitting = (BESIDE.as_secs_f64() / GROUPS as f64 / begin.elapsed().as_secs_f64()) as usize;
    events.clear();
    for _ in 0..GROUPS {
        if events.is_empty() || begin.elapsed() < BESIDE {
            path.group(samples, fitting.clamp(1, PAIRS), &mut events)?;
        }
    }
    Ok(median(&events).unwrap_or_default() - timer.overhead)
}

/// Returns the time of one more hot launch among back-to-back launches: the difference between a long group and a short
/// one, divided by the difference in launches.
pub(crate) fn in_a_row(path: &mut GraphPath<'_>) -> Result<Nanoseconds, Failure> {
    let (short, long) = (path.capture_row(SHORT_ROW)?, path.capture_row(LONG_ROW)?);
    let mut slopes = Vec::with_capacity(ROWS);
    let mut pair = Vec::with_capacity(2);
    for _ in 0..ROWS {
        pair.clear();
        for row in [&short, &long] {
            path.replay(std::iter::once((row, 0..1)), &mut pair)?;
        }
        slopes.push((pair[1] - pair[0]) / (LONG_ROW - SHORT_ROW) as f64);
    }
    Ok(median(&slopes).unwrap_or_default())
}

/// A launch that does nothing.
struct Empty {
    kernel: LoadedKernel,
    stream: CUstream,
}

impl Work for Empty {
    fn launch(&mut self) -> Result<(), Failure> {
        // SAFETY: the kernel takes no arguments.
        Ok(unsafe { self.kernel.launch((1, 32), self.stream, &mut []) }?)
    }
}

/// Returns the range from the 5th percentile to the 95th.
fn spread(times: &[Nanoseconds]) -> Nanoseconds {
    let summary = Summary::of(times, Nanoseconds(0.0));
    summary.map_or_else(Nanoseconds::default, |times| times.p95 - times.p5)
}

/// Returns the step of the clock: the greatest common divisor, in whole nanoseconds, of all event readings.
fn step<'a>(readings: impl Iterator<Item = &'a Nanoseconds>) -> Nanoseconds {
    let divisor = readings.map(|reading| reading.abs().as_f64() as u64).fold(0, greatest_common_divisor);
    Nanoseconds(divisor.max(1) as f64)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_divides_every_reading() {
        // Typical event readings on an H200.
        let readings = [1280.0, 1312.0, 1280.0, 3040.0].map(Nanoseconds);
        assert_eq!(step(readings.iter()), Nanoseconds(32.0));
        assert_eq!(step([].iter()), Nanoseconds(1.0));
    }
}
