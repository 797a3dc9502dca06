//! Empties the L2 before a cold sample. In: the kind of flush; out: work enqueued on a stream. `discard` leaves the L2
//! empty and clean, so that the kernel that follows pays for its own write-back only; `write` is what most other tools
//! do, and makes the kernel pay for evicting what the flush wrote.

pub(crate) mod persisting;
pub(crate) mod proof;

use std::ffi::c_void;

use gpubench_driver::sys::{self, CUstream};

use crate::device::DeviceError;
use crate::devices::cuda::driver::memory::{DeviceMemory, Span};
use crate::devices::cuda::driver::{CallError, check};
use crate::devices::cuda::kernels::Kernels;
use gpubench_records::method::Flush;
use gpubench_stats::units::Bytes;

/// The bytes that `discard` drops at once.
const LINE: usize = 128;
/// The bytes that the read sweep reads at once.
const VECTOR: usize = 16;
const THREADS: u32 = 256;
/// The smallest L2 that a flush is made for, in bytes: a short flush would let the GPU run out of enqueued work.
const SMALLEST: usize = 32 << 20;

/// A buffer that empties an L2. It has twice the L2's size for the sweep; the first half of that is written and
/// discarded. After it are three quarters of the L2's size that no flush touches, so that a flush can be tested on
/// them. A flush is as if the L2 had 32 MiB at least.
pub(crate) struct Flusher {
    buffer: DeviceMemory,
    l2: usize,
    /// The L2's own size.
    cache: usize,
    sink: DeviceMemory,
    blocks: u32,
}

impl Flusher {
    /// Allocates the buffer of a flusher, once, for an L2 of this size.
    pub(crate) fn new(l2: Bytes, multiprocessors: u32) -> Result<Self, DeviceError> {
        // In whole lines.
        let [cache, l2] = [l2.as_usize(), SMALLEST].map(|size| size.next_multiple_of(LINE));
        let l2 = l2.max(cache);
        // Zero is an unknown size.
        let cache = if cache == 0 { l2 } else { cache };
        let words = (2 * l2 + l2 / 4 * 3) / 4;
        let buffer = DeviceMemory::filled("the buffer that flushes the L2", words, 0)?;
        let sink = DeviceMemory::filled("the sink of the read sweep", 1, 0)?;
        Ok(Self { buffer, l2, cache, sink, blocks: 8 * multiprocessors })
    }

    /// Returns the size of the L2 in bytes, or the smallest flush if the driver does not report it.
    pub(crate) fn l2(&self) -> u64 {
        self.cache as u64
    }

    /// Enqueues the flush.
    pub(crate) fn enqueue(&self, flush: Flush, kernels: &Kernels, stream: CUstream) -> Result<(), CallError> {
        match flush {
            // Lines are refused where a flush is chosen.
            Flush::None | Flush::Lines => Ok(()),
            Flush::Read => self.sweep(0, 2 * self.l2, kernels, stream),
            Flush::Write => self.write(stream),
            Flush::Discard => {
                self.write(stream)?;
                self.drop_lines((self.buffer.address(), self.l2 as u64), kernels, stream)
            }
        }
    }

    /// Returns the number of pieces of work that it enqueues.
    pub(crate) fn pieces(&self, flush: Flush) -> usize {
        match flush {
            Flush::None | Flush::Lines => 0,
            Flush::Read | Flush::Write => 1,
            Flush::Discard => 2,
        }
    }

    /// Enqueues a read of `quarters` quarters of the L2's size, 3 at most, from memory that no flush touches.
    pub(crate) fn probe(
        &self,
        quarters: usize,
        kernels: &Kernels,
        stream: CUstream,
    ) -> Result<(), CallError> {
        self.sweep(2 * self.l2, quarters.min(3) * (self.cache / 4), kernels, stream)
    }

    /// Enqueues a read of half the L2's size. Four successive numbers read other memory each.
    pub(crate) fn read_half(
        &self,
        number: usize,
        kernels: &Kernels,
        stream: CUstream,
    ) -> Result<(), CallError> {
        self.sweep(number % 4 * (self.l2 / 2), self.l2 / 2, kernels, stream)
    }

    fn write(&self, stream: CUstream) -> Result<(), CallError> {
        let pointer = self.buffer.address();
        // SAFETY: the buffer has at least `l2` bytes, and lives as long as its device.
        check(unsafe { sys::cuMemsetD32Async(pointer, 0, self.l2 / 4, stream) })
    }

    /// Enqueues that the L2's lines of a span of memory are dropped without being written back. What the span held is lost.
    pub(crate) fn drop_lines(
        &self,
        (address, bytes): Span,
        kernels: &Kernels,
        stream: CUstream,
    ) -> Result<(), CallError> {
        let Some(kernel) = kernels.discard else { return Ok(()) };
        // Whole lines alone: those at the ends may have neighbours.
        let mut pointer = address.next_multiple_of(LINE as u64);
        let mut lines = (address + bytes).saturating_sub(pointer) / LINE as u64;
        let arguments = &mut [(&raw mut pointer).cast::<c_void>(), (&raw mut lines).cast()];
        // SAFETY: the kernel takes a pointer and a number of lines, all of which lie in the span, which is memory of the flusher or
        // an output of the open case.
        unsafe { kernel.launch((self.blocks, THREADS), stream, arguments) }
    }

    fn sweep(
        &self,
        offset: usize,
        bytes: usize,
        kernels: &Kernels,
        stream: CUstream,
    ) -> Result<(), CallError> {
        let mut pointer = self.buffer.address() + offset as u64;
        let mut vectors = (bytes / VECTOR) as u64;
        let mut sink = self.sink.address();
        let arguments =
            &mut [(&raw mut pointer).cast::<c_void>(), (&raw mut vectors).cast(), (&raw mut sink).cast()];
        // SAFETY: the kernel takes a pointer, a number of vectors, all of which lie in the buffer, and a place for a
        // word.
        unsafe { kernels.read_sweep.launch((self.blocks, THREADS), stream, arguments) }
    }
}
