//! One group of samples, on any queue: for each sample a reset, a flush, and the launch between two readings
//! of a clock. A launch is sampled alone, interleaved with empty launches, or interleaved with another
//! launch.

use std::{ops::Range, time::Duration};

use crate::device::{
    Batch, Clock, LaunchMode, OwnLaunch, Queue, QueueProperties, Readings, SampleOptions, SampledGroup, Work,
    swapped,
};
use gpubench_records::{Cache, Failure, Flush, Stage};
use gpubench_stats::{Nanoseconds, interpolated_median};

use super::LONG_LAUNCH;

/// The usual delay on the device before each hot sample; a cold sample has its flush there. Without a delay,
/// the GPU would catch up with the host and wait between the two events: on an H200, some hot launches of
/// 2 µs then read 0.1 to 0.3 µs more.
pub(crate) const PRE_LAUNCH_DELAY: Duration = Duration::from_micros(8);

/// The work of a sampler: borrowed from its caller, or owned by the sampler.
pub enum AnyWork<'a> {
    /// Borrowed.
    Borrowed(&'a mut dyn Work),
    /// Owned.
    Owned(Box<dyn Work + 'a>),
}

impl AnyWork<'_> {
    /// Returns the work, borrowed or owned.
    fn get(&mut self) -> &mut dyn Work {
        match self {
            Self::Borrowed(work) => *work,
            Self::Owned(work) => &mut **work,
        }
    }
}

/// The work whose launches are sampled, and the launches that are interleaved with them.
pub(super) struct WorkWithPartner<'a> {
    /// The sampled work.
    pub first: AnyWork<'a>,
    /// The launches that are interleaved with those of `first`.
    pub partner: Partner<'a>,
}

/// The launches with which the samples are interleaved.
pub(super) enum Partner<'a> {
    /// No launches: each slot has a launch of the sampled work.
    None,
    /// Empty launches. The errors of the batch and of its slots are in their event times as in those of the
    /// samples.
    Empty(Box<dyn Work>),
    /// The launches of another case, with which the first is compared.
    Case(AnyWork<'a>),
}

impl WorkWithPartner<'_> {
    /// Returns the sampled work.
    pub(super) fn first(&mut self) -> &mut dyn Work {
        self.first.get()
    }

    /// Returns the work that is launched in slot `slot` of a batch, where slots are counted in the order in
    /// which they run.
    fn work_in_slot(&mut self, slot: usize) -> &mut dyn Work {
        let is_second = swap_slot(slot) % 2 == 1;
        match &mut self.partner {
            Partner::Empty(empty) if is_second => &mut **empty,
            Partner::Case(other) if is_second => other.get(),
            _ => self.first.get(),
        }
    }

    /// Returns the slot, counted in the order in which slots run, of the launch with the number
    /// `logical_slot` in the logical order. In the logical order, the first work's launch comes first in each
    /// pair.
    fn physical_slot(&self, logical_slot: usize) -> usize {
        if self.has_partner() { swap_slot(logical_slot) } else { logical_slot }
    }

    /// Returns true if the launches are interleaved with launches of a partner.
    fn has_partner(&self) -> bool {
        !matches!(self.partner, Partner::None)
    }
}

/// Converts the slot of an interleaved launch from the order in which slots run to the logical order, or
/// back: the conversion is its own inverse. In the logical order, the first work's launch comes first in each
/// pair.
fn swap_slot(slot: usize) -> usize {
    if swapped(slot / 2) { slot ^ 1 } else { slot }
}

/// Enqueues and reads groups of samples on a queue. A sample consists of a reset, a delay or a flush, a clock
/// reading, the launch, and another clock reading.
pub(super) struct GroupRunner<'a> {
    pub queue: &'a mut dyn Queue,
    pub works: WorkWithPartner<'a>,
    pub cache: Cache,
    pub flush: Flush,
    /// True if the time of a launch includes the host's work in the launch function.
    pub host_work: bool,
    /// How launches run and are timed.
    pub mode: LaunchMode,
    /// The delay before each hot sample.
    pub pre_launch_delay: Duration,
    /// The number of slots enqueued so far. It determines the phase of delays for a coarse timer.
    enqueued: usize,
    /// The shortest event time in the last group; `None` before the first group.
    pub shortest: Option<Nanoseconds>,
}

