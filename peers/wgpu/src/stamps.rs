//! Timestamps of a queue.

use wgpu::{
    Buffer, BufferUsages, CommandEncoder, ComputePassTimestampWrites, MapMode, QuerySet, QuerySetDescriptor,
    QueryType,
};

use crate::{Failure, Gpu};

/// Places for pairs of timestamps, read all at once.
pub struct Stamps<'a> {
    gpu: &'a Gpu,
    set: QuerySet,
    resolved: Buffer,
    read: Buffer,
    used: u32,
}

impl<'a> Stamps<'a> {
    pub fn new(gpu: &'a Gpu, pairs: usize) -> Result<Self, Failure> {
        let count = u32::try_from(2 * pairs)?;
        if pairs == 0 || count > wgpu::QUERY_SET_MAX_QUERIES {
            return Err(format!("{pairs} launches do not fit a set of queries").into());
        }
        let size = 8 * u64::from(count);
        Ok(Self {
            gpu,
            set: gpu.device.create_query_set(&QuerySetDescriptor {
                label: None,
                ty: QueryType::Timestamp,
                count,
            }),
            resolved: gpu.buffer(size, BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC),
            read: gpu.buffer(size, BufferUsages::MAP_READ | BufferUsages::COPY_DST),
            used: 0,
        })
    }

    /// Returns the pair of the next pass.
    pub fn of_pass(&mut self) -> ComputePassTimestampWrites<'_> {
        self.used += 2;
        ComputePassTimestampWrites {
            query_set: &self.set,
            beginning_of_pass_write_index: Some(self.used - 2),
            end_of_pass_write_index: Some(self.used - 1),
        }
    }

    /// Marks what `encode` encodes with the next pair.
    pub fn around(&mut self, encoder: &mut CommandEncoder, encode: impl FnOnce(&mut CommandEncoder)) {
        encoder.write_timestamp(&self.set, self.used);
        encode(encoder);
        encoder.write_timestamp(&self.set, self.used + 1);
        self.used += 2;
    }

    /// Waits for all work, and returns the times of all pairs since the last call.
    pub fn take(&mut self) -> Result<Vec<f64>, Failure> {
        let count = std::mem::take(&mut self.used);
        let size = 8 * u64::from(count);
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        encoder.resolve_query_set(&self.set, 0..count, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.read, 0, size);
        self.gpu.queue.submit([encoder.finish()]);
        self.read.slice(..size).map_async(MapMode::Read, |_| {});
        self.gpu.wait()?;
        let period = f64::from(self.gpu.queue.get_timestamp_period());
        let times = {
            let bytes = self.read.slice(..size).get_mapped_range()?;
            let stamp = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[8 * at + byte]));
            let time = |pair: usize| stamp(2 * pair + 1).wrapping_sub(stamp(2 * pair)) as f64 * period / 1e3;
            (0..count as usize / 2).map(time).collect()
        };
        self.read.unmap();
        Ok(times)
    }
}
