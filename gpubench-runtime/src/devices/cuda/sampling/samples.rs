//! One group of samples, on either path: reset, flush, event, launch, event, for each sample. A launch is sampled alone, interleaved with
//! empty launches, or interleaved with another launch. Event times are read once the stream is done.

use std::{ops::Range, time::Duration};

use gpubench_driver::sys::{self, CUstream};

use super::empty::{Empty, PRE_LAUNCH_DELAY};
use crate::device::{DeviceError, SampleOptions, SampledGroup, Work, interleaving};
use crate::devices::cuda::Cuda;
use crate::devices::cuda::driver::{CallError, Event, EventPair, check};
use crate::devices::cuda::guarded::Guarded;
use gpubench_records::{Cache, Failure, Flush};
use gpubench_stats::{Hertz, Nanoseconds, interpolated_median};

/// Groups of hot launches longer than this begin without an untimed launch: filling the caches takes a negligible part of such a launch.
const LONG: Nanoseconds = Nanoseconds::from_seconds(0.01);

/// The state that both paths share: the work, the steps before it, and the events around it.
pub(crate) struct SamplingState<'a> {
    pub(crate) device: &'a mut Cuda,
    pub(crate) works: Works<'a>,
    pub(crate) cache: Cache,
    pub(crate) flush: Flush,
    /// True if the host's part belongs to the launch.
    pub(crate) host_work: bool,
    /// The delay before each hot sample.
    pub(crate) pre_launch_delay: Duration,
    /// True if stamps instead of events time the samples.
    pub(crate) uses_stamps: bool,
    /// The samples enqueued so far.
    enqueued: usize,
    /// The shortest sample of the last group.
    pub(crate) shortest: Option<Nanoseconds>,
    /// The pair of events around the whole group.
    whole: EventPair,
    /// The first event of the previous group.
    previous_start: Option<Event>,
    /// The time from the start of the first group to the start of this one, summed from group to group: the driver returns a time in 24
    /// bits, which hold whole nanoseconds up to 16 ms only.
    since_first: Nanoseconds,
}

/// The clock that times samples.
#[derive(Clone, Copy)]
pub(crate) enum Clock {
    /// A pair of events around each, recorded by this function.
    Events(fn(&Event, CUstream) -> Result<(), CallError>),
    /// A stamp before and a stamp after each.
    Stamps,
}

impl Clock {
    fn begin(self, device: &Cuda, slot: usize) -> Result<(), CallError> {
        match self {
            Self::Events(record) => record(&device.pairs[slot].start, device.stream),
            Self::Stamps => device.stamps.enqueue(2 * slot, &device.kernels, device.stream),
        }
    }

    fn end(self, device: &Cuda, slot: usize) -> Result<(), CallError> {
        match self {
            Self::Events(record) => record(&device.pairs[slot].stop, device.stream),
            Self::Stamps => device.stamps.enqueue(2 * slot + 1, &device.kernels, device.stream),
        }
    }
}

