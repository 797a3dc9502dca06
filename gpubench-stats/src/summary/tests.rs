mod summary_tests {
    use super::super::*;

    fn times(samples: &[f64]) -> Vec<Nanoseconds> {
        samples.iter().copied().map(Nanoseconds).collect()
    }

    #[test]
    fn no_samples_have_no_summary() {
        assert_eq!(Summary::of(&[], Nanoseconds(32.0)), None);
    }

    /// Eight groups of ten, each somewhere else: the median is known as well as their medians say.
    #[test]
    fn samples_in_groups_have_the_median_and_the_interval_of_the_groups() {
        let step = Nanoseconds(32.0);
        let samples: Vec<f64> =
            (0..80).map(|i| 6_400.0 + 32.0 * f64::from((i / 10_i32).pow(2)) + f64::from(i % 10)).collect();
        let (samples, sizes) = (times(&samples), [10, 10, 0, 10, 10, 10, 10, 10, 10]);
        let groups = Groups { sizes: &sizes, shared_error: Nanoseconds(5.0) };
        let grouped = Median::of_groups(&samples, groups, step, CONFIDENCE).expect("eight groups");
        let found = Summary::of_groups(&samples, groups, step).expect("samples");
        let alone = Summary::of(&samples, step).expect("samples");
        assert_eq!((found.groups, found.median, found.median_ci), (Some(8), grouped.time, grouped.interval));
        assert!(found.median != alone.median && found.median_ci != alone.median_ci);
        let figures = |of: &Summary| (of.samples, of.mean, of.p95, of.effective_samples);
        assert_eq!(figures(&found), figures(&alone));
        // The median of other samples, and all other figures of these.
        let other = Summary { effective_samples: Some(7.0), ..found.clone() };
        let both = alone.clone().with_median_of(other);
        assert_eq!((both.median, both.median_ci, both.groups), (found.median, found.median_ci, Some(8)));
        assert_eq!((both.effective_samples, both.mean, both.max), (Some(7.0), alone.mean, alone.max));
        let few = Groups { sizes: &[40, 40], ..groups };
        assert_eq!(Summary::of_groups(&samples, few, step), Some(alone));
    }

    #[test]
    fn one_sample_is_its_own_summary() {
        let summary = Summary::of(&[Nanoseconds(640.0)], Nanoseconds(32.0)).expect("one sample");
        for time in
            [summary.median, summary.min, summary.max, summary.mean, summary.p5, summary.p95, summary.p99]
        {
            assert_eq!(time, Nanoseconds(640.0));
        }
        assert_eq!((summary.samples, summary.standard_deviation.0, summary.cv), (1, 0.0, 0.0));
        assert_eq!((summary.median_ci.low.0, summary.median_ci.high.0), (608.0, 672.0));
        assert_eq!(summary.relative_half_width(), 0.05);
    }

    /// A slow wave and a fast one, of the same times.
    #[test]
    fn order_widens_the_interval_and_changes_nothing_else() {
        let wave = |period: usize| -> Vec<_> {
            (0..400).map(|i| Nanoseconds(1000.0 + (i * period % 400) as f64)).collect()
        };
        let [slow, fast] = [1, 149].map(|period| Summary::of(&wave(period), Nanoseconds(1.0)).expect("many"));
        assert_eq!(fast.effective_samples, Some(400.0));
        assert!(slow.effective_samples < Some(10.0), "{slow:?}");
        assert!(slow.median_ci.half_width().0 > 3.0 * fast.median_ci.half_width().0, "{slow:?}");
        let same =
            Summary { effective_samples: fast.effective_samples, median_ci: fast.median_ci, ..slow.clone() };
        assert_eq!(same, fast);
    }

    /// By hand: the mean is 5, the squares of the distances add up to 32, and 32/7 is the variance.
    #[test]
    fn moments_and_quartiles_by_hand() {
        let samples = times(&[9.0, 2.0, 4.0, 5.0, 4.0, 7.0, 4.0, 5.0]);
        let summary = Summary::of(&samples, Nanoseconds(0.0)).expect("eight samples");
        assert_eq!((summary.mean.0, summary.median.0, summary.iqr.0), (5.0, 4.5, 1.5));
        assert_eq!((summary.min.0, summary.max.0), (2.0, 9.0));
        assert!((summary.standard_deviation.0 - (32.0_f64 / 7.0).sqrt()).abs() < 1e-15);
        assert!((summary.cv - (32.0_f64 / 7.0).sqrt() / 5.0).abs() < 1e-15);
    }

    #[test]
    fn percentiles_are_where_so_many_samples_lie_below() {
        let samples: Vec<f64> = (0..101).map(|number| f64::from(1000 + number * 37 % 101)).collect();
        let summary = Summary::of(&times(&samples), Nanoseconds(1.0)).expect("samples");
        let found = [summary.min, summary.p5, summary.median, summary.p95, summary.p99, summary.max];
        assert_eq!(found, [1000.0, 1005.0, 1050.0, 1095.0, 1099.0, 1100.0].map(Nanoseconds));
        assert_eq!(summary.iqr, Nanoseconds(50.0));
    }

    /// A naive sum of squares would lose all digits here.
    #[test]
    fn a_small_spread_on_a_long_time_keeps_its_digits() {
        let samples = times(&[1e12 + 4.0, 1e12 + 7.0, 1e12 + 13.0, 1e12 + 16.0]);
        let summary = Summary::of(&samples, Nanoseconds(0.0)).expect("four samples");
        assert_eq!(summary.mean.0, 1e12 + 10.0);
        assert!((summary.standard_deviation.0 - 30_f64.sqrt()).abs() < 1e-12);
    }

    /// Times can fall below zero where a correction took more than was read; ratios to them have no meaning.
    #[test]
    fn ratios_to_nothing_are_defined() {
        let summary = Summary::of(&times(&[-3.0, -1.0, 1.0, 3.0]), Nanoseconds(1.0)).expect("four samples");
        assert_eq!(summary.cv, 0.0);
        assert_eq!(summary.relative_half_width(), f64::INFINITY);
    }

    #[test]
    fn what_is_not_a_number_causes_no_panic() {
        for bad in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for count in 1..20 {
                let mut samples = times(&vec![5.0; count]);
                samples[count / 2] = Nanoseconds(bad);
                assert!(
                    Summary::of(&samples, Nanoseconds(bad)).is_some_and(|summary| summary.samples == count)
                );
            }
        }
    }
}

