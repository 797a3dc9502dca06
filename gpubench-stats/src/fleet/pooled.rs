//! One number for each process and roof. In: observations; out: for each process of a GPU and each roof the mean deviation
//! of its cases from their centres, where a precise case counts for more and a disturbed one for less.

use super::Fleet;
use super::spread::GpuEffect;
use crate::quantile::median_of;

/// Cases count as no more precise than this, which is what processes on one GPU agree to: else the one whose timer happens to
/// step in the right place would decide alone.
const FINEST: f64 = 0.001;
/// Deviations beyond so many times the noise of a case count less (Huber, *Robust estimation of a location parameter*, 1964).
const HUBER: f64 = 1.5;
/// The standard deviation of a normal distribution over its median absolute deviation.
const NORMAL: f64 = 1.482_602_2;

/// The deviations of a fleet, pooled by roof.
#[derive(Debug)]
pub(super) struct Pooled {
    /// The cases of each roof.
    cases: Vec<Vec<usize>>,
    processes: Vec<Process>,
    /// The noise of each case: the spread of its deviations around those of its roof.
    noise: Vec<f64>,
    /// The places of each GPU's processes.
    of_gpu: Vec<Vec<usize>>,
}

/// A process of a GPU.
#[derive(Debug)]
struct Process {
    gpu: usize,
    /// The deviation of each case from its centre; NaN where it was not measured.
    deviations: Vec<f64>,
    /// The effect on each roof, if it has a case there.
    effects: Vec<Option<f64>>,
}

impl Pooled {
    pub(super) fn of(fleet: &Fleet<'_>) -> Self {
        let mut cases = vec![Vec::new(); fleet.roofs.iter().max().map_or(0, |last| last + 1)];
        for (case, roof) in fleet.roofs.iter().enumerate() {
            cases[*roof].push(case);
        }
        let processes = processes(fleet);
        let mut of_gpu = vec![Vec::new(); fleet.hosts.len()];
        for (place, process) in processes.iter().enumerate() {
            of_gpu[process.gpu].push(place);
        }
        let noise = vec![FINEST; fleet.roofs.len()];
        let mut pooled = Self { cases, processes, noise, of_gpu };
        pooled.center();
        pooled.pool(|values| median_of(&mut values.iter().map(|(value, _)| *value).collect::<Vec<_>>()));
        pooled.estimate_noise();
        pooled.pool(huber);
        pooled
    }

    pub(super) fn roofs(&self) -> usize {
        self.cases.len()
    }

    /// Takes the centre of each case off: the median over GPUs of the median over a GPU's processes.
    fn center(&mut self) {
        for case in 0..self.noise.len() {
            let mut medians: Vec<f64> =
                (0..self.of_gpu.len()).filter_map(|gpu| self.of_case(gpu, case)).collect();
            let Some(center) = median_of(&mut medians) else { continue };
            for process in &mut self.processes {
                process.deviations[case] -= center;
            }
        }
    }

    /// Sets the effects of each process on each roof by `mean`, of deviations with the noise of their cases.
    fn pool(&mut self, mean: impl Fn(&[(f64, f64)]) -> Option<f64>) {
        let Self { cases, processes, noise, .. } = self;
        for process in processes {
            process.effects = cases.iter().map(|cases| mean(&process.of(cases, noise))).collect();
        }
    }

    /// Estimates the noise of each case from its deviations around the effect of its roof.
    fn estimate_noise(&mut self) {
        for (roof, cases) in self.cases.iter().enumerate() {
            // The effect is made of these very cases, and follows each a little.
            let follows = cases.len() as f64 / (cases.len() as f64 - 1.0).max(1.0);
            for case in cases {
                let around = |process: &Process| {
                    let deviation = process.deviations[*case] - process.effects[roof]?;
                    deviation.is_finite().then_some(deviation.abs())
                };
                let mut residuals: Vec<f64> = self.processes.iter().filter_map(around).collect();
                let spread = median_of(&mut residuals).unwrap_or_default() * NORMAL * follows.sqrt();
                self.noise[*case] = spread.max(FINEST);
            }
        }
    }

    /// The effect of each GPU on a roof; nothing where it has none.
    pub(super) fn gpus(&self, roof: usize) -> Vec<Option<GpuEffect>> {
        let by_gpu = self.by_gpu(|process| process.effects[roof]);
        let effects = by_gpu.into_iter().enumerate().map(|(gpu, values)| {
            let mut effect = GpuEffect::of(values)?;
            (effect.error_of_cases, effect.cases) = self.error_of_cases(gpu, roof, effect.value);
            Some(effect)
        });
        effects.collect()
    }

    /// The median deviation of a case over the processes of a GPU.
    fn of_case(&self, gpu: usize, case: usize) -> Option<f64> {
        let values = self.of_gpu[gpu].iter().map(|place| self.processes[*place].deviations[case]);
        median_of(&mut values.filter(|value| value.is_finite()).collect::<Vec<_>>())
    }

