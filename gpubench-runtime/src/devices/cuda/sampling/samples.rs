//! One group of samples, on either path: reset, flush, event, launch, event, many times over. In: a launch, alone or in turn with
//! empty launches or with another; out: samples enqueued on the case's stream, and the event times once the stream is done.

use std::{ops::Range, time::Duration};

use gpubench_driver::sys::{self, CUstream};

use super::empty::{Empty, SPACE};
use crate::device::{DeviceError, SampleOptions, SampledGroup, Work, interleaving};
use crate::devices::cuda::Cuda;
use crate::devices::cuda::driver::{CallError, Event, EventPair, check};
use crate::devices::cuda::guarded::Guarded;
use gpubench_records::{Cache, Failure, Flush};
use gpubench_stats::{Hertz, Nanoseconds, interpolated_median};

/// Hot launches that take longer need none before the first of a group: the caches' contents are nothing beside it.
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
    pub(crate) space: Duration,
    /// True if stamps time the samples, in the place of events.
    pub(crate) stamped: bool,
    /// The samples enqueued so far.
    enqueued: usize,
    /// The shortest sample of the last group.
    pub(crate) shortest: Option<Nanoseconds>,
    /// The pair of events around the whole group.
    whole: EventPair,
    /// The first event of the group before, if there was one, and the time from that of the first group to that of this one. It adds
    /// up from group to group: the driver tells a time in 24 bits, which are whole nanoseconds for 16 ms alone.
    before: Option<Event>,
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
    fn begin(self, device: &Cuda, place: usize) -> Result<(), CallError> {
        match self {
            Self::Events(record) => record(&device.pairs[place].start, device.stream),
            Self::Stamps => device.stamps.enqueue(2 * place, &device.kernels, device.stream),
        }
    }

    fn end(self, device: &Cuda, place: usize) -> Result<(), CallError> {
        match self {
            Self::Events(record) => record(&device.pairs[place].stop, device.stream),
            Self::Stamps => device.stamps.enqueue(2 * place + 1, &device.kernels, device.stream),
        }
    }
}

