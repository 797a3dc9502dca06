use super::*;

const DEVICE: DramStallPeriod =
    DramStallPeriod { period: Nanoseconds(100e3), error: Nanoseconds(20.0), duration: Nanoseconds(2e3) };

/// By hand: a fifth of launches is delayed by 1000 ns, which is 200 for each.
#[test]
fn evened_times_have_the_mean_delay() {
    let stall = DramStall {
        period: Nanoseconds(100.0),
        delay: Nanoseconds(1000.0),
        from: Nanoseconds(90.0),
        width: Nanoseconds(20.0),
        delayed_fraction: 0.2,
        error: Nanoseconds(0.0),
    };
    assert_eq!(stall.mean_delay(), Nanoseconds(200.0));
    let (starts, times) = ([0.0, 50.0, 95.0, 195.0, 250.0], [5000.0, 4000.0, 5000.0, 5001.0, 4003.0]);
    let found = stall.stall_corrected(&starts.map(Nanoseconds), &times.map(Nanoseconds));
    assert_eq!(found, [4200.0, 4200.0, 4200.0, 4201.0, 4203.0].map(Nanoseconds));
}

/// Launches of 40 µs, each of which starts 7.9 µs later in the period than the one before. Those that start
/// in the first 41 µs meet the stall.
fn samples(delayed: impl Fn(usize, bool) -> f64) -> (Vec<Nanoseconds>, Vec<Nanoseconds>) {
    let at = |number: usize| 107.9e3 * number as f64;
    let times = (0..400).map(|number| {
        let meets = at(number).rem_euclid(100e3) < 41e3;
        Nanoseconds(40e3 + (number * 7 % 11) as f64 * 20.0 + delayed(number, meets))
    });
    ((0..400).map(at).map(Nanoseconds).collect(), times.collect())
}

/// The period is known the better, the longer samples take.
#[test]
fn more_samples_make_the_period_sharper() {
    let at = |number: usize| 107.9e3 * number as f64;
    let delay = |number: usize| if at(number).rem_euclid(100e3) < 41e3 { 2e3 } else { 0.0 };
    let time = |number: usize| Nanoseconds(40e3 + (number * 7 % 11) as f64 * 20.0 + delay(number));
    let starts: Vec<_> = (0..3000).map(at).map(Nanoseconds).collect();
    let times: Vec<_> = (0..3000).map(time).collect();
    let found = DramStall::find(&starts, &times, Nanoseconds(1.0), &DEVICE).expect("it is planted");
    assert!(
        (found.period.0 - 100e3).abs() < 1.0 && (found.delayed_fraction - 0.41).abs() < 0.002,
        "{found:?}"
    );
}

#[test]
fn a_planted_stall_is_found_and_what_is_none_is_not() {
    let find = |delayed: &dyn Fn(usize, bool) -> f64| {
        let (starts, times) = samples(delayed);
        DramStall::find(&starts, &times, Nanoseconds(1.0), &DEVICE)
    };
    let found = find(&|_, meets| if meets { 2e3 } else { 0.0 }).expect("it is planted");
    assert!((found.period.0 - 100e3).abs() < 5.0 && (found.delay.0 - 2e3).abs() < 100.0, "{found:?}");
    assert!((found.delayed_fraction - 0.41).abs() < 0.005 && (found.width.0 - 41e3).abs() < 1e3, "{found:?}");
    assert!(found.from.0 < 2e3 || found.from.0 > 98e3, "{found:?}");
    assert!(found.error.0 > 0.0 && found.error.0 < 0.02 * found.delay.0, "{found:?}");
    assert_eq!(find(&|_, _| 0.0), None, "no stall");
    assert_eq!(find(&|_, meets| if meets { 800.0 } else { 0.0 }), None, "less than half of the device's");
    assert_eq!(find(&|_, meets| if meets { 3500.0 } else { 0.0 }), None, "more than one and a half");
    assert_eq!(find(&|number, _| if number % 5 < 2 { 2e3 } else { 0.0 }), None, "slow at other times");
    let of_some = |some: usize| find(&|number, meets| if meets && number % 10 < some { 2e3 } else { 0.0 });
    assert!(of_some(9).is_some() && of_some(6).is_none(), "three in four of those that meet it are slower");
    // A launch that waits for memory for less than 0.4 of its time has no stall, give or take a quarter: 12.75 µs of starts.
    let start = |number: usize| (107.9e3 * number as f64).rem_euclid(100e3);
    let of_width = |width: f64| find(&|number, _| if start(number) < width { 2e3 } else { 0.0 });
    assert!(of_width(15e3).is_some_and(|found| (found.width.0 - 15e3).abs() < 1e3), "{:?}", of_width(15e3));
    assert_eq!(of_width(10e3), None, "forty late samples");
    assert_eq!(of_width(1e3), None, "a few late samples");
    let (starts, times) = samples(|_, meets| if meets { 2e3 } else { 0.0 });
    for (period, error) in [(0.0, 20.0), (0.0, 0.0), (-1.0, 0.0), (100e3, 200e3), (f64::NAN, 0.0)] {
        let (period, error) = (Nanoseconds(period), Nanoseconds(error));
        let device = DramStallPeriod { period, error, ..DEVICE };
        assert_eq!(DramStall::find(&starts, &times, Nanoseconds(1.0), &device), None, "{device:?}");
    }
    let few = |count: usize| DramStall::find(&starts[..count], &times[..count], Nanoseconds(1.0), &DEVICE);
    assert_eq!(few(MIN_CASE_SAMPLES - 1), None);
    assert_eq!(DramStall::find(&starts[1..], &times, Nanoseconds(1.0), &DEVICE), None, "a start is missing");
}

