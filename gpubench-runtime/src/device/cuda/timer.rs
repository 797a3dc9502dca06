//! What events read around nothing: the floor of a path, its step, and from both what is taken off each event time. In: a
//! path; out: a [`Timer`], measured once for each and kept.

use std::collections::HashMap;
use std::time::Duration;

use super::Cuda;
use super::sampler::{GraphSampler, Samples, StreamSampler};
use crate::device::{Cache, Group, Path, Sampler, Timer, Work};
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

/// The timer of `path`. A flush goes before each pair, also for hot samples: pairs with nothing between them let the GPU
/// idle, and then read more (1.3 to 1.8 µs on an H200, where those behind a flush read 1.28).
pub(super) fn on(device: &mut Cuda, path: Path) -> Result<Timer, Failure> {
    if let Some(timer) = device.timers.get(&path) {
        return Ok(*timer);
    }
    let mut nothing = Nothing;
    let flush = device.usual_flush();
    let samples = Samples::new(device, &mut nothing, Cache::Cold, flush)?;
    let groups = match path {
        Path::Stream => {
            let reason = String::new();
            let enqueueing = Duration::from_micros(500);
            empty(&mut StreamSampler { samples, reason, enqueueing, longest: PAIRS })?
        }
        _ => empty(&mut GraphSampler { samples, graphs: HashMap::new() })?,
    };
    let step = step(&groups);
    let pairs: Vec<_> = groups.into_iter().skip(WARM_UP).flat_map(|group| group.events).collect();
    let floor = Summary::of(&pairs, step).map_or_else(Nanoseconds::default, |summary| summary.median);
    let timer = Timer { step, floor, overhead: floor };
    device.timers.insert(path, timer);
    Ok(timer)
}

/// The time of one more launch in a row of launches, hot: what is left when the first and the last of a row are taken away.
pub(super) fn in_a_row(sampler: &mut GraphSampler<'_>) -> Result<Nanoseconds, Failure> {
    let (short, long) = (sampler.capture_row(SHORT_ROW)?, sampler.capture_row(LONG_ROW)?);
    let mut slopes = Vec::with_capacity(ROWS);
    for _ in 0..ROWS {
        let short = sampler.replay(&short, 1)?.events[0];
        let long = sampler.replay(&long, 1)?.events[0];
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

fn empty(sampler: &mut dyn Sampler) -> Result<Vec<Group>, Failure> {
    (0..WARM_UP + GROUPS).map(|_| sampler.group(PAIRS)).collect()
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
