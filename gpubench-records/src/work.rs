//! The work of one launch, as its author counts it, and the link that its bytes move over.

pub use gpubench_core::{Counts, Link, UserMetric};
use gpubench_stats::Bytes;

/// One of the counts, if it is known.
type CountOf = fn(&Counts) -> Option<u64>;

/// The counts that must be equal. Bytes are the sum of those read and those written, if these are known.
const COUNTS: [(&str, CountOf); 6] = [
    ("bytes read", |counts| counts.reads),
    ("bytes written", |counts| counts.writes),
    ("bytes", |counts| {
        counts.without_intermediates().filter(|_| counts.reads.is_none() && counts.writes.is_none())
    }),
    ("intermediates", |counts| counts.intermediates),
    ("flops", |counts| counts.flops),
    ("items", |counts| counts.items),
];

/// Returns the part of the intermediates that crosses the memory's bus, at the least, in a launch of this many operations. A last-level
/// cache may hold its full size from each operation to the next, which is neither written to memory nor read from there. A cache of
/// unknown size may hold everything, as may one between an unknown number of operations.
pub fn crossing_intermediates(counts: &Counts, operations: Option<usize>, cache: Option<Bytes>) -> u64 {
    let passes = operations.map_or(u64::MAX, |operations| 2 * operations.saturating_sub(1) as u64);
    let kept = passes.saturating_mul(cache.map_or(u64::MAX, |Bytes(size)| size));
    counts.intermediates.unwrap_or_default().saturating_sub(kept)
}

/// Returns the differences between the work of two launches.
pub(crate) fn differences(now: &Counts, then: &Counts) -> Vec<String> {
    let differs = |(what, count): (&'static str, CountOf)| {
        let [now, then] = [now, then].map(count);
        (now != then).then(|| format!("{what} {}, was {}", counted(now), counted(then)))
    };
    COUNTS.into_iter().filter_map(differs).collect()
}

fn counted(count: Option<u64>) -> String {
    count.map_or_else(|| "not counted".to_owned(), |count| count.to_string())
}
