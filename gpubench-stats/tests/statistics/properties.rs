//! Properties that hold for any samples.

use super::*;

fn times() -> impl Strategy<Value = Vec<f64>> {
    let continuous = proptest::collection::vec(0.0..1e9, 1..200);
    let ties = proptest::collection::vec((90_u32..110).prop_map(|steps| f64::from(steps) * STEP), 1..200);
    prop_oneof![continuous, ties]
}

fn of(times: &[f64], step: f64) -> Summary {
    summary(&times.iter().copied().map(Nanoseconds).collect::<Vec<_>>(), step)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn figures_are_in_order(times in times(), step in 0.0..100.0) {
        let found = of(&times, step);
        let ascending = [found.min, found.p5, found.median, found.p95, found.p99, found.max];
        prop_assert!(ascending.is_sorted(), "{found:?}");
        prop_assert!(found.median_ci.contains(found.median), "{found:?}");
        prop_assert!(found.median_ci.half_width().0 >= step - 1e-6);
        prop_assert!(found.mean.0 >= found.min.0 && found.mean.0 <= found.max.0 * (1.0 + 1e-15));
        prop_assert!(found.iqr.0 >= 0.0 && found.standard_deviation.0 >= 0.0);
    }

    #[test]
    fn order_of_the_samples_changes_only_the_interval(
        (times, shuffled) in times().prop_flat_map(|times| (Just(times.clone()), Just(times).prop_shuffle())),
    ) {
        let (before, after) = (of(&times, STEP), of(&shuffled, STEP));
        let (median_ci, effective_samples) = (before.median_ci, before.effective_samples);
        prop_assert_eq!(before, Summary { median_ci, effective_samples, ..after });
    }

    #[test]
    fn effective_samples_are_one_to_all(times in times()) {
        let effective = of(&times, STEP).effective_samples.expect("a live summary");
        prop_assert!((1.0..=times.len() as f64).contains(&effective), "{effective}");
    }

    /// With a power of two every figure scales to the last bit, and the step with it.
    #[test]
    fn another_unit_of_time_changes_only_the_unit(times in times(), exponent in -20..20) {
        let factor = 2_f64.powi(exponent);
        let scaled: Vec<f64> = times.iter().map(|time| time * factor).collect();
        let (before, after) = (of(&times, STEP), of(&scaled, STEP * factor));
        for (before, after) in [
            (before.median, after.median),
            (before.median_ci.low, after.median_ci.low),
            (before.median_ci.high, after.median_ci.high),
            (before.mean, after.mean),
            (before.standard_deviation, after.standard_deviation),
            (before.iqr, after.iqr),
            (before.p5, after.p5),
            (before.p99, after.p99),
        ] {
            prop_assert_eq!(before.0 * factor, after.0);
        }
        prop_assert_eq!(before.cv, after.cv);
    }
}
