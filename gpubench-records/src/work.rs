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

/// One of the counts, if it is known.
type CountOf = fn(&Counts) -> Option<u64>;

/// The counts that must be equal. Bytes are the sum of those read and those written, if these are known.
const COUNTS: [(&str, CountOf); 5] = [
    ("bytes read", |counts| counts.reads),
    ("bytes written", |counts| counts.writes),
    ("bytes", |counts| counts.bytes.filter(|_| counts.reads.is_none() && counts.writes.is_none())),
    ("flops", |counts| counts.flops),
    ("items", |counts| counts.items),
];

impl Counts {
    /// Returns the differences between the work of two launches.
    pub(crate) fn differences(&self, then: &Self) -> Vec<String> {
        let differs = |(what, count): (&'static str, CountOf)| {
            let [now, then] = [self, then].map(count);
            (now != then).then(|| format!("{what} {}, {} {}", counted(now), was(what), counted(then)))
        };
        COUNTS.into_iter().filter_map(differs).collect()
    }
}

/// Returns the verb of a sentence on this count, of now and of then.
pub(crate) fn was(what: &str) -> &'static str {
    if what.ends_with('s') || what.starts_with("bytes") { "were" } else { "was" }
}

fn counted(count: Option<u64>) -> String {
    count.map_or_else(|| "not counted".to_owned(), |count| count.to_string())
}
