//! Empties the last-level cache before a cold sample: every thread reads its part of a buffer of twice the cache's
//! size. Reading leaves clean lines, so that the sample that follows pays for no write-back but its own.

use std::hint::black_box;

use rayon::prelude::*;

use super::Stream;
use gpubench_stats::units::Bytes;

/// Where the cache's size is not known: more than most last-level caches hold.
const UNKNOWN_CACHE: Bytes = Bytes(64 << 20);

/// A buffer that is swept to flush a cache.
pub(super) struct Sweep {
    buffer: Vec<u64>,
}

impl Sweep {
    /// A sweep that empties a cache of this size. Its pages are written once, so that they are there to be read.
    pub(super) fn over(stream: &Stream, cache: Option<Bytes>) -> Self {
        let words = 2 * cache.unwrap_or(UNKNOWN_CACHE).0 as usize / size_of::<u64>();
        let mut buffer = vec![0; words];
        let block = stream.block_of::<u64>(words);
        stream.run(|| buffer.par_chunks_mut(block).for_each(|part| part.fill(1)));
        Self { buffer }
    }

    /// Reads the whole buffer, a part on each thread.
    pub(super) fn flush(&self, stream: &Stream) {
        let block = stream.block_of::<u64>(self.buffer.len());
        let sum: u64 =
            stream.run(|| self.buffer.par_chunks(block).map(|part| part.iter().sum::<u64>()).sum());
        black_box(sum);
    }
}
