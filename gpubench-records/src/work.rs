//! The work of one launch, as its author counts it, and the link that its bytes move over.

pub use gpubench_core::{Counts, Link, UserMetric};

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

/// Returns the differences between the work of two launches.
pub(crate) fn differences(now: &Counts, then: &Counts) -> Vec<String> {
    let differs = |(what, count): (&'static str, CountOf)| {
        let [now, then] = [now, then].map(count);
        (now != then).then(|| format!("{what} {}, {} {}", counted(now), was(what), counted(then)))
    };
    COUNTS.into_iter().filter_map(differs).collect()
}

/// Returns the verb of a sentence on this count, of now and of then.
pub(crate) fn was(what: &str) -> &'static str {
    if what.ends_with('s') || what.starts_with("bytes") { "were" } else { "was" }
}

fn counted(count: Option<u64>) -> String {
    count.map_or_else(|| "not counted".to_owned(), |count| count.to_string())
}
