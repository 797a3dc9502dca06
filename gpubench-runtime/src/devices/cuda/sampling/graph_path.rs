//! Groups captured into graphs: no CPU work comes between an event and the launch, and a group costs one graph launch. In: the
//! number of samples; out: their event times.
//!
//! Every place in a graph has its own small error, the same in each replay, and so has every graph. On an H200 the places of one
//! graph differ by a standard deviation of 0.13 µs, and graphs of the same work by 0.05 µs. So each group is captured anew, and
//! empty launches between its samples have the same errors. Graphs are short, since long ones read up to 0.1 µs more.
//!
//! While a group runs, the next one is captured, as if it will have as many samples and the same inputs: otherwise an H200 waits for half of the
//! time.

use std::ops::Range;

use super::graph::{Capture, Executable};
use super::samples::{Clock, SamplingState};
use crate::device::{SampledGroup, Work as _};
use crate::devices::cuda::{driver::Event, relocation};
use gpubench_records::Failure;
use gpubench_stats::{Nanoseconds, interpolated_median};

/// The most places in a graph.
const LONGEST: usize = 64;
/// The groups with samples between stamps, and the longest launch that has some. The error of events is small compared with longer ones.
const STAMPED_GROUPS: usize = 16;
const LONGEST_STAMPED: Nanoseconds = Nanoseconds(2e5);
/// The most launches in a graph without events between them.
const LONGEST_ROW: usize = 256;

/// Captures groups and launches them.
pub(crate) struct GraphPath<'a> {
    pub(crate) samples: SamplingState<'a>,
    /// The number of groups so far, and the samples of the last one that were asked for.
    groups: usize,
    asked: usize,
    /// The graph of the next group, or why there is none, and its places.
    next: Option<(Range<usize>, Result<Executable, Failure>)>,
    /// The graph of the group before. Releasing it takes time, so that too waits until the GPU has work.
    before: Option<Executable>,
    /// A graph of back-to-back launches, and their number.
    row: Option<(Executable, usize)>,
    /// True if the inputs may be made anew, once that is known.
    can_move: Option<bool>,
    /// True if the next group's inputs will be made anew.
    moves: bool,
    /// True if the graphs of groups are copied to the device before they run.
    pub(crate) copies: bool,
    /// The number of groups that are still to have some samples between stamps.
    stamped: usize,
}

impl<'a> GraphPath<'a> {
    pub(crate) fn new(samples: SamplingState<'a>) -> Self {
        Self {
            samples,
            groups: 0,
            asked: 0,
            next: None,
            before: None,
            row: None,
            can_move: None,
            moves: false,
            copies: false,
            stamped: 0,
        }
    }

    /// Copies the graphs of groups to the device before they run, or not: launches that do not stand alone need it. On an H200 each kernel of a launch but the
    /// first begins 0.37 µs later in a graph that was not copied, which no empty launch shows. A launch that stands alone does not need it:
    /// then groups take less time, and their medians deviate by a third (hot) or two thirds (cold) of what they do otherwise.
    pub(crate) fn with_copies(self, copies: bool) -> Self {
        Self { copies, ..self }
    }

