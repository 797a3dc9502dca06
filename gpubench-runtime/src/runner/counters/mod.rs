//! Counters by Nsight Compute (`--verify ncu`): this program runs itself under `ncu`, with all cases of a device in one process for each
//! state of the caches, before any of them is sampled. In: the plan; out: the counters of each case, or the reason that there are none.

mod child;
mod command;
mod counted;
mod refusal;
mod table;

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

pub(crate) use self::child::{FLAG, serve};

use self::command::Ncu;
use crate::devices::kinds;
use crate::plan::{Fate, Job, Plan};
use crate::runner::{RunConfig, Stop};
use gpubench_records::certificate::NcuPass;
use gpubench_records::facts::Facts;
use gpubench_records::id::PlannedCase;
use gpubench_records::method::Cache;
use gpubench_records::record::Record;

/// The launches of each case.
const LAUNCHES: usize = 3;

/// The counters of cases.
#[derive(Debug, Default)]
pub(crate) struct CaseCounters(HashMap<PlannedCase, NcuPass>);

impl CaseCounters {
    /// Stores the counters of a case in its record, if they were asked for, and judges its claim by them.
    pub(super) fn add_to(&self, record: &mut Record, facts: Option<&Facts>) {
        if let Some(pass) = self.0.get(&record.planned()) {
            record.set_ncu(pass.clone(), facts);
        }
    }
}

/// Counts the measured cases of a plan, if that is asked for.
pub(super) fn of(
    plan: &Plan,
    config: &RunConfig,
    stop: &Stop<'_>,
    warn: &mut dyn FnMut(&str),
) -> CaseCounters {
    let count = |cases: &[Job], cache, limit| passes(&Ncu::find()?, cases, cache, (limit, config, stop));
    counted_by(&count, plan, config, stop, warn)
}

/// Counts cases of one device in one state of the caches, all of which may take so long.
type Count<'a> = dyn Fn(&[Job], Cache, Duration) -> Result<Vec<NcuPass>, String> + 'a;

fn counted_by(
    count: &Count<'_>,
    plan: &Plan,
    config: &RunConfig,
    stop: &Stop<'_>,
    warn: &mut dyn FnMut(&str),
) -> CaseCounters {
    let mut found = CaseCounters::default();
    let measured = plan.jobs.iter().filter(|(_, fate)| *fate == Fate::Measured).map(|(job, _)| job);
    let jobs: Vec<&Job> = measured.filter(|job| kinds::is_profiled(&job.device)).collect();
    if config.verifiers.any() && jobs.is_empty() {
        warn("--verify: no case is on a device that other tools look at, so that none is verified");
    }
    if !config.verifiers.ncu {
        return found;
    }
    let devices: BTreeSet<&str> = jobs.iter().map(|job| &*job.device).collect();
    for device in devices {
        for cache in [Cache::Hot, Cache::Cold] {
            let cases: Vec<Job> = jobs
                .iter()
                .filter(|job| job.device == device && job.caches.contains(&cache))
                .map(|job| (*job).clone())
                .collect();
            if cases.is_empty() || stop() {
                continue;
            }
            let limit: Duration = cases.iter().map(|job| config.limit(job)).sum();
            let passes = count(&cases, cache, limit).unwrap_or_else(|why| {
                warn(&format!("no counters of {cache} cases on `{device}`: {why}"));
                vec![NcuPass::Failed(why); cases.len()]
            });
            found.0.extend(cases.iter().map(|job| job.case(cache)).zip(passes));
        }
    }
    found
}

