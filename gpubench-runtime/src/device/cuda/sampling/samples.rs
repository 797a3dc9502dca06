//! One group of samples, on either path: reset, flush, event, launch, event, many times over. In: a launch, or two that
//! take turns; out: their samples enqueued on the case's stream, and the event times once the stream is done.

use std::ops::Range;
use std::time::Duration;

use gpubench_driver::sys::{self, CUstream};

use crate::device::cuda::Cuda;
use crate::device::cuda::driver::event::{Event, EventPair};
use crate::device::cuda::driver::{CallError, check};
use crate::device::cuda::guarded::Guarded;
use crate::device::{SampleOptions, Work, turns};
use gpubench_records::failure::Failure;
use gpubench_records::method::{Cache, Flush};
use gpubench_stats::units::Nanoseconds;

/// The delay before each hot sample, in the place of a cold sample's flush. Without it the GPU catches up with the
/// commands it is fed, and waits between the events: on an H200, hot launches of 2 µs then read 0.1 to 0.3 µs more,
/// some of the time.
const SPACE: Duration = Duration::from_micros(8);

/// The state that both paths share: the work, the steps before it, and the events around it.
pub(crate) struct SamplingState<'a> {
    pub(crate) device: &'a mut Cuda,
    pub(crate) works: Works<'a>,
    pub(crate) cache: Cache,
    pub(crate) flush: Flush,
    /// True if the host's part belongs to the launch.
    pub(crate) host_work: bool,
    /// The pair of events around the whole group.
    pub(crate) whole: EventPair,
}

/// The launches to sample: one, or two that take turns.
pub(crate) enum Works<'a> {
    One(Guarded<'a>),
    Two([Guarded<'a>; 2]),
}

impl Works<'_> {
    /// Returns the first of them.
    pub(crate) fn first(&mut self) -> &mut dyn Work {
        match self {
            Self::One(work) | Self::Two([work, _]) => work,
        }
    }

    /// Returns the time of the shortest call of the first so far.
    pub(crate) fn call(&self) -> Option<Nanoseconds> {
        match self {
            Self::One(work) | Self::Two([work, _]) => work.call(),
        }
    }

    /// Returns the launch whose sample is at this place.
    fn at(&mut self, place: usize) -> &mut dyn Work {
        match self {
            Self::One(work) => work,
            Self::Two(works) => &mut works[turn(place) % 2],
        }
    }
}

/// Maps places between two orders for launches that take turns: the order in which they run, and the order with the
/// first of each pair first. The map is its own inverse.
fn turn(place: usize) -> usize {
    if turns::swapped(place / 2) { place ^ 1 } else { place }
}

impl<'a> SamplingState<'a> {
    pub(crate) fn new(
        device: &'a mut Cuda,
        works: Works<'a>,
        wanted: &SampleOptions,
        flush: Flush,
    ) -> Result<Self, Failure> {
        let SampleOptions { cache, host_work, .. } = *wanted;
        Ok(Self { device, works, cache, flush, host_work, whole: EventPair::new()? })
    }

    pub(crate) fn stream(&self) -> CUstream {
        self.device.stream
    }

    /// Returns the number of samples; if two take turns, rounded to whole pairs.
    pub(crate) fn in_pairs(&self, samples: usize) -> usize {
        match self.works {
            Works::One(_) => samples,
            Works::Two(_) => (samples / 2 * 2).max(2),
        }
    }

    /// Enqueues a sample for each of these pairs of events, which `record` records.
    pub(crate) fn enqueue(
        &mut self,
        pairs: Range<usize>,
        record: fn(&Event, CUstream) -> Result<(), CallError>,
    ) -> Result<(), Failure> {
        let stream = self.stream();
        let hot = self.cache == Cache::Hot;
        let alone = matches!(self.works, Works::One(_));
        if hot && alone {
            self.works.first().launch()?;
        }
        for place in pairs {
            let pair = &self.device.pairs[place];
            let work = self.works.at(place);
            // The launch before was the other's, which may have evicted this one's data.
            if hot && !alone {
                work.launch()?;
            }
            work.reset()?;
            if hot {
                self.device.kernels.delay(SPACE, stream)?;
            }
            self.device.flusher.enqueue(self.flush, &self.device.kernels, stream)?;
            if self.host_work {
                // The sample begins with the call, not with work that is still running.
                // SAFETY: the stream is the open case's.
                check(unsafe { sys::cuStreamSynchronize(stream) })?;
            }
            record(&pair.start, stream)?;
            work.launch()?;
            record(&pair.stop, stream)?;
        }
        Ok(())
    }

    /// Ends a group: its last event, then the clock probe, then waits for the stream.
    pub(crate) fn end(&self) -> Result<(), CallError> {
        let stream = self.stream();
        self.whole.stop.record(stream)?;
        self.device.clock.enqueue(&self.device.kernels, stream)?;
        self.wait()
    }

    /// Waits for all work on the stream.
    pub(crate) fn wait(&self) -> Result<(), CallError> {
        // SAFETY: the stream is the open case's.
        check(unsafe { sys::cuStreamSynchronize(self.stream()) })
    }

    /// Appends the readings of these pairs to `events`, in the order they ran; if two take turns, the first one's
    /// before the second one's.
    pub(crate) fn read(&self, pairs: Range<usize>, events: &mut Vec<Nanoseconds>) -> Result<(), CallError> {
        events.reserve(pairs.len());
        for place in pairs {
            let place = if let Works::Two(_) = self.works { turn(place) } else { place };
            events.push(self.device.pairs[place].read()?);
        }
        Ok(())
    }
}
