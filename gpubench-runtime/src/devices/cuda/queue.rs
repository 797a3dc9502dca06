//! A GPU as a queue: launches are captured into graphs, or run on the stream of the open case. Times are read
//! from events or stamps.

use std::{rc::Rc, time::Duration};

use gpubench_driver::sys;

use super::Cuda;
use super::driver::{CallError, Event, EventPair, check};
use super::graph::{Capture, Executable};
use super::kernels::EmptyKernels;
use crate::device::{Batch, Calibration, Clock, OwnLaunch, Queue, QueueProperties, Readings, Work};
use gpubench_records::{Failure, Flush};
use gpubench_stats::{Bytes, Nanoseconds};

/// The most slots, and so the most timed launches, in a graph. The queue has slots and events for two such
/// graphs. Larger groups of samples are reduced to this number of launches.
const MOST_SLOTS_PER_GRAPH: usize = 64;

/// The graphs and the events of the queue of a GPU.
pub(crate) struct QueueState {
    /// The capture of the batch that is being recorded, otherwise `None`.
    capture: Option<Capture>,
    /// The graphs of the batches: a [`Batch`] is an index into this list. Released batches are `None`.
    graphs: Vec<Option<Executable>>,
    /// The pair of events of each slot.
    pairs: Vec<EventPair>,
    /// The pair of events around the current group.
    whole: EventPair,
    /// The event at the start of the previous group of the series; `None` before the second group.
    previous_start: Option<Event>,
    /// The time from the start of the first group of the series to the start of the current one. It is summed
    /// from group to group, since the driver returns times in 24 bits, which hold whole nanoseconds up to 16
    /// ms only.
    since_first: Nanoseconds,
}

impl QueueState {
    /// Creates the events of all slots and of the groups.
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Self {
            capture: None,
            graphs: Vec::new(),
            pairs: (0..2 * MOST_SLOTS_PER_GRAPH).map(|_| EventPair::new()).collect::<Result<_, _>>()?,
            whole: EventPair::new()?,
            previous_start: None,
            since_first: Nanoseconds::ZERO,
        })
    }

    /// Returns the graph of `batch`, which must not have been released.
    fn graph(&self, batch: &Batch) -> &Executable {
        self.graphs[batch.0].as_ref().expect("a batch exists until it is released")
    }
}

impl Queue for Cuda {
    fn properties(&self) -> QueueProperties {
        QueueProperties {
            capacity: MOST_SLOTS_PER_GRAPH,
            has_gaps: true,
            replays: true,
            is_coarse: self.dither.is_some(),
            is_simulated: gpubench_driver::load().is_ok_and(|driver| driver.fake),
            loads_parameters: true,
            first_launch: self.first_launch,
            calibration_limit: None,
            last_level_cache: Bytes(self.flusher.cache_size as u64),
            cache_name: "the L2",
            usual_flush: self.usual_flush(),
            other_flushes: &[Flush::Read, Flush::Write],
        }
    }

    fn calibration(&mut self) -> &mut Calibration {
        &mut self.calibration
    }

    fn own_launch(&mut self, launch: OwnLaunch) -> Result<Option<Box<dyn Work>>, Failure> {
        let (stream, flusher) = (self.stream, Rc::clone(&self.flusher));
        Ok(Some(match launch {
            OwnLaunch::Empty(mode, cache) => {
                let empty = self.kernels.empty.matching(mode.recorded, cache);
                if mode.nested {
                    Box::new(empty.work_in_graph(stream)?)
                } else {
                    Box::new(empty.work(stream))
                }
            }
            OwnLaunch::EmptyAtNewAddress(cache) => {
                Box::new(EmptyKernels::load()?.matching(true, cache).work(stream))
            }
            // For devices without gaps.
            OwnLaunch::EmptyBackToBack(_) => return Ok(None),
            OwnLaunch::ReadQuarters(quarters) => {
                Box::new(move || Ok(flusher.read_quarters(quarters, stream)?))
            }
            OwnLaunch::ReadHalf => {
                let mut number = 0;
                Box::new(move || {
                    number += 1;
                    Ok(flusher.read_half(number, stream)?)
                })
            }
        }))
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.queue.capture = Some(Capture::begin(self.stream)?);
        Ok(())
    }

    fn end(&mut self, copied: bool) -> Result<Batch, Failure> {
        let capture = self.queue.capture.take().expect("a batch is recorded");
        let graph = capture.end()?.instantiate()?;
        if copied {
            graph.upload(self.stream)?;
        }
        let graphs = &mut self.queue.graphs;
        let free = graphs.iter().position(Option::is_none).unwrap_or_else(|| {
            graphs.push(None);
            graphs.len() - 1
        });
        graphs[free] = Some(graph);
        Ok(Batch(free))
    }

