//! Fleets whose slow GPUs are known.
//!
//! | spread between GPUs | standard deviation | source |
//! |---|---|---|
//! | compute | 1.48 % | 8 % on average (Sinha et al., *Not all GPUs are created equal*, SC'22), read as the range between the whiskers of a box plot, which are 5.4 standard deviations apart |
//! | memory reads | 1.25 % between hosts, 0.05 % within | `sum` of 1 GiB on H200s of three hosts: 233.8, 238.3 and 232.8 µs; equal to 0.04 % within them |
//! | memory writes, mixed | 0.10 % | fills, copies and stencils of 1 GiB on six H200s: 0.03 to 0.08 %, doubled for want of more hosts |
//! | L2, latency | 0.5 % | kernels of at most 40 MiB on the same |
//! | PCIe | 1.0 % | pinned copies on the same: up to 2 % |
//!
//! Noise: processes differ by 0.1 % on a roof; cases beyond that by 0.05 to 1.5 %, as copies of 1 GiB and of 16 KiB do on an
//! H200; one measurement of a hundred is disturbed by up to 20 %.

use gpubench_report::fleet::{
    Bottleneck, Fleet, FleetObservation, FleetRules, GpuComparison, GpuVerdict, judge,
};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Normal, StudentT};

/// The roofs, with the standard deviations between hosts and between GPUs of a host.
const ROOFS: [(Bottleneck, f64, f64); 7] = [
    (Bottleneck::MemoryReads, 0.0125, 0.0005),
    (Bottleneck::MemoryWrites, 0.0007, 0.0007),
    (Bottleneck::MemoryMixed, 0.0007, 0.0007),
    (Bottleneck::L2, 0.0025, 0.0043),
    (Bottleneck::Compute, 0.0074, 0.0128),
    (Bottleneck::Pcie, 0.0070, 0.0070),
    (Bottleneck::Latency, 0.0025, 0.0043),
];
/// The rules that `cargo gpubench fleet` has unless the user gives others.
pub(crate) const RULES: FleetRules = FleetRules { least: 0.01, false_discoveries: 0.01 };

/// GPUs of a host.
const ON_HOST: usize = 8;
/// The standard deviation between processes, on a roof.
const BETWEEN_PROCESSES: f64 = 0.001;

/// The size and the spreads of a fleet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) gpus: usize,
    pub(crate) cases: usize,
    /// Processes of each GPU.
    pub(crate) processes: usize,
    /// The number of GPUs that are slow on all roofs, by 3 %.
    pub(crate) slow_everywhere: usize,
    /// The number of GPUs that are slow on one roof, by 10 %.
    pub(crate) slow_on_one: usize,
    /// The spread of compute over the usual one.
    pub(crate) compute: f64,
    /// The degrees of freedom of the spread between GPUs, which is normal without: 5 has heavy tails.
    pub(crate) tails: Option<f64>,
}

/// The fleet that the project is held to: a run of each of 1,000 GPUs.
pub(crate) const USUAL: Scenario = Scenario {
    name: "as surveys report",
    gpus: 1000,
    cases: 120,
    processes: 1,
    slow_everywhere: 20,
    slow_on_one: 5,
    compute: 1.0,
    tails: None,
};

/// A simulated fleet: its observations, and the GPUs that are slow in truth.
pub(crate) struct Simulated {
    observations: Vec<FleetObservation>,
    roofs: Vec<usize>,
    hosts: Vec<usize>,
    /// The GPUs that are slow by 3 %.
    pub(crate) slow_everywhere: Vec<usize>,
    /// The GPUs that are slow by 10 % on one roof, each with the number of that roof.
    pub(crate) slow_on_one: Vec<(usize, usize)>,
}

impl Simulated {
    pub(crate) fn new(scenario: Scenario, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let Scenario { gpus, cases, processes, .. } = scenario;
        let roofs: Vec<usize> = (0..cases).map(|case| case % ROOFS.len()).collect();
        let hosts: Vec<usize> = (0..gpus).map(|gpu| gpu / ON_HOST).collect();
        let (mut effects, planted) = effects(scenario, &hosts, &mut random);
        let (slow_everywhere, slow_on_one) = planted;
        for gpu in &slow_everywhere {
            effects[*gpu].iter_mut().for_each(|effect| *effect += 1.03_f64.ln());
        }
        for (gpu, roof) in &slow_on_one {
            effects[*gpu][*roof] += 1.10_f64.ln();
        }
        // Log-uniform: the shorter a launch, the noisier.
        let noise: Vec<f64> =
            (0..cases).map(|_| (random.random_range(0.0005_f64.ln()..0.015_f64.ln())).exp()).collect();
        let mut observations = Vec::new();
        for (gpu, effects) in effects.iter().enumerate() {
            for number in 0..processes {
                let of_process: Vec<f64> =
                    effects.iter().map(|effect| effect + BETWEEN_PROCESSES * normal(&mut random)).collect();
                for (case, roof) in roofs.iter().enumerate() {
                    let disturbed =
                        if random.random_bool(0.01) { random.random_range(0.0..0.2) } else { 0.0 };
                    let log_time = 10.0 + of_process[*roof] + noise[case] * normal(&mut random) + disturbed;
                    let process = gpu * processes + number;
                    observations.push(FleetObservation { case, gpu, process, log_time });
                }
            }
        }
        Self { observations, roofs, hosts, slow_everywhere, slow_on_one }
    }

    /// Returns the comparisons of each GPU with the others, according to gpubench.
    pub(crate) fn judged(&self) -> Vec<Vec<GpuComparison>> {
        let roofs: Vec<Bottleneck> = self.roofs.iter().map(|roof| ROOFS[*roof].0).collect();
        let fleet = Fleet { observations: &self.observations, roofs: &roofs, hosts: &self.hosts };
        judge(fleet, RULES)
    }

