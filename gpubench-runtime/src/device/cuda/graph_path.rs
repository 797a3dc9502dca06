//! Groups captured into graphs and replayed: no work of the CPU comes between an event and the launch, and a group costs
//! one launch of a graph. In: samples to take; out: their event times.

use std::collections::HashMap;

use super::event::Event;
use super::graph::{Capture, Executable};
use super::samples::Samples;
use crate::failure::Failure;
use crate::units::Nanoseconds;

/// Captures a group once for each size, and replays it.
pub(super) struct GraphPath<'a> {
    pub(super) samples: Samples<'a>,
    graphs: HashMap<usize, Executable>,
}

impl<'a> GraphPath<'a> {
    pub(super) fn new(samples: Samples<'a>) -> Self {
        Self { samples, graphs: HashMap::new() }
    }

    /// Takes a group of this many samples.
    pub(super) fn group(
        &mut self,
        samples: usize,
        events: &mut Vec<Nanoseconds>,
    ) -> Result<Nanoseconds, Failure> {
        self.samples.device.want_pairs(samples)?;
        if !self.graphs.contains_key(&samples) {
            let graph = self.capture(samples)?;
            self.graphs.insert(samples, graph);
        }
        self.replay(&self.graphs[&samples], samples, events)
    }

    fn capture(&mut self, count: usize) -> Result<Executable, Failure> {
        let capture = Capture::begin(self.samples.stream())?;
        self.samples.enqueue(count, Event::record_as_node)?;
        Ok(capture.end()?.instantiate()?)
    }

    /// A graph of one pair around `launches` launches in a row.
    pub(super) fn capture_row(&mut self, launches: usize) -> Result<Executable, Failure> {
        self.samples.device.want_pairs(1)?;
        let stream = self.samples.stream();
        let capture = Capture::begin(stream)?;
        self.samples.work.launch()?;
        let pair = &self.samples.device.pairs[0];
        pair.start.record_as_node(stream)?;
        for _ in 0..launches {
            self.samples.work.launch()?;
        }
        pair.stop.record_as_node(stream)?;
        Ok(capture.end()?.instantiate()?)
    }

    /// Replays `graph` and reads its first `count` pairs into `events`; returns what the whole of it took.
    pub(super) fn replay(
        &self,
        graph: &Executable,
        count: usize,
        events: &mut Vec<Nanoseconds>,
    ) -> Result<Nanoseconds, Failure> {
        let stream = self.samples.stream();
        self.samples.whole.start.record(stream)?;
        graph.launch(stream)?;
        self.samples.whole.stop.record(stream)?;
        self.samples.read(count, events)
    }
}
