//! Timestamps around launches, many in one query set, which are resolved and read back together; and the step
//! of the clock that they are from.

use std::ops::Range;

use gpubench_runtime::device::DeviceError;
use gpubench_stats::{Nanoseconds, greatest_common_divisor};
use wgpu::{Buffer, BufferUsages, CommandEncoder, QuerySet, QuerySetDescriptor, QueryType};

use crate::encoder::buffer;

/// The number of queries in the query set, the maximum that wgpu allows.
const MAX_QUERIES: u32 = wgpu::QUERY_SET_MAX_QUERIES;
/// The maximum number of launches that one query set can time: each needs two queries.
pub(crate) const MAX_SLOTS: usize = MAX_QUERIES as usize / 2;

/// The query set with a start and a stop timestamp for each launch, called a slot, and the buffers that they
/// are read back through.
pub(crate) struct LaunchTimestamps {
    queries: QuerySet,
    /// The buffer on the device that resolved timestamps are written to.
    resolved: Buffer,
    /// The copy of `resolved` that the host maps and reads.
    read: Buffer,
    /// The slots that were written since the last call of [`Self::take_used`].
    used: Range<usize>,
    step: ClockStep,
}

impl LaunchTimestamps {
    /// Creates the query set and its buffers.
    pub(crate) fn new(device: &wgpu::Device) -> Self {
        let size = u64::from(MAX_QUERIES) * size_of::<u64>() as u64;
        let ty = QueryType::Timestamp;
        Self {
            queries: device.create_query_set(&QuerySetDescriptor { label: None, ty, count: MAX_QUERIES }),
            resolved: buffer(device, size, BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC),
            read: buffer(device, size, BufferUsages::MAP_READ | BufferUsages::COPY_DST),
            used: 0..0,
            step: ClockStep::default(),
        }
    }

    /// Encodes the start timestamp of the launch in a slot, and marks the slot as used.
    pub(crate) fn write_start(&mut self, commands: &mut CommandEncoder, slot: usize) {
        let first = if self.used.is_empty() { slot } else { self.used.start };
        self.used = first.min(slot)..self.used.end.max(slot + 1);
        commands.write_timestamp(&self.queries, 2 * slot as u32);
    }

    /// Encodes the stop timestamp of the launch in a slot.
    pub(crate) fn write_stop(&self, commands: &mut CommandEncoder, slot: usize) {
        commands.write_timestamp(&self.queries, 2 * slot as u32 + 1);
    }

    /// Returns the range of slots that were started since the last call, and begins a new range.
    pub(crate) fn take_used(&mut self) -> Range<usize> {
        std::mem::replace(&mut self.used, 0..0)
    }

    /// Encodes the copy of these slots' timestamps into [`Self::buffer`]. Encodes nothing for an empty range.
    pub(crate) fn resolve(&self, commands: &mut CommandEncoder, slots: &Range<usize>) {
        if !slots.is_empty() {
            let queries = 2 * slots.start as u32..2 * slots.end as u32;
            commands.resolve_query_set(&self.queries, queries, &self.resolved, 0);
            commands.copy_buffer_to_buffer(&self.resolved, 0, &self.read, 0, 16 * slots.len() as u64);
        }
    }

    /// Returns the buffer that [`Self::resolve`] copies timestamps into, for the host to read.
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.read
    }

    /// Decodes the timestamps of these `slots` from the `bytes` of [`Self::buffer`], and updates the clock's
    /// step. `period` is the length of a tick in nanoseconds. Returns an error if there are too few bytes.
    pub(crate) fn spans(
        &mut self,
        bytes: &[u8],
        slots: &Range<usize>,
        period: f32,
    ) -> Result<Vec<Span>, DeviceError> {
        let (ticks, _) = bytes.as_chunks::<8>();
        let ticks = ticks.get(..2 * slots.len());
        let (launches, _) =
            ticks.ok_or_else(|| DeviceError::new("a timestamp was not read back"))?.as_chunks::<2>();
        let span = |[begin, end]: &[[u8; 8]; 2]| Span {
            begin: u64::from_le_bytes(*begin),
            end: u64::from_le_bytes(*end),
            period: period.into(),
        };
        let spans: Vec<Span> = launches.iter().map(span).collect();
        spans.iter().for_each(|span| self.step.add(span));
        Ok(spans)
    }

    /// Returns the step of the device's clock, according to all timestamps so far; 1 ns before the first.
    pub(crate) fn step(&self) -> Nanoseconds {
        self.step.time()
    }
}

/// The start and the stop timestamp of a launch, in ticks of the device's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    pub begin: u64,
    end: u64,
    /// The length of a tick in nanoseconds.
    period: f64,
}

impl Span {
    /// Returns the time from the start to the stop; negative if the clock ran backwards.
    pub(crate) fn time(&self) -> Nanoseconds {
        self.since(self.begin, self.end)
    }

    /// Returns the time from the start of `first` to the stop of this span.
    pub(crate) fn end_since(&self, first: &Self) -> Nanoseconds {
        self.since(first.begin, self.end)
    }

    /// Returns the time from the clock's value `ticks` to the start of this span.
    pub(crate) fn begin_since(&self, ticks: u64) -> Nanoseconds {
        self.since(ticks, self.begin)
    }

    /// Converts the difference of two values of the clock to a time; negative if `end` is before `begin`.
    fn since(&self, begin: u64, end: u64) -> Nanoseconds {
        Nanoseconds(end.wrapping_sub(begin).cast_signed() as f64 * self.period)
    }
}

/// The step of the device's clock: the greatest common divisor of the distances of all timestamps.
#[derive(Default)]
struct ClockStep {
    /// The first timestamp, in ticks.
    origin: Option<u64>,
    /// The step in ticks; 0 until two timestamps differ.
    ticks: u64,
    /// The length of a tick in nanoseconds.
    period: f64,
}

impl ClockStep {
    /// Includes both timestamps of a span in the step.
    fn add(&mut self, span: &Span) {
        let origin = *self.origin.get_or_insert(span.begin);
        self.period = span.period;
        for reading in [span.begin, span.end] {
            self.ticks = greatest_common_divisor(self.ticks, reading.abs_diff(origin));
        }
    }

    /// Returns the step as a time: one tick if all timestamps were equal, and 1 ns if there are none.
    fn time(&self) -> Nanoseconds {
        match self.origin {
            Some(_) => Nanoseconds(self.ticks.max(1) as f64 * self.period),
            None => Nanoseconds(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin: u64, end: u64, period: f64) -> Span {
        Span { begin, end, period }
    }

    #[test]
    fn ticks_are_times_by_the_period() {
        assert_eq!(span(10, 22, 52.0).time(), Nanoseconds(624.0));
        assert_eq!(span(22, 10, 1.0).time(), Nanoseconds(-12.0));
        assert_eq!(span(30, 40, 2.0).end_since(&span(20, 25, 2.0)), Nanoseconds(40.0));
        assert_eq!(span(30, 40, 2.0).begin_since(20), Nanoseconds(20.0));
    }

    #[test]
    fn the_step_divides_the_distances_of_all_readings() {
        let step = |spans: &[Span]| {
            let mut step = ClockStep::default();
            spans.iter().for_each(|span| step.add(span));
            step.time()
        };
        // Counters begin anywhere: 7 divides no distance.
        let spans = [span(7, 39, 1.0), span(71, 167, 1.0)];
        assert_eq!(step(&spans), Nanoseconds(32.0));
        assert_eq!(step(&[span(0, 3, 10.0), span(5, 7, 10.0)]), Nanoseconds(10.0));
        assert_eq!(step(&[]), Nanoseconds(1.0));
    }
}
