//! Flushes the L2 before a cold sample. `discard` leaves the L2 empty and clean, so that the next kernel pays
//! only for its own write-back. `write`, the method of most other tools, makes the kernel pay for evicting
//! the lines that the flush wrote. No flush evicts persisting lines, so persisting L2 is disabled while cold
//! samples are taken.

use std::rc::Rc;

use gpubench_driver::sys::{self, CUlimit, CUstream};

use super::driver::{CallError, DeviceMemory, check};
use super::kernels::Kernels;
use crate::device::DeviceError;
use gpubench_records::Flush;
use gpubench_stats::Bytes;

/// The bytes of an L2 line, which `discard` drops at once.
const BYTES_PER_LINE: usize = 128;
/// The bytes that a thread of the read sweep reads at once.
const BYTES_PER_VECTOR: usize = 16;
/// The threads per block of the flush kernels.
const THREADS_PER_BLOCK: u32 = 256;
/// The least size of a flush in bytes, even for a smaller L2. During a shorter flush, the GPU would run out
/// of enqueued work.
const SMALLEST_FLUSH: usize = 32 << 20;

/// A buffer whose accesses flush the L2.
///
/// The buffer has 2.75 times the size of a flush. [`Flush::Read`] reads twice the size of a flush from its
/// start, the other flushes write the size of a flush from its start. No flush touches the last 0.75 sizes:
/// reads of them verify a flush.
pub(crate) struct Flusher {
    buffer: DeviceMemory,
    /// The size of a flush in bytes: the size of the L2, or [`SMALLEST_FLUSH`] if that is more.
    flush_size: usize,
    /// The size of the L2 in bytes; [`SMALLEST_FLUSH`] if it is unknown.
    pub cache_size: usize,
    /// A word to which the read sweep may write, so that its reads are not optimised away.
    sink: DeviceMemory,
    /// The number of blocks of the flush kernels.
    blocks: u32,
    kernels: Rc<Kernels>,
}

impl Flusher {
    /// Allocates the buffer for an L2 of the size `l2`; 0 is an unknown size.
    pub(crate) fn new(l2: Bytes, multiprocessors: u32, kernels: Rc<Kernels>) -> Result<Self, DeviceError> {
        // In whole lines.
        let [cache, l2] = [l2.as_usize(), SMALLEST_FLUSH].map(|size| size.next_multiple_of(BYTES_PER_LINE));
        let l2 = l2.max(cache);
        // Zero is an unknown size.
        let cache = if cache == 0 { l2 } else { cache };
        let words = (2 * l2 + l2 / 4 * 3) / 4;
        let buffer = DeviceMemory::filled("the buffer that flushes the L2", words, 0)?;
        let sink = DeviceMemory::filled("the sink of the read sweep", 1, 0)?;
        Ok(Self { buffer, flush_size: l2, cache_size: cache, sink, blocks: 8 * multiprocessors, kernels })
    }

    /// Enqueues a flush on `stream`. Does nothing for [`Flush::None`], and for [`Flush::Lines`], which GPUs
    /// do not support.
    pub(crate) fn enqueue(&self, flush: Flush, stream: CUstream) -> Result<(), CallError> {
        match flush {
            // Lines are refused where a flush is chosen.
            Flush::None | Flush::Lines => Ok(()),
            Flush::Read => self.read_sweep(0, 2 * self.flush_size, stream),
            Flush::Write => self.write(stream),
            Flush::Discard => {
                self.write(stream)?;
                self.drop_lines(stream)
            }
        }
    }

    /// Enqueues a read of `quarters` quarters of the size of the L2, or of three quarters if `quarters` is
    /// more, from memory that no flush touches.
    pub(crate) fn read_quarters(&self, quarters: usize, stream: CUstream) -> Result<(), CallError> {
        self.read_sweep(2 * self.flush_size, quarters.min(3) * (self.cache_size / 4), stream)
    }

