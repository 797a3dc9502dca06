//! Groups captured into graphs: no CPU work comes between an event and the launch, and a group costs one graph launch.
//!
//! Every slot in a graph has its own small error, the same in each replay, and so has every graph. On an H200 the slots of one
//! graph differ by a standard deviation of 0.13 µs, and graphs of the same work by 0.05 µs. So each group is captured anew, and
//! empty launches between its samples have the same errors. Graphs are short, since long ones read up to 0.1 µs more.
//!
//! While a group runs, the next one is captured, assuming the same number of samples and the same inputs: otherwise an H200 is idle half of
//! the time.

use std::ops::Range;

use super::graph::{Capture, Executable};
use super::samples::{Clock, SamplingState};
use crate::device::{SampledGroup, Work as _};
use crate::devices::cuda::{driver::Event, relocation};
use gpubench_records::Failure;
use gpubench_stats::{Nanoseconds, interpolated_median};

/// The most slots in a graph.
const LONGEST: usize = 64;
/// The number of groups with samples between stamps, and the longest launch that has such samples. For longer launches, the error of
/// events is negligible.
const STAMPED_GROUPS: usize = 16;
const LONGEST_STAMPED: Nanoseconds = Nanoseconds(2e5);
/// The most launches in a graph without events between them.
const LONGEST_BACK_TO_BACK: usize = 256;

/// Captures groups and launches them.
pub(crate) struct GraphPath<'a> {
    pub(crate) samples: SamplingState<'a>,
    /// The number of groups so far.
    groups: usize,
    /// The number of samples requested for the last group.
    asked: usize,
    /// The slots of the next group, and its graph or the reason why capturing it failed.
    next: Option<(Range<usize>, Result<Executable, Failure>)>,
    /// The graph of the previous group. Releasing it takes time, so it is dropped while the GPU has work.
    previous_graph: Option<Executable>,
    /// A graph of back-to-back launches, and their number.
    back_to_back_graph: Option<(Executable, usize)>,
    /// True if the inputs can be relocated; `None` until that is known.
    can_move: Option<bool>,
    /// True if the next group's inputs will be relocated.
    moves: bool,
    /// True if the graphs of groups are copied to the device before they run.
    pub(crate) copies: bool,
    /// The number of further groups that have samples between stamps.
    stamped_groups_left: usize,
}

impl<'a> GraphPath<'a> {
    pub(crate) fn new(samples: SamplingState<'a>) -> Self {
        Self {
            samples,
            groups: 0,
            asked: 0,
            next: None,
            previous_graph: None,
            back_to_back_graph: None,
            can_move: None,
            moves: false,
            copies: false,
            stamped_groups_left: 0,
        }
    }

    /// Sets whether the graphs of groups are copied to the device before they run. Launches of several operations need it: on an H200, each
    /// kernel of a launch but the first begins 0.37 µs later in a graph that was not copied, which no empty launch shows. For launches of a
    /// single operation, groups without the copy take less time, and their medians deviate by a third (hot) or two thirds (cold) as much.
    pub(crate) fn with_copies(self, copies: bool) -> Self {
        Self { copies, ..self }
    }