    /// Adds to `score` how many planted GPUs are in `found`, and how many others. `found` has true for each
    /// GPU that a rule calls slow.
    pub(crate) fn score(&self, score: &mut Score, found: &[bool]) {
        let is_planted = |gpu: &usize| {
            self.slow_everywhere.contains(gpu) || self.slow_on_one.iter().any(|(slow, _)| slow == gpu)
        };
        score.everywhere += self.slow_everywhere.iter().filter(|gpu| found[**gpu]).count();
        score.on_one += self.slow_on_one.iter().filter(|(gpu, _)| found[*gpu]).count();
        score.planted_everywhere += self.slow_everywhere.len();
        score.planted_on_one += self.slow_on_one.len();
        score.found += found.iter().filter(|found| **found).count();
        score.wrong += (0..found.len()).filter(|gpu| found[*gpu] && !is_planted(gpu)).count();
    }

    /// Returns the mean time of each GPU on each roof over the cases, as a fraction of the mean of the case
    /// over all GPUs.
    fn means(&self) -> Vec<Vec<f64>> {
        let mut of_case = vec![(0.0, 0.0); self.roofs.len()];
        for it in &self.observations {
            of_case[it.case].0 += it.log_time.exp();
            of_case[it.case].1 += 1.0;
        }
        let mut sums = vec![vec![(0.0, 0.0); ROOFS.len()]; self.hosts.len()];
        for it in &self.observations {
            let (sum, count) = of_case[it.case];
            let cell = &mut sums[it.gpu][self.roofs[it.case]];
            cell.0 += it.log_time.exp() / (sum / count);
            cell.1 += 1.0;
        }
        sums.into_iter().map(|roofs| roofs.into_iter().map(|(sum, count)| sum / count).collect()).collect()
    }

    /// Finds slow GPUs by the rule "more than one standard deviation and 10 % above the mean" on a roof.
    pub(crate) fn beyond_one_sigma_and_a_tenth(&self) -> Vec<bool> {
        self.by_roof(|times, time| {
            let count = times.len() as f64;
            let mean = times.iter().sum::<f64>() / count;
            let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
            time > mean + variance.sqrt() && time > 1.1 * mean
        })
    }

    /// Finds slow GPUs by the rule "a rate of less than 90 % of the best" on a roof.
    pub(crate) fn a_tenth_below_the_best(&self) -> Vec<bool> {
        self.by_roof(|times, time| times.iter().copied().fold(f64::INFINITY, f64::min) / time < 0.9)
    }

    /// Returns true for each GPU that is slow on any roof. `is_slow` is given the times of all GPUs on a
    /// roof, and the time of one.
    fn by_roof(&self, is_slow: impl Fn(&[f64], f64) -> bool) -> Vec<bool> {
        let means = self.means();
        let mut found = vec![false; means.len()];
        for roof in 0..ROOFS.len() {
            let times: Vec<f64> = means.iter().map(|roofs| roofs[roof]).collect();
            for (found, time) in found.iter_mut().zip(&times) {
                *found |= is_slow(&times, *time);
            }
        }
        found
    }
}

/// The findings of one rule in several fleets, with the numbers of planted slow GPUs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Score {
    pub(crate) everywhere: usize,
    pub(crate) planted_everywhere: usize,
    pub(crate) on_one: usize,
    pub(crate) planted_on_one: usize,
    pub(crate) found: usize,
    pub(crate) wrong: usize,
}

/// Returns true for each GPU that is slow on a roof.
pub(crate) fn slow_gpus(result: &[Vec<GpuComparison>]) -> Vec<bool> {
    result.iter().map(|of| of.iter().any(|on| on.verdict == GpuVerdict::Slow)).collect()
}

/// The GPUs to be made slow everywhere, and those to be made slow on one roof, each with that roof.
type Planted = (Vec<usize>, Vec<(usize, usize)>);

/// Returns the effects of each GPU on each roof, as natural logarithms without the planted ones, and the GPUs
/// to be made slow.
fn effects(scenario: Scenario, hosts: &[usize], random: &mut StdRng) -> (Vec<Vec<f64>>, Planted) {
    let draw = |random: &mut StdRng| match scenario.tails {
        None => normal(random),
        Some(freedom) => {
            let wide = StudentT::new(freedom).expect("freedom is above two").sample(random);
            wide / (freedom / (freedom - 2.0)).sqrt()
        }
    };
    let scale = |roof: usize| if ROOFS[roof].0 == Bottleneck::Compute { scenario.compute } else { 1.0 };
    let host_count = hosts.last().map_or(0, |last| last + 1);
    let of_hosts: Vec<Vec<f64>> = (0..host_count)
        .map(|_| (0..ROOFS.len()).map(|roof| scale(roof) * ROOFS[roof].1 * draw(random)).collect())
        .collect();
    let effects = hosts
        .iter()
        .map(|host| {
            (0..ROOFS.len())
                .map(|roof| of_hosts[*host][roof] + scale(roof) * ROOFS[roof].2 * draw(random))
                .collect()
        })
        .collect();
    let mut gpus: Vec<usize> = (0..hosts.len()).collect();
    gpus.shuffle(random);
    let everywhere = gpus.split_off(gpus.len() - scenario.slow_everywhere);
    let on_one = gpus.split_off(gpus.len() - scenario.slow_on_one);
    let on_one = on_one.into_iter().map(|gpu| (gpu, random.random_range(0..ROOFS.len()))).collect();
    (effects, (everywhere, on_one))
}

/// Draws from the standard normal distribution.
fn normal(random: &mut StdRng) -> f64 {
    Normal::new(0.0, 1.0).expect("it is a distribution").sample(random)
}
