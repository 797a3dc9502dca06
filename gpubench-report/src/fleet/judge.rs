//! Judges each GPU of a fleet for each bottleneck: an effect with its interval, and a [`GpuVerdict`].
//!
//! The logarithm of a median time is the usual one of its case, plus effects of the host, the GPU and the process
//! on the bottleneck of the case, plus the deviation of the case on that GPU. GPUs of a model differ by nature:
//! the question is not whether an effect is zero, but whether the GPU is like the others. `gpu_effects` combines
//! cases and processes. Here Student's t compares each GPU with the others, and slow GPUs are found at a false
//! discovery rate. `docs/contributing/statistics.md` has the formulas.

use std::collections::{BTreeMap, BTreeSet};

use gpubench_stats::{CONFIDENCE, benjamini_hochberg, median_of, student_quantile, student_tail};
use serde::Serialize;

use super::effects::{Fleet, GpuEffect, efficient_freedom, gpu_effects, spread_within};
use super::runs::Bottleneck;

/// The least number of GPUs for a verdict, so that each is compared with three others.
const MIN_GPUS: usize = 4;
/// From this number of GPUs on, one process on each is enough, because the spread between GPUs includes the
/// spread between processes. No GPU is then compared with outliers, whose effects would widen the spread and
/// so hide slow GPUs.
const MANY_GPUS: usize = 8;
/// GPUs are outliers if they are further from the median than the spread times the value that Student's t
/// exceeds, to either side, with a probability of 1 in 10,000.
const OUTLIER_QUANTILE: f64 = 0.9999;
/// The lower limit of the standard deviation between GPUs, of natural logarithms of times: a tenth of the
/// best agreement between processes, since equal medians are chance.
const LEAST_SPREAD: f64 = 1e-4;
/// An effect is too imprecise for a verdict if the half-width of its interval exceeds this many times the
/// least effect that counts as slow. The exception is an interval that is wholly below that least effect.
const MAX_HALF_WIDTHS: f64 = 10.0;

/// The limits of verdicts, which the user chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FleetRules {
    /// The least effect that counts as slow, as a fraction.
    pub least: f64,
    /// The fraction of GPUs reported as slow that may be wrong, on average.
    pub false_discoveries: f64,
}

/// A verdict on a GPU, for one bottleneck or for all. The verdict for all is the first of its verdicts for
/// single bottlenecks, in the order of these variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GpuVerdict {
    /// It is unlike the other GPUs, and slower by at least the least effect that counts.
    Slow,
    /// It is like the other GPUs, as far as the data show.
    Normal,
    /// The data do not suffice for a verdict.
    NotEnoughData,
}

/// The reason that the data do not suffice for a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum InsufficientData {
    /// Only this many GPUs measured cases of the bottleneck.
    #[error("{0} of its model and build, and a verdict needs {MIN_GPUS}")]
    Gpus(usize),
    /// No GPU has two processes, and there are few GPUs: a disturbed process looks like a slow GPU.
    #[error(
        "one process on each of fewer than {MANY_GPUS}: a second tells a slow GPU from a disturbed process"
    )]
    Processes,
    /// The half-width of the effect's interval, as a fraction, is too large.
    #[error("its processes or cases differ too much for a verdict")]
    Precision(f64),
}

/// The comparison of a GPU with the others, for one bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GpuComparison {
    /// The bottleneck.
    pub roof: Bottleneck,
    /// The time over that of the other GPUs, minus 1.
    pub effect: f64,
    /// The 95 % interval of the effect.
    pub interval: [f64; 2],
    /// The probability that a GPU like the others is at least this slow; 1 if the effect is too small to
    /// count as slow. `None` if the GPU was not tested, because data lack.
    pub p: Option<f64>,
    /// The verdict.
    pub verdict: GpuVerdict,
    /// The reason that the data do not suffice; `None` for the other verdicts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lack: Option<InsufficientData>,
    /// The number of the bottleneck's cases that the GPU measured.
    pub cases: usize,
    /// The number of processes that measured these cases on the GPU.
    pub processes: usize,
}

