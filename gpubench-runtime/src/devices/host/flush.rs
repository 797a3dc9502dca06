//! Flushes the caches before a cold sample on the CPU. If all memory of the inputs is known, drops the cache
//! lines of the inputs, which takes microseconds. Otherwise each thread reads its part of a buffer of twice
//! the size of the last-level cache. Reads leave clean lines, so that the sample that follows pays only for
//! its own write-back.

use std::hint::black_box;

use rayon::prelude::*;

use super::{PinnedPool, topology};
use crate::device::{Memory, Work};
use gpubench_stats::Bytes;

/// The assumed size of a last-level cache whose size is unknown: more than most have.
const ASSUMED_CACHE_SIZE: Bytes = Bytes(64 << 20);

/// The number of 64-bit words in a cache line of 64 bytes, the shortest line. The sweep reads one word per
/// line; reading all words takes half as long again.
const WORDS_PER_LINE: usize = 64 / size_of::<u64>();

/// Allocates the buffer that is read to flush the last-level cache, if it is empty, and writes all its pages.
/// It gets twice the size of the last-level cache, or of [`ASSUMED_CACHE_SIZE`] if that is unknown. It is
/// allocated at first use, since its new pages take a second for a cache of half a gigabyte.
pub(super) fn allocate_sweep_buffer(buffer: &mut Vec<u64>, stream: &PinnedPool) {
    if buffer.is_empty() {
        let cache = topology::last_level_cache().unwrap_or(ASSUMED_CACHE_SIZE);
        *buffer = vec![0; 2 * cache.as_usize() / size_of::<u64>()];
        let block = stream.stream.block_of::<u64>(buffer.len());
        stream.pool.install(|| buffer.par_chunks_mut(block).for_each(|part| part.fill(1)));
    }
}

/// Reads one word of each cache line of the buffer, a part on each thread.
pub(super) fn sweep(buffer: &[u64], stream: &PinnedPool) {
    let block = stream.stream.block_of::<u64>(buffer.len());
    let first_words = |part: &[u64]| part.iter().step_by(WORDS_PER_LINE).sum::<u64>();
    let sum: u64 = stream.pool.install(|| buffer.par_chunks(block).map(first_words).sum());
    black_box(sum);
}

/// The bytes of a cache line on x86-64.
const LINE_BYTES: usize = 64;

/// Returns the reason, as a phrase, why the cache lines of the inputs of `work` cannot be dropped; `None` if
/// they can.
pub(super) fn reason_not_to_drop_lines(work: &dyn Work) -> Option<&'static str> {
    if !instruction::is_supported() {
        return Some("this processor has no instruction `clflushopt`");
    }
    match input_size(work) {
        Some(Bytes::ZERO) => Some("the launch function has no inputs in memory"),
        Some(_) => None,
        None => Some(
            "gpubench does not know all memory that launches use (it does if `setup` returns vectors, slices or arrays of numbers, launches use nothing else, and the declared bytes fit into them)",
        ),
    }
}

/// Returns the size of the inputs of `work`, or `None` if launches may use other memory too.
pub(super) fn input_size(work: &dyn Work) -> Option<Bytes> {
    let mut size = Bytes::ZERO;
    work.memory(&mut |memory| size.0 += memory.bytes()).then_some(size)
}