    fn abandon(&mut self) {
        self.queue.capture = None;
    }

    fn submit(&mut self, batch: &Batch) -> Result<(), Failure> {
        Ok(self.queue.graph(batch).launch(self.stream)?)
    }

    fn release(&mut self, batch: Batch) {
        self.queue.graphs[batch.0] = None;
    }

    fn hold(&mut self, time: Duration) -> Result<(), Failure> {
        Ok(self.kernels.delay(time, self.stream)?)
    }

    fn gap(&mut self, time: Duration, number: usize) -> Result<(), Failure> {
        Ok(match &self.dither {
            Some(dither) => dither.delay(time, number, self.stream),
            None => self.kernels.delay(time, self.stream),
        }?)
    }

    fn flush(&mut self, flush: Flush) -> Result<(), Failure> {
        Ok(self.flusher.enqueue(flush, self.stream)?)
    }

    fn start(&mut self, slot: usize, clock: Clock) -> Result<(), Failure> {
        Ok(match clock {
            Clock::Events => self.record_event(&self.queue.pairs[slot].start),
            Clock::Stamps => self.stamps.enqueue_stamp(2 * slot, &self.kernels, self.stream),
        }?)
    }

    fn stop(&mut self, slot: usize, clock: Clock) -> Result<(), Failure> {
        Ok(match clock {
            Clock::Events => self.record_event(&self.queue.pairs[slot].stop),
            Clock::Stamps => self.stamps.enqueue_stamp(2 * slot + 1, &self.kernels, self.stream),
        }?)
    }

    fn open_group(&mut self) -> Result<(), Failure> {
        Ok(self.queue.whole.start.record(self.stream)?)
    }

    fn close_group(&mut self) -> Result<(), Failure> {
        self.queue.whole.stop.record(self.stream)?;
        Ok(self.clock.enqueue(&self.kernels, self.stream)?)
    }

    fn wait(&mut self) -> Result<(), Failure> {
        // SAFETY: the stream is the open case's.
        Ok(check(unsafe { sys::cuStreamSynchronize(self.stream) })?)
    }

    fn times(&mut self, slots: &[usize], clock: Clock) -> Result<Vec<Nanoseconds>, Failure> {
        Ok(match clock {
            Clock::Events => {
                slots.iter().map(|slot| self.queue.pairs[*slot].read()).collect::<Result<_, _>>()?
            }
            Clock::Stamps => {
                let stamps = self.stamps.times_of_slots(slots.iter().max().map_or(0, |last| last + 1))?;
                slots.iter().map(|slot| stamps[*slot]).collect()
            }
        })
    }

    fn read(&mut self, slots: &[usize], starts: &[usize], clock: Clock) -> Result<Readings, Failure> {
        if let Some(previous_start) = &self.queue.previous_start {
            self.queue.since_first += previous_start.until(&self.queue.whole.start)?;
        }
        let times = self.times(slots, clock)?;
        let QueueState { pairs, whole, previous_start, since_first, .. } = &mut self.queue;
        let start = |slot: &usize| Ok(*since_first + whole.start.until(&pairs[*slot].start)?);
        let starts = starts.iter().map(start).collect::<Result<_, Failure>>()?;
        let (elapsed, clock) = (whole.read()?, self.clock.take());
        let next = previous_start.take().map_or_else(Event::new, Ok)?;
        *previous_start = Some(std::mem::replace(&mut whole.start, next));
        Ok(Readings { times, starts, elapsed, clock })
    }

    fn begin_series(&mut self) {
        self.queue.previous_start = None;
        self.queue.since_first = Nanoseconds::ZERO;
    }

    fn stamps(&mut self) -> Result<Option<Nanoseconds>, Failure> {
        Ok(if self.dither.is_some() { None } else { self.stamps.fine_step()? })
    }

    fn refuses(&self, flush: Flush) -> Option<String> {
        let why = match flush {
            Flush::Lines => "--flush lines: a GPU has `discard`, `read`, `write`, `none`",
            Flush::Discard if self.kernels.discard.is_none() => {
                "this GPU cannot discard lines of its L2 (compute capability 8.0 can): --flush read, write or none"
            }
            _ => return None,
        };
        Some(why.to_owned())
    }

    fn reachable(&self) -> Option<Bytes> {
        self.write_detector.reachable().ok().map(|memory| memory.bytes())
    }
}

impl Cuda {
    /// Records an event: as a graph node if a batch is being recorded, otherwise on the stream.
    fn record_event(&self, event: &Event) -> Result<(), CallError> {
        match self.queue.capture {
            Some(_) => event.record_as_node(self.stream),
            None => event.record(self.stream),
        }
    }
}
