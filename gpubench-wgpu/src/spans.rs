//! Spans between two readings of an adapter's clock, and the step of that clock.

use gpubench_stats::units::Nanoseconds;

/// The readings around a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// The nanoseconds of a tick.
    pub(crate) period: f64,
}

impl Span {
    /// Returns the time from begin to end; below zero if the clock ran backwards.
    pub(crate) fn time(&self) -> Nanoseconds {
        self.since(self.begin, self.end)
    }

    /// Returns the time from the begin of `first` to the end of this span.
    pub(crate) fn end_since(&self, first: &Self) -> Nanoseconds {
        self.since(first.begin, self.end)
    }

    /// Returns the time from these ticks to the begin of this span.
    pub(crate) fn begin_since(&self, ticks: u64) -> Nanoseconds {
        self.since(ticks, self.begin)
    }

    fn since(&self, begin: u64, end: u64) -> Nanoseconds {
        Nanoseconds(end.wrapping_sub(begin).cast_signed() as f64 * self.period)
    }
}

/// Returns the step of the clock: the greatest common divisor, in ticks, of all readings, as a time.
pub(crate) fn step<'a>(spans: impl IntoIterator<Item = &'a Span>) -> Nanoseconds {
    let (mut divisor, mut period, mut first) = (0, 1.0, None);
    for span in spans {
        let first = *first.get_or_insert(span.begin);
        period = span.period;
        for reading in [span.begin, span.end] {
            divisor = greatest_common_divisor(divisor, reading.abs_diff(first));
        }
    }
    Nanoseconds(divisor.max(1) as f64 * period)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin: u64, end: u64, period: f64) -> Span {
        Span { begin, end, period }
    }

    #[test]
    fn ticks_are_times_by_the_period() {
        assert_eq!(span(10, 22, 52.0).time(), Nanoseconds(624.0));
        assert_eq!(span(22, 10, 1.0).time(), Nanoseconds(-12.0));
        assert_eq!(span(30, 40, 2.0).end_since(&span(20, 25, 2.0)), Nanoseconds(40.0));
        assert_eq!(span(30, 40, 2.0).begin_since(20), Nanoseconds(20.0));
    }

    #[test]
    fn the_step_divides_the_distances_of_all_readings() {
        // Counters begin anywhere: 7 divides no distance.
        let spans = [span(7, 39, 1.0), span(71, 167, 1.0)];
        assert_eq!(step(&spans), Nanoseconds(32.0));
        assert_eq!(step(&[span(0, 3, 10.0), span(5, 7, 10.0)]), Nanoseconds(10.0));
        assert_eq!(step([]), Nanoseconds(1.0));
    }
}
