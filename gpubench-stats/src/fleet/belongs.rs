//! A GPU against the others. In: the effects of GPUs on a roof, and their hosts; out: for each GPU the probability that one of
//! the others is this slow, and its standing.
//!
//! The others are all GPUs but this one and those that were found to be slow. From [`MANY_GPUS`] on, those far out on either
//! side are left out of them too, so that slow GPUs cannot hide behind the spread that they make themselves.

use super::crowd::Crowd;
use super::spread::{GpuEffect, Spread, between_processes, efficient_freedom, robust};
use super::{FEWEST_GPUS, FleetVerdict, Lack, MANY_GPUS, RoofResult, Standing};
use crate::median_ci::CONFIDENCE;
use crate::student;

/// GPUs that are further from the median than so many of a normal distribution are not among the others.
const NEAR: f64 = 0.9999;
/// GPUs differ by no less than this, a tenth of the best agreement between processes: equal medians are chance.
const LEAST_SPREAD: f64 = 1e-4;

/// An effect is not known well enough for a verdict if its interval is wider, to either side, than so many times the least
/// effect that counts.
const IMPRECISE: f64 = 10.0;

/// The effects of GPUs on a roof.
#[derive(Debug)]
pub(super) struct Column<'a> {
    gpus: Vec<Option<GpuEffect>>,
    hosts: &'a [usize],
    /// The standard deviation between processes, with its degrees of freedom.
    between_processes: Option<(f64, usize)>,
    /// True for each GPU that is not far out.
    near: Vec<bool>,
}

impl<'a> Column<'a> {
    pub(super) fn new(gpus: Vec<Option<GpuEffect>>, hosts: &'a [usize]) -> Self {
        let between_processes = between_processes(&gpus);
        let mut column = Self { near: vec![true; gpus.len()], gpus, hosts, between_processes };
        let mut sorted: Vec<f64> = column.values().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        if sorted.len() >= MANY_GPUS {
            let center = column.location();
            let all = column.crowd(&vec![false; column.len()]).all();
            // The robust spread of few GPUs, or of few hosts whose GPUs are alike, is itself not well known.
            let freedom = efficient_freedom(all.map_or(1.0, |all| all.independent - 1.0));
            let limit =
                student::quantile(NEAR, freedom) * robust(&sorted).unwrap_or_default().max(LEAST_SPREAD);
            let is_near =
                |gpu: &Option<GpuEffect>| gpu.as_ref().is_some_and(|gpu| (gpu.value - center).abs() <= limit);
            column.near = column.gpus.iter().map(is_near).collect();
        }
        column
    }

    /// The same with slow and fast exchanged.
    pub(super) fn mirrored(&self) -> Self {
        let gpus = self.gpus.iter().map(|gpu| gpu.as_ref().map(GpuEffect::mirrored)).collect();
        Self { gpus, near: self.near.clone(), ..*self }
    }

    /// The number of GPUs of the fleet.
    pub(super) fn len(&self) -> usize {
        self.gpus.len()
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.gpus.iter().flatten().map(|gpu| gpu.value)
    }

    /// The median effect.
    fn location(&self) -> f64 {
        crate::quantile::median_of(&mut self.values().collect::<Vec<_>>()).unwrap_or_default()
    }

    /// The probability of each GPU's effect if it belongs to the others; 1 where the effect is less than `least`. Nothing
    /// where there is too little data.
    pub(super) fn tests(&self, found: &[bool], least: f64) -> Vec<Option<f64>> {
        let crowd = self.crowd(found);
        let test = |(number, gpu): (usize, &Option<GpuEffect>)| {
            let gpu = gpu.as_ref()?;
            if self.lack().is_some() {
                return None;
            }
            let others = crowd.without(number, gpu)?;
            let difference = gpu.value - others.center;
            if difference.exp_m1() < least {
                return Some(1.0);
            }
            let variance = others.variance * (1.0 + 1.0 / others.independent) + self.extra_variance(gpu);
            Some(above(difference / variance.sqrt(), others.independent - 1.0))
        };
        self.gpus.iter().enumerate().map(test).collect()
    }

    /// The data that all GPUs lack.
    fn lack(&self) -> Option<Lack> {
        let gpus = self.values().count();
        match self.between_processes {
            _ if gpus < FEWEST_GPUS => Some(Lack::Gpus { gpus }),
            None if gpus < MANY_GPUS => Some(Lack::Processes),
            _ => None,
        }
    }

