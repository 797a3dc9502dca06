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
        phase(start - self.from, self.period) < self.width
    }
}

/// Returns what is left of a time behind the last whole period, from 0 to below a period: `rem_euclid` to a rounding error, in a tenth of
/// its time.
pub(super) fn phase(time: f64, period: f64) -> f64 {
    let left = time - (time / period) as i64 as f64 * period;
    let left = if left < 0.0 { left + period } else { left };
    if left < period { left } else { 0.0 }
}

/// Returns the number of standard errors by which `count` of `all` scores, with this `sum`, are above the others.
pub(super) fn z(sum: f64, count: f64, all: f64) -> f64 {
    let others = all - count;
    if count < 1.0 || others < 1.0 { f64::NEG_INFINITY } else { sum * (all / (count * others)).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_may_reach_over_the_end_of_the_period() {
        let span = Span { period: 100.0, from: 90.0, width: 20.0, z: 0.0 };
        let held = [89.0, 90.0, 109.0, 110.0, 190.0, 205.0, 250.0, -5.0].map(|start| span.holds(start));
        assert_eq!(held, [false, true, true, false, true, true, false, true]);
    }

    #[test]
    fn a_phase_is_the_rest_of_a_division() {
        let times = [0.0, 1.0, 99.9, 100.0, 250.0, 1e9 + 3.0, -5.0, -100.0, -250.0];
        let found = times.map(|time| phase(time, 100.0));
        assert_eq!(found, [0.0, 1.0, 99.9, 0.0, 50.0, 3.0, 95.0, 0.0, 50.0]);
        // Periods that divide nothing evenly, and times beside whole ones.
        for number in 0..100_000_u32 {
            let (time, period) = (f64::from(number) * 33.37 * 0.999_999_9, 33.37);
            let (found, exact) = (phase(time, period), time.rem_euclid(period));
            let away = (found - exact).abs();
            assert!(
                (0.0..period).contains(&found) && away.min(period - away) < 1e-8,
                "{time}: {found}, {exact}"
            );
        }
    }

    /// By hand: of 100 scores with a sum of 0 the 20 in the span have a sum of 40. The mean of those has the variance 1/20, the mean of
    /// the others 1/80, and they differ by 2 + 0.5.
    #[test]
    fn z_is_the_difference_of_two_means_over_its_error() {
        let by_hand = 2.5 / (1.0_f64 / 20.0 + 1.0 / 80.0).sqrt();
        assert!((z(40.0, 20.0, 100.0) - by_hand).abs() < 1e-12);
        assert!((z(-40.0, 20.0, 100.0) + by_hand).abs() < 1e-12, "faster ones");
        assert!((z(3.0, 1.0, 2.0) - 3.0 / 0.5_f64.sqrt()).abs() < 1e-12, "one on each side will do");
        assert_eq!([z(0.0, 0.0, 9.0), z(0.0, 9.0, 9.0)], [f64::NEG_INFINITY; 2], "nothing on one side");
    }
}
