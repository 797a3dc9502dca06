//! A span of the phases of a period. In: its period, its beginning and its width. Out: true for a start that lies in it; and how sure it is
//! that samples of a span are slower than others.

/// A span of phases of a period, in nanoseconds: from `from` on, which is below the period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) period: f64,
    pub(super) from: f64,
    pub(super) width: f64,
    /// The number of standard errors by which samples that start in the span are slower than the others.
    pub(super) z: f64,
}

impl Span {
    /// Returns true if a sample that starts at this time starts in the span.
    pub(super) fn holds(&self, start: f64) -> bool {
        (start - self.from).rem_euclid(self.period) < self.width
    }
}

/// Returns the number of standard errors by which `count` of `all` scores, with this `sum`, are above the others.
pub(super) fn z(sum: f64, count: f64, all: f64) -> f64 {
    let others = all - count;
    if count < 1.0 || others < 1.0 { f64::NEG_INFINITY } else { sum / (count * others / all).sqrt() }
}
