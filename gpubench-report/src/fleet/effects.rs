//! The effect of each GPU on each roof: the logarithm of how much longer than usual the cases take that the roof binds.

use std::collections::BTreeMap;

use gpubench_stats::median_of;

use super::judge::Fleet;

/// The least noise of a case. Processes on one GPU agree to no better, so that a case whose timer steps in the right place does not
/// decide alone.
const LEAST_NOISE: f64 = 0.001;
/// Deviations of more than this many times the noise of a case count less (Huber, *Robust estimation of a location parameter*, 1964).
const HUBER: f64 = 1.5;
/// The standard deviation of a normal distribution over its median absolute deviation.
const NORMAL: f64 = 1.482_602_2;
/// The standard deviation of a normal distribution over the first quartile of differences between two of its values.
const QUARTILE: f64 = 2.219_1;
/// The efficiency of [`spread_within`].
const EFFICIENCY: f64 = 0.82;

/// The deviation of each case of a process from the usual time of the case; NaN where the process did not measure it.
type Process = Vec<f64>;

/// The effect of a GPU on a roof.
#[derive(Clone, Debug)]
pub(super) struct GpuEffect {
    /// The median of its processes.
    pub(super) value: f64,
    /// The effect of each process, in ascending order.
    pub(super) processes: Vec<f64>,
    /// The number of cases.
    pub(super) cases: usize,
    /// The standard error that the differences between its cases give it.
    pub(super) error_of_cases: f64,
}

impl GpuEffect {
    /// Returns the effect of a GPU whose processes have these; `None` if there are none.
    pub(super) fn new(mut processes: Vec<f64>) -> Option<Self> {
        Some(Self { value: median_of(&mut processes)?, processes, cases: 0, error_of_cases: 0.0 })
    }

    /// Returns the highest less the lowest of its processes.
    pub(super) fn range(&self) -> f64 {
        self.processes[self.processes.len() - 1] - self.processes[0]
    }

    /// Returns the variance of its median, if processes have this standard deviation.
    pub(super) fn variance(&self, between_processes: f64) -> f64 {
        let of_mean = between_processes.powi(2) / self.processes.len() as f64;
        // The variance of a median is π/2 times that of a mean.
        if self.processes.len() > 2 { of_mean * std::f64::consts::FRAC_PI_2 } else { of_mean }
    }
}

/// Returns the effect of each GPU, by roof; `None` where a GPU has no case.
pub(super) fn effects(fleet: &Fleet<'_>) -> Vec<Vec<Option<GpuEffect>>> {
    let cases = fleet.roofs.len();
    let mut gpus: Vec<BTreeMap<usize, Process>> = vec![BTreeMap::new(); fleet.hosts.len()];
    for it in fleet.observations {
        gpus[it.gpu].entry(it.process).or_insert_with(|| vec![f64::NAN; cases])[it.case] = it.log_time;
    }
    let mut gpus: Vec<Vec<Process>> = gpus.into_iter().map(|of| of.into_values().collect()).collect();
    for case in 0..cases {
        let center = median(gpus.iter().map(|processes| of_case(processes, case)));
        gpus.iter_mut().flatten().for_each(|process| process[case] -= center.unwrap_or_default());
    }
    let of_roof =
        |roof: usize| -> Vec<usize> { (0..cases).filter(|case| fleet.roofs[*case] == roof).collect() };
    let roofs = fleet.roofs.iter().max().map_or(0, |last| last + 1);
    (0..roofs).map(|roof| on_roof(&gpus, &of_roof(roof))).collect()
}

/// Returns the effects on the roof that binds `cases`.
fn on_roof(gpus: &[Vec<Process>], cases: &[usize]) -> Vec<Option<GpuEffect>> {
    let noise = noise(gpus, cases);
    let known = |deviation: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
        let all = cases.iter().map(|case| deviation(*case)).zip(noise.iter().copied());
        all.filter(|(deviation, _)| deviation.is_finite()).collect()
    };
    let effect = |processes: &Vec<Process>| {
        let means = processes.iter().filter_map(|process| huber(&known(&|case| process[case])));
        let mut effect = GpuEffect::new(means.collect())?;
        let medians = known(&|case| of_case(processes, case));
        (effect.cases, effect.error_of_cases) = (medians.len(), error(&medians, effect.value));
        Some(effect)
    };
    gpus.iter().map(effect).collect()
}

