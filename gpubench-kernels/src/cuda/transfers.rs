//! Copies by the driver: within the device, and between it and the host's memory in its three kinds. `bytes` is the amount
//! in one direction, 32 MiB unless another is given. The copy by a kernel is [`super::copy`].
//!
//! What a copy from or to memory that is not pinned takes is up to the host's processors, and differs by tens of per cent between processes:
//! more than a second of samples would not tell it better.
//!
//! Managed memory is prefetched to the host before each copy, which may have moved it. It is 1 GiB at most, and never more
//! than the device has free.

pub mod p2p;
mod peer_memory;

use std::fmt::{self, Display};
use std::str::FromStr;

use cust::error::CudaResult;
use cust::event::{Event, EventFlags};
use cust::memory::{
    AsyncCopyDestination as _, DeviceBuffer, LockedBuffer, MemoryAdvise as _, UnifiedBuffer, mem_get_info,
};
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use cust::sys;
use gpubench::gpu_bench;
use rayon::prelude::*;

use super::X;
use super::check::{expect, expect_host};
use super::inputs::{Inputs, Refusal};
use crate::inputs::bits;

const BYTES: [usize; 1] = [32 << 20];
/// The most managed memory of a benchmark.
const MOST_MANAGED: usize = 1 << 30;
/// The value of a word that was not written.
const UNWRITTEN: u32 = u32::MAX;

/// A kind of the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostMemory {
    /// The system's own, which the driver copies by way of a pinned buffer.
    Pageable,
    /// Locked in place, so that the device can reach it.
    Pinned,
    /// At one address for host and device, to which its pages move.
    Managed,
}

impl HostMemory {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Pageable, Self::Pinned, Self::Managed];
}

impl Display for HostMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pageable => "pageable",
            Self::Pinned => "pinned",
            Self::Managed => "managed",
        })
    }
}

impl FromStr for HostMemory {
    type Err = UnknownMemory;

    fn from_str(text: &str) -> Result<Self, UnknownMemory> {
        let found = Self::ALL.into_iter().find(|memory| memory.to_string() == text);
        found.ok_or_else(|| UnknownMemory(text.to_owned()))
    }
}

/// A text that names no [`HostMemory`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("memory is `pageable`, `pinned` or `managed`, not `{0}`")]
pub struct UnknownMemory(String);

/// Words in the host's memory.
pub enum HostBuffer {
    /// In pageable memory.
    Pageable(Vec<u32>),
    /// In pinned memory.
    Pinned(LockedBuffer<u32>),
    /// In managed memory.
    Managed(UnifiedBuffer<u32>),
}

impl HostBuffer {
    /// `n` words, each what `word` gives for its index.
    ///
    /// # Errors
    /// There is not enough memory of that kind.
    pub fn of(memory: HostMemory, n: usize, word: impl Fn(usize) -> u32 + Sync) -> Result<Self, Refusal> {
        let mut buffer = match memory {
            HostMemory::Pageable => {
                let mut words = Vec::new();
                words.try_reserve_exact(n)?;
                words.resize(n, 0);
                Self::Pageable(words)
            }
            HostMemory::Pinned => Self::Pinned(LockedBuffer::new(&0, n)?),
            HostMemory::Managed => Self::Managed(managed(n)?),
        };
        buffer.as_mut().par_iter_mut().enumerate().for_each(|(index, place)| *place = word(index));
        Ok(buffer)
    }

    /// Moves pages back to the host.
    fn go_back(&self, stream: &Stream) -> CudaResult<()> {
        match self {
            Self::Managed(words) => words.prefetch_to_host(stream),
            Self::Pageable(_) | Self::Pinned(_) => Ok(()),
        }
    }
}

impl AsRef<[u32]> for HostBuffer {
    fn as_ref(&self) -> &[u32] {
        match self {
            Self::Pageable(words) => words,
            Self::Pinned(words) => words,
            Self::Managed(words) => words,
        }
    }
}

impl AsMut<[u32]> for HostBuffer {
    fn as_mut(&mut self) -> &mut [u32] {
        match self {
            Self::Pageable(words) => words,
            Self::Pinned(words) => words,
            Self::Managed(words) => words,
        }
    }
}

/// `n` words of managed memory, all 0.
fn managed(n: usize) -> Result<UnifiedBuffer<u32>, Refusal> {
    let (bytes, (free, _)) = (n.saturating_mul(size_of::<u32>()), mem_get_info()?);
    if bytes > MOST_MANAGED.min(free) {
        let most = if free < MOST_MANAGED {
            "than the device has free"
        } else {
            "than the 1 GiB that is allowed here"
        };
        return Err(format!("{bytes} bytes of managed memory are more {most}").into());
    }
    Ok(UnifiedBuffer::new(&0, n)?)
}

/// The number of words in this number of bytes.
const fn words(bytes: usize) -> usize {
    bytes / size_of::<u32>()
}

/// y ← x within the device's memory. One launch reads and writes `bytes`.
#[gpu_bench(
    args(bytes = BYTES),
    setup = |bytes| {
        let inputs = Inputs::on(stream)?;
        Ok((inputs.random(X, words(bytes))?, inputs.unwritten(words(bytes))?))
    },
    reads = 4 * x.len(),
    writes = 4 * y.len(),
    link = d2d,
    cold,
    check = |_x, y, _bytes| expect(y, |i| bits(X, i)),
)]
pub fn d2d(x: &DeviceBuffer<u32>, y: &mut DeviceBuffer<u32>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: both live until the device is done with them, and nobody else touches them meanwhile.
    unsafe { y.async_copy_from(x, stream) }
}

