//! One group of samples, on whichever path: reset, flush, event, launch, event, many times over. In: a launch, or two that
//! take turns; out: their samples enqueued on the case's stream, and the event times read when the stream is done.

use std::ops::Range;
use std::time::Duration;

use cust::sys::{self, CUstream};

use crate::device::cuda::Cuda;
use crate::device::cuda::driver::current::Guarded;
use crate::device::cuda::driver::event::{Event, Pair};
use crate::device::cuda::driver::{CallError, check};
use crate::device::{Work, turns};
use gpubench_records::failure::Failure;
use gpubench_records::method::{Cache, Flush};
use gpubench_stats::units::Nanoseconds;

/// What goes before each hot sample, as the flush goes before each cold one: without it the GPU catches up with what feeds it
/// commands, and waits between the events. On an H200, hot launches of 2 µs then read 0.1 to 0.3 µs more, some of the time.
const SPACE: Duration = Duration::from_micros(8);

/// What both paths share: the work, what goes before it, and the events around it.
pub(crate) struct Samples<'a> {
    pub(crate) device: &'a mut Cuda,
    pub(crate) works: Works<'a>,
    pub(crate) cache: Cache,
    pub(crate) flush: Flush,
    /// Around the whole group.
    pub(crate) whole: Pair,
}

/// The launches of which samples are taken: one, or two that take turns.
pub(crate) enum Works<'a> {
    One(Guarded<'a>),
    Two([Guarded<'a>; 2]),
}

impl Works<'_> {
    /// The first of them.
    pub(crate) fn first(&mut self) -> &mut dyn Work {
        match self {
            Self::One(work) | Self::Two([work, _]) => work,
        }
    }

    /// The one whose sample is at this place.
    fn at(&mut self, place: usize) -> &mut dyn Work {
        match self {
            Self::One(work) => work,
            Self::Two(works) => &mut works[turn(place) % 2],
        }
    }
}

/// Where two take turns, the place of what comes at this place when the first of each pair is put first; and the other way
/// round.
fn turn(place: usize) -> usize {
    if turns::swapped(place / 2) { place ^ 1 } else { place }
}

impl<'a> Samples<'a> {
    pub(crate) fn new(
        device: &'a mut Cuda,
        works: Works<'a>,
        cache: Cache,
        flush: Flush,
    ) -> Result<Self, Failure> {
        Ok(Self { device, works, cache, flush, whole: Pair::new()? })
    }

    pub(crate) fn stream(&self) -> CUstream {
        self.device.stream
    }

    /// So many samples, or where two take turns as many as make whole pairs.
    pub(crate) fn in_pairs(&self, samples: usize) -> usize {
        match self.works {
            Works::One(_) => samples,
            Works::Two(_) => (samples / 2 * 2).max(2),
        }
    }

    /// Puts a sample on the stream for each of these pairs of events, which `record` records.
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
            // The launch before was the other's, which may have left nothing of this one's data.
            if hot && !alone {
                work.launch()?;
            }
            work.reset()?;
            if hot {
                self.device.kernels.delay(SPACE, stream)?;
            }
            self.device.flusher.enqueue(self.flush, &self.device.kernels, stream)?;
            record(&pair.start, stream)?;
            work.launch()?;
            record(&pair.stop, stream)?;
        }
        Ok(())
    }

    /// Ends a group: its last event, then the clock that it was at, and waits for all that is on the stream.
    pub(crate) fn end(&self) -> Result<(), CallError> {
        let stream = self.stream();
        self.whole.stop.record(stream)?;
        self.device.clock.enqueue(&self.device.kernels, stream)?;
        self.wait()
    }

    /// Waits for all that is on the stream.
    pub(crate) fn wait(&self) -> Result<(), CallError> {
        // SAFETY: the stream is the open case's.
        check(unsafe { sys::cuStreamSynchronize(self.stream()) })
    }

    /// What these pairs read, to the end of `events`: in the order they ran, or, where two take turns, that of the first
    /// before that of the second.
    pub(crate) fn read(&self, pairs: Range<usize>, events: &mut Vec<Nanoseconds>) -> Result<(), CallError> {
        events.reserve(pairs.len());
        for place in pairs {
            let place = if let Works::Two(_) = self.works { turn(place) } else { place };
            events.push(self.device.pairs[place].read()?);
        }
        Ok(())
    }
}