/// Reads of 5 µs every 7.9 µs, of which those that start in the first 7 µs of a period of 100 are slow.
fn reads(count: usize, slow: impl Fn(usize, bool) -> bool) -> (Vec<Nanoseconds>, Vec<Nanoseconds>) {
    let at = |number: usize| 7.9e3 * number as f64;
    let time = |number: usize| {
        let is_slow = slow(number, at(number).rem_euclid(100e3) < 7e3);
        Nanoseconds(5e3 + (number * 7 % 11) as f64 * 20.0 + if is_slow { 2e3 } else { 0.0 })
    };
    ((0..count).map(at).map(Nanoseconds).collect(), (0..count).map(time).collect())
}

#[test]
fn a_planted_period_is_found_and_slow_reads_at_other_times_have_none() {
    let step = Nanoseconds(32.0);
    let (starts, times) = reads(1000, |_, meets| meets);
    let found = DramStallPeriod::find(&starts, &times, step).expect("it is planted");
    assert!((found.period.0 - 100e3).abs() <= found.error.0 && found.error.0 < 100.0, "{found:?}");
    assert!((found.duration.0 - 2e3).abs() < 100.0, "{found:?}");
    assert_eq!(DramStallPeriod::find(&starts[1..], &times, step), None, "a start is missing");
    assert_eq!(
        DramStallPeriod::find(&starts[..100], &times[..100], step),
        None,
        "eight slow reads are too few"
    );
    let of = |slow: &dyn Fn(usize, bool) -> bool| {
        let (starts, times) = reads(1000, slow);
        DramStallPeriod::find(&starts, &times, step)
    };
    let drawn = |number: usize| crate::random(number as u64);
    assert_eq!(of(&|_, _| false), None, "none is slow");
    assert_eq!(of(&|number, _| number % 5 < 2 || number % 7 == 0), None, "too many are slow");
    assert_eq!(
        of(&|number, meets| meets && drawn(number) % 5 < 2),
        None,
        "two in five that meet it are slow"
    );
    assert_eq!(of(&|number, meets| meets || number % 11 == 0), None, "as many are slow at other times");
    assert!(of(&|number, meets| meets && drawn(number) % 5 > 0).is_some(), "four in five are");
    // A late read is no longer than noise where the timer is coarse.
    assert_eq!(DramStallPeriod::find(&starts, &times, Nanoseconds(600.0)), None);
}

const PERIOD: f64 = 100e3;

/// Samples every 7.9 µs of about 100 ns, of which those that start in the window are 50 ns slower.
fn planted(count: usize, from: f64, width: f64) -> (Vec<Nanoseconds>, Vec<Nanoseconds>) {
    let starts: Vec<f64> = (0..count).map(|number| 7.9e3 * number as f64).collect();
    let is_slow = |start: f64| (start - from).rem_euclid(PERIOD) < width;
    let time = |(number, start): (usize, &f64)| {
        Nanoseconds(100.0 + (number % 3) as f64 + if is_slow(*start) { 50.0 } else { 0.0 })
    };
    let times = starts.iter().enumerate().map(time).collect();
    (starts.into_iter().map(Nanoseconds).collect(), times)
}

