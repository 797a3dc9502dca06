//! Compares the declared traffic of a launch with the memory that it can reach and that it changes, according to write detection.
//!
//! Each byte counts once, however often it is read or written. So a launch reads at most all memory that it can reach, writes at most what it
//! changes in memory with other contents, and moves at most both together. Intermediates count separately: each operation of a launch except
//! the last passes on at most all memory, written once and read once.

use super::Reason;
use crate::{Cache, DeclaredWork, DeviceInfo, LaunchInfo, Measurement, Quantity, Written, limits};
use crate::{Counts, Link};
use gpubench_stats::Bytes;

/// The fraction by which declared bytes may exceed the observed bytes before the traffic counts as too high,
/// since authors round their counts. Observed bytes are whole blocks, so that they tend to be too many.
const DECLARED_TOLERANCE: f64 = 0.1;
/// The number of bytes by which declared reads may exceed the memory of the launch, since constants and
/// arguments are not in allocations. A GPU has 64 KiB of constant memory.
const CONSTANTS: Bytes = Bytes(64 << 10);

gpubench_stats::stored! {
    /// Declared traffic that exceeds what the launch can have moved.
    #[derive(Copy, Eq)]
    pub struct ExcessTraffic {
        /// The kind of bytes.
        pub kind: DeclaredBytes,
        /// The declared number of bytes.
        pub declared: Bytes,
        /// The size of all memory that the launch can reach.
        pub given: Bytes,
        /// The size of the memory that a launch changes.
        pub changed: Bytes,
    }

    /// The kind of bytes that a count is about.
    #[derive(Copy, Eq)]
    pub enum DeclaredBytes {
        /// Those that are read.
        Read,
        /// Those that are written.
        Written,
        /// Those that are read or written.
        Moved,
        /// Those that one operation of a launch writes and a later one reads.
        Intermediates {
            /// The number of operations of a launch.
            operations: usize,
        },
    }
}

/// Returns the first reason against the declared work (`claim`) that follows from the memory that the launch
/// can reach and that it changes; `None` if there is none.
pub fn contradicted(claim: &DeclaredWork<'_>, seen: &LaunchInfo) -> Option<Reason> {
    let written = seen.written.as_ref().filter(|written| written.unseen_reason.is_none());
    let excess = || written.and_then(|written| excess(&claim.counts, claim.link, written));
    written
        .and_then(|written| nothing_written(&claim.counts, written))
        .or_else(|| excess().or_else(|| excess_intermediates(claim, written)).map(Reason::TrafficTooHigh))
}

/// Returns the number of bytes that a launch on memory with other contents must change before the declared
/// work is believed, since write detection does not see a write of the same value. `None` if no such launch
/// is needed: the declared work is plausible already, or the launch would not show more.
pub fn doubtful_writes(measured: &Measurement, cache: Cache, info: &DeviceInfo) -> Option<Bytes> {
    let claim = measured.declared_work(cache);
    let written = measured
        .launch
        .written
        .as_ref()
        .filter(|it| it.unseen_reason.is_none() && it.writes_on_other_contents.is_none())?;
    let claimed = claimed_writes(&claim.counts)?;
    if written.changed_nothing() {
        return Some(claimed);
    }
    if !in_memory(claim.link) {
        return None;
    }
    if claim.counts.writes.is_some() {
        return exceeds(claimed, written.changed, Bytes(0)).then_some(claimed);
    }
    let if_all_it_writes = DeclaredWork { written: Some(written.changed), ..claim };
    let took = limits::longest_possible_time(&measured.samples, claim.cold);
    let is_too_fast = || limits::violated_limit(&if_all_it_writes, took, info).is_some();
    (moves_too_much(claimed, written) || is_too_fast()).then_some(claimed)
}

/// Returns the most bytes that a launch can have written. `None` unless all of its memory was compared, and a
/// launch on memory with other contents was tried.
pub fn most_written(seen: &LaunchInfo) -> Option<Bytes> {
    let written = seen.written.as_ref().filter(|written| written.unseen_reason.is_none())?;
    written.changed_on_other_contents.map(|_| most_changed(written))
}

