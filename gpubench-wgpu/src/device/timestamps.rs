//! Timestamps around launches, many in one query set, which are resolved and read back together; and the step of the clock that
//! they are from.

use gpubench_runtime::device::DeviceError;
use gpubench_stats::{Nanoseconds, greatest_common_divisor};
use wgpu::{Buffer, BufferUsages, CommandEncoder, QuerySet, QuerySetDescriptor, QueryType};

use crate::encoder::buffer;

/// The queries of a set, the most that wgpu allows.
const QUERIES: u32 = wgpu::QUERY_SET_MAX_QUERIES;
/// The most launches that a set has room for.
pub(crate) const MOST: usize = QUERIES as usize / 2;

pub(crate) struct Marks {
    queries: QuerySet,
    resolved: Buffer,
    read: Buffer,
    used: u32,
}

impl Marks {
    pub(crate) fn new(device: &wgpu::Device) -> Self {
        let size = u64::from(QUERIES) * size_of::<u64>() as u64;
        let ty = QueryType::Timestamp;
        Self {
            queries: device.create_query_set(&QuerySetDescriptor { label: None, ty, count: QUERIES }),
            resolved: buffer(device, size, BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC),
            read: buffer(device, size, BufferUsages::MAP_READ | BufferUsages::COPY_DST),
            used: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }

    /// Marks the begin or the end of a launch.
    pub(crate) fn write(&mut self, commands: &mut CommandEncoder) {
        commands.write_timestamp(&self.queries, self.used);
        self.used += 1;
    }

    /// Encodes the read-back of all timestamps so far, and returns the buffer where they will be.
    pub(crate) fn resolve(&self, commands: &mut CommandEncoder) -> Buffer {
        if self.used > 0 {
            commands.resolve_query_set(&self.queries, 0..self.used, &self.resolved, 0);
            commands.copy_buffer_to_buffer(&self.resolved, 0, &self.read, 0, u64::from(self.used) * 8);
        }
        self.read.clone()
    }

    /// Returns the spans of the launches in the `bytes` of that buffer, and begins anew.
    pub(crate) fn take(&mut self, bytes: &[u8], period: f32) -> Result<Vec<Span>, DeviceError> {
        let used = std::mem::take(&mut self.used) as usize;
        let (ticks, _) = bytes.as_chunks::<8>();
        let ticks = ticks.get(..used).ok_or_else(|| DeviceError::new("a timestamp was not read back"))?;
        let (launches, _) = ticks.as_chunks::<2>();
        let span = |[begin, end]: &[[u8; 8]; 2]| Span {
            begin: u64::from_le_bytes(*begin),
            end: u64::from_le_bytes(*end),
            period: period.into(),
        };
        Ok(launches.iter().map(span).collect())
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

/// Returns the step of the clock: the greatest common divisor, in ticks, of all readings, as a time.
pub(crate) fn step<'a>(spans: impl IntoIterator<Item = &'a Span>) -> Nanoseconds {
    let (mut divisor, mut period, mut first) = (0, 1.0, None);
    for span in spans {
        let first = *first.get_or_insert(span.begin);
        period = span.period;
        for reading in [span.begin, span.end] {
            divisor = greatest_common_divisor(divisor, reading.abs_diff(first));
        }
    }
    Nanoseconds(divisor.max(1) as f64 * period)
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
        // Counters begin anywhere: 7 divides no distance.
        let spans = [span(7, 39, 1.0), span(71, 167, 1.0)];
        assert_eq!(step(&spans), Nanoseconds(32.0));
        assert_eq!(step(&[span(0, 3, 10.0), span(5, 7, 10.0)]), Nanoseconds(10.0));
        assert_eq!(step([]), Nanoseconds(1.0));
    }
}