    /// The variance that a GPU has beyond the others because it has fewer processes than they have.
    fn extra_variance(&self, gpu: &GpuEffect) -> f64 {
        let Some((spread, _)) = self.between_processes else { return 0.0 };
        (gpu.variance(spread) - self.variance_of_processes()).max(0.0)
    }

    /// The mean variance that processes give the effect of a GPU.
    fn variance_of_processes(&self) -> f64 {
        let Some((spread, _)) = self.between_processes else { return 0.0 };
        let variances: f64 = self.gpus.iter().flatten().map(|gpu| gpu.variance(spread)).sum();
        variances / self.values().count() as f64
    }

    fn crowd(&self, found: &[bool]) -> Crowd<'a> {
        let is_in = |number: &usize| self.near[*number] && !found[*number];
        let members = (0..self.gpus.len()).filter(is_in);
        let members: Vec<(usize, f64)> =
            members.filter_map(|number| Some((number, self.gpus[number].as_ref()?.value))).collect();
        Crowd::of(&members, self.hosts, self.variance_of_processes().max(LEAST_SPREAD.powi(2)))
    }

    /// The standing of each GPU; `found` are the slow ones.
    pub(super) fn result(&self, found: &[bool], least: f64) -> RoofResult {
        let crowd = self.crowd(found);
        let tests = self.tests(found, least);
        let standing = |(number, gpu): (usize, &Option<GpuEffect>)| {
            let gpu = gpu.as_ref()?;
            Some(self.standing(gpu, &crowd, number, tests[number], found[number], least))
        };
        let gpus = self.gpus.iter().enumerate().map(standing).collect();
        let all = crowd.all();
        let spread = Spread {
            gpus: all.as_ref().map_or(0.0, |all| all.variance.sqrt()),
            common_to_host: all.map_or(0.0, |all| all.common_to_host),
            processes: self.between_processes.map(|(spread, _)| spread),
            count: self.values().count(),
        };
        RoofResult { spread, gpus }
    }

    fn standing(
        &self,
        gpu: &GpuEffect,
        crowd: &Crowd<'_>,
        number: usize,
        p: Option<f64>,
        is_slow: bool,
        least: f64,
    ) -> Standing {
        let others = crowd.without(number, gpu);
        let center = others.as_ref().map_or(self.location(), |others| others.center);
        let of_center = others.as_ref().map_or(0.0, |others| others.variance / others.independent);
        let (between, freedom) = self.between_processes.unwrap_or((0.0, 0));
        // Without a second process anywhere, the spread between the cases is all that is known of its error.
        let freedom = if freedom > 0 { freedom } else { gpu.cases.saturating_sub(1) }.max(1);
        let own = gpu.variance(between) + gpu.error_of_cases.powi(2);
        let half_of = |variance: f64| student::quantile(CONFIDENCE, freedom) * variance.sqrt();
        // How well this GPU is known, and how well it is known against the others.
        let (own, half) = (half_of(own), half_of(own + of_center));
        let difference = gpu.value - center;
        let effect = difference.exp_m1();
        let verdict = match self.lack() {
            _ if is_slow => FleetVerdict::Slow,
            Some(lack) => FleetVerdict::NotEnoughData(lack),
            None if own > IMPRECISE * least && difference + own > least.ln_1p() => {
                FleetVerdict::NotEnoughData(Lack::Precision { half_width: own.exp_m1() })
            }
            None => FleetVerdict::Normal,
        };
        Standing {
            effect,
            low: (difference - half).exp_m1(),
            high: (difference + half).exp_m1(),
            p,
            processes: gpu.processes(),
            between_processes: gpu.range().exp_m1(),
            cases: gpu.cases,
            verdict,
        }
    }
}

