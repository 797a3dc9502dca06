//! The limits of a launch's speed: finds the peak of the device that a launch would exceed if it did its declared work in its measured time. All
//! doubts are in the launch's favour.

use crate::metrics::{Counts, Link, crossing_intermediates};
use crate::{Cache, DeviceInfo, Flush, Method, Peak, PeakSource, Quantity, Samples, Timer};
use gpubench_stats::{Bytes, Nanoseconds, Rate};

/// The work that a launch declares (`counts`, `data_type`, `link`), and three facts that gpubench observed, which limit what the declaration can
/// mean: `cold`, `written` and `operations`. [`Measurement::declared_work`](crate::Measurement::declared_work) makes it, and verdicts read it.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredWork<'a> {
    /// The work that it does.
    pub counts: Counts,
    /// The data type of its operations.
    pub data_type: &'a str,
    /// The link that its bytes cross.
    pub link: Option<Link>,
    /// True if none of its data is in the last-level cache when it begins: each sample followed a flush.
    pub cold: bool,
    /// The most bytes that it can have written, according to write detection; `None` if that is not known.
    pub written: Option<Bytes>,
    /// The observed number of kernels, copies and memsets of a launch; `None` if it is not known.
    pub operations: Option<usize>,
}

gpubench_stats::stored! {
    /// More work than the device can do in the time.
    pub struct ImpossibleSpeed {
        /// The quantity for which there is too little time.
        pub quantity: Quantity,
        /// The amount: bytes that must cross the memory's bus, or operations.
        pub work: u64,
        /// The device's limit.
        pub peak: Rate,
        /// True if that limit was measured: then the time is too short even at ten times the limit.
        #[serde(default)]
        pub measured: bool,
        /// The time of the result, which is too short, as is the longest time that the launch can have taken, see [`longest_possible_time`].
        pub time: Nanoseconds,
        /// The time that the work takes at the peak.
        pub least_time: Nanoseconds,
    }
}

/// The factor by which arithmetic throughput may exceed a peak from attributes or the datasheet. The true clock may be
/// higher than the reported one: a GeForce's by a tenth, overclocked by a fifth.
const MAX_OVER_CLOCK_PEAK: f64 = 1.25;

/// The factor by which a rate may exceed a measured peak, since another program may be faster than the one
/// that measured it. On an H200, the measured peak that is furthest below its limit, `f64_tensor`, reaches
/// 49 % of it, and `l2_write` half of `l2_read`. The factor is five times that gap, for a machine that did
/// something else while its peak was measured.
const MAX_OVER_MEASURED_PEAK: f64 = 10.0;

/// The possible error of an event time after the overhead of an empty launch is subtracted.
pub(crate) const OVERHEAD_ERROR: Nanoseconds = Nanoseconds(300.0);
/// The additional possible error for each kernel of a launch after the first: the gap between two kernels of
/// a graph depends on their positions in it. On an H200, five back-to-back kernels take 9.46 to 9.84 µs, and
/// eight take 15.1 to 15.8 µs, in results that differ only in the work between the launches.
pub(crate) const OVERHEAD_ERROR_PER_PIECE: Nanoseconds = Nanoseconds(100.0);

/// The relative difference up to which two clocks agree on the time of a launch, however long it is.
pub(crate) const RELATIVE_AGREEMENT: f64 = 0.01;

/// Returns true if none of the launch's data is in the last-level cache when a sample starts: the case is
/// cold, and there is a flush whose verification did not fail. A flush that was not verified counts.
pub fn begins_cold(cache: Cache, method: &Method) -> bool {
    cache == Cache::Cold
        && method.flush != Flush::None
        && method.flush_verification.is_none_or(|proof| proof.evicts_cache())
}

/// Returns an upper bound of a launch's time: the median plus the timer's resolution and the uncertainty of the overhead.
///
/// This uncertainty is all of the overhead except the empty-span reading, which is never part of a launch.
/// After a verified flush, it is `OVERHEAD_ERROR` if the overhead was measured. In old records, the overhead
/// is a convention: without a verified flush, the uncertainty is all of it.
pub fn longest_possible_time(samples: &Samples, cold: bool) -> Nanoseconds {
    let Timer { resolution, empty_span, overhead, marginal_empty_launch, .. } = samples.timer;
    let proven = cold && samples.method.flush_verification.is_some();
    let doubt = match (marginal_empty_launch, proven) {
        (Some(_), true) => OVERHEAD_ERROR,
        (Some(_), false) | (None, true) => (overhead - empty_span).max(Nanoseconds::ZERO),
        (None, false) => overhead,
    };
    samples.time.median + doubt + resolution
}