/// Compares each GPU of `fleet` with the others, for each bottleneck of its cases. Returns the comparisons of
/// each GPU, ordered by bottleneck; none for the bottlenecks of which it measured no case.
///
/// # Panics
/// If an observation has a case without a bottleneck, or a GPU without a host.
pub fn judge(fleet: Fleet<'_>, rules: FleetRules) -> Vec<Vec<GpuComparison>> {
    let effects = gpu_effects(&fleet).into_iter();
    let mut columns: Vec<BottleneckEffects> =
        effects.map(|(roof, gpus)| BottleneckEffects::new(roof, gpus)).collect();
    loop {
        let tests: Vec<Vec<(usize, f64)>> = (0..fleet.hosts.len())
            .map(|gpu| {
                let tests = columns.iter().enumerate();
                tests.filter_map(|(roof, column)| Some((roof, column.p_value(gpu, rules.least)?))).collect()
            })
            .collect();
        // Without the slow GPUs found so far, the spread of the others is smaller and may show more.
        let mut is_more = false;
        for (gpu, roof) in discoveries(&tests, rules.false_discoveries) {
            is_more |= columns[roof].slow.insert(gpu);
        }
        if !is_more {
            break;
        }
    }
    (0..fleet.hosts.len())
        .map(|gpu| columns.iter().filter_map(|column| column.comparison(gpu, rules.least)).collect())
        .collect()
}

/// Finds slow GPUs, and returns pairs of a GPU and a bottleneck on which it is slow, by their numbers.
/// `tests` has for each GPU the numbers of its bottlenecks with their p-values. `rate` is the false discovery
/// rate, as a fraction.
///
/// A slow GPU is slow on several bottlenecks. In a single test over all pairs of GPU and bottleneck, these
/// true findings would admit false ones on other GPUs. So the rate is limited over GPUs first, and then
/// within those found (Benjamini & Bogomolov, *Selective inference on multiple families of hypotheses*, JRSS
/// B 76, 2014). Effects are correlated positively, for which both procedures hold (Benjamini & Yekutieli,
/// Annals of Statistics 29, 2001).
fn discoveries(tests: &[Vec<(usize, f64)>], rate: f64) -> Vec<(usize, usize)> {
    let combined: Vec<(usize, f64)> =
        tests.iter().enumerate().filter_map(|(gpu, roofs)| Some((gpu, simes(roofs)?))).collect();
    let found = benjamini_hochberg(&combined, rate);
    let rate = rate * found.len() as f64 / combined.len().max(1) as f64;
    found
        .into_iter()
        .flat_map(|gpu| benjamini_hochberg(&tests[gpu], rate).into_iter().map(move |roof| (gpu, roof)))
        .collect()
}

/// Combines the p-values of `tests` by Simes' inequality into the p-value of the hypothesis that no test has
/// an effect; `None` without tests.
fn simes(tests: &[(usize, f64)]) -> Option<f64> {
    let mut sorted: Vec<f64> = tests.iter().map(|(_, p)| *p).collect();
    sorted.sort_by(f64::total_cmp);
    (1..).zip(sorted).map(|(rank, p)| p * tests.len() as f64 / f64::from(rank)).min_by(f64::total_cmp)
}

/// The effects of all GPUs on a bottleneck.
struct BottleneckEffects {
    roof: Bottleneck,
    /// The effects by the numbers of the GPUs, which the fields below use too.
    gpus: BTreeMap<usize, GpuEffect>,
    /// The GPUs that are far from the median, fast or slow; empty for fewer than [`MANY_GPUS`].
    outliers: BTreeSet<usize>,
    /// The GPUs that [`judge`] has found to be slow so far.
    slow: BTreeSet<usize>,
    /// The standard deviation between processes; 0 if no GPU has two.
    between_processes: f64,
    /// The degrees of freedom of `between_processes`; 0 if no GPU has two processes.
    freedom: usize,
    /// The mean over all GPUs of the variance of an effect that comes from the differences between its
    /// processes.
    variance_of_processes: f64,
    /// The reason that no GPU can be judged; `None` if they can.
    lack: Option<InsufficientData>,
}