/// y ← x, from the host to the device. One launch moves `bytes`.
#[gpu_bench(
    args(memory = HostMemory::ALL, bytes = BYTES),
    setup = |memory, bytes| {
        let x = HostBuffer::of(memory, words(bytes), |i| bits(X, i))?;
        Ok((x, Inputs::on(stream)?.unwritten(words(bytes))?))
    },
    bytes = 4 * y.len(),
    link = h2d,
    max_time = 1,
    reset = |x: &HostBuffer, _y, stream| x.go_back(stream),
    check = |_x, y, _memory, _bytes| expect(y, |i| bits(X, i)),
)]
pub fn h2d(x: &HostBuffer, y: &mut DeviceBuffer<u32>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: as for `d2d`.
    unsafe { y.async_copy_from(x, stream) }
}

/// y ← x, from the device to the host. One launch moves `bytes`.
#[gpu_bench(
    args(memory = HostMemory::ALL, bytes = BYTES),
    setup = |memory, bytes| {
        let x = Inputs::on(stream)?.random(X, words(bytes))?;
        Ok((x, HostBuffer::of(memory, words(bytes), |_| UNWRITTEN)?))
    },
    bytes = 4 * x.len(),
    link = d2h,
    max_time = 1,
    reset = |_x, y: &HostBuffer, stream| y.go_back(stream),
    check = |_x, y, _memory, _bytes| expect_host(y.as_ref(), |i| bits(X, i)),
)]
pub fn d2h(x: &DeviceBuffer<u32>, y: &mut HostBuffer, stream: &Stream) -> CudaResult<()> {
    // SAFETY: as for `d2d`.
    unsafe { x.async_copy_to(y, stream) }
}

/// y ← x, both in managed memory and on the host. One launch moves `bytes`; the driver chooses the way.
#[gpu_bench(
    args(bytes = BYTES),
    setup = |bytes| {
        let random = HostBuffer::of(HostMemory::Managed, words(bytes), |i| bits(X, i))?;
        Ok((random, HostBuffer::of(HostMemory::Managed, words(bytes), |_| UNWRITTEN)?))
    },
    items = 4 * x.as_ref().len(), "bytes",
    // Nothing is compared with it, and nothing else is to move over it meanwhile.
    link = h2d,
    reset = |x: &HostBuffer, y: &HostBuffer, stream| x.go_back(stream).and_then(|()| y.go_back(stream)),
    check = |_x, y, _bytes| expect_host(y.as_ref(), |i| bits(X, i)),
)]
pub fn unified(x: &HostBuffer, y: &mut HostBuffer, stream: &Stream) -> Result<(), Refusal> {
    let (x, y) = (x.as_ref(), y.as_mut());
    assert_eq!(x.len(), y.len(), "x and y are of one length");
    let (to, from) = (y.as_mut_ptr().expose_provenance(), x.as_ptr().expose_provenance());
    // SAFETY: as for `d2d`; the driver knows both addresses.
    match unsafe { sys::cuMemcpyAsync(to as u64, from as u64, size_of_val(x), stream.as_inner()) } {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        code => Err(format!("cuMemcpyAsync: {code:?}").into()),
    }
}

/// The arrays that [`both`] copies: pinned memory to the device's, and the device's to pinned memory.
pub struct BothWays {
    up: (LockedBuffer<u32>, DeviceBuffer<u32>),
    down: (DeviceBuffer<u32>, LockedBuffer<u32>),
    /// The stream of the copy to the host.
    aside: Stream,
}

impl BothWays {
    fn of(up: usize, down: usize, stream: &Stream) -> Result<Self, Refusal> {
        let (inputs, pinned) = (Inputs::on(stream)?, |n, word| LockedBuffer::new(&word, n));
        let mut source = pinned(words(up), 0)?;
        source.par_iter_mut().enumerate().for_each(|(index, place)| *place = bits(X, index));
        Ok(Self {
            up: (source, inputs.unwritten(words(up))?),
            down: (inputs.random(X, words(down))?, pinned(words(down), UNWRITTEN)?),
            aside: Stream::new(StreamFlags::DEFAULT, None)?,
        })
    }

    fn check(&self) -> Result<(), Refusal> {
        expect(&self.up.1, |i| bits(X, i))?;
        expect_host(&self.down.1, |i| bits(X, i))
    }
}

/// Copies `up` bytes from the host to the device and `down` bytes back, at the same time and in pinned memory. The counted
/// bytes are those of both directions, for which there is no peak.
#[gpu_bench(
    args(zip(up = BYTES, down = BYTES)),
    setup = |up, down| BothWays::of(up, down, stream),
    items = up + down, "bytes",
    // As above.
    link = h2d,
    check = |ways: &BothWays, _up, _down| ways.check(),
)]
pub fn both(ways: &mut BothWays, stream: &Stream) -> CudaResult<()> {
    let BothWays { up, down, aside } = ways;
    follows(aside, stream)?;
    // SAFETY: as for `d2d`; the stream comes to its end behind both.
    unsafe {
        up.1.async_copy_from(&up.0, stream)?;
        down.0.async_copy_to(&mut down.1, aside)?;
    }
    follows(stream, aside)
}

/// Makes work that is enqueued on `later` from now on wait for the work on `earlier`.
fn follows(later: &Stream, earlier: &Stream) -> CudaResult<()> {
    let there = Event::new(EventFlags::DISABLE_TIMING)?;
    there.record(earlier)?;
    later.wait_event(there, StreamWaitEventFlags::DEFAULT)
}
