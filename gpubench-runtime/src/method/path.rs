//! The two paths of samples: recorded batches, and the stream for launches that cannot be recorded. On the stream, each
//! group is enqueued anew, after a delay on the device: the device then never waits for the host between a reading and
//! the launch.
//!
//! Some launches take longer to enqueue than the longest delay, such as a copy from pageable memory, whose
//! call waits for the stream. The GPU waits for the host within such samples, with any delay. Their groups
//! have no delay and as many samples as others: on an H200, a copy of 32 MiB takes 7.2 ms to sample alone
//! after the longest delay, and 3 ms in a group of four.

use std::time::{Duration, Instant};

use gpubench_records::Failure;
use gpubench_stats::{Nanoseconds, median};

use crate::device::{Clock, SampledGroup};
use crate::method::{group::GroupRunner, recorded_path::RecordedPath};

/// The path on which a case is sampled, which runs groups with a [`GroupRunner`].
pub(super) enum SamplingPath<'a> {
    Recorded(RecordedPath<'a>),
    Stream(GroupRunner<'a>, StreamPath),
}

impl<'a> SamplingPath<'a> {
    /// Chooses the path for the launch mode of `groups`.
    pub(super) fn new(groups: GroupRunner<'a>) -> Self {
        match groups.mode.recorded {
            true => Self::Recorded(RecordedPath::new(groups)),
            false => Self::Stream(groups, StreamPath::default()),
        }
    }

    /// Takes a group of about `samples` samples: fewer if the path cannot enqueue as many at once, but if
    /// launches are interleaved at least one sample or pair. For a pair of cases, `samples` counts the
    /// launches of both.
    pub(super) fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        match self {
            Self::Recorded(path) => path.group(samples),
            Self::Stream(groups, path) => path.group(groups, samples),
        }
    }

    /// Returns the group runner of the path.
    pub(super) fn groups(&mut self) -> &mut GroupRunner<'a> {
        match self {
            Self::Recorded(path) => &mut path.groups,
            Self::Stream(groups, _) => groups,
        }
    }
}

/// The most slots of a group on the stream: the launch queue takes this many launches without blocking.
const MOST_QUEUED_LAUNCHES: usize = 64;
/// The longest delay on the device before a group, while the host enqueues the group.
const LONGEST_GROUP_DELAY: Duration = Duration::from_millis(2);
/// The number of consecutive groups that must take longer to enqueue than [`LONGEST_GROUP_DELAY`] before
/// later groups have no delay. A single group may be slow because of other programs.
const GROUPS_EXCEEDING_DELAY: usize = 2;
/// The delay on the device before each hot sample, in groups without a delay before the group. During this
/// delay, the host enqueues an interleaved empty launch and its events.
const UNDELAYED_PRE_LAUNCH_DELAY: Duration = Duration::from_micros(50);
/// The longest delay on the device before a pre-enqueued launch. Launches that need more are not timed
/// pre-enqueued.
const LONGEST_PREQUEUE_DELAY: Duration = Duration::from_millis(100);
/// The number of pre-enqueued launches that must be enqueued within their delay.
const PREQUEUED_LAUNCHES: usize = 3;
/// The number of launches that are not enqueued within their delay at which the measurement is given up.
const LATE_LAUNCHES: usize = 2;
/// The time that the host is assumed to need to enqueue the first group (0.5 ms). For later groups, the time
/// of the previous group is used.
const ASSUMED_ENQUEUE_TIME: Duration = Duration::from_micros(500);

/// Samples launches on the stream: enqueues each group after a delay on the device that lasts about as long
/// as the enqueueing.
pub(super) struct StreamPath {
    /// The time that the host took to enqueue the last group.
    last_enqueue_time: Duration,
    /// The most slots that the host can enqueue within the longest delay, from 2 to [`MOST_QUEUED_LAUNCHES`].
    most_slots: usize,
    /// The number of consecutive groups, of one sample each, that took longer to enqueue than the longest
    /// delay.
    groups_exceeding_delay: usize,
    /// The time to enqueue one sample if it exceeds the longest delay, otherwise `None`. If it is set, groups
    /// have no delay, and samples may contain waits for the host.
    enqueue_time_exceeding_delay: Option<Duration>,
}

