//! The resolution of the adapter's clock, and the overhead that is subtracted from each event time: an empty launch less one more, as
//! on CUDA.

use std::time::{Duration, Instant};

use gpubench_records::{Cache, Failure, Flush, Timer};
use gpubench_runtime::device::Work;
use gpubench_stats::{Nanoseconds, interpolated_median, median, spread, trimmed_error};
use wgpu::{Buffer, BufferUsages};

use super::timestamps::{Span, step};
use super::{Wgpu, flush::USUAL, sampling::Submissions};
use crate::encoder::{Encoder, buffer};
use crate::kernel::Kernel;

/// The samples in a group and the groups that count, after one of warm-up: the fewest, and the most if they end in time.
const SAMPLES: [usize; 2] = [4, 32];
const GROUPS: [usize; 2] = [3, 8];
/// The time in which all groups end: behind a flush on software, few do.
const TIME: Duration = Duration::from_millis(200);
/// The launches in a short and in a long back-to-back row, and the number of times each is timed.
const SHORT_ROW: usize = 8;
const LONG_ROW: usize = 72;
const ROWS: usize = 15;

/// A kernel that does nothing. It binds a buffer for writing, so that wgpu puts between two of them what it puts between two
/// launches that use the same memory.
const EMPTY: &str = "
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(32) fn empty(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&y)) { y[0] = id.x; }
}";

/// A kernel that does nothing and binds nothing, so that nothing stands between two of them in a pass.
const UNBOUND: &str = "@compute @workgroup_size(32) fn empty() {}";

/// Launches that do nothing, by which the overhead of the timer is measured.
#[derive(Clone)]
pub(crate) struct EmptyKernel {
    /// One launch in a pass, after what wgpu puts between launches that share memory.
    pub(crate) bound: Kernel,
    /// Many launches in a pass, with nothing between them.
    pub(crate) unbound: Kernel,
}

impl EmptyKernel {
    pub(crate) fn new(encoder: &Encoder) -> Self {
        // One word for each invocation: none of them writes.
        let y = buffer(encoder.device(), 4 * 32, BufferUsages::STORAGE);
        let kernel = |wgsl, buffers: &[&Buffer]| Kernel::new(encoder, (wgsl, "empty"), &[], buffers);
        Self { bound: kernel(EMPTY, &[&y]), unbound: kernel(UNBOUND, &[]) }
    }
}

/// Returns the timer for samples in this state of the `cache`.
pub(crate) fn of(device: &mut Wgpu, cache: Cache) -> Result<Timer, Failure> {
    if let Some(timer) = device.timers.get(&cache) {
        return Ok(*timer);
    }
    let flush = if cache == Cache::Hot { Flush::None } else { USUAL };
    let (empty, encoder) = (device.empty.clone(), device.encoder.clone());
    let nothing = readings(device, &mut || Ok(()), flush)?;
    let mut launch = || {
        empty.bound.launch(&encoder, 1);
        Ok(())
    };
    let launches = readings(device, &mut launch, flush)?;
    let step = step(nothing.iter().chain(&launches).flatten());
    let times = |groups: &[Vec<Span>]| groups.iter().flatten().map(Span::time).collect::<Vec<_>>();
    let of_launches = times(&launches);
    let [empty_span, empty_launch] =
        [&times(&nothing), &of_launches].map(|times| interpolated_median(times, step).unwrap_or_default());
    let groups = launches.chunks(1).filter_map(|group| median(&times(group))).collect::<Vec<_>>();
    let [time, error] = marginal_empty_launch(device)?;
    let timer = Timer {
        resolution: step,
        empty_span: empty_span.max(Nanoseconds::ZERO),
        empty_launch_time: Some(empty_launch),
        marginal_empty_launch: Some(time),
        overhead: (empty_launch - time).max(Nanoseconds::ZERO),
        shared_error: Some(error),
        empty_launch_spread: spread(&of_launches),
        group_median_spread: spread(&groups),
        ..Timer::default()
    };
    device.timers.insert(cache, timer);
    Ok(timer)
}

fn readings(device: &mut Wgpu, work: &mut dyn Work, flush: Flush) -> Result<Vec<Vec<Span>>, Failure> {
    let mut alone = Submissions::alone(device, work, flush);
    let begin = Instant::now();
    alone.take(SAMPLES[0])?;
    let of_sample = begin.elapsed() / SAMPLES[0] as u32;
    let fitting = TIME.as_secs_f64() / GROUPS[1] as f64 / of_sample.as_secs_f64();
    let samples = (fitting as usize).clamp(SAMPLES[0], SAMPLES[1]);
    let mut groups = Vec::with_capacity(GROUPS[1]);
    while groups.len() < GROUPS[0] || (groups.len() < GROUPS[1] && begin.elapsed() < TIME) {
        groups.push(alone.take(samples)?);
    }
    Ok(groups)
}

/// Returns the time of one more empty launch in a row of them, with its standard error.
fn marginal_empty_launch(device: &mut Wgpu) -> Result<[Nanoseconds; 2], Failure> {
    if let Some(marginal_empty_launch) = device.marginal_empty_launch {
        return Ok(marginal_empty_launch);
    }
    let (empty, encoder) = (device.empty.clone(), device.encoder.clone());
    let slopes = slopes(device, |launches| {
        empty.unbound.launch_many(&encoder, 1, launches);
        Ok(())
    })?;
    let time = median(&slopes).unwrap_or_default().max(Nanoseconds::ZERO);
    let marginal_empty_launch = [time, trimmed_error(&slopes)];
    device.marginal_empty_launch = Some(marginal_empty_launch);
    Ok(marginal_empty_launch)
}

/// Returns times of one more launch among the back-to-back launches that a function encodes: the difference of a long row and a short one, divided by the
/// difference in launches.
pub(crate) fn slopes(
    device: &mut Wgpu,
    mut encode: impl FnMut(usize) -> Result<(), Failure>,
) -> Result<Vec<Nanoseconds>, Failure> {
    let mut time = |launches| {
        let spans = Submissions::alone(device, &mut || encode(launches), Flush::None).take(1)?;
        Ok::<_, Failure>(spans.first().map(Span::time).unwrap_or_default())
    };
    let mut slopes = Vec::with_capacity(ROWS);
    for _ in 0..ROWS {
        let (short, long) = (time(SHORT_ROW)?, time(LONG_ROW)?);
        slopes.push((long - short) / (LONG_ROW - SHORT_ROW) as f64);
    }
    Ok(slopes)
}
