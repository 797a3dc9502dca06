//! What events read around nothing: the floor of a path, its step, and from both what is taken off each event time. In: a
//! path; out: a [`Timer`], measured once for each and kept.

use super::Cuda;
use super::graph_path::GraphPath;
use super::samples::Samples;
use super::stream_path::StreamPath;
use crate::device::{Cache, Group, Path, Timer, Work};
use crate::failure::Failure;
use crate::stats::Summary;
use crate::units::Nanoseconds;

/// Empty pairs in a group, how many groups go before, and how many count.
const PAIRS: usize = 64;
const WARM_UP: usize = 16;
const GROUPS: usize = 8;
/// Launches in a short and in a long row, and how often each is timed.
const SHORT_ROW: usize = 8;
const LONG_ROW: usize = 72;
const ROWS: usize = 15;

/// The timer of the graph path.
pub(super) fn of_graphs(device: &mut Cuda) -> Result<Timer, Failure> {
    on(device, Path::Graph, |samples| {
        let mut path = GraphPath::new(samples);
        empty(&mut |pairs| path.group(pairs))
    })
}

/// The timer of the stream path.
pub(super) fn of_streams(device: &mut Cuda) -> Result<Timer, Failure> {
    on(device, Path::Stream, |samples| {
        let mut path = StreamPath::new(samples);
        empty(&mut |pairs| path.group(pairs))
    })
}

/// The timer of `path`, on which `time` takes groups of empty pairs. A flush goes before each pair, also for hot samples:
/// pairs with nothing between them let the GPU idle, and then read more (1.3 to 1.8 µs on an H200, where those behind a
/// flush read 1.28).
fn on(
    device: &mut Cuda,
    path: Path,
    time: impl FnOnce(Samples<'_>) -> Result<Vec<Group>, Failure>,
) -> Result<Timer, Failure> {
    if let Some(timer) = device.timers.get(&path) {
        return Ok(*timer);
    }
    let flush = device.usual_flush();
    let groups = time(Samples::new(device, &mut Nothing, Cache::Cold, flush)?)?;
    let step = step(&groups);
    let pairs: Vec<_> = groups.into_iter().skip(WARM_UP).flat_map(|group| group.events).collect();
    let floor = Summary::of(&pairs, step).map_or_else(Nanoseconds::default, |summary| summary.median);
    let timer = Timer { step, floor, overhead: floor };
    device.timers.insert(path, timer);
    Ok(timer)
}

/// The time of one more launch in a row of launches, hot: what is left when the first and the last of a row are taken away.
pub(super) fn in_a_row(path: &mut GraphPath<'_>) -> Result<Nanoseconds, Failure> {
    let (short, long) = (path.capture_row(SHORT_ROW)?, path.capture_row(LONG_ROW)?);
    let mut slopes = Vec::with_capacity(ROWS);
    for _ in 0..ROWS {
        let short = path.replay(&short, 1)?.events[0];
        let long = path.replay(&long, 1)?.events[0];
        slopes.push(Nanoseconds((long.0 - short.0) / (LONG_ROW - SHORT_ROW) as f64));
    }
    let median = Summary::of(&slopes, Nanoseconds(0.0)).map(|summary| summary.median);
    Ok(median.unwrap_or_default())
}

/// A launch of nothing.
struct Nothing;

impl Work for Nothing {
    fn launch(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

fn empty(group: &mut dyn FnMut(usize) -> Result<Group, Failure>) -> Result<Vec<Group>, Failure> {
    (0..WARM_UP + GROUPS).map(|_| group(PAIRS)).collect()
}

/// The step of the clock: the greatest common divisor, in whole nanoseconds, of everything that events read.
fn step(groups: &[Group]) -> Nanoseconds {
    let readings = groups.iter().flat_map(|group| group.events.iter().chain([&group.elapsed]));
    let divisor = readings.map(|reading| reading.0.abs() as u64).fold(0, greatest_common_divisor);
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
        let group = |events: &[f64], elapsed| Group {
            events: events.iter().copied().map(Nanoseconds).collect(),
            elapsed: Nanoseconds(elapsed),
        };
        // As events on an H200 read.
        let groups = [group(&[1280.0, 1312.0, 1280.0], 41_024.0), group(&[1280.0], 39_968.0)];
        assert_eq!(step(&groups), Nanoseconds(32.0));
        assert_eq!(step(&[]), Nanoseconds(1.0));
    }
}