    /// The effects of the processes of each GPU.
    fn by_gpu(&self, of: impl Fn(&Process) -> Option<f64>) -> Vec<Vec<f64>> {
        let of_gpu =
            |places: &Vec<usize>| places.iter().filter_map(|place| of(&self.processes[*place])).collect();
        self.of_gpu.iter().map(of_gpu).collect()
    }

    /// The standard error that the differences between a GPU's cases give its effect, and the number of cases.
    fn error_of_cases(&self, gpu: usize, roof: usize, effect: f64) -> (f64, usize) {
        let value = |case: &usize| Some((self.of_case(gpu, *case)?, self.noise[*case]));
        error(self.cases[roof].iter().filter_map(value), effect)
    }
}

impl Process {
    /// The deviations of those of `cases` that it measured, with their noise.
    fn of(&self, cases: &[usize], noise: &[f64]) -> Vec<(f64, f64)> {
        let all = cases.iter().map(|case| (self.deviations[*case], noise[*case]));
        all.filter(|(deviation, _)| deviation.is_finite()).collect()
    }
}

/// The processes with their logarithms as deviations, in the order in which they first come.
fn processes(fleet: &Fleet<'_>) -> Vec<Process> {
    let mut processes: Vec<Process> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for observation in fleet.observations {
        let place = *places.entry((observation.gpu, observation.process)).or_insert_with(|| {
            let deviations = vec![f64::NAN; fleet.roofs.len()];
            processes.push(Process { gpu: observation.gpu, deviations, effects: Vec::new() });
            processes.len() - 1
        });
        processes[place].deviations[observation.case] = observation.log_time;
    }
    processes
}

/// Huber's mean of values, each with its noise. `None` if there are none.
fn huber(values: &[(f64, f64)]) -> Option<f64> {
    let mut center = median_of(&mut values.iter().map(|(value, _)| *value).collect::<Vec<_>>())?;
    // The weights settle within a few rounds to far below the noise.
    for _ in 0..10 {
        let weigh = |(value, noise): &(f64, f64)| {
            let weight = noise.powi(-2) * huber_weight(value - center, *noise);
            (weight * value, weight)
        };
        let (sum, weights) =
            values.iter().map(weigh).fold((0.0, 0.0), |(a, b), (sum, weight)| (a + sum, b + weight));
        center = sum / weights;
    }
    Some(center)
}

/// The standard error of a mean by Huber's weights, from the values, each with its noise, around it; and their number.
fn error(values: impl Iterator<Item = (f64, f64)>, mean: f64) -> (f64, usize) {
    let (mut squares, mut weights, mut count) = (0.0, 0.0, 0.0);
    for (value, noise) in values {
        let residual = value - mean;
        let weight = noise.powi(-2) * huber_weight(residual, noise);
        squares += (weight * residual).powi(2);
        weights += weight;
        count += 1.0;
    }
    let error = if count > 1.0 { (squares * count / (count - 1.0)).sqrt() / weights } else { 0.0 };
    (error, count as usize)
}

fn huber_weight(residual: f64, noise: f64) -> f64 {
    (HUBER * noise / residual.abs().max(f64::MIN_POSITIVE)).min(1.0)
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
        let (found, count) = error([(0.06, 0.01), (-0.01, 0.02)].into_iter(), 0.0);
        let expected = (2.0 * (150.0_f64.powi(2) + 25.0_f64.powi(2))).sqrt() / 5000.0;
        assert!((found - expected).abs() < 1e-12, "{found}");
        let (around_a_tenth, _) = error([(0.16, 0.01), (0.09, 0.02)].into_iter(), 0.1);
        assert!((around_a_tenth - expected).abs() < 1e-12, "{around_a_tenth}");
        assert_eq!((count, error([(0.06, 0.01)].into_iter(), 0.0)), (2, (0.0, 1)));
    }

    fn pooled(cases: Vec<Vec<usize>>, processes: Vec<(Vec<f64>, Vec<f64>)>) -> Pooled {
        let number = cases.iter().map(Vec::len).sum();
        let process = |(deviations, effects): (Vec<f64>, Vec<f64>)| Process {
            gpu: 0,
            deviations,
            effects: effects.into_iter().map(Some).collect(),
        };
        let of_gpu = vec![(0..processes.len()).collect()];
        Pooled {
            cases,
            processes: processes.into_iter().map(process).collect(),
            noise: vec![FINEST; number],
            of_gpu,
        }
    }

    /// A roof's effect is made of its cases, and follows each of two by half: √2 makes up for that.
    #[test]
    fn the_noise_of_a_case_is_its_spread_around_its_roof() {
        let mut pooled = pooled(
            vec![vec![0, 1], vec![2]],
            vec![(vec![0.03, 0.01, 0.4], vec![0.02, 0.4]), (vec![-0.01, 0.03, 0.1], vec![0.0, 0.1])],
        );
        pooled.estimate_noise();
        for (found, spread) in pooled.noise.iter().zip([0.01 * 2.0_f64.sqrt(), 0.02 * 2.0_f64.sqrt(), 0.0]) {
            assert!((found - (NORMAL * spread).max(FINEST)).abs() < 1e-12, "{:?}", pooled.noise);
        }
    }
}