impl BottleneckEffects {
    /// Determines the spread of processes, and the outliers if there are many GPUs.
    fn new(roof: Bottleneck, gpus: BTreeMap<usize, GpuEffect>) -> Self {
        let spread = spread_within(gpus.values().map(|gpu| &*gpu.processes));
        let freedom: usize = gpus.values().map(|gpu| gpu.processes.len() - 1).sum();
        let between_processes = spread.unwrap_or_default();
        let variances: f64 = gpus.values().map(|gpu| gpu.variance(between_processes)).sum();
        let mut column = Self {
            roof,
            outliers: BTreeSet::new(),
            slow: BTreeSet::new(),
            between_processes,
            freedom: spread.map_or(0, |_| efficient_freedom(freedom as f64)),
            variance_of_processes: variances / gpus.len() as f64,
            lack: match gpus.len() {
                gpus if gpus < MIN_GPUS => Some(InsufficientData::Gpus(gpus)),
                gpus if gpus < MANY_GPUS && spread.is_none() => Some(InsufficientData::Processes),
                _ => None,
            },
            gpus,
        };
        if column.gpus.len() >= MANY_GPUS {
            // The robust spread of few GPUs, or of few hosts whose GPUs are alike, is itself not well known.
            let independent = column.reference_gpus(None).map_or(1.0, |all| all.effective_count);
            let mut values: Vec<f64> = column.gpus.values().map(|gpu| gpu.value).collect();
            let center = median_of(&mut values).unwrap_or_default();
            let spread = spread_within(std::iter::once(&*values)).unwrap_or_default().max(LEAST_SPREAD);
            let limit = student_quantile(OUTLIER_QUANTILE, efficient_freedom(independent - 1.0)) * spread;
            let far = column.gpus.iter().filter(|(_, gpu)| (gpu.value - center).abs() > limit);
            column.outliers = far.map(|(number, _)| *number).collect();
        }
        column
    }

    /// Summarizes the GPUs with which others are compared: all that are neither outliers nor found to be
    /// slow, without the GPU `except`. `None` if there are none.
    fn reference_gpus(&self, except: Option<usize>) -> Option<ReferenceGpus> {
        let gpus = self.gpus.iter().filter(|(number, _)| {
            Some(**number) != except && !self.outliers.contains(number) && !self.slow.contains(number)
        });
        let gpus: Vec<(usize, f64)> = gpus.map(|(_, gpu)| (gpu.host, gpu.value)).collect();
        ReferenceGpus::new(&gpus, self.variance_of_processes.max(LEAST_SPREAD.powi(2)))
    }

    /// Returns the probability that a GPU like the others has at least this GPU's effect: 1 if the effect is
    /// below `least`, a fraction of the time. Returns `None` if data lack, if there are no others, or if the
    /// GPU measured no case of the bottleneck.
    fn p_value(&self, number: usize, least: f64) -> Option<f64> {
        let gpu = self.gpus.get(&number).filter(|_| self.lack.is_none())?;
        let others = self.reference_gpus(Some(number))?;
        let difference = gpu.value - others.center;
        if difference.exp_m1() < least {
            return Some(1.0);
        }
        // A GPU with fewer processes than the others varies more than they do.
        let extra = (gpu.variance(self.between_processes) - self.variance_of_processes).max(0.0);
        let variance = others.variance * (1.0 + 1.0 / others.effective_count) + extra;
        Some(t_tail_probability(difference / variance.sqrt(), others.effective_count - 1.0))
    }

    /// Compares a GPU with the others; `None` if it measured no case of the bottleneck. The effect is 0 if
    /// there are no others. `least` is the least effect that counts as slow, as a fraction.
    fn comparison(&self, number: usize, least: f64) -> Option<GpuComparison> {
        let gpu = self.gpus.get(&number)?;
        let (center, of_center) = match self.reference_gpus(Some(number)) {
            Some(others) => (others.center, others.variance / others.effective_count),
            None => (gpu.value, 0.0),
        };
        let difference = gpu.value - center;
        // Without a second process anywhere, the spread between the cases is all that is known of its error.
        let freedom = if self.freedom > 0 { self.freedom } else { gpu.cases.saturating_sub(1) };
        let half_width = |variance: f64| student_quantile(CONFIDENCE, freedom.max(1)) * variance.sqrt();
        let own = gpu.variance(self.between_processes) + gpu.error_of_cases.powi(2);
        let (alone, half) = (half_width(own), half_width(own + of_center));
        let is_imprecise = alone > MAX_HALF_WIDTHS * least && difference + alone > least.ln_1p();
        let imprecise = || is_imprecise.then(|| InsufficientData::Precision(alone.exp_m1()));
        let (verdict, lack) = match self.lack.or_else(imprecise) {
            _ if self.slow.contains(&number) => (GpuVerdict::Slow, None),
            None => (GpuVerdict::Normal, None),
            lack => (GpuVerdict::NotEnoughData, lack),
        };
        Some(GpuComparison {
            roof: self.roof,
            effect: difference.exp_m1(),
            interval: [difference - half, difference + half].map(f64::exp_m1),
            p: self.p_value(number, least),
            verdict,
            lack,
            cases: gpu.cases,
            processes: gpu.processes.len(),
        })
    }
}