impl Default for StreamPath {
    fn default() -> Self {
        Self {
            last_enqueue_time: ASSUMED_ENQUEUE_TIME,
            most_slots: MOST_QUEUED_LAUNCHES,
            groups_exceeding_delay: 0,
            enqueue_time_exceeding_delay: None,
        }
    }
}

impl StreamPath {
    /// Takes a group of `count` samples, or of fewer if the host cannot enqueue as many during the delay.
    pub(super) fn group(
        &mut self,
        groups: &mut GroupRunner<'_>,
        count: usize,
    ) -> Result<SampledGroup, Failure> {
        let slots = groups.slot_count(count, self.most_slots);
        let delay = (self.last_enqueue_time * 3 / 2).min(LONGEST_GROUP_DELAY);
        if !groups.host_work && self.enqueue_time_exceeding_delay.is_none() {
            groups.queue.hold(delay)?;
        }
        groups.queue.open_group()?;
        let begin = Instant::now();
        groups.enqueue(0..slots, Clock::Events)?;
        self.last_enqueue_time = begin.elapsed();
        groups.queue.close_group()?;
        let group = groups.read(0..slots)?;
        if self.enqueue_time_exceeding_delay.is_some() {
            return Ok(group);
        }
        let each = self.last_enqueue_time.as_secs_f64() / slots as f64;
        let fitting = LONGEST_GROUP_DELAY.as_secs_f64() / 1.5 / each.max(1e-9);
        self.most_slots = (fitting as usize).clamp(2, MOST_QUEUED_LAUNCHES);
        let is_within_delay = self.last_enqueue_time <= LONGEST_GROUP_DELAY || delay < LONGEST_GROUP_DELAY;
        let is_too_long = !groups.host_work && slots == groups.slot_count(1, 2) && !is_within_delay;
        self.groups_exceeding_delay = if is_too_long { self.groups_exceeding_delay + 1 } else { 0 };
        if self.groups_exceeding_delay == GROUPS_EXCEEDING_DELAY {
            self.enqueue_time_exceeding_delay = Some(self.last_enqueue_time);
            self.most_slots = MOST_QUEUED_LAUNCHES;
            groups.pre_launch_delay = UNDELAYED_PRE_LAUNCH_DELAY;
        }
        Ok(group)
    }

    /// Returns the median event time of [`PREQUEUED_LAUNCHES`] launches, each of which the host enqueues
    /// completely while the GPU executes a delay. Does not subtract the overhead.
    ///
    /// Returns `None` in three cases: enqueueing a sample does not exceed the longest delay, so that the
    /// samples are pre-enqueued already; the delay would be longer than [`LONGEST_PREQUEUE_DELAY`]; or
    /// [`LATE_LAUNCHES`] launches were not enqueued within their delay, for example because a launch waits for
    /// earlier work.
    pub(super) fn prequeued_time(
        &self,
        groups: &mut GroupRunner<'_>,
    ) -> Result<Option<Nanoseconds>, Failure> {
        let delay = match self.enqueue_time_exceeding_delay.map(|enqueueing| 3 * enqueueing) {
            Some(delay) if delay <= LONGEST_PREQUEUE_DELAY => delay,
            _ => return Ok(None),
        };
        let mut events = Vec::with_capacity(PREQUEUED_LAUNCHES);
        let [mut within_delay, mut exceeding_delay] = [0; 2];
        // The delay kernel ends after the longest delay.
        let delays = delay.as_nanos().div_ceil(LONGEST_GROUP_DELAY.as_nanos());
        while within_delay < PREQUEUED_LAUNCHES && exceeding_delay < LATE_LAUNCHES {
            for _ in 0..delays {
                groups.queue.hold(LONGEST_GROUP_DELAY)?;
            }
            let begin = Instant::now();
            groups.enqueue(0..1, Clock::Events)?;
            // A longer time means that the launch waits for earlier work, or that other programs delayed this
            // thread.
            let is_within_delay = begin.elapsed() < delay;
            groups.queue.wait()?;
            if is_within_delay {
                within_delay += 1;
                events.extend(groups.queue.times(&[0], Clock::Events)?);
            } else {
                exceeding_delay += 1;
            }
        }
        Ok(if within_delay == PREQUEUED_LAUNCHES { median(&events) } else { None })
    }
}
