//! Peaks of a run: those that it measures as ceilings, and those that are known before. In: the plan or the measured run
//! of `--measure-peaks`, or the options of any other. Out: the cases to measure, stored ceilings, or [`PeakSources`].

use std::collections::BTreeSet;

use super::SuiteError;
use super::cli::Exit;
use super::measure::run_config;
use super::options::MeasureOptions;
use super::prepare::{Task, kinds_of};
use super::show::Printer;
use crate::devices::kinds;
use crate::peaks::{PeakSources, ceiling_cache};
use crate::plan::Plan;
use crate::registry::Entry;
use crate::runner::supervisor::Supervisor;
use crate::runner::{RunEvents, variants};
use gpubench_records::facts::{Peak, Quantity};
use gpubench_records::record::Run;
use gpubench_report as report;

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
pub(super) fn store(run: &mut Run, options: &MeasureOptions, events: &mut dyn RunEvents) -> Vec<SuiteError> {
    let mut problems = Vec::new();
    let reached: Vec<_> = run.devices.iter().map(|facts| kinds::reached(run, &facts.device)).collect();
    for (facts, reached) in run.devices.iter_mut().zip(reached) {
        let stored = match ceiling_cache(options.cache_dir.as_deref()) {
            Some(folder) => folder.keep(facts, &reached).map_err(SuiteError::from),
            None => Err(SuiteError::NoCeilingsFolder),
        };
        match stored {
            Ok(Some(file)) => events.ceilings_stored(&file),
            Ok(None) => {}
            Err(error) => problems.push(error),
        }
        facts.add(reached.into_iter().map(|ceiling| ceiling.peak).collect());
    }
    problems
}

/// Returns the device of this program whose peaks the cache keeps, if the user `wanted` no other.
pub(super) fn of_this_machine(wanted: Option<&str>) -> Option<&'static str> {
    kinds_of(&Task::Measure.entries())
        .into_iter()
        .find(|kind| kinds::keeps_peaks(kind) && wanted.is_none_or(|wanted| wanted == *kind))
}

/// Measures the peaks of `device` and stores them in the place of earlier ones.
pub(super) fn measure_again(
    device: &str,
    options: &MeasureOptions,
    printer: &Printer<'_>,
) -> Result<Exit, SuiteError> {
    let ceilings = ceiling_cache(options.cache_dir.as_deref()).ok_or(SuiteError::NoCeilingsFolder)?;
    let sources = PeakSources { ceilings: Some(ceilings.clone()), ..PeakSources::default() };
    let config = run_config(options, sources, Vec::new(), None);
    let mut supervisor = Supervisor::new(config.in_process, config.libraries.clone(), &|| false);
    let mut facts = || {
        let facts = variants::facts(&mut supervisor, &config, device);
        facts.map_err(|cause| SuiteError::Ended { cause, signal: None, resumable: false })
    };
    // The device tells which file is its own.
    ceilings.forget(&facts()?.0)?;
    let measured = facts()?.0;
    supervisor.dismiss();
    printer.print(&report::peaks_of(&measured))?;
    Ok(Exit::Done)
}

/// Collects the peaks that devices do not report. Returns remarks on those of the user's file that no benchmark needs.
pub(super) fn peak_sources(
    task: Task,
    entries: &[&Entry],
    options: &MeasureOptions,
) -> Result<(PeakSources, Vec<String>), SuiteError> {
    refuse_unknown_precisions(entries, &options.peaks)?;
    let ceilings = ceiling_cache(options.cache_dir.as_deref()).filter(|_| task != Task::MeasurePeaks);
    let sources = PeakSources::of(options.peaks.clone(), options.config.as_deref(), ceilings)?;
    let remarks = sources.unknown_precisions(entries.iter().map(|entry| entry.options.precision));
    Ok((sources, remarks))
}

/// Refuses a peak for a precision that no benchmark has. A misspelt one would otherwise have no effect,
/// silently.
fn refuse_unknown_precisions(entries: &[&Entry], peaks: &[Peak]) -> Result<(), SuiteError> {
    let known: BTreeSet<&str> = entries.iter().map(|entry| entry.options.precision).collect();
    let precisions = peaks.iter().filter_map(|peak| match &peak.quantity {
        Quantity::Compute(precision) => Some(precision),
        _ => None,
    });
    match precisions.into_iter().find(|precision| !known.contains(precision.as_str())) {
        Some(precision) => {
            let precision = precision.clone();
            Err(SuiteError::UnknownPrecision { precision, known: known.into_iter().collect() })
        }
        None => Ok(()),
    }
}