    /// Takes a group of this many samples, or of as many as a graph holds.
    pub(crate) fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        let places = self.places(samples);
        self.groups += 1;
        let graph = match self.next.take() {
            Some((same, graph)) if same == places => graph?,
            _ => self.capture(places.clone())?,
        };
        let stamped = self.start(&graph, samples)?;
        let grows = std::mem::replace(&mut self.asked, samples) != samples;
        // A graph has the addresses of its inputs.
        if !grows && !self.moves {
            let places = self.places(samples);
            self.next = Some((places.clone(), self.capture(places)));
        }
        self.before = None;
        let mut group = self.samples.end(places)?;
        self.before = Some(graph);
        if let Some((_graph, places)) = stamped {
            self.stamped -= 1;
            let step = self.samples.device.stamps.step();
            let time = self.samples.read_stamps(places)?;
            let overhead = interpolated_median(&group.events, step).zip(time);
            let overhead = overhead.map(|(event, time)| (event - time).max(Nanoseconds::ZERO));
            group.overhead_by_stamps = overhead.filter(|overhead| overhead.is_finite());
        }
        Ok(group)
    }

    /// Times all samples by stamps, in the place of events, if the clock is fine enough. Kernels directly after another begin late in
    /// a graph that was not copied.
    pub(crate) fn by_stamps(mut self) -> Result<Self, Failure> {
        let device = &mut *self.samples.device;
        self.samples.stamped = device.dither.is_none() && device.stamps.are_fine()?;
        self.copies |= self.samples.stamped;
        Ok(self)
    }

    /// Enables samples between stamps for the next groups, if the clocks of stamps and events are fine enough.
    pub(crate) fn take_stamps(&mut self) -> Result<(), Failure> {
        let device = &mut *self.samples.device;
        if device.dither.is_some() {
            return Ok(());
        }
        self.stamped = if device.stamps.are_fine()? { STAMPED_GROUPS } else { 0 };
        Ok(())
    }

    /// Captures and starts a graph of `samples` samples between stamps, each with an empty launch.
    /// Returns nothing if no more groups have stamps, or if the launch is long.
    fn start_stamped(&mut self, samples: usize) -> Result<Option<(Executable, usize)>, Failure> {
        let is_long = self.samples.shortest.is_none_or(|time| time > LONGEST_STAMPED);
        if self.stamped == 0 || is_long {
            return Ok(None);
        }
        let places = self.samples.places(samples, LONGEST);
        let capture = Capture::begin(self.samples.device.stream)?;
        self.samples.enqueue(0..places, Clock::Stamps)?;
        // Kernels directly after another begin late in a graph that was not copied.
        let graph = self.copied(capture)?;
        graph.launch(self.samples.device.stream)?;
        Ok(Some((graph, places)))
    }

    /// Makes the inputs anew at another place. Returns false if they stay where they are.
    pub(crate) fn relocate_inputs(&mut self, place: u64) -> Result<bool, Failure> {
        // These graphs have the addresses of the inputs until now.
        self.next = None;
        self.row = None;
        let (device, work) = (&mut *self.samples.device, self.samples.works.first());
        let can_move = match self.can_move {
            Some(can_move) => can_move,
            None => relocation::can_move(device, work, place)?,
        };
        self.can_move = Some(can_move);
        self.moves = can_move && relocation::relocate_inputs(device, work, place)?;
        Ok(self.moves)
    }

    /// Puts the first inputs in the place of all that were made anew.
    pub(crate) fn restore_inputs(&mut self) {
        self.next = None;
        self.row = None;
        self.moves = false;
        self.samples.works.first().restore_inputs();
    }

    /// Returns the places of the next group if it has so many samples. Launches that take turns have theirs exchanged in every other
    /// graph.
    fn places(&self, samples: usize) -> Range<usize> {
        let first = self.groups % 2 * LONGEST;
        first..first + self.samples.places(samples, LONGEST)
    }

    /// Captures a graph of samples between these pairs of events.
    fn capture(&mut self, pairs: Range<usize>) -> Result<Executable, Failure> {
        self.samples.device.want_pairs(pairs.end)?;
        let capture = Capture::begin(self.samples.device.stream)?;
        let events = Clock::Events(Event::record_as_node);
        self.samples.enqueue(pairs, if self.samples.stamped { Clock::Stamps } else { events })?;
        if self.copies { self.copied(capture) } else { Ok(capture.end()?.instantiate()?) }
    }

    /// Ends a capture, and copies its graph to the device, so that its first launch is like all later ones.
    fn copied(&self, capture: Capture) -> Result<Executable, Failure> {
        let executable = capture.end()?.instantiate()?;
        executable.upload(self.samples.device.stream)?;
        Ok(executable)
    }

    /// Captures a graph with one pair of events around `launches` launches, back-to-back behind one that is not timed.
    pub(crate) fn capture_row(&mut self, launches: usize) -> Result<Executable, Failure> {
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
        let (row, length) = match &self.row {
            Some(row) => row,
            None => {
                let length = launches.clamp(1, LONGEST_ROW);
                let capture = Capture::begin(self.samples.device.stream)?;
                (0..length).try_for_each(|_| self.samples.works.first().launch())?;
                let row = self.copied(capture)?;
                self.row.insert((row, length))
            }
        };
        let rows = launches.div_ceil(*length);
        for _ in 0..rows {
            row.launch(self.samples.device.stream)?;
        }
        self.samples.wait()?;
        Ok(rows * length)
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

    /// Launches a graph as a group of `samples` samples. Returns the graph of those between stamps and its places, if there is one.
    fn start(&mut self, graph: &Executable, samples: usize) -> Result<Option<(Executable, usize)>, Failure> {
        self.samples.begin()?;
        graph.launch(self.samples.device.stream)?;
        self.samples.finish()?;
        if samples > 0 { self.start_stamped(samples) } else { Ok(None) }
    }
}
