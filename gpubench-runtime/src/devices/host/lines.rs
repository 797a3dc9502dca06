//! Drops the cache lines of a launch's inputs before a cold sample. In: work that shows the memory of its inputs; out: no cache of any
//! processor has a line of that. It takes microseconds where a sweep of half a gigabyte takes 36 ms, and leaves the entries of page tables
//! and the launch's code in the cache, of which a sweep evicts more or less from one sample to the next.

use gpubench_stats::units::Bytes;
use rayon::prelude::*;

use super::Stream;
use crate::device::{Memory, Work};

/// The size of a line of x86-64.
const LINE: usize = 64;

/// Returns why the lines of the inputs of `work` cannot be dropped; nothing if they can.
pub(super) fn refused(work: &dyn Work) -> Option<&'static str> {
    if !instruction::is_there() {
        return Some("this processor has no instruction `clflushopt`");
    }
    let mut is_empty = true;
    let known = work.memory(&mut |memory| is_empty &= memory.bytes() == Bytes::ZERO);
    match (known, is_empty) {
        (true, false) => None,
        (true, true) => Some("the benchmark's `setup` returns no memory"),
        (false, _) => Some(
            "the types that `setup` returns do not tell where all memory is (vectors, slices and arrays of numbers do), or launches read or write more",
        ),
    }
}

/// Drops the lines of the inputs of `work`, a part on each thread.
pub(super) fn drop(stream: &Stream, work: &dyn Work) {
    work.memory(&mut |memory: Memory<'_>| {
        let lines = memory.lines(LINE);
        let block = stream.block_of::<[u8; LINE]>(lines);
        stream.run(|| {
            let parts = (0..lines).into_par_iter().step_by(block);
            parts.for_each(|begin| instruction::drop_lines(&memory, begin..lines.min(begin + block)));
        });
    });
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the standard library has no such instruction")]
mod instruction {
    use std::arch::asm;
    use std::arch::x86_64::_mm_mfence;
    use std::ops::Range;
    use std::sync::LazyLock;

    use raw_cpuid::CpuId;

    use super::LINE;
    use crate::device::Memory;

    /// Returns true if the processor drops lines without waiting for each: by `clflush`, which waits, 128 MiB take 43 ms in place of 3.
    pub(super) fn is_there() -> bool {
        // Asking takes microseconds on a virtual machine.
        static IS_THERE: LazyLock<bool> = LazyLock::new(|| {
            let features = CpuId::new().get_extended_feature_info();
            features.is_some_and(|features| features.has_clflushopt())
        });
        *IS_THERE
    }

    /// Drops these of the lines of `memory`, and waits until they are.
    pub(super) fn drop_lines(memory: &Memory<'_>, lines: Range<usize>) {
        let first = memory.addresses().start / LINE;
        for line in lines.start..lines.end.min(memory.lines(LINE)) {
            let address = (first + line) * LINE;
            // SAFETY: the line has bytes of memory that is borrowed, so its page exists. The instruction writes back what the caches have
            // of it, and changes no value.
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

    pub(super) fn is_there() -> bool {
        false
    }

    pub(super) fn drop_lines(_: &Memory<'_>, _: Range<usize>) {}
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use gpubench_records::failure::Failure;

    use super::*;

    /// Words, each of which tells where the next one is, at a distance that is another each time: no processor reads ahead. With memory that
    /// is known, or not.
    struct Chain(Vec<usize>, bool);

    impl Chain {
        /// As many lines as this, all of which are met: a linear congruence has its whole period if the modulus is a power of two, the
        /// factor less one a multiple of four, and what is added odd (Hull and Dobell, 1962).
        const LINES: usize = 4_096;
        const WORDS: usize = LINE / size_of::<usize>();

        fn of() -> Self {
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

    fn stream() -> Stream {
        Stream::of_this_thread().expect("a pool starts")
    }

    /// The fastest of several: other programs only make it slower.
    #[test]
    fn lines_that_were_dropped_come_from_memory() {
        let chain = Chain::of();
        if !instruction::is_there() {
            return;
        }
        let stream = stream();
        let fastest = |dropped: bool| {
            let walks = (0..20).map(|_| {
                if dropped {
                    drop(&stream, &chain);
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
        let mut chain = Chain::of();
        if instruction::is_there() {
            chain.0.iter_mut().for_each(|word| *word += 1);
            drop(&stream(), &chain);
            assert!(chain.0.iter().zip(&Chain::of().0).all(|(now, before)| *now == before + 1));
        }
    }

    /// Inputs without memory lie at an address that may be no one's.
    #[test]
    fn inputs_without_memory_are_passed_over() {
        struct Empty(Vec<f32>, Vec<()>);
        impl Work for Empty {
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
        if instruction::is_there() {
            drop(&stream(), &Empty(Vec::new(), vec![(); 3]));
        }
    }

    #[test]
    fn inputs_whose_memory_is_not_known_are_refused() {
        if !instruction::is_there() {
            return;
        }
        assert_eq!(refused(&Chain::of()), None);
        let why = refused(&Chain(vec![0], false)).expect("unknown");
        assert!(why.contains("do not tell where all memory is"));
        assert!(refused(&Chain(Vec::new(), true)).expect("empty").contains("returns no memory"));
    }
}