fn found(count: usize, from: f64, width: f64, widths: [f64; 2]) -> (PhaseWindow, [f64; 2]) {
    let (starts, times) = planted(count, from, width);
    let samples = TimedSamples::new(&starts, &times, Nanoseconds(1.0), count).expect("each has a start");
    let window = samples.search([99.9e3, 100.1e3], widths, 50.0).expect("it is planted");
    let [(inside, _), (outside, _)] = window.split(&starts, &times);
    (window, window.likely_fractions(&inside, &outside).map(|share| share * window.period))
}

/// The first search has bins of 3 µs and 256 samples, so a window between two bins and a period between two
/// steps are found later.
#[test]
fn a_planted_window_is_found() {
    for (from, width) in [(0.0, 20e3), (13_700.0, 8e3), (90e3, 30e3), (40e3, 70e3)] {
        for count in [1000, 5000] {
            let (window, [least, most]) = found(count, from, width, [5e3, 80e3]);
            // This step moves the phase of the last sample by half a bin.
            let error = PERIOD * PERIOD / (7.9e3 * count as f64) / 64.0;
            assert!((window.period - PERIOD).abs() < error, "{from}, {width}, {count}: {window:?}");
            let away = (window.from - from + PERIOD / 2.0).rem_euclid(PERIOD) - PERIOD / 2.0;
            assert!(away.abs() < 600.0 && (0.0..PERIOD).contains(&window.from), "{from}: {window:?}");
            assert!(least <= width && width <= most, "{width}: {least} to {most}");
            assert!(most - least < 2e3, "{width}: {least} to {most}");
        }
    }
}

#[test]
fn a_window_is_no_wider_than_wanted_but_may_be_narrower() {
    let (window, _) = found(1000, 20e3, 30e3, [5e3, 20e3]);
    assert!((19e3..=21e3).contains(&window.width), "{window:?}");
    let (window, _) = found(1000, 20e3, 30e3, [40e3, 80e3]);
    assert!((29e3..=31e3).contains(&window.width), "{window:?}");
}

#[test]
fn samples_are_split_by_the_window_which_may_pass_the_end_of_the_period() {
    let window = PhaseWindow { period: 100.0, from: 90.0, width: 20.0, z: 0.0 };
    let starts = [89.0, 90.0, 109.0, 110.0, 190.0, 205.0, 250.0, -5.0].map(Nanoseconds);
    let [(_, inside), (_, outside)] = window.split(&starts, &starts);
    assert_eq!(inside, [90.0, 109.0, 190.0, 205.0, -5.0].map(Nanoseconds));
    assert_eq!(outside, [89.0, 110.0, 250.0].map(Nanoseconds));
}

/// By hand: of 10 scores with a sum of 0 the 2 in the window have a sum of 4. The mean of those has the
/// variance 1/2, the mean of the others 1/8, and they differ by 2 + 0.5.
#[test]
fn z_is_the_difference_of_two_means_over_its_error() {
    let starts: Vec<f64> = (0..10).map(|number| 10.0 * f64::from(number) + 5.0).collect();
    let scores: Vec<f64> = (0..10).map(|number| if number % 10 < 2 { 2.0 } else { -0.5 }).collect();
    let best = |scores: &[f64]| {
        let samples: Vec<(f64, f64)> = starts.iter().copied().zip(scores.iter().copied()).collect();
        best_window(&cumulative_sums(&samples, 100.0, 10), 100.0, [10.0, 50.0], None)
    };
    let window = best(&scores).expect("two are slow");
    assert_eq!((window.from, window.width), (0.0, 20.0));
    assert!((window.z - 2.5 / (1.0_f64 / 2.0 + 1.0 / 8.0).sqrt()).abs() < 1e-6, "{window:?}");
    assert!(best(&[0.0; 10]).is_none());
}

/// A late sample counts as much as one that is delayed by four standard deviations.
#[test]
fn outliers_do_not_decide() {
    let (starts, mut times) = planted(1000, 20e3, 20e3);
    times[0] = Nanoseconds(1e9);
    let samples = TimedSamples::new(&starts, &times, Nanoseconds(1.0), 1000).expect("each has a start");
    let window = samples.search([99.9e3, 100.1e3], [1e3, 80e3], 1e9).expect("it is planted");
    assert!((window.from - 20e3).abs() < 600.0 && (window.width - 20e3).abs() < 600.0, "{window:?}");
}
