//! The pass behind the samples of a case that `--verify cupti` asks for. In: a launch; out: its times by CUPTI, with its pieces.

use std::time::Instant;

use gpubench_driver::cupti::{self, Cupti};

use super::launches::{TracedLaunch, kind_in_words, step_of_stamps};
use super::slowdown::{ByEvents, slowdown};
use super::{LONGEST, begin, group};
use crate::device::{MOVES_OF_A_TRACE, TraceOptions, Work};
use crate::devices::cuda::Cuda;
use crate::devices::cuda::flush::persisting::Suspended;
use crate::devices::cuda::guarded::Guarded;
use crate::devices::cuda::places::relocate_inputs;
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::method::Flush;
use gpubench_records::verification::{CuptiTimes, TracedActivity};
use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{Summary, interval_of_mean};

/// The launches that count, if they take no longer than this together, and the fewest.
const MOST: usize = 64;
const BUDGET: Nanoseconds = Nanoseconds::from_seconds(0.2);
const LEAST: usize = 3;
/// The places of inputs that were moved between the samples: the first, and those that are given.
const PLACES: usize = MOVES_OF_A_TRACE + 1;
/// The launches before those: tracing makes a kernel's first launch longer.
const UNCOUNTED: usize = 2;
/// The time that a launch takes beside its own, for its flush and for what tracing costs.
const BESIDE: Nanoseconds = Nanoseconds(40e3);
/// The pieces that are told by name.
const NAMED: usize = 32;

/// Traces launches of `work`.
pub(crate) fn pass(
    device: &mut Cuda,
    work: &mut dyn Work,
    wanted: &TraceOptions,
) -> Result<CuptiTimes, Failure> {
    let began = Instant::now();
    let mut work = Guarded::held_against(work, device.own, device.stream, &device.checked);
    let suspended = if wanted.flush == Flush::None { None } else { Suspended::begin()? };
    let how = (wanted.cache, wanted.flush);
    let by_events = ByEvents::new(how, (wanted.time, BESIDE))?;
    let untraced = by_events.times(device, &mut work)?;
    let tracing = begin()?;
    let known = super::pieces(device);
    group(device, &mut work, how, (UNCOUNTED, known), &tracing)?;
    let count = ((BUDGET / (wanted.time + BESIDE)) as usize).clamp(LEAST, MOST);
    let mut launches = Vec::with_capacity(count);
    let mut places = wanted.places.iter().flatten();
    let longest = if wanted.places.is_some() { count.div_ceil(PLACES).min(LONGEST) } else { LONGEST };
    while launches.len() < count {
        let next = (count - launches.len()).min(longest);
        launches.extend(group(device, &mut work, how, (next, known), &tracing)?);
        if let Some(place) = places.next().filter(|_| launches.len() < count) {
            relocate_inputs(device, &mut work, *place)?;
            // What was launched there is none of the next group.
            drop(tracing.take());
        }
    }
    work.restore_inputs();
    let slowed = slowdown(&untraced, &by_events.times(device, &mut work)?);
    // The records of those launches are no other pass's.
    drop(tracing.take());
    drop((tracing, suspended));
    let times: Vec<Nanoseconds> = launches.iter().map(TracedLaunch::time).collect();
    let summary = Summary::of(&times, step_of_stamps(&launches)).zip(interval_of_mean(&times));
    let (time, mean_ci) = summary.ok_or_else(|| Failure::new(Stage::Sampling, "CUPTI traced no launch"))?;
    let first = launches.first().map_or(&[][..], |launch| &launch.pieces);
    let gaps: Nanoseconds = launches.iter().map(TracedLaunch::gaps).sum();
    Ok(CuptiTimes {
        version: cupti::load().map_or_else(|_| String::new(), Cupti::version),
        time,
        mean_ci,
        activities: pieces(&launches),
        activity_count: first.len(),
        gaps: gaps / launches.len() as f64,
        streams: streams(first.iter().map(|piece| piece.stream)),
        slowdown: slowed.map(|slowed| slowed.by),
        slowdown_half_width: slowed.map(|slowed| slowed.half_width),
        wall_time: began.elapsed().into(),
    })
}

fn streams(of_pieces: impl Iterator<Item = u32>) -> usize {
    of_pieces.collect::<std::collections::BTreeSet<_>>().len()
}

/// The first pieces of the launches, with the mean time of those at the same place; the names are the first launch's.
fn pieces(launches: &[TracedLaunch]) -> Vec<TracedActivity> {
    let first = launches.first().map_or(&[][..], |launch| &launch.pieces);
    let named = first.iter().enumerate().take(NAMED).map(|(place, piece)| {
        let there = launches.iter().filter_map(|launch| launch.pieces.get(place));
        let times: Vec<Nanoseconds> =
            there.map(|piece| Nanoseconds((piece.end - piece.begin) as f64)).collect();
        let name = piece.name.clone().unwrap_or_else(|| kind_in_words(piece.kind).to_owned());
        TracedActivity { name, time: times.iter().copied().sum::<Nanoseconds>() / times.len() as f64 }
    });
    named.collect()
}