mod median_ci_tests {
    use super::super::*;

    fn median_ci(sorted: &[f64], effective: f64, step: f64) -> Interval {
        rank_interval(sorted, effective, Nanoseconds(step), CONFIDENCE).widened_to(Nanoseconds(step))
    }

    /// γ(d) from Pascal's triangle, in exact integers.
    fn coverage_exact(count: u32, rank: u32) -> f64 {
        let mut term: u128 = 1; // C(n, 0)
        let mut below: u128 = 0;
        for k in 0..rank {
            below += term;
            term = term * u128::from(count - k) / u128::from(k + 1);
        }
        1.0 - 2.0 * below as f64 / 2f64.powi(count as i32)
    }

    /// The published table of the ranks (no interpolation): the largest d with at least 95 %.
    #[test]
    fn whole_ranks_are_those_of_the_sign_test_table() {
        for (count, rank) in [(6, 1), (8, 1), (9, 2), (12, 3), (20, 6), (30, 10), (50, 18), (100, 40)] {
            let found = lower_rank(count, CONFIDENCE).expect("six samples or more");
            assert_eq!(found.floor(), f64::from(rank), "n = {count}: {found}");
        }
    }

    #[test]
    fn ranks_bracket_the_confidence_exactly() {
        for count in 6..=120_u32 {
            let rank = lower_rank(count as usize, CONFIDENCE).expect("six samples or more").floor() as u32;
            assert!(coverage_exact(count, rank) >= CONFIDENCE, "n = {count}");
            assert!(coverage_exact(count, rank + 1) < CONFIDENCE, "n = {count}");
        }
    }

    /// By hand for n = 10: γ(2) = 1002/1024, γ(3) = 912/1024.
    #[test]
    fn interpolates_as_hettmansperger_and_sheather_do() {
        let excess = (1002.0 - 0.95 * 1024.0) / (1002.0 - 912.0);
        let lambda = 8.0 * excess / (2.0 + 6.0 * excess);
        let rank = lower_rank(10, CONFIDENCE).expect("six samples or more");
        assert!((rank - (2.0 + lambda)).abs() < 1e-9, "{rank}");
    }