    /// Takes a group of this many samples, or of as many as a graph holds.
    pub(crate) fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        let slots = self.slots(samples);
        self.groups += 1;
        let graph = match self.next.take() {
            Some((same, graph)) if same == slots => graph?,
            _ => self.capture(slots.clone())?,
        };
        let stamped = self.start(&graph, samples)?;
        let grows = std::mem::replace(&mut self.asked, samples) != samples;
        // A graph contains the addresses of its inputs.
        if !grows && !self.moves {
            let slots = self.slots(samples);
            self.next = Some((slots.clone(), self.capture(slots)));
        }
        self.previous_graph = None;
        let mut group = self.samples.end(slots)?;
        self.previous_graph = Some(graph);
        if let Some((_graph, slots)) = stamped {
            self.stamped_groups_left -= 1;
            let step = self.samples.device.stamps.step();
            let time = self.samples.read_stamps(slots)?;
            let overhead = interpolated_median(&group.events, step).zip(time);
            let overhead = overhead.map(|(event, time)| (event - time).max(Nanoseconds::ZERO));
            group.overhead_by_stamps = overhead.filter(|overhead| overhead.is_finite());
        }
        Ok(group)
    }

    /// Times all samples with stamps instead of events, if the clock is fine enough. Kernels directly after another kernel begin late in
    /// a graph that was not copied.
    pub(crate) fn with_stamps(mut self) -> Result<Self, Failure> {
        let device = &mut *self.samples.device;
        self.samples.uses_stamps = device.dither.is_none() && device.stamps.are_fine()?;
        self.copies |= self.samples.uses_stamps;
        Ok(self)
    }

    /// Enables samples between stamps for the next groups, if the clocks of stamps and events are fine enough.
    pub(crate) fn take_stamps(&mut self) -> Result<(), Failure> {
        let device = &mut *self.samples.device;
        if device.dither.is_some() {
            return Ok(());
        }
        self.stamped_groups_left = if device.stamps.are_fine()? { STAMPED_GROUPS } else { 0 };
        Ok(())
    }

    /// Captures and starts a graph of `samples` samples between stamps, each with an empty launch.
    /// Returns nothing if no more groups have stamps, or if the launch is long.
    fn start_stamped(&mut self, samples: usize) -> Result<Option<(Executable, usize)>, Failure> {
        let is_long = self.samples.shortest.is_none_or(|time| time > LONGEST_STAMPED);
        if self.stamped_groups_left == 0 || is_long {
            return Ok(None);
        }
        let slots = self.samples.slots(samples, LONGEST);
        let capture = Capture::begin(self.samples.device.stream)?;
        self.samples.enqueue(0..slots, Clock::Stamps)?;
        // Kernels directly after another kernel begin late in a graph that was not copied.
        let graph = self.copied(capture)?;
        graph.launch(self.samples.device.stream)?;
        Ok(Some((graph, slots)))
    }

    /// Makes the inputs again at addresses that depend on `allocation_seed`. Returns false if they keep their addresses.
    pub(crate) fn relocate_inputs(&mut self, allocation_seed: u64) -> Result<bool, Failure> {
        // These graphs contain the former addresses of the inputs.
        self.next = None;
        self.back_to_back_graph = None;
        let (device, work) = (&mut *self.samples.device, self.samples.works.first());
        let can_move = match self.can_move {
            Some(can_move) => can_move,
            None => relocation::can_move(device, work, allocation_seed)?,
        };
        self.can_move = Some(can_move);
        self.moves = can_move && relocation::relocate_inputs(device, work, allocation_seed)?;
        Ok(self.moves)
    }

    /// Restores the first inputs.
    pub(crate) fn restore_inputs(&mut self) {
        self.next = None;
        self.back_to_back_graph = None;
        self.moves = false;
        self.samples.works.first().restore_inputs();
    }

    /// Returns the slots of the next group if it has this many samples. Interleaved launches swap their slots in every other graph.
    fn slots(&self, samples: usize) -> Range<usize> {
        let first = self.groups % 2 * LONGEST;
        first..first + self.samples.slots(samples, LONGEST)
    }

    /// Captures a graph of samples between these pairs of events.
    fn capture(&mut self, pairs: Range<usize>) -> Result<Executable, Failure> {
        self.samples.device.want_pairs(pairs.end)?;
        let capture = Capture::begin(self.samples.device.stream)?;
        let events = Clock::Events(Event::record_as_node);
        self.samples.enqueue(pairs, if self.samples.uses_stamps { Clock::Stamps } else { events })?;
        if self.copies { self.copied(capture) } else { Ok(capture.end()?.instantiate()?) }
    }

    /// Ends a capture, and copies its graph to the device, so that its first launch is like all later ones.
    fn copied(&self, capture: Capture) -> Result<Executable, Failure> {
        let executable = capture.end()?.instantiate()?;
        executable.upload(self.samples.device.stream)?;
        Ok(executable)
    }

    /// Captures a graph with one pair of events around `launches` back-to-back launches, after one that is not timed.
    pub(crate) fn capture_back_to_back(&mut self, launches: usize) -> Result<Executable, Failure> {
        self.samples.device.want_pairs(1)?;
        let stream = self.samples.device.stream;
        let capture = Capture::begin(stream)?;
        let work = self.samples.works.first();
        work.launch()?;
        let pair = &self.samples.device.pairs[0];
        pair.start.record_as_node(stream)?;
        for _ in 0..launches {
            work.launch()?;
        }
        pair.stop.record_as_node(stream)?;
        self.copied(capture)
    }

    /// Launches about `launches` times back-to-back, waits, and returns the exact number.
    pub(crate) fn back_to_back(&mut self, launches: usize) -> Result<usize, Failure> {
        let (graph, length) = match &self.back_to_back_graph {
            Some(graph) => graph,
            None => {
                let length = launches.clamp(1, LONGEST_BACK_TO_BACK);
                let capture = Capture::begin(self.samples.device.stream)?;
                (0..length).try_for_each(|_| self.samples.works.first().launch())?;
                let graph = self.copied(capture)?;
                self.back_to_back_graph.insert((graph, length))
            }
        };
        let replays = launches.div_ceil(*length);
        for _ in 0..replays {
            graph.launch(self.samples.device.stream)?;
        }
        self.samples.wait()?;
        Ok(replays * length)
    }

    /// Launches a graph and reads its pairs.
    pub(crate) fn replay(
        &mut self,
        graph: &Executable,
        pairs: Range<usize>,
    ) -> Result<SampledGroup, Failure> {
        self.start(graph, 0)?;
        Ok(self.samples.end(pairs)?)
    }

    /// Launches a graph as a group of `samples` samples. Returns the graph of the samples between stamps and the number of its slots, if
    /// there is one.
    fn start(&mut self, graph: &Executable, samples: usize) -> Result<Option<(Executable, usize)>, Failure> {
        self.samples.begin()?;
        graph.launch(self.samples.device.stream)?;
        self.samples.finish()?;
        if samples > 0 { self.start_stamped(samples) } else { Ok(None) }
    }
}