/// Counts cases in one process. If Nsight Compute takes none of the metrics, counts the usual ones alone.
fn passes(
    ncu: &Ncu,
    cases: &[Job],
    cache: Cache,
    (limit, config, stop): (Duration, &RunConfig, &Stop<'_>),
) -> Result<Vec<NcuPass>, String> {
    let mut refused = String::new();
    for metrics in [command::all_metrics(), command::usual_metrics()] {
        let run = ncu.run(cases, (cache, LAUNCHES), &metrics, &config.libraries, (limit, stop))?;
        let kernels = table::read(&run.printed);
        if !kernels.is_empty() {
            return Ok(counted::passes(&kernels, cases.len(), &run.failures));
        }
        if let Some(why) = run.failures.values().next().filter(|_| run.failures.len() == cases.len()) {
            return Err(why.clone());
        }
        refused = refusal::reason(&run.printed).unwrap_or_else(|| run.ended());
        if !refused.starts_with(refusal::TOLD) {
            break;
        }
    }
    Err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Shares;
    use gpubench_records::certificate::Verifiers;
    use gpubench_records::failure::{Failure, Stage};

    fn job(benchmark: &str, device: &str, caches: &[Cache]) -> Job {
        Job {
            benchmark: benchmark.to_owned(),
            args: Vec::new(),
            device: device.to_owned(),
            caches: caches.to_vec(),
            timeout: None,
            with: None,
            shares: Shares::Nothing,
        }
    }

    /// Counts a plan by `count`; returns what is known of each case, and the warnings.
    fn counted(plan: &Plan, ncu: bool, stops: bool, count: &Count<'_>) -> (CaseCounters, Vec<String>) {
        let mut config = crate::runner::tests::config(1);
        config.verifiers = Verifiers { cupti: true, ncu };
        let mut warnings = Vec::new();
        let mut warn = |warning: &str| warnings.push(warning.to_owned());
        let found = counted_by(count, plan, &config, &|| stops, &mut warn);
        (found, warnings)
    }

    /// All cases of a device in one state of the caches share a process, and their limits.
    #[test]
    fn cases_are_counted_by_device_and_state_of_the_caches() {
        let both = [Cache::Hot, Cache::Cold];
        let broken = Fate::Broken(Failure::new(Stage::Args, "no values"));
        let jobs = vec![
            (job("a", "cuda:0", &both), Fate::Measured),
            (job("b", "cuda:0", &both[..1]), Fate::Measured),
            (job("c", "cuda:1", &both[..1]), Fate::Measured),
            (job("d", "host", &both), Fate::Measured),
            (job("e", "cuda:0", &both), broken),
        ];
        let plan = Plan { jobs, ..Plan::default() };
        let asked = std::cell::RefCell::new(Vec::new());
        let count = |cases: &[Job], cache: Cache, limit: Duration| {
            let names: String = cases.iter().map(|job| &*job.benchmark).collect();
            asked.borrow_mut().push(format!("{names} {cache} on {} for {limit:?}", cases[0].device));
            match cache {
                Cache::Cold => Err("it is busy".to_owned()),
                _ => Ok(cases.iter().map(|job| NcuPass::Failed(format!("of {}", job.benchmark))).collect()),
            }
        };
        let (found, warnings) = counted(&plan, true, false, &count);
        let expected = ["ab hot on cuda:0 for 14s", "a cold on cuda:0 for 7s", "c hot on cuda:1 for 7s"];
        assert_eq!(*asked.borrow(), expected);
        assert_eq!(warnings, ["no counters of cold cases on `cuda:0`: it is busy"]);
        let of = |job: &Job, cache| match found.0.get(&job.case(cache)) {
            Some(NcuPass::Failed(why)) => Some(why.clone()),
            _ => None,
        };
        let known: Vec<_> = plan.jobs.iter().flat_map(|(job, _)| both.map(|cache| of(job, cache))).collect();
        let told = |why: &str| Some(why.to_owned());
        let expected = [told("of a"), told("it is busy"), told("of b"), None, told("of c"), None];
        assert_eq!((&known[..6], found.0.len()), (&expected[..], 4));
        // A record gets what is known of its case.
        let mut record = crate::runner::tests::scripted::record(
            &plan.jobs[1].0,
            crate::runner::tests::scripted::measurement("clockwork.jsonl"),
        );
        found.add_to(&mut record, None);
        let verification = record.measurement.and_then(|measured| measured.verification);
        assert_eq!(verification.and_then(|it| it.ncu), Some(NcuPass::Failed("of b".to_owned())));
    }

    #[test]
    fn nothing_is_counted_that_was_not_asked_for_or_cannot_be() {
        let plan = |device: &str| Plan {
            jobs: vec![(job("a", device, &[Cache::Hot]), Fate::Measured)],
            ..Plan::default()
        };
        let nobody: &Count<'_> = &|_, _, _| panic!("it is not counted");
        for (device, ncu, stops) in [("cuda:0", false, false), ("cuda:0", true, true), ("host", true, false)]
        {
            let (found, warnings) = counted(&plan(device), ncu, stops, nobody);
            assert!(found.0.is_empty());
            let none = "--verify: no case is on a device that other tools look at, so that none is verified";
            assert_eq!(warnings, if device == "host" { vec![none] } else { Vec::new() });
        }
    }
}
