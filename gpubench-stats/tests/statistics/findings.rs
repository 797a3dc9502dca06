//! Drift and two modes: found where they are planted, and not seen where there are none.

use super::*;

/// A way in which the samples of a case may come: so many, in order.
type TimeSeries<'a> = &'a dyn Fn(usize, &mut StdRng) -> Vec<Nanoseconds>;

/// The shares of 2,000 series that show a drift and two modes.
fn shown(count: usize, step: f64, series: TimeSeries) -> (f64, f64) {
    let draws = 2_000;
    let mut rng = StdRng::seed_from_u64(9);
    let (mut drifts, mut modes) = (0, 0);
    for _ in 0..draws {
        let times = series(count, &mut rng);
        drifts += usize::from(Drift::find(&times, Nanoseconds(step)).is_some());
        modes += usize::from(Modes::find(&times, Nanoseconds(step)).is_some());
    }
    (drifts as f64 / draws as f64, modes as f64 / draws as f64)
}

/// Of independent samples at most 0.05 % were seen to drift and 0.3 % (60 uniform ones) to have two modes; of
/// correlated ones (φ = 0.6) 0.7 % to drift at 60 samples, 0.4 % at 100 and less beyond.
#[test]
fn steady_series_of_one_mode_show_neither() {
    let exponential = Exp::new(1.0).expect("the rate is above zero");
    let shapes: [(&str, f64, TimeSeries); 8] = [
        ("normal", 0.0, &|count, rng| draw(count, rng, &|rng| normal(1e4, 1e3).sample(rng))),
        ("log-normal", 0.0, &|count, rng| draw(count, rng, &|rng| log_normal(1e4, 0.3).sample(rng))),
        ("exponential", 0.0, &|count, rng| draw(count, rng, &|rng| 1e3 * (1.0 + exponential.sample(rng)))),
        ("uniform", 0.0, &|count, rng| draw(count, rng, &|rng| 1e3 + uniform(1e3).sample(rng))),
        ("ties", STEP, &|count, rng| draw(count, rng, &|rng| quantised(normal(2e3, 16.0).sample(rng), rng))),
        ("coarse", STEP, &|count, rng| {
            draw(count, rng, &|rng| quantised(2e3 + 100.0 * exponential.sample(rng), rng))
        }),
        ("correlated", 0.0, &|count, rng| around(1e4, 0.1, &correlated(count, 0.6, rng))),
        ("correlated, coarse", STEP, &|count, rng| {
            let times = around(2e3, 0.05, &correlated(count, 0.6, rng));
            times.into_iter().map(|time| Nanoseconds(quantised(time.0, rng))).collect()
        }),
    ];
    for (shape, step, series) in shapes {
        for count in [30, 60, 100, 300, 1000] {
            let (drifts, modes) = shown(count, step, series);
            let most = if count == 60 && shape == "correlated" { 0.012 } else { 0.005 };
            assert!(drifts <= most, "{shape}, {count} samples: {drifts} drift");
            assert!(modes <= 0.005, "{shape}, {count} samples: {modes} have two modes");
        }
    }
}

/// Times of 10 µs with 0.5 % of noise, and what `planted` adds, as a fraction, over 0..1.
fn moved(count: usize, rng: &mut StdRng, planted: impl Fn(f64) -> f64) -> Vec<Nanoseconds> {
    let noise = normal(0.0, 0.005);
    let time = |i| 1e4 * (1.0 + planted(i as f64 / count as f64) + noise.sample(rng));
    (0..count).map(time).map(Nanoseconds).collect()
}

/// Measured: the slope of 2 % in 95.6 % of 100 samples and all of 1000, the step in all, the warm-up in 99.6 %.
#[test]
fn planted_drift_is_found() {
    let planted: [(&str, usize, TimeSeries); 6] = [
        ("2 % up", 100, &|count, rng| moved(count, rng, |t| 0.02 * t)),
        ("2 % up", 1000, &|count, rng| moved(count, rng, |t| 0.02 * t)),
        ("2 % down", 100, &|count, rng| moved(count, rng, |t| -0.02 * t)),
        ("a step of 3 %", 60, &|count, rng| moved(count, rng, |t| if t < 0.5 { 0.0 } else { 0.03 })),
        ("a step of 3 %", 1000, &|count, rng| moved(count, rng, |t| if t < 0.5 { 0.0 } else { 0.03 })),
        ("10 % of warm-up", 100, &|count, rng| moved(count, rng, |t| 0.1 * (-4.0 * t).exp())),
    ];
    for (effect, count, series) in planted {
        let (drifts, _) = shown(count, 0.0, series);
        assert!(drifts >= 0.95, "{effect}, {count} samples: found in {drifts}");
    }
}

/// 5 % apart, with noise of 0.5 %. Measured: in 98.8 % of 100 samples where one mode holds a fifth of them, else in
/// all.
#[test]
fn planted_modes_are_found() {
    let mixed = |count: usize, rng: &mut StdRng, share_high: f64| {
        let slow: Vec<bool> = (0..count).map(|_| uniform(1.0).sample(rng) < share_high).collect();
        let mut slow = slow.into_iter().map(|slow| f64::from(u8::from(slow)) * 500.0);
        draw(count, rng, &|rng| normal(1e4, 50.0).sample(rng))
            .into_iter()
            .map(|time| Nanoseconds(time.0 + slow.next().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    for count in [100, 1000] {
        for share_high in [0.2, 0.5, 0.8] {
            let (drifts, fine) = shown(count, 0.0, &|count, rng| mixed(count, rng, share_high));
            let (_, coarse) = shown(count, STEP, &|count, rng| {
                let times = mixed(count, rng, share_high);
                times.into_iter().map(|time| Nanoseconds(quantised(time.0, rng))).collect()
            });
            assert!(fine >= 0.95 && coarse >= 0.95, "{count} samples, {share_high}: {fine}, {coarse}");
            assert!(drifts <= 0.005, "{count} samples, {share_high}: {drifts} drift");
        }
    }
    let found = Modes::find(&mixed(1000, &mut StdRng::seed_from_u64(10), 0.2), Nanoseconds(0.0));
    let found = found.expect("two modes");
    assert!((found.low.0 - 1e4).abs() < 15.0 && (found.high.0 - 1.05e4).abs() < 25.0, "{found:?}");
    assert!((found.high_fraction - 0.2).abs() < 0.05, "{found:?}");
}