impl<'a> GroupRunner<'a> {
    /// Begins a new series of groups on `queue`.
    pub(super) fn new(
        queue: &'a mut dyn Queue,
        works: WorkWithPartner<'a>,
        mode: LaunchMode,
        flush: Flush,
        wanted: &SampleOptions,
    ) -> Self {
        let SampleOptions { cache, host_work, .. } = *wanted;
        queue.begin_series();
        Self {
            queue,
            works,
            cache,
            flush,
            host_work,
            mode,
            pre_launch_delay: PRE_LAUNCH_DELAY,
            enqueued: 0,
            shortest: None,
        }
    }

    /// Begins a new series of groups of `work` alone, without interleaved launches.
    pub(super) fn alone(
        queue: &'a mut dyn Queue,
        work: AnyWork<'a>,
        mode: LaunchMode,
        cache: Cache,
        flush: Flush,
    ) -> Self {
        let works = WorkWithPartner { first: work, partner: Partner::None };
        Self::new(queue, works, mode, flush, &SampleOptions::new(cache))
    }

    /// Returns the number of slots for a group of `samples` samples, at most `most_slots`:
    ///
    /// - without a partner, a slot for each sample;
    /// - with interleaved empty launches, two slots for each sample, and at least 2;
    /// - for a pair of cases, where `samples` counts the launches of both, this number rounded down to an
    ///   even one, and at least 2.
    ///
    /// The minimum of 2 holds even if `most_slots` is less.
    pub(super) fn slot_count(&self, samples: usize, most_slots: usize) -> usize {
        match self.works.partner {
            Partner::None => samples.min(most_slots),
            Partner::Empty(_) => 2 * samples.min(most_slots / 2).max(1),
            Partner::Case(_) => (samples.min(most_slots) / 2 * 2).max(2),
        }
    }

    /// Enqueues a sample in each of `slots`, timed by `clock`: reset, delay (hot) or flush (cold), clock
    /// reading, launch, clock reading. If the host's work belongs to the launch, waits for the stream before
    /// the first reading of each sample.
    ///
    /// A hot group begins with an untimed launch, unless its launches are long. For a pair of cases, each hot
    /// sample follows an untimed launch of the same work instead.
    pub(super) fn enqueue(&mut self, slots: Range<usize>, clock: Clock) -> Result<(), Failure> {
        let Self { queue, works, .. } = self;
        let QueueProperties { is_coarse, first_launch, .. } = queue.properties();
        let hot = self.cache == Cache::Hot;
        let (is_pair, interleaved) = (matches!(works.partner, Partner::Case(_)), works.has_partner());
        // Filling the caches takes a negligible part of a long launch.
        let is_long = self.shortest.or(first_launch).is_some_and(|time| time > LONG_LAUNCH);
        if hot && !is_pair && !is_long {
            works.first().launch()?;
        }
        let count = slots.len();
        for slot in slots {
            let work = works.work_in_slot(slot);
            // The previous launch of a pair may have evicted this one's data. An empty launch evicts nothing.
            if hot && is_pair {
                work.launch()?;
            }
            work.reset()?;
            // A launch and its empty launch begin at the same phase of the timer's ticks.
            let number = self.enqueued + if interleaved { slot / 2 } else { slot };
            if hot {
                queue.gap(self.pre_launch_delay, number)?;
            } else if is_coarse {
                queue.gap(Duration::ZERO, number)?;
            }
            queue.flush(self.flush)?;
            if self.host_work {
                // The sample begins with the call, not with work that is still running.
                queue.wait()?;
            }
            // The sample ends before the output is dropped.
            work.keep_output(true);
            queue.start(slot, clock)?;
            work.launch()?;
            queue.stop(slot, clock)?;
            work.keep_output(false);
        }
        self.enqueued += count;
        Ok(())
    }