/// A summary of the other GPUs with which a GPU is compared.
#[derive(Debug)]
struct ReferenceGpus {
    /// Their mean effect.
    center: f64,
    /// The variance between their effects, including that of their processes.
    variance: f64,
    /// The number of independent GPUs that would tell as much as these, if GPUs of one host are alike.
    effective_count: f64,
}

impl ReferenceGpus {
    /// Summarizes the effects of GPUs, each given with its host; `None` if there are none. `least_variance`
    /// is the lower limit of the variance.
    fn new(gpus: &[(usize, f64)], least_variance: f64) -> Option<Self> {
        if gpus.is_empty() {
            return None;
        }
        let count = gpus.len() as f64;
        let center = gpus.iter().map(|(_, value)| value).sum::<f64>() / count;
        let (mut around_mean, mut hosts) = (0.0, BTreeMap::new());
        for (host, value) in gpus {
            let (number, sum) = hosts.entry(host).or_insert((0.0, 0.0));
            (*number, *sum) = (*number + 1.0, *sum + value - center);
            around_mean += (value - center).powi(2);
        }
        let groups = hosts.len() as f64;
        let on_host = hosts.values().map(|(number, _)| number * number).sum::<f64>() / count;
        let between: f64 = hosts.values().map(|(number, sum)| sum * sum / number).sum();
        // The share of the variance that GPUs of a host have in common: the intraclass correlation of a one-way analysis of variance.
        // Zero with one host, whose effect cancels, and with one GPU a host, where nothing tells the two apart.
        let common_to_host = if groups < 2.0 || count <= groups {
            0.0
        } else {
            let within = (around_mean - between).max(0.0) / (count - groups);
            let size = (count - on_host) / (groups - 1.0);
            let of_host = ((between / (groups - 1.0) - within) / size).max(0.0);
            if of_host > 0.0 { of_host / (of_host + within) } else { 0.0 }
        };
        // The number of GPUs that one counts for if those of a host are alike (the design effect of Kish, *Survey sampling*, 1965).
        let alike = 1.0 + (on_host - 1.0) * common_to_host;
        let variance = if count > alike { around_mean / (count - alike) } else { 0.0 };
        Some(Self {
            center,
            variance: variance.max(least_variance),
            effective_count: (count / alike).max(1.0),
        })
    }
}

/// Returns the probability that Student's t exceeds `t`, to one side. Interpolates linearly between whole
/// degrees of freedom, which is never below the exact value. Fewer than one degree counts as one.
fn t_tail_probability(t: f64, freedom: f64) -> f64 {
    let freedom = freedom.max(1.0);
    let (whole, part) = (freedom as usize, freedom.fract());
    (1.0 - part) * student_tail(t, whole) + part * student_tail(t, whole + 1)
}
#[cfg(test)]
mod tests {
    use super::*;

    /// The column of GPUs, each with its host and its processes.
    fn column_of(gpus: impl IntoIterator<Item = (usize, Vec<f64>)>) -> BottleneckEffects {
        let effect = |(host, processes)| GpuEffect::new(host, processes).expect("processes");
        BottleneckEffects::new(Bottleneck::Compute, gpus.into_iter().map(effect).enumerate().collect())
    }

    fn column(effects: &[f64], hosts: &[usize]) -> BottleneckEffects {
        column_of(hosts.iter().zip(effects).map(|(host, effect)| (*host, vec![*effect, *effect])))
    }

    fn tests(column: &BottleneckEffects) -> Vec<Option<f64>> {
        (0..column.gpus.len()).map(|gpu| column.p_value(gpu, 0.01)).collect()
    }

