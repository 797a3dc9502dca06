//! The roof that binds a case, by which a fleet pools its cases. In: a measurement and its device; out: a [`FleetRoof`].

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};

use crate::facts::{Facts, Quantity};
use crate::method::Cache;
use crate::record::Measurement;
use crate::work::{Counts, Link};
use gpubench_stats::units::Bytes;

/// The part of a GPU that binds a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FleetRoof {
    /// Reads from memory.
    MemoryReads,
    /// Writes to memory.
    MemoryWrites,
    /// Both.
    MemoryMixed,
    /// The last-level cache.
    L2,
    /// Arithmetic of any precision.
    Compute,
    /// The bus to the host.
    Pcie,
    /// The links between GPUs.
    Peer,
    /// None of these: launches, latency, the host.
    Latency,
}

/// A case is bound by a roof if it reaches this part of it. Below, something else decides its time.
const BOUND: f64 = 0.4;
/// Traffic in one direction is all of it if the other is at most this part.
const NEGLIGIBLE: f64 = 0.05;

impl FleetRoof {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::MemoryReads,
        Self::MemoryWrites,
        Self::MemoryMixed,
        Self::L2,
        Self::Compute,
        Self::Pcie,
        Self::Peer,
        Self::Latency,
    ];

    /// The roof that binds a measurement on the device of `facts`.
    pub(super) fn of(measured: &Measurement, cache: Cache, facts: &Facts) -> Self {
        let metrics = &measured.metrics;
        let most = || metrics.shares.iter().max_by(|a, b| a.of_peak.total_cmp(&b.of_peak));
        let Some(share) = metrics.roof.as_ref().or_else(most).filter(|share| share.of_peak >= BOUND) else {
            return match measured.link {
                // No peak of it is known, and it was named.
                Some(Link::P2p) if metrics.shares.is_empty() => Self::Peer,
                Some(Link::L2) if metrics.shares.is_empty() => Self::L2,
                _ => Self::Latency,
            };
        };
        match share.quantity {
            Quantity::Compute(_) => Self::Compute,
            Quantity::CacheBandwidth => Self::L2,
            Quantity::HostToDevice | Quantity::DeviceToHost => Self::Pcie,
            Quantity::PeerToPeer => Self::Peer,
            Quantity::MemoryBandwidth if fits_cache(&measured.counts, cache, facts) => Self::L2,
            Quantity::MemoryBandwidth => Self::of_traffic(&measured.counts),
        }
    }

    fn of_traffic(counts: &Counts) -> Self {
        let (Some(reads), Some(writes)) = (counts.reads, counts.writes) else {
            return match (counts.reads, counts.writes) {
                (Some(_), None) => Self::MemoryReads,
                (None, Some(_)) => Self::MemoryWrites,
                _ => Self::MemoryMixed,
            };
        };
        let negligible = |part: u64, of: u64| part as f64 <= NEGLIGIBLE * of as f64;
        match () {
            () if negligible(writes, reads) => Self::MemoryReads,
            () if negligible(reads, writes) => Self::MemoryWrites,
            () => Self::MemoryMixed,
        }
    }
}

/// Returns true if the last-level cache holds all that a launch moves from one launch to the next.
fn fits_cache(counts: &Counts, cache: Cache, facts: &Facts) -> bool {
    let fits = |size: Bytes| counts.bytes.is_some_and(|bytes| Bytes(bytes) <= size);
    cache == Cache::Hot && facts.last_level_cache.is_some_and(fits)
}

impl Display for FleetRoof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MemoryReads => "memory reads",
            Self::MemoryWrites => "memory writes",
            Self::MemoryMixed => "memory mixed",
            Self::L2 => "L2",
            Self::Compute => "compute",
            Self::Pcie => "PCIe",
            Self::Peer => "P2P",
            Self::Latency => "latency",
        })
    }
}