/// The launches to sample.
pub(crate) enum Works<'a> {
    /// One alone.
    One(Guarded<'a>),
    /// One in turn with empty launches, whose readings contain the errors of the same graph and of the same places in it.
    Beside(Guarded<'a>, Empty),
    /// Two in turn.
    Two([Guarded<'a>; 2]),
}

impl<'a> Works<'a> {
    /// Returns the first of them.
    pub(crate) fn first(&mut self) -> &mut Guarded<'a> {
        match self {
            Self::One(work) | Self::Beside(work, _) | Self::Two([work, _]) => work,
        }
    }

    /// Returns the launch at this place.
    fn at(&mut self, place: usize) -> &mut dyn Work {
        match self {
            Self::Beside(_, empty) if turn(place) % 2 == 1 => empty,
            Self::One(work) | Self::Beside(work, _) => work,
            Self::Two(works) => &mut works[turn(place) % 2],
        }
    }

    /// Returns true if two launches take turns.
    fn take_turns(&self) -> bool {
        !matches!(self, Self::One(_))
    }
}

/// Maps places between two orders for launches that take turns: the order in which they run, and the order with the
/// first of each pair first. The map is its own inverse.
fn turn(place: usize) -> usize {
    if interleaving::swapped(place / 2) { place ^ 1 } else { place }
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
            space: SPACE,
            stamped: false,
            enqueued: 0,
            shortest: None,
            whole: EventPair::new()?,
            before: None,
            since_first: Nanoseconds::ZERO,
        })
    }

    /// Prepares to time `work` alone, with any work that it does.
    pub(crate) fn alone(
        device: &'a mut Cuda,
        work: &'a mut dyn Work,
        cache: Cache,
        flush: Flush,
    ) -> Result<Self, Failure> {
        let works = Works::One(Guarded::new(work, device.own));
        Self::new(device, works, &SampleOptions::new(cache), flush)
    }

    /// Returns the number of places in a group of so many samples, of which at most `longest` have a place; if two launches take
    /// turns, in whole pairs.
    pub(crate) fn places(&self, samples: usize, longest: usize) -> usize {
        match self.works {
            Works::One(_) => samples.min(longest),
            Works::Beside(..) => 2 * samples.min(longest / 2).max(1),
            Works::Two(_) => (samples.min(longest) / 2 * 2).max(2),
        }
    }

    /// Enqueues a sample at each of these places, which `clock` times.
    pub(crate) fn enqueue(&mut self, places: Range<usize>, clock: Clock) -> Result<(), Failure> {
        let stream = self.device.stream;
        let hot = self.cache == Cache::Hot;
        let others = matches!(self.works, Works::Two(_));
        let is_long = self.shortest.or(self.device.first_launch).is_some_and(|time| time > LONG);
        if hot && !others && !is_long {
            self.works.first().launch()?;
        }
        let (take_turns, count) = (self.works.take_turns(), places.len());
        for place in places {
            let work = self.works.at(place);
            // The launch before was the other's, which may have evicted this one's data. An empty launch evicts nothing.
            if hot && others {
                work.launch()?;
            }
            work.reset()?;
            // A launch and the empty one next to it begin at the same places of the timer's steps.
            let number = self.enqueued + if take_turns { place / 2 } else { place };
            if hot {
                self.device.delay(self.space, number)?;
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
            clock.begin(self.device, place)?;
            work.launch()?;
            clock.end(self.device, place)?;
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
        if let Some(before) = &self.before {
            self.since_first += before.until(&self.whole.start)?;
        }
        let mut group = self.read(pairs.clone())?;
        group.starts = self.starts(pairs)?;
        group.elapsed = self.whole.read()?;
        group.clock = self.device.clock.take().map(Hertz);
        let next = self.before.take().map_or_else(Event::new, Ok)?;
        self.before = Some(std::mem::replace(&mut self.whole.start, next));
        Ok(group)
    }

    /// Returns when the samples between these pairs began, since the start of the first group. Nothing if stamps time them, whose
    /// graph records no events, or if two launches alternate, since their difference is asked for.
    fn starts(&self, pairs: Range<usize>) -> Result<Vec<Nanoseconds>, CallError> {
        let step = match self.works {
            _ if self.stamped => return Ok(Vec::new()),
            Works::One(_) => 1,
            Works::Beside(..) => 2,
            Works::Two(_) => return Ok(Vec::new()),
        };
        let start = |whose| {
            let place = if self.works.take_turns() { turn(whose) } else { whose };
            Ok(self.since_first + self.whole.start.until(&self.device.pairs[place].start)?)
        };
        pairs.step_by(step).map(start).collect()
    }

    /// Waits for all work on the stream.
    pub(crate) fn wait(&self) -> Result<(), CallError> {
        // SAFETY: the stream is the open case's.
        check(unsafe { sys::cuStreamSynchronize(self.device.stream) })
    }

    /// Reads these pairs, in the order they ran; if two take turns, the first one's before the second one's.
    pub(crate) fn read(&mut self, pairs: Range<usize>) -> Result<SampledGroup, DeviceError> {
        let stamps = if self.stamped { self.device.stamps.read(pairs.end)? } else { Vec::new() };
        let mut group = SampledGroup::default();
        let beside = matches!(self.works, Works::Beside(..));
        for whose in pairs {
            let place = if self.works.take_turns() { turn(whose) } else { whose };
            let reading = if self.stamped { stamps[place] } else { self.device.pairs[place].read()? };
            let is_empty = beside && whose % 2 == 1;
            if is_empty { group.empty_events.push(reading) } else { group.events.push(reading) }
        }
        self.shortest = group.events.iter().copied().reduce(Nanoseconds::min);
        Ok(group)
    }

    /// Returns the time of a launch according to stamps around launches and around empty launches at the first `places` places, which the
    /// stream must have passed. Nothing if there are no empty launches.
    pub(crate) fn read_stamps(&self, places: usize) -> Result<Option<Nanoseconds>, DeviceError> {
        if !matches!(self.works, Works::Beside(..)) {
            return Ok(None);
        }
        let (stamps, step) = (self.device.stamps.read(places)?, self.device.stamps.step());
        let each = |first: usize| -> Vec<Nanoseconds> {
            (first..places).step_by(2).map(|whose| stamps[turn(whose)]).collect()
        };
        let [launch, empty] = [each(0), each(1)].map(|times| interpolated_median(&times, step));
        Ok(launch.zip(empty).map(|(launch, empty)| launch - empty + self.device.one_more.time))
    }
}