/// Returns the peak that a launch would exceed if it did its declared work in the time `took`: the
/// bandwidth for its bytes, or the arithmetic throughput for its operations. If it would exceed both,
/// returns the one at which the work takes longer. `None` if it would exceed neither; unknown and uncertain
/// peaks limit nothing.
pub fn violated_limit(
    claim: &DeclaredWork<'_>,
    took: Nanoseconds,
    info: &DeviceInfo,
) -> Option<ImpossibleSpeed> {
    let limit = |quantity: Quantity, work: u64| {
        // An uncertain peak is no limit: an attribute or a datasheet may be of another device, and a measurement that other programs
        // disturbed can be low by any factor.
        let peak = info.peaks.iter().find(|peak| peak.quantity == quantity && !peak.uncertain)?;
        let least = peak.value.time_for(work);
        (took < least / max_over_peak(peak)).then_some(ImpossibleSpeed {
            quantity,
            work,
            peak: peak.value,
            measured: peak.source == PeakSource::Measured,
            time: took,
            least_time: least,
        })
    };
    let bytes = match Quantity::moved_over(claim.link) {
        Quantity::MemoryBandwidth => min_bus_traffic(claim, info.last_level_cache),
        // No cache here keeps the data at the other end of a link from one launch to the next.
        _ => Link::crossed(claim.link, &claim.counts).unwrap_or_default(),
    };
    let moved = limit(Quantity::moved_over(claim.link), bytes);
    let compute =
        claim.counts.flops.and_then(|flops| limit(Quantity::Compute(claim.data_type.to_owned()), flops));
    moved.into_iter().chain(compute).max_by(|a, b| a.least_time.total_cmp(&b.least_time))
}

/// Returns the factor by which a launch may be faster than `peak`. It is 1 for a peak that the user gave, and for a bandwidth from attributes
/// or the datasheet.
fn max_over_peak(peak: &Peak) -> f64 {
    match (&peak.quantity, peak.source) {
        (_, PeakSource::Measured) => MAX_OVER_MEASURED_PEAK,
        (Quantity::Compute(_), PeakSource::Attribute | PeakSource::Datasheet) => MAX_OVER_CLOCK_PEAK,
        _ => 1.0,
    }
}

