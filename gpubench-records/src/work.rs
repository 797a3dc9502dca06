//! The work of one launch, as its author counts it, and the link that its bytes move over.

use crate::device_info::Quantity;

gpubench_stats::stored! {
    /// The work of one launch, as far as the attribute states it.
    #[derive(Copy, Default, Eq)]
    pub struct Counts {
        /// Bytes read.
        pub reads: Option<u64>,
        /// Bytes written.
        pub writes: Option<u64>,
        /// Bytes moved: the sum of both, or the attribute's `bytes` if it does not tell reads from writes.
        pub bytes: Option<u64>,
        /// Floating-point operations.
        pub flops: Option<u64>,
        /// Items of another kind that the benchmark counts.
        pub items: Option<u64>,
    }

    /// The link that bytes move over.
    #[derive(Copy, Eq)]
    #[serde(rename_all = "lowercase")]
    pub enum Link {
        /// From the host's memory to the device's.
        H2d,
        /// From the device's memory to the host's.
        D2h,
        /// Within the device's memory.
        D2d,
        /// From a device to another, or the other way.
        P2p,
        /// Between the last-level cache and the multiprocessors.
        L2,
    }
}

impl Link {
    /// The limit of bytes that move over `link`: that of the link, and not of the memory at its ends; without a link, that
    /// of the memory.
    pub fn quantity(link: Option<Self>) -> Quantity {
        match link {
            None | Some(Self::D2d) => Quantity::MemoryBandwidth,
            Some(Self::H2d) => Quantity::HostToDevice,
            Some(Self::D2h) => Quantity::DeviceToHost,
            Some(Self::P2p) => Quantity::PeerToPeer,
            Some(Self::L2) => Quantity::CacheBandwidth,
        }
    }

    /// The number of these bytes that go over `link`. A copy's bytes are read at one end of a bus and written at the other,
    /// and cross it once.
    pub fn crossed(link: Option<Self>, counts: &Counts) -> Option<u64> {
        match link {
            Some(Self::H2d | Self::D2h | Self::P2p) => counts.reads.max(counts.writes).or(counts.bytes),
            None | Some(Self::D2d | Self::L2) => counts.bytes,
        }
    }
}