/// The launches to sample.
pub(crate) enum Works<'a> {
    /// One launch alone.
    One(Guarded<'a>),
    /// One launch, interleaved with empty launches. Their readings contain the errors of the same graph and of its slots.
    InterleavedWithEmpty(Guarded<'a>, Empty),
    /// Two interleaved launches.
    Two([Guarded<'a>; 2]),
}

impl<'a> Works<'a> {
    /// Returns the first of them.
    pub(crate) fn first(&mut self) -> &mut Guarded<'a> {
        match self {
            Self::One(work) | Self::InterleavedWithEmpty(work, _) | Self::Two([work, _]) => work,
        }
    }

    /// Returns the launch in this slot.
    fn at(&mut self, slot: usize) -> &mut dyn Work {
        match self {
            Self::InterleavedWithEmpty(_, empty) if interleaved_slot(slot) % 2 == 1 => empty,
            Self::One(work) | Self::InterleavedWithEmpty(work, _) => work,
            Self::Two(works) => &mut works[interleaved_slot(slot) % 2],
        }
    }

    /// Returns true if two launches are interleaved.
    fn are_interleaved(&self) -> bool {
        !matches!(self, Self::One(_))
    }
}

/// Maps a slot of interleaved launches between two orders: the order in which they run, and the logical order, with the first of each
/// pair first. The map is its own inverse.
fn interleaved_slot(slot: usize) -> usize {
    if interleaving::swapped(slot / 2) { slot ^ 1 } else { slot }
}

impl<'a> SamplingState<'a> {
    pub(crate) fn new(
        device: &'a mut Cuda,
        works: Works<'a>,
        wanted: &SampleOptions,
        flush: Flush,
    ) -> Result<Self, Failure> {
        let SampleOptions { cache, host_work, .. } = *wanted;
        Ok(Self {
            device,
            works,
            cache,
            flush,
            host_work,
            pre_launch_delay: PRE_LAUNCH_DELAY,
            uses_stamps: false,
            enqueued: 0,
            shortest: None,
            whole: EventPair::new()?,
            previous_start: None,
            since_first: Nanoseconds::ZERO,
        })
    }

    /// Prepares to time `work` alone, without comparing its operations with those of a checked launch.
    pub(crate) fn alone(
        device: &'a mut Cuda,
        work: &'a mut dyn Work,
        cache: Cache,
        flush: Flush,
    ) -> Result<Self, Failure> {
        let works = Works::One(Guarded::new(work, device.context));
        Self::new(device, works, &SampleOptions::new(cache), flush)
    }

    /// Returns the number of slots for a group of `samples` samples, at most `longest`; an even number if launches are interleaved.
    pub(crate) fn slots(&self, samples: usize, longest: usize) -> usize {
        match self.works {
            Works::One(_) => samples.min(longest),
            Works::InterleavedWithEmpty(..) => 2 * samples.min(longest / 2).max(1),
            Works::Two(_) => (samples.min(longest) / 2 * 2).max(2),
        }
    }

    /// Enqueues a sample in each of these slots, which `clock` times.
    pub(crate) fn enqueue(&mut self, slots: Range<usize>, clock: Clock) -> Result<(), Failure> {
        let stream = self.device.stream;
        let hot = self.cache == Cache::Hot;
        let is_pair = matches!(self.works, Works::Two(_));
        let is_long = self.shortest.or(self.device.first_launch).is_some_and(|time| time > LONG);
        if hot && !is_pair && !is_long {
            self.works.first().launch()?;
        }
        let (interleaved, count) = (self.works.are_interleaved(), slots.len());
        for slot in slots {
            let work = self.works.at(slot);
            // The previous launch of a pair may have evicted this one's data. An empty launch evicts nothing.
            if hot && is_pair {
                work.launch()?;
            }
            work.reset()?;
            // A launch and its empty launch begin at the same phase of the timer's ticks.
            let number = self.enqueued + if interleaved { slot / 2 } else { slot };
            if hot {
                self.device.delay(self.pre_launch_delay, number)?;
            } else if self.device.dither.is_some() {
                self.device.delay(Duration::ZERO, number)?;
            }
            self.device.flusher.enqueue(self.flush, stream)?;
            if self.host_work {
                // The sample begins with the call, not with work that is still running.
                // SAFETY: the stream is the open case's.
                check(unsafe { sys::cuStreamSynchronize(stream) })?;
            }
            // The sample ends before the output is dropped.
            work.keep_output(true);
            clock.begin(self.device, slot)?;
            work.launch()?;
            clock.end(self.device, slot)?;
            work.keep_output(false);
        }
        self.enqueued += count;
        Ok(())
    }

    /// Begins a group: its first event.
    pub(crate) fn begin(&mut self) -> Result<(), CallError> {
        self.whole.start.record(self.device.stream)
    }

    /// Enqueues the end of a group: its last event, then the clock probe.
    pub(crate) fn finish(&mut self) -> Result<(), CallError> {
        let stream = self.device.stream;
        self.whole.stop.record(stream)?;
        self.device.clock.enqueue(&self.device.kernels, stream)
    }

    /// Waits until the stream has ended a group, and reads the samples between these pairs.
    pub(crate) fn end(&mut self, pairs: Range<usize>) -> Result<SampledGroup, DeviceError> {
        self.wait()?;
        if let Some(previous_start) = &self.previous_start {
            self.since_first += previous_start.until(&self.whole.start)?;
        }
        let mut group = self.read(pairs.clone())?;
        group.starts = self.starts(pairs)?;
        group.elapsed = self.whole.read()?;
        group.clock = self.device.clock.take().map(Hertz);
        let next = self.previous_start.take().map_or_else(Event::new, Ok)?;
        self.previous_start = Some(std::mem::replace(&mut self.whole.start, next));
        Ok(group)
    }

    /// Returns the starts of the samples between these pairs, since the start of the first group. Empty if stamps time them, since their
    /// graph records no events, and for two interleaved launches, whose difference is measured.
    fn starts(&self, pairs: Range<usize>) -> Result<Vec<Nanoseconds>, CallError> {
        let step = match self.works {
            _ if self.uses_stamps => return Ok(Vec::new()),
            Works::One(_) => 1,
            Works::InterleavedWithEmpty(..) => 2,
            Works::Two(_) => return Ok(Vec::new()),
        };
        let start = |logical_slot| {
            let slot =
                if self.works.are_interleaved() { interleaved_slot(logical_slot) } else { logical_slot };
            Ok(self.since_first + self.whole.start.until(&self.device.pairs[slot].start)?)
        };
        pairs.step_by(step).map(start).collect()
    }

    /// Waits for all work on the stream.
    pub(crate) fn wait(&self) -> Result<(), CallError> {
        // SAFETY: the stream is the open case's.
        check(unsafe { sys::cuStreamSynchronize(self.device.stream) })
    }

    /// Reads these pairs, in the order in which they ran. If launches are interleaved, the first of each pair comes first.
    pub(crate) fn read(&mut self, pairs: Range<usize>) -> Result<SampledGroup, DeviceError> {
        let stamps = if self.uses_stamps { self.device.stamps.read(pairs.end)? } else { Vec::new() };
        let mut group = SampledGroup::default();
        let has_empty = matches!(self.works, Works::InterleavedWithEmpty(..));
        for logical_slot in pairs {
            let slot =
                if self.works.are_interleaved() { interleaved_slot(logical_slot) } else { logical_slot };
            let reading = if self.uses_stamps { stamps[slot] } else { self.device.pairs[slot].read()? };
            let is_empty = has_empty && logical_slot % 2 == 1;
            if is_empty { group.empty_events.push(reading) } else { group.events.push(reading) }
        }
        self.shortest = group.events.iter().copied().reduce(Nanoseconds::min);
        Ok(group)
    }

    /// Returns the time of a launch according to stamps around launches and around empty launches in the first `slots` slots, which the
    /// stream must have passed. `None` if there are no empty launches.
    pub(crate) fn read_stamps(&self, slots: usize) -> Result<Option<Nanoseconds>, DeviceError> {
        if !matches!(self.works, Works::InterleavedWithEmpty(..)) {
            return Ok(None);
        }
        let (stamps, step) = (self.device.stamps.read(slots)?, self.device.stamps.step());
        let each = |first: usize| -> Vec<Nanoseconds> {
            (first..slots).step_by(2).map(|logical_slot| stamps[interleaved_slot(logical_slot)]).collect()
        };
        let [launch, empty] = [each(0), each(1)].map(|times| interpolated_median(&times, step));
        Ok(launch.zip(empty).map(|(launch, empty)| launch - empty + self.device.marginal_empty_launch.time))
    }
}