/// Returns the declared writes. If the counts do not distinguish reads from writes, returns all declared
/// bytes without intermediates. `None` if only reads are declared, or nothing.
fn claimed_writes(counts: &Counts) -> Option<Bytes> {
    match (counts.reads, counts.writes, counts.without_intermediates()) {
        (_, Some(claimed), _) | (None, None, Some(claimed)) => Some(Bytes(claimed)),
        _ => None,
    }
}

/// Returns the reason against a launch that declares writes, but changes no memory, whatever the memory held
/// before. `None` unless a launch on memory with other contents was tried.
fn nothing_written(counts: &Counts, written: &Written) -> Option<Reason> {
    let nothing = written.changed_nothing() && written.writes_on_other_contents == Some(false);
    let claimed = claimed_writes(counts).filter(|_| nothing)?;
    Some(Reason::NothingWritten { declared: claimed, may_be_read: counts.writes.is_none() })
}

/// Returns the declared writes, or else the reads, or else the undivided bytes, that exceed the memory of the
/// launch or its changes. All of this memory must have been compared. `None` if none do, and for bytes that
/// cross a link or stay in a cache.
fn excess(counts: &Counts, link: Option<Link>, written: &Written) -> Option<ExcessTraffic> {
    if !in_memory(link) {
        return None;
    }
    let given = written.examined;
    let changed = most_changed(written);
    let read = counts.reads.map(Bytes).filter(|claimed| exceeds(*claimed, given, CONSTANTS));
    let is_tried = written.changed_on_other_contents.is_some();
    let too_many = |claimed: &Bytes| {
        exceeds(*claimed, given, CONSTANTS) || (is_tried && exceeds(*claimed, changed, Bytes(0)))
    };
    let wrote = counts.writes.map(Bytes).filter(too_many);
    let is_undivided = counts.reads.is_none() && counts.writes.is_none();
    let moved = counts.without_intermediates().map(Bytes).filter(|_| is_undivided && is_tried);
    let moved = moved.filter(|claimed| moves_too_much(*claimed, written));
    let found = [(DeclaredBytes::Written, wrote), (DeclaredBytes::Read, read), (DeclaredBytes::Moved, moved)];
    let (kind, declared) = found.into_iter().find_map(|(kind, declared)| Some((kind, declared?)))?;
    Some(ExcessTraffic { kind, declared, given, changed })
}

/// Returns the declared intermediates if they are more than the operations of a launch can pass on: each
/// operation but the last at most all memory of the launch, written once and read once. A launch of one
/// operation has no intermediates. If the size of the memory is unknown, several operations have no limit.
/// `None` also if the number of operations is unknown.
fn excess_intermediates(claim: &DeclaredWork<'_>, written: Option<&Written>) -> Option<ExcessTraffic> {
    let (declared, operations) = (Bytes(claim.counts.intermediates?), claim.operations?);
    let given = written.map_or(Bytes(u64::MAX), |written| written.examined);
    let most = Bytes(given.0.saturating_mul(2 * operations.saturating_sub(1) as u64));
    exceeds(declared, most, Bytes(0)).then_some(ExcessTraffic {
        kind: DeclaredBytes::Intermediates { operations },
        declared,
        given,
        changed: written.map_or(Bytes(0), most_changed),
    })
}

/// Returns true if the declared bytes exceed the sum of the memory that can be read and the memory that is
/// changed.
fn moves_too_much(claimed: Bytes, written: &Written) -> bool {
    let most = Bytes(written.examined.0.saturating_add(most_changed(written).0));
    exceeds(claimed, most, CONSTANTS)
}

/// Returns the larger of the sizes that the checked launch and a launch on other contents changed.
fn most_changed(written: &Written) -> Bytes {
    written.changed.max(written.changed_on_other_contents.unwrap_or_default())
}

/// Returns true if `claimed` is more than the sum of `seen`, the tolerance, and `slack`.
fn exceeds(claimed: Bytes, seen: Bytes, slack: Bytes) -> bool {
    claimed.0 as f64 > (1.0 + DECLARED_TOLERANCE) * seen.0 as f64 + slack.0 as f64
}

