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
    let ncu = Ncu::find();
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
            let passes = match &ncu {
                Ok(ncu) => passes(ncu, &cases, cache, (limit, config, stop)),
                Err(why) => Err(why.clone()),
            };
            let passes = passes.unwrap_or_else(|why| {
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