    /// By hand: the others are 0 ± 0.01, so that the difference is 0.05 and its error 0.01·√(4/3), with two degrees of freedom.
    #[test]
    fn a_gpu_is_held_against_the_others_by_students_t() {
        let column = column(&[-0.01, 0.0, 0.01, 0.05], &[0; 4]);
        let tests = tests(&column);
        let t = 0.05 / (0.01 * (4.0_f64 / 3.0).sqrt());
        // The closed form for two degrees of freedom.
        let p = 0.5 - t / (2.0 * (t * t + 2.0).sqrt());
        assert!((tests[3].expect("tested") - p).abs() < 1e-12);
        assert_eq!(tests[0], Some(1.0), "it is no slower than the others");
    }

    #[test]
    fn gpus_of_one_host_count_as_one_if_they_are_alike() {
        static HOSTS: [usize; 16] = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3];
        let of_host = |host: usize| [0.0, 0.02, -0.02, 0.01][host];
        let effects: Vec<f64> = HOSTS.iter().map(|host| of_host(*host)).collect();
        let all = |effects: &[f64]| {
            let column = column(effects, &HOSTS);
            column.reference_gpus(None).expect("sixteen")
        };
        let alike = all(&effects);
        assert!((alike.effective_count - 4.0).abs() < 1e-9, "{alike:?}");
        // The variance between the four hosts.
        let variance: f64 =
            [0.0, 0.02, -0.02, 0.01].iter().map(|it: &f64| (it - 0.0025).powi(2)).sum::<f64>() / 3.0;
        assert!((alike.variance - variance).abs() < 1e-12);
        let mixed: Vec<f64> = (0..16).map(|gpu| of_host(gpu % 4)).collect();
        assert!((all(&mixed).effective_count - 16.0).abs() < 1e-9);
    }

    #[test]
    fn slow_gpus_do_not_hide_each_other() {
        let mut effects: Vec<f64> = (0..20).map(|i| f64::from(i % 5) * 0.001).collect();
        effects.extend([0.1, 0.1, 0.1, 0.1]);
        let column = column(&effects, &[0; 24]);
        let tests = tests(&column);
        assert!(tests[20..].iter().all(|p| p.expect("tested") < 1e-6), "{tests:?}");
    }

    /// Less is known of it, so that chance explains more.
    #[test]
    fn a_gpu_with_fewer_processes_needs_to_be_slower() {
        let p_of_last = |processes: &[f64]| {
            let others = [-0.01, 0.0, 0.01].map(|effect| vec![effect - 0.001, effect + 0.001]);
            let gpus = others.into_iter().chain([processes.to_vec()]).map(|processes| (0, processes));
            column_of(gpus).p_value(3, 0.01).expect("tested")
        };
        let (two, one) = (p_of_last(&[0.049, 0.051]), p_of_last(&[0.05]));
        assert!(one > 1.01 * two, "{one} of one process, {two} of two");
    }

    /// By hand: others of 0 ± 0.01, whose mean has the error 0.01/√3; Student's t of 95 % for three degrees of freedom is 3.182.
    #[test]
    fn an_effect_has_students_interval() {
        let mut column = column(&[-0.01, 0.0, 0.01, 0.05], &[0; 4]);
        column.slow.insert(3);
        let found = column.comparison(3, 0.01).expect("it was measured");
        let half = 3.182_446 * 0.01 / 3.0_f64.sqrt();
        for (found, log) in
            [(found.effect, 0.05), (found.interval[0], 0.05 - half), (found.interval[1], 0.05 + half)]
        {
            assert!((found.ln_1p() - log).abs() < 1e-6, "{found}, {log} expected");
        }
        assert_eq!((found.verdict, found.processes), (GpuVerdict::Slow, 2));
        let verdicts = [0, 1, 2].map(|gpu| column.comparison(gpu, 0.01).expect("it was measured").verdict);
        assert_eq!(verdicts, [GpuVerdict::Normal; 3]);
    }

    #[test]
    fn a_verdict_needs_gpus_and_processes_enough() {
        let verdict = |gpus: usize, processes: usize| {
            let column = column_of((0..gpus).map(|gpu| (0, vec![gpu as f64 * 1e-4; processes])));
            let standing = column.comparison(0, 0.01).expect("it was measured");
            standing.lack.map_or(Ok(standing.verdict), Err)
        };
        assert_eq!(verdict(3, 2), Err(InsufficientData::Gpus(3)));
        assert_eq!(verdict(4, 2), Ok(GpuVerdict::Normal));
        assert_eq!(verdict(7, 1), Err(InsufficientData::Processes));
        assert_eq!(verdict(8, 1), Ok(GpuVerdict::Normal));
    }

    #[test]
    fn between_whole_degrees_of_freedom_a_probability_is_on_the_line() {
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        near(t_tail_probability(2.0, 3.25), 0.75 * student_tail(2.0, 3) + 0.25 * student_tail(2.0, 4));
        near(t_tail_probability(2.0, 3.0), student_tail(2.0, 3));
        near(t_tail_probability(2.0, 0.5), student_tail(2.0, 1));
    }

    fn reference_gpus(
        members: &[(usize, f64)],
        hosts: &[usize],
        least_variance: f64,
    ) -> Option<ReferenceGpus> {
        let gpus: Vec<(usize, f64)> =
            members.iter().map(|(number, value)| (hosts[*number], *value)).collect();
        ReferenceGpus::new(&gpus, least_variance)
    }

    /// By hand, of hosts with two, two and one: 0.00054 between hosts, 0.0002 within one, and 1.6 GPUs a host.
    #[test]
    fn hosts_of_unequal_size_have_their_share() {
        let members: Vec<(usize, f64)> = [0.0, 0.02, 0.03, 0.05, 0.01].into_iter().enumerate().collect();
        let all = reference_gpus(&members, &[0, 0, 1, 1, 2], 0.0).expect("five");
        let of_host = (0.00054 - 0.0002) / 1.6;
        let share = of_host / (of_host + 0.0002);
        let alike = 1.0 + 0.8 * share;
        assert!((all.effective_count - 5.0 / alike).abs() < 1e-12, "{}", all.effective_count);
        assert!((all.center - 0.022).abs() < 1e-12);
        assert!((all.variance - (0.00108 + 0.0004) / (5.0 - alike)).abs() < 1e-12, "{}", all.variance);
    }

    /// The others of a GPU are all but that one, and all of them if it is found.
    #[test]
    fn the_others_of_a_gpu_are_all_without_it() {
        const HOSTS: [usize; 6] = [0, 0, 1, 1, 2, 0];
        let values = [0.0, 0.02, 0.03, 0.05, 0.01, 0.7];
        let mut column = column(&values, &HOSTS);
        column.slow.insert(5);
        let told = |of: Option<ReferenceGpus>| {
            of.map(|of| [of.center, of.variance, of.effective_count].map(|it| (it * 1e9).round()))
        };
        let members: Vec<(usize, f64)> = values[..5].iter().copied().enumerate().collect();
        for number in 0..6 {
            let rest: Vec<_> = members.iter().copied().filter(|(other, _)| *other != number).collect();
            let expected = told(reference_gpus(&rest, &HOSTS, LEAST_SPREAD.powi(2)));
            let is_found = told(column.reference_gpus(Some(number)));
            assert_eq!(is_found, expected, "{number}");
        }
        let alone = reference_gpus(&members[..1], &HOSTS, 1e-4);
        assert_eq!(told(alone), Some([0.0, 1e5, 1e9]), "one has no spread but the least");
        assert!(reference_gpus(&[], &HOSTS, 1e-4).is_none());
    }

    #[test]
    fn several_roofs_count_together() {
        assert_eq!(simes(&[(0, 0.02), (1, 0.5)]), Some(0.04));
        assert_eq!(simes(&[(0, 0.02), (1, 0.02)]), Some(0.02));
        assert_eq!(simes(&[]), None);
    }

    /// 100 GPUs, of which two are found: a roof of these must then be below 1 % · 2 / 100.
    #[test]
    fn roofs_of_a_found_gpu_have_a_limit_of_their_own() {
        let mut tests = vec![vec![(0, 0.9), (1, 0.8)]; 100];
        tests[3] = vec![(0, 1e-7), (1, 1e-3)];
        tests[7] = vec![(0, 1e-5), (1, 1e-4)];
        tests[9] = vec![(1, 0.8)];
        let mut found = discoveries(&tests, 0.01);
        found.sort_unstable();
        assert_eq!(found, [(3, 0), (7, 0), (7, 1)]);
    }
}
