//! The time of one more launch among others, without a reading of the clock between them: of empty launches, for the overhead of the
//! timer, and of short launches, as a second method.

use super::group::{PRE_LAUNCH_DELAY, record_batch, require_own_launch};
use crate::device::{Batch, Clock, LaunchMode, MarginalEmptyLaunch, OwnLaunch, Queue, Work};
use gpubench_records::{Cache, Failure};
use gpubench_stats::{Nanoseconds, median, trimmed_error};

/// The number of delays in a sequence.
pub(super) const DELAYS_PER_SEQUENCE: usize = 32;
/// Each sequence is launched and read twice, and a third time if the results differ by more than this: occasionally the whole GPU stalls for
/// some microseconds.
const REPEAT_TOLERANCE: Nanoseconds = Nanoseconds(50.0);
/// The number of measurements of an empty launch. Two on each side may be disturbed.
const EMPTY_LAUNCH_MEASUREMENTS: usize = 16;
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
    let times = if queue.properties().has_gaps {
        marginal_times_after_delays(queue)?
    } else {
        marginal_times_back_to_back(queue)?
    };
    let time = median(&times).unwrap_or_default().max(Nanoseconds::ZERO);
    let measured = MarginalEmptyLaunch { time, error: trimmed_error(&times) };
    queue.calibration().marginal_empty_launch = Some(measured);
    Ok(measured)
}

/// Returns times that one more empty launch adds to a row of empty launches with nothing between them.
fn marginal_times_back_to_back(queue: &mut dyn Queue) -> Result<Vec<Nanoseconds>, Failure> {
    let [mut first, mut few, mut many] = [
        require_own_launch(queue, OwnLaunch::EmptyRow(1))?,
        require_own_launch(queue, OwnLaunch::EmptyRow(SHORT_SERIES))?,
        require_own_launch(queue, OwnLaunch::EmptyRow(LONG_SERIES))?,
    ];
    marginal_launch_times(queue, &mut |launches| match launches {
        SHORT_SERIES => few.launch(),
        LONG_SERIES => many.launch(),
        _ => first.launch(),
    })
}

/// Returns times per launch that empty launches after each delay of a sequence add to it.
fn marginal_times_after_delays(queue: &mut dyn Queue) -> Result<Vec<Nanoseconds>, Failure> {
    let mut empty = require_own_launch(queue, OwnLaunch::Empty(LaunchMode::AT_ONCE, Cache::Hot))?;
    // An idle GPU's clock takes some milliseconds to rise.
    for _ in 0..WARM_UP_MEASUREMENTS {
        marginal_time_after_delays(queue, &mut *empty)?;
    }
    (0..EMPTY_LAUNCH_MEASUREMENTS).map(|_| marginal_time_after_delays(queue, &mut *empty)).collect()
}

fn marginal_time_after_delays(queue: &mut dyn Queue, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
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
        Ok((read(queue, &with)? - read(queue, &without)?) / DELAYS_PER_SEQUENCE as f64)
    };
    let mut times = vec![difference()?, difference()?];
    if (times[0] - times[1]).abs() > REPEAT_TOLERANCE {
        times.push(difference()?);
    }
    queue.release(without);
    queue.release(with);
    Ok(median(&times).unwrap_or_default())
}

/// Records a sequence of delays, with a launch of `work` after each delay.
fn record_delays(queue: &mut dyn Queue, mut work: Option<&mut dyn Work>) -> Result<Batch, Failure> {
    record_batch(queue, false, |queue| {
        let mut launch = || work.as_deref_mut().map_or(Ok(()), Work::launch);
        launch()?;
        queue.start(0, Clock::Events)?;
        for number in 0..DELAYS_PER_SEQUENCE {
            queue.gap(PRE_LAUNCH_DELAY, number)?;
            launch()?;
        }
        queue.stop(0, Clock::Events)
    })
}

/// The launches in a short and in a long row of back-to-back launches, and the number of times each is timed.
const SHORT_SERIES: usize = 8;
const LONG_SERIES: usize = 72;
const SLOPE_MEASUREMENTS: usize = 15;

/// Returns times of one more launch among back-to-back launches: the time difference of a long and a short one, divided by the difference
/// in launches. `launch` enqueues this many launches.
pub(super) fn marginal_launch_times(
    queue: &mut dyn Queue,
    launch: &mut dyn FnMut(usize) -> Result<(), Failure>,
) -> Result<Vec<Nanoseconds>, Failure> {
    let replays = queue.properties().replays;
    let mut record_series = |queue: &mut dyn Queue, launches: usize| {
        record_batch(queue, true, |queue| {
            launch(1)?;
            queue.start(0, Clock::Events)?;
            launch(launches)?;
            queue.stop(0, Clock::Events)
        })
    };
    let lengths = [SHORT_SERIES, LONG_SERIES];
    let mut series = [record_series(queue, lengths[0])?, record_series(queue, lengths[1])?];
    let mut slopes = Vec::with_capacity(SLOPE_MEASUREMENTS);
    for _ in 0..SLOPE_MEASUREMENTS {
        let [short, long] = [time_batch(queue, &series[0])?, time_batch(queue, &series[1])?];
        slopes.push((long - short) / (LONG_SERIES - SHORT_SERIES) as f64);
        for (one, launches) in series.iter_mut().zip(lengths).filter(|_| !replays) {
            let recorded = record_series(queue, launches)?;
            queue.release(std::mem::replace(one, recorded));
        }
    }
    series.into_iter().for_each(|one| queue.release(one));
    Ok(slopes)
}

/// Submits a batch with one slot as a group, and returns its time.
pub(super) fn time_batch(queue: &mut dyn Queue, batch: &Batch) -> Result<Nanoseconds, Failure> {
    queue.open_group()?;
    queue.submit(batch)?;
    queue.close_group()?;
    queue.wait()?;
    Ok(queue.times(&[0], Clock::Events)?[0])
}
