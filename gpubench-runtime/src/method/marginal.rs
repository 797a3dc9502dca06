//! Measures marginal times: the time that one more launch adds to a series of launches without clock readings
//! between them. The marginal time of an empty launch gives the overhead of the timer; that of a short launch
//! is a cross-check of its samples.

use super::group::{PRE_LAUNCH_DELAY, record_batch, require_own_launch};
use crate::device::{Batch, Clock, LaunchMode, MarginalEmptyLaunch, OwnLaunch, Queue, Work};
use gpubench_records::{Cache, Failure};
use gpubench_stats::{Nanoseconds, median, trimmed_error};

/// The number of delays in each of the two sequences that [`marginal_time_after_delays`] compares: one has a
/// launch after each delay, the other has delays alone.
pub(super) const DELAYS_PER_SEQUENCE: usize = 32;
/// The largest difference between two measurements of a marginal time that is accepted (50 ns). If they
/// differ by more, a third one is made, since the whole GPU stalls occasionally for some microseconds.
const REPEAT_TOLERANCE: Nanoseconds = Nanoseconds(50.0);
/// The number of measurements of the marginal time of an empty launch. The estimate of its error ignores the
/// two lowest and the two highest.
const EMPTY_LAUNCH_MEASUREMENTS: usize = 16;
/// The number of measurements that are made and discarded before [`EMPTY_LAUNCH_MEASUREMENTS`] that count.
const WARM_UP_MEASUREMENTS: usize = 3;

/// Returns the marginal time of an empty launch: the time that one more launch adds to a sequence of delays,
/// or to back-to-back launches if the device has no delays. The first call for a device measures the time,
/// and stores it in the calibration of `queue`; later calls return the stored time.
///
/// Call this before the context has launched kernels on a second stream. Once an H200 has run kernels of two
/// streams, every launch of the context, on any stream, begins 0.2 to 0.35 µs later than before. This latency
/// would be part of the marginal time, although the launch itself takes no longer. It is also in the event
/// times of the empty launches among the samples, and so belongs to the overhead.
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

/// Returns [`SLOPE_MEASUREMENTS`] measured marginal times of an empty launch in a series of back-to-back
/// empty launches.
fn marginal_times_back_to_back(queue: &mut dyn Queue) -> Result<Vec<Nanoseconds>, Failure> {
    let [mut first, mut few, mut many] = [
        require_own_launch(queue, OwnLaunch::EmptyBackToBack(1))?,
        require_own_launch(queue, OwnLaunch::EmptyBackToBack(SHORT_SERIES))?,
        require_own_launch(queue, OwnLaunch::EmptyBackToBack(LONG_SERIES))?,
    ];
    marginal_launch_times(queue, &mut |launches| match launches {
        SHORT_SERIES => few.launch(),
        LONG_SERIES => many.launch(),
        _ => first.launch(),
    })
}

/// Returns [`EMPTY_LAUNCH_MEASUREMENTS`] measured marginal times of an empty launch that follows a delay.
/// Discards warm-up measurements first.
fn marginal_times_after_delays(queue: &mut dyn Queue) -> Result<Vec<Nanoseconds>, Failure> {
    let mut empty = require_own_launch(queue, OwnLaunch::Empty(LaunchMode::AT_ONCE, Cache::Hot))?;
    // An idle GPU's clock takes some milliseconds to rise.
    for _ in 0..WARM_UP_MEASUREMENTS {
        marginal_time_after_delays(queue, &mut *empty)?;
    }
    (0..EMPTY_LAUNCH_MEASUREMENTS).map(|_| marginal_time_after_delays(queue, &mut *empty)).collect()
}

/// Returns the marginal time of `work` after a delay: the time of a sequence with launches minus the time of
/// a sequence without launches, divided by [`DELAYS_PER_SEQUENCE`]. It is the median of two such differences,
/// or of three if the first two differ by more than [`REPEAT_TOLERANCE`].
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

/// Records a sequence of [`DELAYS_PER_SEQUENCE`] delays between two events. If there is `work`, one launch of
/// it follows each delay, and another one precedes the first event.
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

/// The number of launches in the short series of back-to-back launches.
const SHORT_SERIES: usize = 8;
/// The number of launches in the long series of back-to-back launches.
const LONG_SERIES: usize = 72;
/// The number of times that each of the two series is timed.
const SLOPE_MEASUREMENTS: usize = 15;

/// Returns [`SLOPE_MEASUREMENTS`] measured marginal times of a back-to-back launch: the time of
/// [`LONG_SERIES`] launches minus the time of [`SHORT_SERIES`] launches, divided by the difference of these
/// two numbers.
///
/// `launch(count)` must enqueue `count` launches. It is called while batches are recorded: with the number of
/// launches of a series, and with 1 for the untimed launch before each series.
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

/// Submits `batch` as a group of its own, waits, and returns the time between the events of its slot 0.
pub(super) fn time_batch(queue: &mut dyn Queue, batch: &Batch) -> Result<Nanoseconds, Failure> {
    queue.open_group()?;
    queue.submit(batch)?;
    queue.close_group()?;
    queue.wait()?;
    Ok(queue.times(&[0], Clock::Events)?[0])
}
