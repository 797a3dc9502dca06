//! Peaks of a run: those that it measures as ceilings, and those that are known before. In: the plan or the measured run
//! of `--measure-peaks`, or the options of any other. Out: the cases to measure, stored ceilings, or [`PeakSources`].

use super::SuiteError;
use super::prepare::Task;
use crate::devices::kinds;
use crate::peaks::{PeakSources, ceiling_cache};
use crate::plan::Plan;
use crate::registry::Entry;
use crate::runner::RunEvents;
use crate::settings::Settings;
use gpubench_records::record::Run;

/// Sets the cache state of each ceiling benchmark to the one that its limit needs.
pub(super) fn settle(plan: &mut Plan) {
    for (job, _) in &mut plan.jobs {
        let ceilings = kinds::ceilings_of(&job.device);
        if let Some(cache) = ceilings.and_then(|ceilings| (ceilings.cache)(&job.benchmark)) {
            job.caches = vec![cache];
        }
    }
}

/// Stores the ceilings that a run has measured, and adds them to the run for display. Returns the problems.
pub(super) fn store(run: &mut Run, options: &Settings, events: &mut dyn RunEvents) -> Vec<SuiteError> {
    let mut problems = Vec::new();
    let reached: Vec<_> = run.devices.iter().map(|info| kinds::reached(run, &info.device)).collect();
    for (info, reached) in run.devices.iter_mut().zip(reached) {
        let stored = match ceiling_cache(options.cache_dir.as_deref()) {
            Some(folder) => folder.keep(info, &reached).map_err(SuiteError::from),
            None => Err(SuiteError::NoCeilingsFolder),
        };
        match stored {
            Ok(Some(file)) => events.ceilings_stored(&file),
            Ok(None) => {}
            Err(error) => problems.push(error),
        }
        info.add(reached.into_iter().map(|ceiling| ceiling.peak).collect());
    }
    problems
}

/// Collects the peaks that devices do not report. Returns remarks on those of the user's file that no benchmark needs.
pub(super) fn peak_sources(task: Task, entries: &[&Entry], options: &Settings) -> (PeakSources, Vec<String>) {
    let ceilings = ceiling_cache(options.cache_dir.as_deref()).filter(|_| task != Task::MeasurePeaks);
    let sources = PeakSources { stated: options.peaks.clone(), ceilings };
    let remarks = sources.unknown_data_types(entries.iter().map(|entry| entry.options.data_type));
    (sources, remarks)
}