/// The probability of a value above `t` with so many degrees of freedom, whole or not. Between two whole numbers it lies on the
/// straight line, which is no lower than the truth.
fn above(t: f64, freedom: f64) -> f64 {
    let freedom = freedom.max(1.0);
    let (whole, part) = (freedom.floor(), freedom.fract());
    let at = |freedom: f64| student::above(t, freedom as usize);
    (1.0 - part) * at(whole) + if part > 0.0 { part * at(whole + 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(effects: &[f64], hosts: &'static [usize]) -> Column<'static> {
        let gpus = effects.iter().map(|effect| GpuEffect::of(vec![*effect, *effect])).collect();
        Column::new(gpus, hosts)
    }

    /// By hand: the others are 0 ± 0.01, so that the difference is 0.05 and its error 0.01·√(4/3), with two degrees of freedom.
    #[test]
    fn a_gpu_is_held_against_the_others_by_students_t() {
        let column = column(&[-0.01, 0.0, 0.01, 0.05], &[0; 4]);
        let tests = column.tests(&[false; 4], 0.01);
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
        let all = |effects: &[f64]| column(effects, &HOSTS).crowd(&[false; 16]).all().expect("sixteen");
        let alike = all(&effects);
        assert!((alike.common_to_host - 1.0).abs() < 1e-9 && (alike.independent - 4.0).abs() < 1e-9);
        // The variance between the four hosts.
        let variance: f64 =
            [0.0, 0.02, -0.02, 0.01].iter().map(|it: &f64| (it - 0.0025).powi(2)).sum::<f64>() / 3.0;
        assert!((alike.variance - variance).abs() < 1e-12);
        let mixed: Vec<f64> = (0..16).map(|gpu| of_host(gpu % 4)).collect();
        assert_eq!(all(&mixed).common_to_host, 0.0);
    }

    #[test]
    fn slow_gpus_do_not_hide_each_other() {
        let mut effects: Vec<f64> = (0..20).map(|i| f64::from(i % 5) * 0.001).collect();
        effects.extend([0.1, 0.1, 0.1, 0.1]);
        let column = column(&effects, &[0; 24]);
        let tests = column.tests(&[false; 24], 0.01);
        assert!(tests[20..].iter().all(|p| p.expect("tested") < 1e-6), "{tests:?}");
    }

    /// Less is known of it, so that chance explains more.
    #[test]
    fn a_gpu_with_fewer_processes_needs_to_be_slower() {
        let p_of_last = |processes: &[f64]| {
            let others = [-0.01, 0.0, 0.01].map(|effect| vec![effect - 0.001, effect + 0.001]);
            let gpus = others.into_iter().chain([processes.to_vec()]).map(GpuEffect::of).collect();
            Column::new(gpus, &[0; 4]).tests(&[false; 4], 0.01)[3].expect("tested")
        };
        let (two, one) = (p_of_last(&[0.049, 0.051]), p_of_last(&[0.05]));
        assert!(one > 1.01 * two, "{one} of one process, {two} of two");
    }

    /// By hand: others of 0 ± 0.01, whose mean has the error 0.01/√3; Student's t of 95 % for three degrees of freedom is 3.182.
    #[test]
    fn an_effect_has_students_interval() {
        let column = column(&[-0.01, 0.0, 0.01, 0.05], &[0; 4]);
        let result = column.result(&[false, false, false, true], 0.01);
        let found = result.gpus[3].as_ref().expect("it was measured");
        let half = 3.182_446 * 0.01 / 3.0_f64.sqrt();
        for (found, log) in [(found.effect, 0.05), (found.low, 0.05 - half), (found.high, 0.05 + half)] {
            assert!((found.ln_1p() - log).abs() < 1e-6, "{found}, {log} expected");
        }
        assert_eq!((found.verdict, found.processes, found.between_processes), (FleetVerdict::Slow, 2, 0.0));
        assert!((result.spread.gpus - 0.01).abs() < 1e-12 && result.spread.count == 4, "{:?}", result.spread);
        assert_eq!((result.spread.common_to_host, result.spread.processes), (0.0, Some(0.0)));
        assert!(result.gpus[..3].iter().flatten().all(|gpu| gpu.verdict == FleetVerdict::Normal));
    }

    #[test]
    fn a_verdict_needs_gpus_and_processes_enough() {
        let verdict = |gpus: usize, processes: usize| {
            let effects = (0..gpus).map(|gpu| GpuEffect::of(vec![gpu as f64 * 1e-4; processes])).collect();
            let result = Column::new(effects, &[0; 9]).result(&[false; 9][..gpus], 0.01);
            result.gpus[0].as_ref().expect("it was measured").verdict
        };
        assert_eq!(verdict(3, 2), FleetVerdict::NotEnoughData(Lack::Gpus { gpus: 3 }));
        assert_eq!(verdict(4, 2), FleetVerdict::Normal);
        assert_eq!(verdict(7, 1), FleetVerdict::NotEnoughData(Lack::Processes));
        assert_eq!(verdict(8, 1), FleetVerdict::Normal);
    }

    #[test]
    fn between_whole_degrees_of_freedom_a_probability_is_on_the_line() {
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        near(above(2.0, 3.25), 0.75 * student::above(2.0, 3) + 0.25 * student::above(2.0, 4));
        near(above(2.0, 3.0), student::above(2.0, 3));
        near(above(2.0, 0.5), student::above(2.0, 1));
    }
}
