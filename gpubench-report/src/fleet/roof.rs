//! The part of a GPU that binds a case. Cases of one roof are judged together.

use gpubench_records::{Cache, Counts, DeviceInfo, Link, Measurement, Quantity};
use gpubench_stats::Bytes;
use serde::Serialize;

/// A roof binds a case that reaches this share of it. Below, something else decides its time.
const BOUND: f64 = 0.4;
/// Traffic in one direction is all of it if the other is below this share.
const NEGLIGIBLE: f64 = 0.05;

/// The part of a GPU that binds a case, in the order in which tables show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum FleetRoof {
    /// Reads from memory.
    #[error("memory reads")]
    MemoryReads,
    /// Writes to memory.
    #[error("memory writes")]
    MemoryWrites,
    /// Both.
    #[error("memory mixed")]
    MemoryMixed,
    /// The last-level cache.
    #[error("L2")]
    L2,
    /// Arithmetic of any data type.
    #[error("compute")]
    Compute,
    /// The bus to the host.
    #[error("PCIe")]
    Pcie,
    /// The links between GPUs.
    #[error("P2P")]
    Peer,
    /// None of these: launches, latency, the host.
    #[error("latency")]
    Latency,
}

impl FleetRoof {
    /// Returns the roof that binds a measurement on the device of `info`.
    pub(super) fn new(measured: &Measurement, cache: Cache, info: &DeviceInfo) -> Self {
        let fractions = &measured.metrics.peak_fractions;
        let most = fractions.iter().max_by(|a, b| a.fraction.total_cmp(&b.fraction));
        let bound = most.filter(|share| share.fraction >= BOUND);
        match (bound.map(|share| &share.quantity), measured.link) {
            (Some(Quantity::Compute(_)), _) => Self::Compute,
            (Some(Quantity::CacheBandwidth), _) => Self::L2,
            (Some(Quantity::HostToDevice | Quantity::DeviceToHost), _) => Self::Pcie,
            (Some(Quantity::PeerToPeer), _) => Self::Peer,
            (Some(Quantity::MemoryBandwidth), _) => Self::of_memory(&measured.counts, cache, info),
            // The benchmark names a link whose peak is not known.
            (None, Some(Link::P2p)) if fractions.is_empty() => Self::Peer,
            (None, Some(Link::L2)) if fractions.is_empty() => Self::L2,
            _ => Self::Latency,
        }
    }

    /// Returns the roof of traffic to memory. It is the cache if that holds everything from one launch to the next.
    fn of_memory(counts: &Counts, cache: Cache, info: &DeviceInfo) -> Self {
        let fits = |size: Bytes| counts.without_intermediates().is_some_and(|bytes| Bytes(bytes) <= size);
        let each_way = counts.intermediates.unwrap_or(0) as f64 / 2.0;
        let [reads, writes] = [counts.reads, counts.writes].map(|bytes| bytes.unwrap_or(0) as f64 + each_way);
        if cache == Cache::Hot && info.last_level_cache.is_some_and(fits) {
            Self::L2
        } else if writes < NEGLIGIBLE * reads {
            Self::MemoryReads
        } else if reads < NEGLIGIBLE * writes {
            Self::MemoryWrites
        } else {
            Self::MemoryMixed
        }
    }
}
