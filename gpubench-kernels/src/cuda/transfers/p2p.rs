//! Copies between the memories of two GPUs, by the driver and by a kernel of ours: to the other GPU and from it. Each GPU of a
//! run measures the way to all others, so that the runs of all GPUs have every pair in both directions. `bytes` is the
//! amount, 256 MiB unless another is given.

use std::fmt::{self, Display};
use std::str::FromStr;

use cust::error::CudaResult;
use cust::memory::{AsyncCopyDestination as _, CopyDestination as _, DeviceBuffer};
use cust::stream::Stream;
use cust::sys;
use gpubench::{Peer, gpu_bench};

use super::peer_memory::{PeerMemory, accepted, count, reaches};
use super::words;
use crate::cuda::X;
use crate::cuda::check::expect;
use crate::cuda::geometry::Grid;
use crate::cuda::inputs::{Inputs, Refusal};
use crate::cuda::modules::{Elementwise, launch_kernel};
use crate::inputs::bits;

const BYTES: [usize; 1] = [256 << 20];

/// All other GPUs. The only GPU has a peer too, which cannot be reached.
fn peers() -> Vec<Peer> {
    Peer::all(count().max(2))
}

/// Returns true if the GPU whose cases are listed reads and writes the memory of `peer` directly.
fn is_reached(peer: Peer) -> bool {
    let there = |own| if peer.of() == count() { Some((own, peer.after(own))) } else { None };
    gpubench::listed_ordinal().and_then(there).is_some_and(|(own, peer)| reaches(own, peer))
}

/// The direction of a copy, as the GPU that does it sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the other GPU.
    Write,
    /// From the other GPU.
    Read,
}

impl Way {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Write, Self::Read];
}

impl Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Write => "write",
            Self::Read => "read",
        })
    }
}

/// A text that names no [`Way`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the way is `write` or `read`, not `{0}`")]
pub struct UnknownWay(String);

impl FromStr for Way {
    type Err = UnknownWay;

    fn from_str(text: &str) -> Result<Self, UnknownWay> {
        let found = Self::ALL.into_iter().find(|way| way.to_string() == text);
        found.ok_or_else(|| UnknownWay(text.to_owned()))
    }
}

/// The two ends of a copy.
pub struct Ends {
    here: DeviceBuffer<u32>,
    there: PeerMemory,
    way: Way,
    kernels: Elementwise,
}

impl Ends {
    fn of(way: Way, peer: Peer, bytes: usize, stream: &Stream) -> Result<Self, Refusal> {
        let (n, mut own) = (words(bytes), 0);
        // SAFETY: `own` is a place for a device, which the driver numbers as its devices.
        accepted("cuCtxGetDevice", unsafe { sys::cuCtxGetDevice(&raw mut own) })?;
        let (inputs, own) = (Inputs::on(stream)?, usize::try_from(own)?);
        let mut there = PeerMemory::of(peer.after(own), n)?;
        let mut here = inputs.random(X, n)?;
        if way == Way::Read {
            there.words.copy_from(&here)?;
            here = inputs.unwritten(n)?;
        }
        Ok(Self { here, there, way, kernels: Elementwise::load()? })
    }

    fn bytes(&self) -> usize {
        size_of::<u32>() * self.here.len()
    }

    fn check(&self) -> Result<(), Refusal> {
        let to = if self.way == Way::Write { &*self.there.words } else { &self.here };
        expect(to, |i| bits(X, i))
    }
}

/// Copies to or from another GPU by the driver. One launch moves `bytes`.
#[gpu_bench(
    args(way = Way::ALL, peer = peers(), bytes = BYTES),
    setup = |way, peer, bytes| Ends::of(way, peer, bytes, stream),
    bytes = ends.bytes(),
    link = p2p,
    skip_if = !is_reached(peer), "no other GPU is there that this one reaches directly",
    check = |ends: &Ends, _way, _peer, _bytes| ends.check(),
)]
pub fn copy(ends: &mut Ends, stream: &Stream) -> CudaResult<()> {
    let Ends { here, there, way, .. } = ends;
    let (from, to) = match way {
        Way::Write => (&*here, &mut *there.words),
        Way::Read => (&*there.words, here),
    };
    // SAFETY: both live until the device is done with them, and nobody else touches them meanwhile.
    unsafe { to.async_copy_from(from, stream) }
}

/// Copies to or from another GPU by a kernel: its loads or its stores cross the link. One launch moves `bytes`.
#[gpu_bench(
    args(way = Way::ALL, peer = peers(), bytes = BYTES),
    setup = |way, peer, bytes| Ends::of(way, peer, bytes, stream),
    bytes = ends.bytes(),
    link = p2p,
    skip_if = !is_reached(peer), "no other GPU is there that this one reaches directly",
    check = |ends: &Ends, _way, _peer, _bytes| ends.check(),
)]
pub fn kernel(ends: &mut Ends, stream: &Stream) -> CudaResult<()> {
    let (bytes, kernels) = (ends.bytes(), &ends.kernels);
    let [here, there] = [&ends.here, &*ends.there.words].map(|words| words.as_device_ptr());
    let (x, y) = if ends.way == Way::Write { (here, there) } else { (there, here) };
    // It copies words of 32 bits, whatever they mean.
    launch_kernel!(
        kernels.copy(x.cast::<f32>(), y.cast::<f32>(), (bytes / size_of::<f32>()) as u64),
        Grid::elementwise(bytes),
        stream
    )
}
