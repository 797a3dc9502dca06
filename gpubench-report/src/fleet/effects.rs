//! The effect of each GPU on each bottleneck: the logarithm of how much longer than usual the cases take that it
//! limits.

use std::collections::BTreeMap;

use gpubench_stats::median_of;

use super::runs::Bottleneck;

/// The lower limit of the noise of a case, a standard deviation of natural logarithms of times: about one
/// part in a thousand. Processes on one GPU do not agree better. Without the limit, a case with equal times
/// would decide alone.
const LEAST_NOISE: f64 = 0.001;
/// Deviations of more than this many times the noise of a case get less weight (Huber, *Robust estimation of a
/// location parameter*, 1964).
const HUBER_LIMIT: f64 = 1.5;
/// The standard deviation of a normal distribution divided by its median absolute deviation.
const SIGMA_PER_MAD: f64 = 1.482_602_2;
/// The standard deviation of a normal distribution divided by the first quartile of the differences between
/// two of its values.
const SIGMA_PER_DIFFERENCE_QUARTILE: f64 = 2.219_1;
/// The statistical efficiency of [`spread_within`], relative to the usual standard deviation.
/// [`efficient_freedom`] reduces degrees of freedom by this factor.
const EFFICIENCY: f64 = 0.82;

/// The median time of a case on a GPU in a process. Cases, GPUs and processes have numbers from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FleetObservation {
    /// The index of the case in [`Fleet::roofs`].
    pub case: usize,
    /// The index of the GPU in [`Fleet::hosts`].
    pub gpu: usize,
    /// The number of the process, which no other process on this GPU has.
    pub process: usize,
    /// The natural logarithm of the median time.
    pub log_time: f64,
}

/// The measurements of GPUs of one model, which measured the same cases, for [`judge`](super::judge()).
#[derive(Clone, Copy, Debug)]
pub struct Fleet<'a> {
    /// The observations, in any order.
    pub observations: &'a [FleetObservation],
    /// The bottleneck of each case.
    pub roofs: &'a [Bottleneck],
    /// For each GPU, the number of its host, from 0.
    pub hosts: &'a [usize],
}

/// For each case, the natural logarithm of its time in one process, minus the usual logarithm of the case.
/// NaN where the process did not measure the case.
type ProcessDeviations = Vec<f64>;

/// How much longer than usual the cases of one bottleneck take on one GPU, as a difference of natural
/// logarithms of times.
pub(super) struct GpuEffect {
    /// The host of the GPU.
    pub host: usize,
    /// The median of the processes' effects.
    pub value: f64,
    /// The effect of each process, in ascending order.
    pub processes: Vec<f64>,
    /// The number of cases that the GPU measured.
    pub cases: usize,
    /// The standard error of the effect, from the differences between its cases.
    pub error_of_cases: f64,
}

impl GpuEffect {
    /// Returns the effect of a GPU on this host: the median of `processes`, the effects of its processes in
    /// any order. Returns `None` without a process. The effect has no `cases` and no `error_of_cases` yet:
    /// the caller sets them.
    pub(super) fn new(host: usize, mut processes: Vec<f64>) -> Option<Self> {
        Some(Self { host, value: median_of(&mut processes)?, processes, cases: 0, error_of_cases: 0.0 })
    }

    /// Returns the variance of the effect, if processes have the standard deviation `between_processes`.
    pub(super) fn variance(&self, between_processes: f64) -> f64 {
        let of_mean = between_processes.powi(2) / self.processes.len() as f64;
        // The variance of a median is π/2 times that of a mean.
        if self.processes.len() > 2 { of_mean * std::f64::consts::FRAC_PI_2 } else { of_mean }
    }
}

/// Returns the effects of GPUs on each bottleneck, by the number of the GPU. The usual time of a case is the
/// median of all GPUs. GPUs that measured none of the cases of a bottleneck are missing there.
pub(super) fn gpu_effects(fleet: &Fleet<'_>) -> BTreeMap<Bottleneck, BTreeMap<usize, GpuEffect>> {
    let mut gpus: Vec<BTreeMap<usize, ProcessDeviations>> = vec![BTreeMap::new(); fleet.hosts.len()];
    for it in fleet.observations {
        let process = gpus[it.gpu].entry(it.process).or_insert_with(|| vec![f64::NAN; fleet.roofs.len()]);
        process[it.case] = it.log_time;
    }
    let mut gpus: Vec<Vec<ProcessDeviations>> =
        gpus.into_iter().map(|of| of.into_values().collect()).collect();
    let mut roofs: BTreeMap<Bottleneck, Vec<usize>> = BTreeMap::new();
    for (case, roof) in fleet.roofs.iter().enumerate() {
        let center = finite_median(gpus.iter().map(|processes| median_deviation(processes, case)));
        gpus.iter_mut().flatten().for_each(|process| process[case] -= center);
        roofs.entry(*roof).or_default().push(case);
    }
    roofs.into_iter().map(|(roof, cases)| (roof, effects_on_bottleneck(&gpus, fleet.hosts, &cases))).collect()
}