/// Returns the noise of each of `cases`: the spread of its deviations around the median of all of them in a process.
fn noise(gpus: &[Vec<Process>], cases: &[usize]) -> Vec<f64> {
    let center = |process: &Process| median(cases.iter().map(|case| process[*case]));
    let processes = gpus.iter().flatten();
    let centers: Vec<(&Process, f64)> =
        processes.filter_map(|process| Some((process, center(process)?))).collect();
    // The median is made of these very cases, and follows each a little.
    let follows = cases.len() as f64 / (cases.len() as f64 - 1.0).max(1.0);
    let of_case = |case: &usize| {
        let residuals = centers.iter().map(|(process, center)| (process[*case] - center).abs());
        (median(residuals).unwrap_or_default() * NORMAL * follows.sqrt()).max(LEAST_NOISE)
    };
    cases.iter().map(of_case).collect()
}

/// Returns the median deviation of a case over the processes of a GPU; NaN if none measured it.
fn of_case(processes: &[Process], case: usize) -> f64 {
    median(processes.iter().map(|process| process[case])).unwrap_or(f64::NAN)
}

/// Returns the median of the finite ones of `values`.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    median_of(&mut values.filter(|value| value.is_finite()).collect::<Vec<_>>())
}

/// Returns Huber's mean of values with their noise; `None` if there are none.
fn huber(values: &[(f64, f64)]) -> Option<f64> {
    let mut center = median(values.iter().map(|(value, _)| *value))?;
    // The weights settle within a few rounds to far below the noise.
    for _ in 0..10 {
        let weights = || values.iter().map(|(value, noise)| weight(value - center, *noise));
        center = values.iter().zip(weights()).map(|((value, _), weight)| value * weight).sum::<f64>()
            / weights().sum::<f64>();
    }
    Some(center)
}

/// Returns the standard error of a Huber's mean of values with their noise.
fn error(values: &[(f64, f64)], mean: f64) -> f64 {
    let count = values.len() as f64;
    if count < 2.0 {
        return 0.0;
    }
    let weights = || values.iter().map(|(value, noise)| weight(value - mean, *noise));
    let squares: f64 =
        values.iter().zip(weights()).map(|((value, _), weight)| (weight * (value - mean)).powi(2)).sum();
    (squares * count / (count - 1.0)).sqrt() / weights().sum::<f64>()
}

fn weight(residual: f64, noise: f64) -> f64 {
    noise.powi(-2) * (HUBER * noise / residual.abs().max(f64::MIN_POSITIVE)).min(1.0)
}

/// Returns a standard deviation within groups of ascending values that a quarter of outliers hardly moves; `None` without two values
/// in a group.
///
/// It is the first quartile of differences within groups, in the manner of Rousseeuw & Croux's Qn (*Alternatives to the median
/// absolute deviation*, JASA 88, 1993). One process of three may be disturbed on each GPU: a third of the differences is still sound.
pub(super) fn spread_within<'a>(groups: impl Iterator<Item = &'a [f64]>) -> Option<f64> {
    let within = |sorted: &'a [f64]| {
        (1..sorted.len()).flat_map(move |high| sorted[..high].iter().map(move |low| sorted[high] - low))
    };
    let mut differences: Vec<f64> = groups.flat_map(within).collect();
    let place = differences.len() / 4;
    (!differences.is_empty()).then(|| QUARTILE * *differences.select_nth_unstable_by(place, f64::total_cmp).1)
}