    /// With many samples the rank approaches n/2 + ½ − z·√n/2.
    #[test]
    fn many_samples_agree_with_the_normal_approximation() {
        for count in [2_000, 2_001, 100_000, 1_000_000, 10_000_000_usize] {
            let n = count as f64;
            let normal = n / 2.0 + 0.5 - 1.959_963_985 * n.sqrt() / 2.0;
            let rank = lower_rank(count, CONFIDENCE).expect("six samples or more");
            assert!((rank - normal).abs() < 0.02, "n = {count}: {rank} against {normal}");
        }
    }

    #[test]
    fn a_million_samples_cost_a_few_thousand_terms() {
        assert!(central_weights(1_000_000).len() < 6_000);
    }

    #[test]
    fn five_samples_have_no_interval_and_show_their_range() {
        for count in 1..SMALLEST_SAMPLE {
            assert_eq!(lower_rank(count, CONFIDENCE), None);
        }
        assert!(lower_rank(SMALLEST_SAMPLE, CONFIDENCE).is_some());
        let interval = median_ci(&[1.0, 2.0, 3.0, 4.0, 90.0], 5.0, 0.5);
        assert_eq!((interval.low.0, interval.high.0), (1.0, 90.0));
    }

    #[test]
    fn ties_are_as_wide_as_the_timer_is_coarse() {
        let interval = median_ci(&[320.0; 100], 100.0, 32.0);
        assert_eq!((interval.low.0, interval.high.0), (288.0, 352.0));
        assert_eq!(interval.half_width().0, 32.0);
    }

    /// Ten samples end at rank 2 + λ. Two ticks apart, that lies between them; one tick apart, it is the
    /// outer one.
    #[test]
    fn neighbouring_ticks_are_not_interpolated() {
        let ticks = |gap: f64| (0..10).map(|i| 1000.0 + gap * f64::from(i)).collect::<Vec<_>>();
        let apart = median_ci(&ticks(64.0), 10.0, 32.0);
        assert!(apart.low.0 > 1064.0 && apart.high.0 < 1512.0, "{apart:?}");
        let neighbours = median_ci(&ticks(32.0), 10.0, 32.0);
        assert_eq!((neighbours.low.0, neighbours.high.0), (1032.0, 1256.0));
    }

    /// 1000 samples worth 100: ten times the ranks to either side of the middle.
    #[test]
    fn correlated_samples_widen_it_as_if_there_were_fewer() {
        let even = |count: i32| (0..count).map(f64::from).collect::<Vec<_>>();
        let (hundred, thousand) = (median_ci(&even(100), 100.0, 0.0), median_ci(&even(1000), 100.0, 0.0));
        assert!((thousand.half_width().0 - 10.0 * hundred.half_width().0).abs() < 1e-9, "{thousand:?}");
        assert!((thousand.low.0 + thousand.high.0 - 999.0).abs() < 1e-9, "{thousand:?}");
    }

    #[test]
    fn fewer_effective_samples_make_it_wider() {
        let samples: Vec<f64> = (0..300).map(|i| f64::from(i).powi(3)).collect();
        let width = |effective| median_ci(&samples, effective, 0.0).half_width().0;
        let effective = [300.0, 299.5, 250.3, 100.0, 30.7, 10.1, 6.0, 5.9];
        assert!(effective.is_sorted_by(|&more, &fewer| width(more) < width(fewer)));
        assert_eq!(width(5.9), width(1.0), "the range of all samples");
    }

    /// The ends as they were before samples were weighed: those of the rank itself.
    #[test]
    fn independent_samples_keep_their_ranks_to_the_last_bit() {
        for count in SMALLEST_SAMPLE..500 {
            let samples: Vec<f64> = (0..count).map(|i| (i as f64).sqrt()).collect();
            let index = lower_rank(count, CONFIDENCE).expect("six samples or more") - 1.0;
            let interval = median_ci(&samples, count as f64, 0.0);
            assert_eq!(interval.low.0, at_fractional_index(&samples, index), "{count}");
            assert_eq!(interval.high.0, at_fractional_index(&samples, (count - 1) as f64 - index), "{count}");
        }
    }

    #[test]
    fn a_wide_interval_is_left_alone() {
        let samples: Vec<f64> = (0..100).map(|i| 1000.0 * f64::from(i)).collect();
        assert_eq!(median_ci(&samples, 100.0, 32.0), median_ci(&samples, 100.0, 0.0));
    }

    #[test]
    fn both_ends_belong_to_an_interval() {
        let interval = Interval { low: Nanoseconds(1.0), high: Nanoseconds(2.0) };
        assert!(interval.contains(interval.low) && interval.contains(interval.high));
        assert!(!interval.contains(Nanoseconds(0.99)) && !interval.contains(Nanoseconds(2.01)));
    }
}