/// Returns the effect of each GPU on the bottleneck that limits `cases`, by the number of the GPU. `gpus` has
/// the deviations of each process of each GPU. GPUs that measured none of the cases are missing.
fn effects_on_bottleneck(
    gpus: &[Vec<ProcessDeviations>],
    hosts: &[usize],
    cases: &[usize],
) -> BTreeMap<usize, GpuEffect> {
    let noise = case_noise(gpus, cases);
    let pooled = |deviation: &dyn Fn(usize) -> f64| {
        let all = cases.iter().map(|case| deviation(*case)).zip(noise.iter().copied());
        HuberMean::new(&all.filter(|(deviation, _)| deviation.is_finite()).collect::<Vec<_>>())
    };
    gpus.iter()
        .enumerate()
        .filter_map(|(number, processes)| {
            let means = processes.iter().filter_map(|process| Some(pooled(&|case| process[case])?.mean));
            let effect = GpuEffect::new(hosts[number], means.collect())?;
            let medians = pooled(&|case| median_deviation(processes, case))?;
            Some((number, GpuEffect { cases: medians.count, error_of_cases: medians.error, ..effect }))
        })
        .collect()
}

/// Returns the noise of each of `cases`: how far the deviation of a case spreads around the median deviation
/// of all `cases` in the same process, over all processes of all GPUs. The noise is a standard deviation, at
/// least [`LEAST_NOISE`].
fn case_noise(gpus: &[Vec<ProcessDeviations>], cases: &[usize]) -> Vec<f64> {
    let processes = gpus.iter().flatten();
    let centers: Vec<(&ProcessDeviations, f64)> =
        processes.map(|process| (process, finite_median(cases.iter().map(|case| process[*case])))).collect();
    // The median is made of these very cases, and follows each a little.
    let follows = cases.len() as f64 / (cases.len() as f64 - 1.0).max(1.0);
    cases
        .iter()
        .map(|case| {
            let residuals = centers.iter().map(|(process, center)| (process[*case] - center).abs());
            (finite_median(residuals) * SIGMA_PER_MAD * follows.sqrt()).max(LEAST_NOISE)
        })
        .collect()
}

/// Returns the median deviation of a case over the processes of a GPU; NaN if none measured it.
fn median_deviation(processes: &[ProcessDeviations], case: usize) -> f64 {
    finite_median(processes.iter().map(|process| process[case]))
}