    /// Records a batch of the work that `enqueue` enqueues. If `copied` is true, copies the batch to the
    /// device in advance. If `enqueue` fails, abandons the recording and returns the failure.
    pub(super) fn record(
        &mut self,
        copied: bool,
        enqueue: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<Batch, Failure> {
        self.queue.begin()?;
        let enqueued = enqueue(self);
        end_recording(self.queue, copied, enqueued)
    }

    /// Waits for the group in `slots`, and reads it. The samples are in the order in which they ran, except
    /// that the first work's launch comes first in each pair. Start times are left empty if stamps time the
    /// samples, since their batch records no events. They are left empty for a pair of cases too, of which
    /// only the difference is measured.
    pub(super) fn read(&mut self, slots: Range<usize>) -> Result<SampledGroup, Failure> {
        self.queue.wait()?;
        let slots: Vec<usize> = slots.map(|slot| self.works.physical_slot(slot)).collect();
        let starts: Vec<usize> = match self.works.partner {
            Partner::Case(_) => Vec::new(),
            _ if self.mode.clock == Clock::Stamps => Vec::new(),
            Partner::None => slots.clone(),
            Partner::Empty(_) => slots.iter().copied().step_by(2).collect(),
        };
        let Readings { times, starts, elapsed, clock } = self.queue.read(&slots, &starts, self.mode.clock)?;
        let [events, empty_events] = self.split_partners(times);
        self.shortest = events.iter().copied().reduce(Nanoseconds::min);
        Ok(SampledGroup { events, empty_events, starts, overhead_by_stamps: None, elapsed, clock })
    }

    /// Returns the median time of a launch according to the stamps in the first `slots` slots, with the
    /// overhead subtracted. `step` is the resolution of the stamps. Returns `None` if the group has no empty
    /// launches.
    pub(super) fn launch_time_by_stamps(
        &mut self,
        slots: usize,
        step: Nanoseconds,
    ) -> Result<Option<Nanoseconds>, Failure> {
        if !matches!(self.works.partner, Partner::Empty(_)) {
            return Ok(None);
        }
        let slots: Vec<usize> = (0..slots).map(|slot| self.works.physical_slot(slot)).collect();
        let times = self.queue.times(&slots, Clock::Stamps)?;
        let [launch, empty] = self.split_partners(times).map(|times| interpolated_median(&times, step));
        let marginal = self.queue.calibration().marginal_empty_launch.unwrap_or_default().time;
        Ok(launch.zip(empty).map(|(launch, empty)| launch - empty + marginal))
    }

    /// Splits times in the logical order into first those of the sampled launches and second those of
    /// interleaved empty launches. For a pair of cases, all launches are sampled launches.
    fn split_partners(&self, times: Vec<Nanoseconds>) -> [Vec<Nanoseconds>; 2] {
        match self.works.partner {
            Partner::Empty(_) => [0, 1].map(|first| times.iter().copied().skip(first).step_by(2).collect()),
            _ => [times, Vec::new()],
        }
    }
}

/// Creates a launch that the device of `queue` itself provides, such as an empty one. Returns a failure if
/// the device has none of this kind.
pub(super) fn require_own_launch(queue: &mut dyn Queue, launch: OwnLaunch) -> Result<Box<dyn Work>, Failure> {
    queue.own_launch(launch)?.ok_or_else(|| {
        Failure::new(Stage::Device, format_args!("this device has no launch of its own that is {launch:?}"))
    })
}

/// Records a batch of the work that `enqueue` enqueues on `queue`. If `copied` is true, copies the batch to
/// the device in advance. If `enqueue` fails, abandons the recording and returns the failure.
pub(super) fn record_batch(
    queue: &mut dyn Queue,
    copied: bool,
    enqueue: impl FnOnce(&mut dyn Queue) -> Result<(), Failure>,
) -> Result<Batch, Failure> {
    queue.begin()?;
    let enqueued = enqueue(queue);
    end_recording(queue, copied, enqueued)
}

/// Ends the recording and returns its batch if `enqueued` is `Ok`. Otherwise abandons the recording and
/// returns the failure in `enqueued`.
fn end_recording(
    queue: &mut dyn Queue,
    copied: bool,
    enqueued: Result<(), Failure>,
) -> Result<Batch, Failure> {
    match enqueued {
        Ok(()) => queue.end(copied),
        Err(failure) => {
            queue.abandon();
            Err(failure)
        }
    }
}

impl Drop for GroupRunner<'_> {
    /// Ends a recording that a panic of the user's code left open.
    fn drop(&mut self) {
        self.queue.abandon();
    }
}