/// Drops the cache lines of the inputs of `work` from all caches.
pub(super) fn drop_input_lines(stream: &PinnedPool, work: &dyn Work) {
    work.memory(&mut |memory: Memory<'_>| drop_lines(stream, &memory));
}

/// Drops the cache lines of `memory` from all caches, a part on each thread. Modified lines are written back. Does nothing on
/// processors that cannot drop lines.
pub(super) fn drop_lines(stream: &PinnedPool, memory: &Memory<'_>) {
    if !instruction::is_supported() {
        return;
    }
    let lines = memory.lines(LINE_BYTES);
    let block = stream.stream.block_of::<[u8; LINE_BYTES]>(lines);
    stream.pool.install(|| {
        let parts = (0..lines).into_par_iter().step_by(block);
        parts.for_each(|begin| instruction::drop_lines(memory, begin..lines.min(begin + block)));
    });
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the standard library has no such instruction")]
mod instruction {
    use std::arch::asm;
    use std::arch::x86_64::{__cpuid_count, __get_cpuid_max, _mm_mfence};
    use std::ops::Range;
    use std::sync::LazyLock;

    use super::LINE_BYTES;
    use crate::device::Memory;

    /// The leaf of `cpuid` that reports the instruction `clflushopt`.
    const FEATURE_LEAF: u32 = 7;
    /// The bit of `clflushopt` in register `ebx` after `cpuid` with leaf 7.
    const CLFLUSHOPT_BIT: u32 = 1 << 23;

    /// Returns true if the processor has the instruction `clflushopt`, which drops lines without waiting for
    /// each: dropping 128 MiB takes 3 ms, and 43 ms by `clflush`, which waits.
    #[allow(unused_unsafe, reason = "the functions are safe in newer versions of Rust")]
    pub(super) fn is_supported() -> bool {
        // Asking takes microseconds on a virtual machine.
        static IS_SUPPORTED: LazyLock<bool> = LazyLock::new(|| {
            // SAFETY: every x86-64 processor has the instruction that these use.
            let (leaves, _) = unsafe { __get_cpuid_max(0) };
            // SAFETY: as above.
            leaves >= FEATURE_LEAF && unsafe { __cpuid_count(FEATURE_LEAF, 0) }.ebx & CLFLUSHOPT_BIT != 0
        });
        *IS_SUPPORTED
    }

    /// Drops the cache lines `lines` of `memory`, numbered from 0, and waits until they are dropped. Ignores
    /// numbers after the last line.
    pub(super) fn drop_lines(memory: &Memory<'_>, lines: Range<usize>) {
        let first = memory.addresses().start / LINE_BYTES;
        for line in lines.start..lines.end.min(memory.lines(LINE_BYTES)) {
            let address = (first + line) * LINE_BYTES;
            // SAFETY: the line has bytes of memory that is borrowed, so its page exists. The instruction
            // writes back what the caches have of it, and changes no value.
            unsafe { asm!("clflushopt [{}]", in(reg) address, options(nostack, preserves_flags)) };
        }
        // SAFETY: every x86-64 processor has this instruction.
        unsafe { _mm_mfence() };
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod instruction {
    use std::ops::Range;

    use crate::device::Memory;

    /// Returns false: only x86-64 has the instruction `clflushopt`.
    pub(super) fn is_supported() -> bool {
        false
    }

    /// Does nothing: only x86-64 has the instruction `clflushopt`.
    pub(super) fn drop_lines(_: &Memory<'_>, _: Range<usize>) {}
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use gpubench_records::failure::Failure;

    use super::*;

    /// A linked list of words with varying distances, so that no processor prefetches. The flag tells whether
    /// its memory is known.
    struct Chain(Vec<usize>, bool);

    impl Chain {
        /// As many lines as this, all of which are met: a linear congruence has its whole period if the
        /// modulus is a power of two, the factor less one a multiple of four, and what is added odd (Hull and
        /// Dobell, 1962).
        const LINES: usize = 4_096;
        const WORDS: usize = LINE_BYTES / size_of::<usize>();

        fn new() -> Self {
            let next = |word: usize| (1_229 * (word / Self::WORDS) + 371) % Self::LINES * Self::WORDS;
            Self((0..Self::LINES * Self::WORDS).map(next).collect(), true)
        }

        /// Returns how long it takes to walk along all lines.
        fn walk(&self) -> Duration {
            let begin = Instant::now();
            let end = (0..Self::LINES).fold(0, |word, _| self.0[word]);
            assert_eq!(end, 0);
            begin.elapsed()
        }
    }

    impl Work for Chain {
        fn launch(&mut self) -> Result<(), Failure> {
            Ok(())
        }

        fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool {
            visit(Memory::of(&self.0));
            self.1
        }
    }

    fn stream() -> PinnedPool {
        PinnedPool::of_this_thread().expect("a pool starts")
    }

    /// The fastest of several: other programs only make it slower.
    #[test]
    fn lines_that_were_dropped_come_from_memory() {
        let chain = Chain::new();
        if !instruction::is_supported() {
            return;
        }
        let stream = stream();
        let fastest = |dropped: bool| {
            let walks = (0..20).map(|_| {
                if dropped {
                    drop_input_lines(&stream, &chain);
                }
                chain.walk()
            });
            walks.min().expect("several")
        };
        let [hot, cold] = [false, true].map(fastest);
        assert!(cold > 3 * hot, "{hot:?} from the cache, {cold:?} from memory");
    }

    #[test]
    fn dropping_lines_changes_no_value() {
        let mut chain = Chain::new();
        if instruction::is_supported() {
            chain.0.iter_mut().for_each(|word| *word += 1);
            drop_input_lines(&stream(), &chain);
            assert!(chain.0.iter().zip(&Chain::new().0).all(|(now, before)| *now == before + 1));
        }
    }

    /// Inputs without memory lie at an address that may be no one's.
    #[test]
    fn inputs_without_memory_are_passed_over() {
        struct EmptyInputs(Vec<f32>, Vec<()>);
        impl Work for EmptyInputs {
            fn launch(&mut self) -> Result<(), Failure> {
                Ok(())
            }

            fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool {
                visit(Memory::of_vec(&self.0));
                visit(Memory::of(&self.1));
                visit(Memory::of(&[1_u8]));
                true
            }
        }
        if instruction::is_supported() {
            drop_input_lines(&stream(), &EmptyInputs(Vec::new(), vec![(); 3]));
        }
    }

    #[test]
    fn inputs_whose_memory_is_not_known_are_refused() {
        if !instruction::is_supported() {
            return;
        }
        assert_eq!(reason_not_to_drop_lines(&Chain::new()), None);
        let why = reason_not_to_drop_lines(&Chain(vec![0], false)).expect("unknown");
        assert!(why.contains("does not know all memory"));
        assert!(reason_not_to_drop_lines(&Chain(Vec::new(), true)).expect("empty").contains("no inputs"));
    }
}