/// Returns the degrees of freedom of a [`spread_within`], of those that all its values have.
pub(super) fn efficient_freedom(freedom: f64) -> usize {
    ((EFFICIENCY * freedom) as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disturbed_case_hardly_moves_the_mean() {
        let noise = 0.002;
        let mut values = vec![(0.03, noise); 9];
        assert!((huber(&values).expect("nine") - 0.03).abs() < 1e-12);
        values.push((0.5, noise));
        // It counts as one that is 1.5 deviations off: a ninth of 1.5 · 0.002.
        assert!((huber(&values).expect("ten") - (0.03 + 0.003 / 9.0)).abs() < 1e-5);
        assert_eq!(huber(&[]), None);
    }

    #[test]
    fn a_precise_case_counts_for_more() {
        // By hand: weights 1/1 and 1/16, both within 1.5 deviations of the mean.
        let mean = huber(&[(0.0, 0.01), (0.017, 0.04)]).expect("two");
        assert!((mean - 0.001).abs() < 1e-9, "{mean}");
    }

    /// By hand: 0.06 is 6 deviations off and has a quarter of its weight, 2500; the other has all of its own, 2500.
    #[test]
    fn the_error_of_a_mean_has_its_weights() {
        let found = error(&[(0.06, 0.01), (-0.01, 0.02)], 0.0);
        let expected = (2.0 * (150.0_f64.powi(2) + 25.0_f64.powi(2))).sqrt() / 5000.0;
        assert!((found - expected).abs() < 1e-12, "{found}");
        let around_a_tenth = error(&[(0.16, 0.01), (0.09, 0.02)], 0.1);
        assert!((around_a_tenth - expected).abs() < 1e-12, "{around_a_tenth}");
        assert_eq!(error(&[(0.06, 0.01)], 0.0), 0.0);
    }

    /// By hand: medians of the processes are 0.02 and 0.01. They are made of both cases, and follow each by half: √2 makes up for that.
    #[test]
    fn the_noise_of_a_case_is_its_spread_around_its_roof() {
        let gpus = [vec![vec![0.03, 0.01, 0.4], vec![-0.01, 0.03, 0.1]]];
        for found in noise(&gpus, &[0, 1]) {
            assert!((found - NORMAL * 0.015 * 2.0_f64.sqrt()).abs() < 1e-12, "{found}");
        }
        assert_eq!(noise(&gpus, &[2]), [LEAST_NOISE]);
    }

    fn robust(sorted: &[f64]) -> Option<f64> {
        spread_within(std::iter::once(sorted))
    }

    fn between_processes(gpus: &[Option<GpuEffect>]) -> Option<f64> {
        spread_within(gpus.iter().flatten().map(|gpu| &*gpu.processes))
    }

    fn gpu(processes: &[f64]) -> Option<GpuEffect> {
        GpuEffect::new(processes.to_vec())
    }

    /// Quantiles of the normal distribution stand for a sample of it.
    #[test]
    fn the_robust_spread_of_a_normal_sample_is_its_standard_deviation() {
        let quantiles: Vec<f64> = (1..400).map(|i| normal_quantile(f64::from(i) / 400.0)).collect();
        let sound = robust(&quantiles).expect("many");
        assert!((sound - 1.0).abs() < 0.02, "{sound}");
        let mut with_outliers = quantiles;
        with_outliers.extend([50.0; 40]);
        let spread = robust(&with_outliers).expect("many");
        assert!(spread < 1.25, "a tenth of outliers: {spread}");
    }

    /// By bisection of the error function's series, which is exact enough within ± 4.
    fn normal_quantile(p: f64) -> f64 {
        let below = |x: f64| {
            let (mut term, mut sum, mut power) = (x, x, 1.0);
            while term.abs() > 1e-17 * sum.abs() && power < 400.0 {
                power += 2.0;
                term *= x * x / power;
                sum += term;
            }
            0.5 + sum * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
        };
        let (mut low, mut high) = (-5.0, 5.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if below(middle) < p { low = middle } else { high = middle }
        }
        low
    }

    #[test]
    fn one_disturbed_process_of_three_moves_neither_the_effect_nor_the_spread() {
        let sound = [gpu(&[0.0, 0.002, 0.001]), gpu(&[0.001, 0.003, 0.002]), None];
        let disturbed = [gpu(&[0.0, 0.4, 0.001]), gpu(&[0.001, 0.003, 0.002]), None];
        let value = |gpus: &[Option<GpuEffect>]| gpus[0].as_ref().map(|gpu| gpu.value);
        assert_eq!((value(&sound), value(&disturbed)), (Some(0.001), Some(0.001)));
        let [sound, disturbed] = [sound, disturbed].map(|gpus| between_processes(&gpus));
        assert_eq!(sound, disturbed);
        assert!((sound.expect("two have three") - 2.2191 * 0.001).abs() < 1e-12);
        assert_eq!(between_processes(&[gpu(&[0.1]), gpu(&[0.2])]), None);
    }

    /// By hand: the median of three and more has π/2 times the variance of their mean.
    #[test]
    fn the_effect_of_more_processes_has_less_variance() {
        let variance = |count: usize| gpu(&vec![0.0; count]).expect("processes").variance(0.3);
        let half_pi = std::f64::consts::FRAC_PI_2;
        for (count, expected) in [(1, 0.09), (2, 0.045), (3, 0.03 * half_pi), (9, 0.01 * half_pi)] {
            assert!((variance(count) - expected).abs() < 1e-12, "{count}: {}", variance(count));
        }
        assert_eq!([0.5, 1.3, 10.0, 50.0].map(efficient_freedom), [1, 1, 8, 41]);
    }
}
