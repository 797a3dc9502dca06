//! Flushes the last-level cache before a cold sample: each thread reads its part of a buffer of twice the cache's size.
//! Reads leave clean lines, so that the sample that follows pays for its own write-back only.

use std::hint::black_box;

use rayon::prelude::*;

use super::Stream;
use gpubench_stats::units::Bytes;

/// The assumed size of an unknown cache: more than most last-level caches hold.
const UNKNOWN_CACHE: Bytes = Bytes(64 << 20);

/// A buffer that is swept to flush a cache.
pub(super) struct FlushSweep {
    buffer: Vec<u64>,
}

impl FlushSweep {
    /// Returns a sweep for a cache of this size. Writes its pages once, so that they exist when they are read.
    pub(super) fn over(stream: &Stream, cache: Option<Bytes>) -> Self {
        let words = 2 * cache.unwrap_or(UNKNOWN_CACHE).as_usize() / size_of::<u64>();
        let mut buffer = vec![0; words];
        let block = stream.block_of::<u64>(words);
        stream.run(|| buffer.par_chunks_mut(block).for_each(|part| part.fill(1)));
        Self { buffer }
    }

    /// Returns the buffer, whose pages exist: twice the cache.
    pub(super) fn buffer(&self) -> &[u64] {
        &self.buffer
    }

    /// Reads the whole buffer, a part on each thread.
    pub(super) fn flush(&self, stream: &Stream) {
        let block = stream.block_of::<u64>(self.buffer.len());
        let sum: u64 =
            stream.run(|| self.buffer.par_chunks(block).map(|part| part.iter().sum::<u64>()).sum());
        black_box(sum);
    }
}
