//! A stored run instead of a measurement: `--from`. In: the run's file or name, and the user's selection. Out: the run with
//! only the selected cases, compared and stored as requested.

use std::path::{Path, PathBuf};

use super::measure::{MeasuredRun, compare, save};
use super::messages::warn;
use super::options::{MeasureOptions, OptionsError, RunsDir};
use super::{StoredRunError, SuiteError};
use crate::plan::{Ignored, PlanError, Selection};
use crate::registry::Entry;
use gpubench_records::baseline::{Baseline, OpenBaselines};
use gpubench_records::facts::Facts;
use gpubench_records::files::{self, StoredRuns};
use gpubench_records::record::{Record, Run, Skipped};
use gpubench_records::selection::{NameFilter, narrow};

/// Returns the file that the user calls `wanted`: a path, or one of the runs that `suite` keeps. Nothing for standard input and a
/// baseline.
pub(super) fn file(
    wanted: &Path,
    suite: &str,
    options: &MeasureOptions,
) -> Result<Option<PathBuf>, SuiteError> {
    let found = wanted.to_str().map_or(Ok(Some(wanted.to_owned())), |name| kept(suite, options).file(name));
    Ok(found.map_err(StoredRunError::NotLoaded)?)
}

/// Reads the run that the user calls `wanted`, and keeps the cases that `options` select.
pub(super) fn read(
    wanted: &Path,
    suite: &str,
    entries: &[&Entry],
    options: &MeasureOptions,
) -> Result<Run, SuiteError> {
    // What is no text is no name of ours.
    let stored = wanted.to_str().map_or_else(|| files::load(wanted), |name| kept(suite, options).load(name));
    let stored = stored.map_err(StoredRunError::NotLoaded)?;
    stored.faults().iter().for_each(|fault| warn(&format!("{}: {fault}", wanted.display())));
    let mut run = stored.run;
    let before = (run.records.len(), run.skipped.len());
    let chosen = Chosen::of(entries, options, &run);
    let without_tags = chosen.benchmarks_without_known_tags(&run);
    let unmatched = chosen.unmatched(&run);
    chosen.narrow(&mut run);
    let left = (run.records.len(), run.skipped.len());
    if left == (0, 0) && left != before {
        let (cases, selection) = (before.0 + before.1, chosen.selection.describe_all());
        let file = wanted.to_owned();
        return Err(StoredRunError::NothingSelected { file, cases, selection, without_tags }.into());
    }
    unmatched
        .iter()
        .for_each(|filter| warn(&format!("no benchmark of {} matches `{filter}`", wanted.display())));
    if let Some(name) = options.selection.cases.unknown_arg(&run) {
        return Err(PlanError::NoSuchAxis(name.to_owned()).into());
    }
    // Its cases may have been compared with each other when they were measured.
    let compared = options.baseline.is_some() || run.records.iter().any(|record| record.compared.is_some());
    match options.threshold {
        Some(_) if !compared => Err(OptionsError::NoReference.into()),
        _ => Ok(run),
    }
}

/// Compares a stored run with a baseline, and stores it as one, as requested.
pub(super) fn finish(
    mut run: Run,
    baselines: &OpenBaselines,
    entries: &[&Entry],
    options: &MeasureOptions,
) -> MeasuredRun {
    compare(&mut run, baselines, entries, options);
    let problems = save(&mut run, baselines).err().into_iter().collect();
    MeasuredRun { run, problems, is_stored: true }
}

/// Returns the baseline that `--baseline last` means: the newest complete run of `suite` that began before `started`.
pub(super) fn last_baseline(
    suite: &str,
    started: u64,
    options: &MeasureOptions,
) -> Result<Option<Baseline>, SuiteError> {
    if options.baseline.as_deref() != Some(files::LAST) {
        return Ok(None);
    }
    let found = kept(suite, options).before(suite, started).map_err(StoredRunError::NotLoaded)?;
    Ok(Some(Baseline::of(found.name, found.run)))
}

/// The runs that `suite` keeps.
fn kept(suite: &str, options: &MeasureOptions) -> StoredRuns {
    let runs = match &options.runs_dir {
        RunsDir::In(folder) => Some(&**folder),
        RunsDir::Usual | RunsDir::Nowhere => None,
    };
    StoredRuns::of_program(suite, runs)
}

/// The selected cases of a stored run.
struct Chosen<'a> {
    entries: &'a [&'a Entry],
    selection: Selection,
    /// The names of the selected devices.
    devices: Vec<String>,
}

impl<'a> Chosen<'a> {
    fn of(entries: &'a [&'a Entry], options: &MeasureOptions, run: &Run) -> Self {
        let mut selection = options.selection.clone();
        if selection.ignored == Ignored::Left {
            // The user who measured these had requested them.
            selection.ignored = Ignored::Included;
        }
        selection.cases.device = options.device.clone();
        let devices = run.devices.iter().filter(|facts| selection.cases.takes_device(facts));
        let devices = devices.map(|facts| facts.device.clone()).collect();
        Self { entries, selection, devices }
    }

    /// Removes everything that is not selected from `run`: cases, skipped cases, and devices without cases.
    fn narrow(&self, run: &mut Run) {
        let takes_device = |facts: &Facts| self.devices.contains(&facts.device);
        narrow(run, &|record| self.takes(record), &|skipped| self.takes_skipped(skipped), &takes_device);
    }

    fn takes(&self, record: &Record) -> bool {
        let case = &record.case;
        self.devices.contains(&record.device)
            && self.selection.takes(self.entries, &case.benchmark, &case.args, case.cache)
    }

    fn takes_skipped(&self, skipped: &Skipped) -> bool {
        self.devices.contains(&skipped.device)
            && self.selection.takes_benchmark(self.entries, &skipped.benchmark, &skipped.args)
    }

    /// Returns the filters that match none of the cases of `run`.
    fn unmatched(&self, run: &Run) -> Vec<NameFilter> {
        let cases = &self.selection.cases;
        let matches = |filter: &&NameFilter| {
            run.records.iter().any(|record| cases.hits(filter, &record.case.name()))
                || run.skipped.iter().any(|skipped| cases.hits(filter, &skipped.name()))
        };
        cases.filters.iter().filter(|filter| !matches(filter)).cloned().collect()
    }

    /// Returns the number of benchmarks that are left out because their tags are unknown here.
    fn benchmarks_without_known_tags(&self, run: &Run) -> usize {
        if self.selection.tags.is_empty() {
            return 0;
        }
        let mut unknown: Vec<&str> = run.records.iter().map(|record| &*record.case.benchmark).collect();
        unknown.retain(|benchmark| !self.entries.iter().any(|entry| entry.path() == *benchmark));
        unknown.sort_unstable();
        unknown.dedup();
        unknown.len()
    }
}