mod grouped_tests {
    use super::super::*;

    const STEP: Nanoseconds = Nanoseconds(32.0);

    fn below(samples: &[f64], step: f64) -> f64 {
        let times: Vec<_> = samples.iter().copied().map(Nanoseconds).collect();
        median_within_step(&ascending(&times), Nanoseconds(step))
    }

    #[test]
    fn by_hand() {
        // All on one tick, and evenly on two.
        assert!((below(&[320.0; 9], 32.0) - 320.0).abs() < 1e-3);
        assert!((below(&[320.0, 352.0], 32.0) - 336.0).abs() < 1e-3);
        // Three quarters lie within ± 16 of 320: half of all is two thirds of the way through them.
        assert!((below(&[320.0, 320.0, 320.0, 352.0], 32.0) - (304.0 + 32.0 * 2.0 / 3.0)).abs() < 1e-3);
        // Far apart, it is the usual median; without a step too.
        assert!((below(&[100.0, 1000.0], 32.0) - 550.0).abs() < 1e-3);
        assert_eq!(below(&[1.0, 2.0, 4.0], 0.0), 2.0);
        assert!((below(&[1.0, 1e12], 32.0) - 0.5e12).abs() < 1.0);
        assert!(below(&[f64::NAN, f64::NAN], 32.0).is_nan());
    }

    /// A launch of 2.3 steps, read from 1000 places of a step, takes 2 or 3 of them. An outlier moves it by
    /// 1.5 steps over 1001.
    #[test]
    fn the_readings_of_a_coarse_timer_are_averaged() {
        let reading = |place: u32| {
            let begin = f64::from(place) / 1000.0;
            1000.0 * ((begin + 2.3).floor() - begin.floor())
        };
        let mut readings: Vec<f64> = (0..1000).map(reading).collect();
        assert!((below(&readings, 1000.0) - 2300.0).abs() < 1.5, "{}", below(&readings, 1000.0));
        readings.push(1e6);
        assert!((below(&readings, 1000.0) - 2301.5).abs() < 1.5, "{}", below(&readings, 1000.0));
        // Times that scatter over many steps have their median, whatever their mean.
        let skewed: Vec<f64> = (0..1001).map(|number| 1000.0 * f64::from(number).powi(2)).collect();
        assert!((below(&skewed, 1000.0) / 250e6 - 1.0).abs() < 0.01, "{}", below(&skewed, 1000.0));
        assert!(below(&[f64::NAN, f64::NAN], 1000.0).is_nan());
    }

    #[test]
    fn too_few_groups_and_wrong_sizes_have_no_interval() {
        let times = [Nanoseconds(320.0); 60];
        let of = |sizes: &[usize]| {
            let groups = Groups { sizes, shared_error: Nanoseconds::ZERO };
            Median::of_groups(&times, groups, STEP, 0.95)
        };
        assert_eq!((of(&[12; 5]), of(&[10; 7]), of(&[])), (None, None, None));
        let found = of(&[10; 6]).expect("six groups");
        assert!((found.time - Nanoseconds(320.0)).abs() < Nanoseconds(0.01), "{found:?}");
        assert_eq!((of(&[59, 1, 0, 0, 0, 0]), of(&[11; 6])), (None, None));
    }

    /// By hand: six medians with a standard deviation of √3.5 · 10, t(95 %, 5) = 2.571, and an error of 4
    /// that all share.
    #[test]
    fn the_interval_is_students_with_the_shared_error() {
        let times: Vec<_> = (0..60).map(|number| Nanoseconds(1000.0 + f64::from(number / 10 * 10))).collect();
        let groups = Groups { sizes: &[10; 6], shared_error: Nanoseconds(4.0) };
        let found = Median::of_groups(&times, groups, Nanoseconds(0.0), 0.95).expect("six groups");
        let error = (10.0 * 3.5_f64.sqrt() / 6.0_f64.sqrt()).hypot(4.0);
        assert_eq!(found.time, Nanoseconds(1025.0));
        assert!((found.interval.high.0 - 1025.0 - 2.570_582 * error).abs() < 1e-4, "{found:?}");
        assert!((found.interval.low.0 + found.interval.high.0 - 2050.0).abs() < 1e-9, "{found:?}");
    }
}
