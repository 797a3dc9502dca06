//! Timestamps around launches, many in one query set. In: the begin and the end of each launch; out: their readings,
//! resolved and read back together.

use gpubench_runtime::device::DeviceError;
use wgpu::{
    Buffer, BufferDescriptor, BufferUsages, CommandEncoder, ComputePassTimestampWrites, QuerySet,
    QuerySetDescriptor, QueryType,
};

use crate::spans::Span;

/// The queries of a set, the most that wgpu allows.
const QUERIES: u32 = wgpu::QUERY_SET_MAX_QUERIES;

/// The places where an adapter writes timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boundaries {
    /// Anywhere between commands: before and after a launch.
    Commands,
    /// At the begin and the end of each pass: from the launch's first to its last.
    Passes,
}

pub(crate) struct Marks {
    boundaries: Boundaries,
    queries: QuerySet,
    resolved: Buffer,
    read: Buffer,
    used: u32,
    /// The queries of the launches whose marks are complete.
    launches: Vec<(u32, u32)>,
    /// The launch in progress: its first query, and why its marks would not contain it.
    open: Option<(u32, Option<&'static str>)>,
    /// The most queries that a launch has used so far.
    largest: u32,
}

impl Marks {
    pub(crate) fn new(device: &wgpu::Device, boundaries: Boundaries) -> Self {
        let size = u64::from(QUERIES) * size_of::<u64>() as u64;
        let buffer = |usage| {
            device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
        };
        let ty = QueryType::Timestamp;
        Self {
            boundaries,
            queries: device.create_query_set(&QuerySetDescriptor { label: None, ty, count: QUERIES }),
            resolved: buffer(BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC),
            read: buffer(BufferUsages::MAP_READ | BufferUsages::COPY_DST),
            used: 0,
            launches: Vec::new(),
            open: None,
            largest: 2,
        }
    }

    pub(crate) fn boundaries(&self) -> Boundaries {
        self.boundaries
    }

    /// Returns the most launches that have room, by the largest so far.
    pub(crate) fn most(&self) -> usize {
        (QUERIES / self.largest) as usize
    }

    pub(crate) fn clear(&mut self) {
        self.used = 0;
        self.open = None;
        self.launches.clear();
    }

    pub(crate) fn begin(&mut self, commands: &mut CommandEncoder) {
        self.open = Some((self.used, None));
        if self.boundaries == Boundaries::Commands {
            self.write(commands);
        }
    }

    pub(crate) fn end(&mut self, commands: &mut CommandEncoder) -> Result<(), &'static str> {
        if self.boundaries == Boundaries::Commands {
            self.write(commands);
        }
        let Some((first, refused)) = self.open.take() else { return Ok(()) };
        if let Some(why) = refused {
            return Err(why);
        }
        if self.used < first + 2 {
            return Err("the launch has no pass, whose begin and end alone this adapter times");
        }
        self.largest = self.largest.max(self.used - first);
        self.launches.push((first, self.used - 1));
        Ok(())
    }

    /// Returns the timestamps of the pass that begins, if it is part of a launch that is timed by its passes.
    pub(crate) fn of_pass(&mut self) -> Option<ComputePassTimestampWrites<'_>> {
        if self.boundaries == Boundaries::Commands {
            return None;
        }
        let (_, refused) = self.open.as_mut()?;
        if self.used + 2 > QUERIES {
            *refused = Some("the launch has more passes than a query set has timestamps for");
            return None;
        }
        let begin = self.used;
        self.used += 2;
        Some(ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(begin),
            end_of_pass_write_index: Some(begin + 1),
        })
    }

    /// Notes commands outside of [`Marks::of_pass`].
    pub(crate) fn note_commands(&mut self) {
        if let (Boundaries::Passes, Some((_, refused))) = (self.boundaries, &mut self.open) {
            *refused = Some(
                "this adapter writes timestamps at the begin and the end of passes alone (it has no \
                 TIMESTAMP_QUERY_INSIDE_ENCODERS): only work in `Encoder::pass` can be timed",
            );
        }
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
        let (ticks, _) = bytes.as_chunks::<8>();
        let period = f64::from(period);
        let at = |query: u32| ticks.get(query as usize).map(|bytes| u64::from_le_bytes(*bytes));
        let span = |(begin, end): &(u32, u32)| Some(Span { begin: at(*begin)?, end: at(*end)?, period });
        let spans: Option<Vec<Span>> = self.launches.iter().map(span).collect();
        self.clear();
        spans.ok_or_else(|| DeviceError::new("a timestamp was not read back"))
    }

    fn write(&mut self, commands: &mut CommandEncoder) {
        commands.write_timestamp(&self.queries, self.used);
        self.used += 1;
    }
}
