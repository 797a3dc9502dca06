//! Timestamps around launches, many in one query set, which are resolved and read back together.

use gpubench_runtime::device::DeviceError;
use wgpu::{Buffer, BufferUsages, CommandEncoder, QuerySet, QuerySetDescriptor, QueryType};

use crate::kernel::buffer;
use crate::spans::Span;

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