/// Returns the least number of bytes that must cross the memory's bus. `cache` is the size of the last-level
/// cache; one of unknown size may hold everything.
///
/// Cold, all reads cross the bus. Hot, the cache may have held reads up to its size. Of the writes, the cache
/// may keep up to its size in both states, even if it also held reads, since both may be of the same memory.
/// If reads and writes are not distinguished, the bytes that cannot have been written were read. For
/// intermediates, see [`crossing_intermediates`].
fn min_bus_traffic(claim: &DeclaredWork<'_>, cache: Option<Bytes>) -> u64 {
    let passed = crossing_intermediates(&claim.counts, claim.operations, cache);
    let Bytes(cache) = cache.unwrap_or(Bytes(u64::MAX));
    let exceeds = |bytes: u64| bytes.saturating_sub(cache);
    let Counts { reads, writes, .. } = claim.counts;
    let bytes = claim.counts.without_intermediates().unwrap_or_default();
    let (reads, writes) = match (reads, writes, claim.written) {
        // Any part of them may be reads.
        (None, None, None) => {
            let bytes = exceeds(bytes);
            return passed.saturating_add(if claim.cold { bytes } else { exceeds(bytes) });
        }
        (None, None, Some(Bytes(written))) => (bytes.saturating_sub(written), bytes.min(written)),
        (reads, writes, _) => (reads.unwrap_or_default(), writes.unwrap_or_default()),
    };
    let read = if claim.cold { reads } else { exceeds(reads) };
    read.saturating_add(exceeds(writes)).saturating_add(passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn peak(quantity: Quantity, value: f64, source: PeakSource) -> Peak {
        Peak::new(quantity, Rate(value), source, "")
    }

    fn f32_peak(value: f64, source: PeakSource) -> Peak {
        peak(Quantity::Compute("f32".to_owned()), value, source)
    }

    /// An H200's memory and L2, with these peaks before those that it has.
    fn info(before: Vec<Peak>) -> DeviceInfo {
        let own = peak(Quantity::MemoryBandwidth, 4.814304e12, PeakSource::Attribute);
        let mut info = DeviceInfo::new("cuda:0", "NVIDIA H200").with_last_level_cache(Bytes(60 * MIB));
        info.peaks = before.into_iter().chain([own]).collect();
        info
    }

    fn claim(reads: u64, writes: u64, cold: bool) -> DeclaredWork<'static> {
        let counts = Counts {
            reads: Some(reads),
            writes: Some(writes),
            bytes: Some(reads + writes),
            ..Counts::default()
        };
        DeclaredWork { counts, data_type: "f32", link: None, cold, written: None, operations: None }
    }

    /// Each of two hand-overs may stay in a cache of 60 MiB to that size, neither written to memory nor read from there.
    #[test]
    fn intermediates_cross_the_bus_where_the_cache_cannot_hold_them() {
        let crossed = |reads: u64, intermediates, operations, cache: Option<u64>| {
            let declared = claim(reads * MIB, 0, true);
            let bytes = declared.counts.bytes.map(|bytes| bytes + intermediates * MIB);
            let counts = Counts { bytes, intermediates: Some(intermediates * MIB), ..declared.counts };
            let told = DeclaredWork { counts, operations, ..declared };
            let moved = Counts { reads: None, writes: None, ..counts };
            let together = DeclaredWork { counts: moved, written: Some(Bytes(0)), ..told };
            let found = [told, together]
                .map(|claim| min_bus_traffic(&claim, cache.map(|size| Bytes(size * MIB))) / MIB);
            assert_eq!(found[0], found[1]);
            found[0]
        };
        assert_eq!(crossed(256, 1024, Some(3), Some(60)), 256 + 1024 - 2 * 2 * 60);
        assert_eq!(crossed(256, 200, Some(3), Some(60)), 256, "all of them fit");
        assert_eq!(crossed(256, 1024, None, Some(60)), 256);
        assert_eq!(crossed(256, 1024, Some(3), None), 256);
    }

    /// The shortest time that is possible, in nanoseconds, found by halving.
    fn least(claim: &DeclaredWork<'_>, info: &DeviceInfo) -> f64 {
        let (mut low, mut high) = (0.0, 1e9);
        while high - low > 0.01 {
            let took = (low + high) / 2.0;
            if violated_limit(claim, Nanoseconds(took), info).is_some() { low = took } else { high = took }
        }
        high
    }

    #[track_caller]
    fn crosses(claim: DeclaredWork<'_>, bytes: u64) {
        let (found, expected) = (least(&claim, &info(Vec::new())), bytes as f64 / 4814.304);
        assert!((found - expected).abs() < 0.02, "{claim:?}: {found} ns, {expected} expected");
    }

    #[test]
    fn cold_all_reads_cross_and_the_writes_that_do_not_fit() {
        crosses(claim(40 * MIB, 0, true), 40 * MIB);
        crosses(claim(40 * MIB, 40 * MIB, true), 40 * MIB);
        crosses(claim(0, 60 * MIB, true), 0);
        crosses(claim(0, 256 * MIB, true), 196 * MIB);
        crosses(claim(256 * MIB, 256 * MIB, true), (256 + 196) * MIB);
    }

    /// A hot sum of 40 MiB at 5022 GB/s on an H200 is as true as it is above the memory's peak.
    #[test]
    fn hot_what_fits_the_cache_does_not_cross() {
        crosses(claim(40 * MIB, 0, false), 0);
        // Read and written in place, it is the same 50 MiB.
        crosses(claim(50 * MIB, 50 * MIB, false), 0);
        crosses(claim(256 * MIB, 0, false), 196 * MIB);
        crosses(claim(256 * MIB, 256 * MIB, false), 2 * 196 * MIB);
    }

    fn bytes(bytes: u64, cold: bool, written: Option<u64>) -> DeclaredWork<'static> {
        let counts = Counts { bytes: Some(bytes), ..Counts::default() };
        DeclaredWork {
            counts,
            data_type: "f32",
            link: None,
            cold,
            written: written.map(Bytes),
            operations: None,
        }
    }

    #[test]
    fn bytes_that_are_not_told_apart_may_all_be_written() {
        crosses(bytes(256 * MIB, true, None), 196 * MIB);
        crosses(bytes(256 * MIB, false, None), 136 * MIB);
        crosses(bytes(60 * MIB, true, None), 0);
    }

    /// A read of 16 MiB that claims twice its bytes was valid at 144 % of the peak: they might all have been writes.
    #[test]
    fn bytes_that_cannot_have_been_written_were_read() {
        crosses(bytes(32 * MIB, true, Some(0)), 32 * MIB);
        crosses(bytes(32 * MIB, true, Some(16 * MIB)), 16 * MIB);
        crosses(bytes(32 * MIB, true, Some(64 * MIB)), 0);
        crosses(bytes(256 * MIB, true, Some(128 * MIB)), (128 + 68) * MIB);
        crosses(bytes(256 * MIB, false, Some(128 * MIB)), 2 * 68 * MIB);
        assert_eq!(
            violated_limit(&bytes(32 * MIB, false, Some(0)), Nanoseconds(0.0), &info(Vec::new())),
            None
        );
    }

    #[test]
    fn only_the_memory_limits_what_crosses_it() {
        for (link, limited) in [(Link::H2d, false), (Link::D2h, false), (Link::P2p, false), (Link::D2d, true)]
        {
            let claim = DeclaredWork { link: Some(link), ..claim(256 * MIB, 0, true) };
            assert_eq!(
                violated_limit(&claim, Nanoseconds(1.0), &info(Vec::new())).is_some(),
                limited,
                "{link}"
            );
        }
        // Nor is anything known of a cache without a size.
        let no_size = DeviceInfo { last_level_cache: None, ..info(Vec::new()) };
        assert_eq!(violated_limit(&claim(0, 256 * MIB, true), Nanoseconds(1.0), &no_size), None);
        assert_eq!(violated_limit(&claim(256 * MIB, 0, false), Nanoseconds(1.0), &no_size), None);
        assert!(violated_limit(&claim(256 * MIB, 0, true), Nanoseconds(1.0), &no_size).is_some());
    }

    /// A copy reads at one end and writes at the other: the larger of both crosses, hot or cold, and nothing stays in a cache.
    #[test]
    fn a_link_limits_what_crosses_it() {
        let bus = peak(Quantity::HostToDevice, 50e9, PeakSource::Attribute);
        for cold in [false, true] {
            let claim = DeclaredWork { link: Some(Link::H2d), ..claim(40_000, 50_000, cold) };
            let found = least(&claim, &info(vec![bus.clone()]));
            assert!((found - 1000.0).abs() < 0.02, "{found}");
            let uncertain = bus.clone().uncertain();
            assert_eq!(violated_limit(&claim, Nanoseconds(1.0), &info(vec![uncertain])), None);
            let back = DeclaredWork { link: Some(Link::D2h), ..claim };
            assert_eq!(violated_limit(&back, Nanoseconds(1.0), &info(vec![bus.clone()])), None);
        }
    }

    /// 10¹⁰ operations at 10¹⁵ a second take 10 µs, at a clock a quarter above the one that is told 8, and at ten times what
    /// was measured 1.
    #[test]
    fn peaks_judge_as_far_as_they_are_limits() {
        let counts = Counts { flops: Some(10_000_000_000), ..Counts::default() };
        let claim = DeclaredWork {
            counts,
            data_type: "f32",
            link: None,
            cold: false,
            written: None,
            operations: None,
        };
        for (peak, shortest) in [
            (f32_peak(1e15, PeakSource::User), 10_000.0),
            (f32_peak(1e15, PeakSource::Attribute), 8_000.0),
            (f32_peak(1e15, PeakSource::Datasheet), 8_000.0),
            (f32_peak(1e15, PeakSource::Measured), 1_000.0),
            (f32_peak(1e15, PeakSource::Measured).uncertain(), 0.0),
            (f32_peak(1e15, PeakSource::Attribute).uncertain(), 0.0),
            (peak(Quantity::Compute("f64".to_owned()), 1e15, PeakSource::User), 0.0),
        ] {
            let found = least(&claim, &info(vec![peak.clone()]));
            assert!((found - shortest).abs() < 0.02, "{peak:?}: {found}");
        }
    }

    /// An attribute that may be another card's does not keep a measurement of this one from counting.
    #[test]
    fn the_first_peak_that_is_a_limit_counts() {
        let counts = Counts { flops: Some(10_000_000_000), ..Counts::default() };
        let claim = DeclaredWork {
            counts,
            data_type: "f32",
            link: None,
            cold: false,
            written: None,
            operations: None,
        };
        let both =
            vec![f32_peak(1e12, PeakSource::Attribute).uncertain(), f32_peak(1e15, PeakSource::Measured)];
        assert!((least(&claim, &info(both)) - 1_000.0).abs() < 0.02);
        let told =
            violated_limit(&claim, Nanoseconds(1e-10), &info(vec![f32_peak(1e15, PeakSource::Measured)]));
        assert!(told.is_some_and(|told| told.measured && told.least_time == Nanoseconds(10_000.0)));
    }

    #[test]
    fn of_two_limits_the_one_that_is_violated_by_more_is_returned() {
        let mut claim = claim(256 * MIB, 0, true);
        claim.counts.flops = Some(10_000_000_000);
        let told = |peak| {
            let info = info(vec![f32_peak(peak, PeakSource::User)]);
            violated_limit(&claim, Nanoseconds(1000.0), &info).map(|limit| (limit.quantity, limit.work))
        };
        assert_eq!(told(1e15), Some((Quantity::MemoryBandwidth, 256 * MIB)));
        assert_eq!(told(1e13), Some((Quantity::Compute("f32".to_owned()), 10_000_000_000)));
    }
}
