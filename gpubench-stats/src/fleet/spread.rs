//! Spreads between processes, GPUs and hosts. In: the effects of processes, pooled by roof; out: the effect of each GPU, and
//! standard deviations that neither a disturbed process nor a slow GPU moves much.

use crate::quantile::median_of;

/// The spreads of a roof: standard deviations of logarithms, which are fractions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Between GPUs, hosts and the error of a GPU's processes included: what one GPU is held against.
    pub gpus: f64,
    /// The share of that variance that GPUs of one host have in common, from 0 to 1.
    pub common_to_host: f64,
    /// Between processes on one GPU; nothing if no GPU has two.
    pub processes: Option<f64>,
    /// The number of GPUs.
    pub count: usize,
}

/// The effect of a GPU on a roof.
#[derive(Clone, Debug)]
pub(super) struct GpuEffect {
    /// The median of its processes.
    pub(super) value: f64,
    /// The effect of each process, from the lowest to the highest.
    processes: Vec<f64>,
    /// The number of cases.
    pub(super) cases: usize,
    /// The standard error that the differences between its cases give it.
    pub(super) error_of_cases: f64,
}

impl GpuEffect {
    /// The effect of a GPU whose processes have these. `None` if there are none.
    pub(super) fn of(mut processes: Vec<f64>) -> Option<Self> {
        Some(Self { value: median_of(&mut processes)?, processes, cases: 0, error_of_cases: 0.0 })
    }

    /// The same with slow and fast exchanged.
    pub(super) fn mirrored(&self) -> Self {
        Self { value: -self.value, processes: self.processes.iter().rev().map(|it| -it).collect(), ..*self }
    }

    /// The number of processes.
    pub(super) fn processes(&self) -> usize {
        self.processes.len()
    }

    /// The highest less the lowest of its processes.
    pub(super) fn range(&self) -> f64 {
        self.processes[self.processes.len() - 1] - self.processes[0]
    }

    /// The variance of its median, if processes have this standard deviation.
    pub(super) fn variance(&self, between_processes: f64) -> f64 {
        let of_mean = between_processes.powi(2) / self.processes() as f64;
        // The variance of a median is π/2 times that of a mean.
        if self.processes() > 2 { of_mean * std::f64::consts::FRAC_PI_2 } else { of_mean }
    }
}

/// The standard deviation between processes on one GPU, and its degrees of freedom. `None` if no GPU has two.
///
/// The first quartile of all differences between two processes of a GPU, in the manner of Rousseeuw & Croux's Qn
/// (*Alternatives to the median absolute deviation*, JASA 88, 1993): one process of three may be disturbed on each GPU, and a
/// third of the differences is still sound.
pub(super) fn between_processes(gpus: &[Option<GpuEffect>]) -> Option<(f64, usize)> {
    let all = || gpus.iter().flatten();
    let spread = low_difference(all().map(|gpu| &*gpu.processes))?;
    let freedom: usize = all().map(|gpu| gpu.processes() - 1).sum();
    Some((spread, efficient_freedom(freedom as f64)))
}

/// A standard deviation of values that a quarter of outliers hardly moves: Rousseeuw & Croux's Qn. `None` for fewer than two.
pub(super) fn robust(sorted: &[f64]) -> Option<f64> {
    low_difference(std::iter::once(sorted))
}

/// The standard deviation of a normal distribution over the first quartile of differences between two of its values.
const QUARTILE: f64 = 2.219_1;
/// The efficiency of Qn.
const EFFICIENCY: f64 = 0.82;

/// The degrees of freedom of a robust spread, of as many values that are independent, less one.
pub(super) fn efficient_freedom(freedom: f64) -> usize {
    ((EFFICIENCY * freedom) as usize).max(1)
}

/// The standard deviation by the first quartile of differences between values of one group, each in ascending order.
fn low_difference<'a>(groups: impl Iterator<Item = &'a [f64]>) -> Option<f64> {
    let within = |sorted: &'a [f64]| {
        (1..sorted.len()).flat_map(move |high| sorted[..high].iter().map(move |low| sorted[high] - low))
    };
    let mut differences: Vec<f64> = groups.flat_map(within).collect();
    let place = differences.len() / 4;
    (!differences.is_empty()).then(|| QUARTILE * *differences.select_nth_unstable_by(place, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(processes: &[f64]) -> Option<GpuEffect> {
        GpuEffect::of(processes.to_vec())
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
        let [sound, disturbed] =
            [sound, disturbed].map(|gpus| between_processes(&gpus).expect("two have three"));
        assert_eq!((sound, sound.1), (disturbed, 3));
        assert!((sound.0 - 2.2191 * 0.001).abs() < 1e-12);
        assert_eq!(between_processes(&[gpu(&[0.1]), gpu(&[0.2])]), None);
    }

    #[test]
    fn a_mirrored_gpu_is_as_far_on_the_other_side() {
        let effect = gpu(&[0.03, 0.01, 0.02]).expect("three processes");
        assert_eq!(effect.value, 0.02);
        assert!((effect.range() - 0.02).abs() < 1e-15);
        let mirrored = effect.mirrored();
        assert_eq!((mirrored.value, mirrored.processes()), (-0.02, 3));
        assert!((mirrored.range() - 0.02).abs() < 1e-15);
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
