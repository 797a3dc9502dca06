//! Timestamps around launches, many in one query set, which are resolved and read back together; and the step of the clock that
//! they are from.

use std::ops::Range;

use gpubench_runtime::device::DeviceError;
use gpubench_stats::{Nanoseconds, greatest_common_divisor};
use wgpu::{Buffer, BufferUsages, CommandEncoder, QuerySet, QuerySetDescriptor, QueryType};

use crate::encoder::buffer;

/// The queries of a set, the most that wgpu allows.
const MAX_QUERIES: u32 = wgpu::QUERY_SET_MAX_QUERIES;
/// The most launches that a set has room for.
pub(crate) const MAX_SLOTS: usize = MAX_QUERIES as usize / 2;

pub(crate) struct LaunchTimestamps {
    queries: QuerySet,
    resolved: Buffer,
    read: Buffer,
    /// The slots that were written since the last call of [`Self::take_used`].
    used: Range<usize>,
    step: ClockStep,
}

impl LaunchTimestamps {
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

    /// Marks the start of the launch in a slot.
    pub(crate) fn write_start(&mut self, commands: &mut CommandEncoder, slot: usize) {
        let first = if self.used.is_empty() { slot } else { self.used.start };
        self.used = first.min(slot)..self.used.end.max(slot + 1);
        commands.write_timestamp(&self.queries, 2 * slot as u32);
    }

    /// Marks its end.
    pub(crate) fn write_stop(&self, commands: &mut CommandEncoder, slot: usize) {
        commands.write_timestamp(&self.queries, 2 * slot as u32 + 1);
    }

    /// Returns the slots that were written since the last call.
    pub(crate) fn take_used(&mut self) -> Range<usize> {
        std::mem::replace(&mut self.used, 0..0)
    }

    /// Encodes the read-back of the timestamps of these slots.
    pub(crate) fn resolve(&self, commands: &mut CommandEncoder, slots: &Range<usize>) {
        if !slots.is_empty() {
            let queries = 2 * slots.start as u32..2 * slots.end as u32;
            commands.resolve_query_set(&self.queries, queries, &self.resolved, 0);
            commands.copy_buffer_to_buffer(&self.resolved, 0, &self.read, 0, 16 * slots.len() as u64);
        }
    }

    /// Returns the buffer where they are then.
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.read
    }

    /// Returns the spans of these slots from the `bytes` of that buffer.
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

    /// Returns the step of the clock, according to all readings so far.
    pub(crate) fn step(&self) -> Nanoseconds {
        self.step.time()
    }
}

/// The readings around a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// The nanoseconds of a tick.
    pub(crate) period: f64,
}

impl Span {
    /// Returns the time from begin to end; below zero if the clock ran backwards.
    pub(crate) fn time(&self) -> Nanoseconds {
        self.since(self.begin, self.end)
    }

    /// Returns the time from the begin of `first` to the end of this span.
    pub(crate) fn end_since(&self, first: &Self) -> Nanoseconds {
        self.since(first.begin, self.end)
    }

    /// Returns the time from these ticks to the begin of this span.
    pub(crate) fn begin_since(&self, ticks: u64) -> Nanoseconds {
        self.since(ticks, self.begin)
    }

    fn since(&self, begin: u64, end: u64) -> Nanoseconds {
        Nanoseconds(end.wrapping_sub(begin).cast_signed() as f64 * self.period)
    }
}

/// The step of the clock: the greatest common divisor of the distances of all readings.
#[derive(Default)]
struct ClockStep {
    /// The first reading.
    origin: Option<u64>,
    /// The step in ticks; 0 without a second reading.
    ticks: u64,
    /// The nanoseconds of a tick.
    period: f64,
}

impl ClockStep {
    fn add(&mut self, span: &Span) {
        let origin = *self.origin.get_or_insert(span.begin);
        self.period = span.period;
        for reading in [span.begin, span.end] {
            self.ticks = greatest_common_divisor(self.ticks, reading.abs_diff(origin));
        }
    }

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
