//! Flushes the last-level cache before a cold sample: each thread reads its part of a buffer of twice the cache's size.
//! Reads leave clean lines, so that the sample that follows pays for its own write-back only.

use std::hint::black_box;

use rayon::prelude::*;

use super::{Stream, topology};
use gpubench_stats::units::Bytes;

/// The assumed size of an unknown cache: more than most last-level caches hold.
const UNKNOWN_CACHE: Bytes = Bytes(64 << 20);

/// The words of a line: no cache has shorter lines than 64 bytes. To read all words takes half as long again.
const LINE: usize = 64 / size_of::<u64>();

/// A buffer that is swept to flush a cache. It is made when it is first needed: new pages take the system a second for a cache of
/// half a gigabyte.
#[derive(Default)]
pub(super) struct FlushSweep {
    buffer: Vec<u64>,
}

impl FlushSweep {
    /// Returns the buffer: twice the cache, and all its pages exist.
    pub(super) fn buffer(&mut self, stream: &Stream) -> &mut [u64] {
        if self.buffer.is_empty() {
            let cache = topology::last_level_cache().unwrap_or(UNKNOWN_CACHE);
            self.buffer = vec![0; 2 * cache.as_usize() / size_of::<u64>()];
            let block = stream.block_of::<u64>(self.buffer.len());
            stream.run(|| self.buffer.par_chunks_mut(block).for_each(|part| part.fill(1)));
        }
        &mut self.buffer
    }

    /// Reads a word of each line of the buffer, a part on each thread.
    pub(super) fn flush(&mut self, stream: &Stream) {
        let buffer = &*self.buffer(stream);
        let block = stream.block_of::<u64>(buffer.len());
        let sum: u64 = stream.run(|| buffer.par_chunks(block).map(of_lines).sum());
        black_box(sum);
    }
}

/// Returns the sum of the first words of all lines of a part.
fn of_lines(part: &[u64]) -> u64 {
    part.iter().step_by(LINE).sum()
}
