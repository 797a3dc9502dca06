//! The error of a race, shared out among its intervals. In: an epoch, its contenders and a look; out: the confidence that each
//! interval of that look must have.
//!
//! A race computes many intervals: one for each contender at each look, and again after the leader has changed. The shares of
//! all of them add up to no more than the race's error. By Bonferroni's inequality (the union bound, as Even-Dar, Mannor & Mansour
//! use it for successive elimination: *Action elimination and stopping conditions for the multi-armed bandit and reinforcement
//! learning problems*, JMLR 7, 2006) all intervals then hold the truth together, except in that part of all races, however
//! they depend on each other.

/// The steps after which there is a look, and its part of an epoch's error. A fifth is kept back, since the interval of a trimmed
/// mean has its confidence only nearly.
const LOOKS: [(usize, f64); 5] = [(1, 0.08), (2, 0.12), (4, 0.16), (8, 0.2), (16, 0.24)];

/// Returns the number of steps of a contender before a look; `None` behind the last.
pub(super) fn steps_before(look: usize) -> Option<usize> {
    LOOKS.get(look).map(|(steps, _)| *steps)
}

/// Returns the confidence of each interval of a look, in an epoch that began with so many contenders. Epochs have a half, a
/// quarter, an eighth and so on of the race's `error`.
pub(super) fn confidence(error: f64, epoch: usize, contenders: usize, look: usize) -> f64 {
    let of_epoch = error * 0.5_f64.powi(i32::try_from(epoch).unwrap_or(i32::MAX).saturating_add(1));
    let part = LOOKS.get(look).map_or(0.0, |(_, part)| *part);
    1.0 - of_epoch * part / contenders.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_intervals_of_a_race_share_its_error() {
        let mut sum = 0.0;
        for epoch in 0..40 {
            // A race that goes on has fewer contenders each time; this one has as many.
            for look in 0..LOOKS.len() {
                sum += 200.0 * (1.0 - confidence(0.01, epoch, 200, look));
            }
        }
        assert!(sum <= 0.01 && sum > 0.0079, "{sum}");
        assert_eq!((steps_before(0), steps_before(4), steps_before(5)), (Some(1), Some(16), None));
    }
}