/// Returns true if the bytes move between the device and its own memory, not over a link or within a cache.
fn in_memory(link: Option<Link>) -> bool {
    Quantity::moved_over(link) == Quantity::MemoryBandwidth
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// What was seen of a launch that is given so many MiB and changes so many, on fresh memory and on other.
    fn seen(given: u64, changed: u64, altered: Option<u64>) -> LaunchInfo {
        let mut written = Written::new(Bytes(given * MIB), Bytes(512), Bytes(changed * MIB));
        written.writes_on_other_contents = altered.map(|altered| altered > 0);
        written.changed_on_other_contents = altered.map(|altered| Bytes(altered * MIB));
        LaunchInfo { written: Some(written), ..LaunchInfo::default() }
    }

    fn counts(reads: Option<u64>, writes: Option<u64>) -> Counts {
        let [reads, writes] = [reads, writes].map(|count| count.map(|count| count * MIB));
        let bytes = Some(reads.unwrap_or_default() + writes.unwrap_or_default());
        Counts { reads, writes, bytes, ..Counts::default() }
    }

    fn moves(bytes: u64) -> Counts {
        Counts { bytes: Some(bytes * MIB), ..Counts::default() }
    }

    /// The claim of a launch of so many operations.
    fn claim(counts: &Counts, link: Option<Link>, operations: Option<usize>) -> DeclaredWork<'static> {
        DeclaredWork { counts: *counts, data_type: "f32", link, cold: false, written: None, operations }
    }

    fn told(counts: &Counts, seen: &LaunchInfo) -> Option<(DeclaredBytes, [u64; 3])> {
        match contradicted(&claim(counts, None, None), seen)? {
            Reason::TrafficTooHigh(ExcessTraffic { kind, declared, given, changed }) => {
                Some((kind, [declared, given, changed].map(|bytes| bytes.0 / MIB)))
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn what_is_written_changes_memory_of_other_contents() {
        let claim = counts(Some(16), Some(16));
        assert_eq!(told(&claim, &seen(32, 16, None)), None);
        // Half of it was written, on whatever memory.
        assert_eq!(told(&claim, &seen(32, 8, Some(8))), Some((DeclaredBytes::Written, [16, 32, 8])));
        assert_eq!(told(&claim, &seen(32, 8, None)), None, "it may write the values that are there");
        // It did: zeros over zeros, and a fill of what is there already.
        assert_eq!(told(&claim, &seen(32, 0, Some(16))), None);
        assert_eq!(told(&claim, &seen(32, 8, Some(16))), None);
        // What changed in the first launch need not change again.
        assert_eq!(told(&claim, &seen(32, 16, Some(8))), None);
        // A tenth is round counting.
        assert_eq!(told(&counts(None, Some(110)), &seen(200, 0, Some(100))), None);
        assert!(told(&counts(None, Some(111)), &seen(200, 0, Some(100))).is_some());
    }

    #[test]
    fn no_more_is_read_than_there_is() {
        assert_eq!(told(&counts(Some(32), None), &seen(32, 0, None)), None);
        assert_eq!(
            told(&counts(Some(64), None), &seen(32, 0, None)),
            Some((DeclaredBytes::Read, [64, 32, 0]))
        );
        assert_eq!(
            told(&counts(None, Some(64)), &seen(32, 32, None)),
            Some((DeclaredBytes::Written, [64, 32, 32]))
        );
        // Constants are in no allocation.
        let small = Counts { reads: Some(65_536), ..Counts::default() };
        assert_eq!(told(&small, &seen(0, 0, None)), None);
        assert!(told(&Counts { reads: Some(65_537), ..small }, &seen(0, 0, None)).is_some());
    }

    /// The bytes of which reads are claimed are those that count, whatever the sum of bytes is.
    #[test]
    fn bytes_that_are_told_apart_are_not_judged_together() {
        let reads = Counts { bytes: Some(64 * MIB), ..counts(Some(16), None) };
        assert_eq!(told(&reads, &seen(32, 16, Some(16))), None);
    }

    #[test]
    fn what_is_moved_is_read_once_and_written_once() {
        assert_eq!(
            told(&moves(32), &seen(32, 16, Some(16))),
            None,
            "an update in place may move twice as much"
        );
        assert_eq!(told(&moves(48), &seen(32, 16, Some(16))), None);
        assert_eq!(told(&moves(64), &seen(32, 16, Some(16))), Some((DeclaredBytes::Moved, [64, 32, 16])));
        assert_eq!(told(&moves(64), &seen(32, 16, None)), None, "it may write the other half as it is");
    }

    #[test]
    fn nothing_is_held_against_what_was_not_seen() {
        let mut unseen = seen(32, 8, Some(8));
        unseen.written.as_mut().expect("it is there").unseen_reason =
            Some("it copies to the host".to_owned());
        assert_eq!(told(&counts(None, Some(64)), &unseen), None);
        let counts = counts(None, Some(64));
        for link in [Link::H2d, Link::D2h, Link::P2p, Link::L2] {
            assert_eq!(
                contradicted(&claim(&counts, Some(link), None), &seen(32, 8, Some(8))),
                None,
                "{link}"
            );
        }
        assert!(contradicted(&claim(&counts, Some(Link::D2d), None), &seen(32, 8, Some(8))).is_some());
        assert_eq!(contradicted(&claim(&counts, None, None), &LaunchInfo::default()), None);
    }

    /// An update in place by several kernels: 16 MiB that each reads and writes.
    #[test]
    fn intermediates_are_passed_from_kernel_to_kernel() {
        let found = |mib: u64, operations: Option<usize>, seen: &LaunchInfo| {
            let counts = Counts {
                intermediates: Some(mib * MIB),
                bytes: Some((32 + mib) * MIB),
                ..counts(Some(16), Some(16))
            };
            let reason = contradicted(&claim(&counts, None, operations), seen)?;
            assert!(matches!(
                &reason,
                Reason::TrafficTooHigh(ExcessTraffic { kind: DeclaredBytes::Intermediates { .. }, .. })
            ));
            Some(reason.to_string())
        };
        let in_place = seen(16, 16, None);
        // Three kernels pass on 16 MiB twice, written and read. A tenth is round counting.
        for (mib, operations, expected) in [
            (64, Some(3), false),
            (70, Some(3), false),
            (71, Some(3), true),
            (32, Some(2), false),
            (36, Some(2), true),
            (999, None, false),
        ] {
            assert_eq!(found(mib, operations, &in_place).is_some(), expected, "{mib} MiB of {operations:?}");
        }
        assert_eq!(
            found(128, Some(3), &in_place).expect("it claims more"),
            "declared traffic too high: it declares 128 MiB of intermediates, and a launch of 3 operations is given 16 MiB of memory, \
             which each but the last passes on at most once, written and read: is the count right?"
        );
        // One kernel passes on nothing, whatever was seen of its memory. Several may, where that was not seen.
        let one = "declared traffic too high: it declares 1 MiB of intermediates, but a launch has one kernel: leave out `intermediates`";
        for seen in [&in_place, &LaunchInfo::default()] {
            assert_eq!(found(1, Some(1), seen).as_deref(), Some(one));
        }
        assert_eq!(found(999, Some(2), &LaunchInfo::default()), None);
    }

    /// What is read, written or moved is judged without them.
    #[test]
    fn intermediates_change_no_other_claim() {
        let moves = Counts { intermediates: Some(64 * MIB), ..moves(96) };
        assert_eq!(contradicted(&claim(&moves, None, Some(3)), &seen(16, 16, Some(16))), None);
        let without = Counts { intermediates: None, ..moves };
        assert!(contradicted(&claim(&without, None, Some(3)), &seen(16, 16, Some(16))).is_some());
    }

    #[test]
    fn both_figures_are_told() {
        let reason = contradicted(&claim(&counts(None, Some(16)), None, None), &seen(32, 8, Some(8)))
            .expect("it claims more");
        assert_eq!(
            reason.to_string(),
            "declared traffic too high: it declares 16 MiB written, but a launch changes only 8 MiB of the 32 MiB of memory that it can reach, \
             even after gpubench changed the memory's contents: does the kernel run over the whole buffer, and is the count right? Count each byte at most once as read and \
             once as written, and bytes that one kernel passes to another as `intermediates`"
        );
    }
}