    /// Enqueues a read of half the size of a flush. Four successive values of `number` read four different
    /// parts of the memory that [`Flush::Read`] reads.
    pub(crate) fn read_half(&self, number: usize, stream: CUstream) -> Result<(), CallError> {
        self.read_sweep(number % 4 * (self.flush_size / 2), self.flush_size / 2, stream)
    }

    /// Enqueues a memset of the size of a flush, from the start of the buffer.
    fn write(&self, stream: CUstream) -> Result<(), CallError> {
        let pointer = self.buffer.address();
        // SAFETY: the buffer has at least `flush_size` bytes, and lives as long as its device.
        check(unsafe { sys::cuMemsetD32Async(pointer, 0, self.flush_size / 4, stream) })
    }

    /// Enqueues a kernel that drops lines from the L2 without writing them back: the lines that
    /// [`Self::write`] wrote. Does nothing if the GPU has no such instruction.
    fn drop_lines(&self, stream: CUstream) -> Result<(), CallError> {
        let Some(kernel) = &self.kernels.discard else { return Ok(()) };
        // In whole lines: the driver aligns memory to more than that.
        let arguments = [self.buffer.address(), (self.flush_size / BYTES_PER_LINE) as u64];
        // SAFETY: the kernel takes a pointer and a number of lines, all of which lie in the buffer.
        unsafe { kernel.launch((self.blocks, THREADS_PER_BLOCK), stream, arguments) }
    }

    /// Enqueues a read of `bytes` bytes of the buffer from `offset` on.
    fn read_sweep(&self, offset: usize, bytes: usize, stream: CUstream) -> Result<(), CallError> {
        let pointer = self.buffer.address() + offset as u64;
        let vectors = (bytes / BYTES_PER_VECTOR) as u64;
        let sink = self.sink.address();
        // SAFETY: the kernel takes a pointer, a number of vectors, all of which are in the buffer, and a
        // pointer to a word.
        unsafe {
            self.kernels.read_sweep.launch((self.blocks, THREADS_PER_BLOCK), stream, [pointer, vectors, sink])
        }
    }
}

/// The driver limit for the part of the L2 that may hold persisting lines.
const PERSISTING_L2_LIMIT: CUlimit = sys::CU_LIMIT_PERSISTING_L2_CACHE_SIZE;

/// A guard that disables persisting L2 until it is dropped: meanwhile every line of the L2 can be evicted,
/// even if a launch asked the L2 to keep it (`cuStreamSetAttribute` with an access policy window).
pub(crate) struct PersistingL2Disabled {
    /// The former limit of persisting L2 in bytes, which dropping the guard restores.
    limit: usize,
}

impl PersistingL2Disabled {
    /// Disables persisting L2, and makes persisting lines normal. Does nothing and returns `None` if `flush`
    /// is [`Flush::None`], if the GPU has no persisting L2, or if the context allows no persisting lines,
    /// which is the default.
    pub(crate) fn begin(flush: Flush) -> Result<Option<Self>, CallError> {
        if flush == Flush::None {
            return Ok(None);
        }
        let mut limit = 0;
        // SAFETY: `limit` is valid for writing a size. GPUs without such lines (below compute capability 8.0)
        // refuse.
        let result = unsafe { sys::cuCtxGetLimit(&raw mut limit, PERSISTING_L2_LIMIT) };
        if result != sys::CUDA_SUCCESS {
            _ = gpubench_driver::take_failure();
            return Ok(None);
        }
        if limit == 0 {
            return Ok(None);
        }
        // SAFETY: sets a limit of the current context.
        check(unsafe { sys::cuCtxSetLimit(PERSISTING_L2_LIMIT, 0) })?;
        let disabled = Self { limit };
        // SAFETY: resets the persisting lines of the current context to normal.
        check(unsafe { sys::cuCtxResetPersistingL2Cache() })?;
        Ok(Some(disabled))
    }
}

impl Drop for PersistingL2Disabled {
    fn drop(&mut self) {
        // SAFETY: as in `begin`. After a sticky error this fails, and the context is of no more use.
        _ = unsafe { sys::cuCtxSetLimit(PERSISTING_L2_LIMIT, self.limit) };
    }
}