/// Returns the median of the finite values; NaN if there are none.
fn finite_median(values: impl Iterator<Item = f64>) -> f64 {
    median_of(&mut values.filter(|value| value.is_finite()).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

/// Huber's mean of values, in which outliers have less weight, with its standard error and the number of
/// values.
struct HuberMean {
    mean: f64,
    error: f64,
    count: usize,
}

impl HuberMean {
    /// Averages values, each given with its noise, a standard deviation; `None` if there are no values.
    fn new(values: &[(f64, f64)]) -> Option<Self> {
        let mut mean = median_of(&mut values.iter().map(|(value, _)| *value).collect::<Vec<_>>())?;
        // The sums of the weights, of the weighted residuals, and of the squares of these.
        let sums = |mean: f64| {
            values.iter().fold([0.0; 3], |[weights, residuals, squares], (value, noise)| {
                let residual = (value - mean).abs().max(f64::MIN_POSITIVE);
                let weight = noise.powi(-2) * (HUBER_LIMIT * noise / residual).min(1.0);
                let weighted = weight * (value - mean);
                [weights + weight, residuals + weighted, squares + weighted.powi(2)]
            })
        };
        // The weights settle within a few rounds to far below the noise.
        for _ in 0..10 {
            let [weights, residuals, _] = sums(mean);
            mean += residuals / weights;
        }
        let ([weights, _, squares], count) = (sums(mean), values.len());
        let error = (squares * count as f64 / (count - 1).max(1) as f64).sqrt() / weights;
        Some(Self { mean, error, count })
    }
}

/// Returns the standard deviation of values within groups; the values of each group are in ascending order.
/// Returns `None` if no group has two values. A quarter of outliers hardly changes the result.
///
/// The estimate is the first quartile of differences within groups, in the manner of Rousseeuw & Croux's Qn
/// (*Alternatives to the median absolute deviation*, JASA 88, 1993). One process of three may be disturbed on
/// each GPU: a third of the differences is then still without a disturbed process.
pub(super) fn spread_within<'a>(groups: impl Iterator<Item = &'a [f64]>) -> Option<f64> {
    let mut differences: Vec<f64> = groups
        .flat_map(|sorted| {
            (1..sorted.len()).flat_map(move |high| sorted[..high].iter().map(move |low| sorted[high] - low))
        })
        .collect();
    let place = differences.len() / 4;
    (!differences.is_empty())
        .then(|| SIGMA_PER_DIFFERENCE_QUARTILE * *differences.select_nth_unstable_by(place, f64::total_cmp).1)
}

/// Returns the degrees of freedom of a [`spread_within`] of values that have `freedom` degrees of freedom; at
/// least 1.
pub(super) fn efficient_freedom(freedom: f64) -> usize {
    ((EFFICIENCY * freedom) as usize).max(1)
}
#[cfg(test)]
mod tests {
    use super::*;

    fn huber(values: &[(f64, f64)]) -> f64 {
        HuberMean::new(values).expect("values").mean
    }

    #[test]
    fn a_disturbed_case_hardly_moves_the_mean() {
        let noise = 0.002;
        let mut values = vec![(0.03, noise); 9];
        assert!((huber(&values) - 0.03).abs() < 1e-12);
        values.push((0.5, noise));
        // It counts as one that is 1.5 deviations off: a ninth of 1.5 · 0.002.
        assert!((huber(&values) - (0.03 + 0.003 / 9.0)).abs() < 1e-5);
        assert!(HuberMean::new(&[]).is_none());
    }

    #[test]
    fn a_precise_case_counts_for_more() {
        // By hand: weights 1/1 and 1/16, both within 1.5 deviations of the mean.
        let mean = huber(&[(0.0, 0.01), (0.017, 0.04)]);
        assert!((mean - 0.001).abs() < 1e-9, "{mean}");
    }

    /// By hand: around a mean of 0, 0.06 is 6 deviations off and counts as 1.5, with a weight of 2500; so do the others together.
    #[test]
    fn the_error_of_a_mean_has_its_weights() {
        let values = [(0.06, 0.01), (-0.03, 0.02), (-0.03, 0.02)];
        let found = HuberMean::new(&values).expect("three");
        let weight = |(value, noise): &(f64, f64)| {
            noise.powi(-2) * (1.5 * noise / (value - found.mean).abs()).min(1.0)
        };
        let weights: f64 = values.iter().map(weight).sum();
        let squares: f64 = values.iter().map(|it| (weight(it) * (it.0 - found.mean)).powi(2)).sum();
        assert!((found.error - (squares * 3.0 / 2.0).sqrt() / weights).abs() < 1e-12, "{}", found.error);
        let alike = HuberMean::new(&[(0.01, 0.02), (-0.01, 0.02)]).expect("two");
        // The standard error of a plain mean of two.
        assert!((alike.error - 0.01).abs() < 1e-12 && alike.mean.abs() < 1e-12, "{}", alike.error);
        assert_eq!(HuberMean::new(&[(0.06, 0.01)]).expect("one").error, 0.0);
    }

    /// By hand: medians of the processes are 0.02 and 0.01. They are made of both cases, and follow each by half: √2 makes up for that.
    #[test]
    fn the_noise_of_a_case_is_its_spread_around_its_roof() {
        let gpus = [vec![vec![0.03, 0.01, 0.4], vec![-0.01, 0.03, 0.1]]];
        for found in case_noise(&gpus, &[0, 1]) {
            assert!((found - SIGMA_PER_MAD * 0.015 * 2.0_f64.sqrt()).abs() < 1e-12, "{found}");
        }
        assert_eq!(case_noise(&gpus, &[2]), [LEAST_NOISE]);
    }

    fn robust(sorted: &[f64]) -> Option<f64> {
        spread_within(std::iter::once(sorted))
    }

    fn between_processes(gpus: &[Option<GpuEffect>]) -> Option<f64> {
        spread_within(gpus.iter().flatten().map(|gpu| &*gpu.processes))
    }

    fn gpu(processes: &[f64]) -> Option<GpuEffect> {
        GpuEffect::new(0, processes.to_vec())
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
