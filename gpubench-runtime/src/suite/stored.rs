//! A stored run instead of a measurement: `--from`. In: the file that `--json` wrote, and the user's
//! selection. Out: the run with only the selected cases, compared and stored as requested.

use std::fs;
use std::path::Path;

use super::measure::{Measured, compare, save};
use super::options::{MeasureOptions, OptionsError};
use super::{Error, StoredRunError};
use crate::device::select;
use crate::plan::{Ignored, PlanError, Selection};
use crate::registry::Entry;
use gpubench_records::baseline::OpenBaselines;
use gpubench_records::facts::{Facts, UUID, Value};
use gpubench_records::id::Arg;
use gpubench_records::record::{Record, Run, Skipped};

/// Reads the run in `file`, and keeps the cases that `options` select.
pub(super) fn read(file: &Path, entries: &[&Entry], options: &MeasureOptions) -> Result<Run, Error> {
    let refused = |why| Error::StoredRun { file: file.to_owned(), why };
    let mut run = parse(file).map_err(refused)?;
    let before = (run.records.len(), run.skipped.len());
    let chosen = Chosen::of(entries, options, &run);
    let without_tags = chosen.benchmarks_without_known_tags(&run);
    chosen.narrow(&mut run);
    let left = (run.records.len(), run.skipped.len());
    if left == (0, 0) && left != before {
        let (cases, selection) =
            (before.0 + before.1, chosen.selection.describe_all(options.device.as_deref()));
        return Err(refused(StoredRunError::NothingSelected { cases, selection, without_tags }));
    }
    let has = |name: &str| args_of(&run).any(|arg| arg.name == *name);
    if let Some(name) = options.selection.args.keys().find(|name| !has(name)) {
        return Err(PlanError::NoSuchAxis(name.clone()).into());
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
) -> Measured {
    compare(&mut run, baselines, entries, options);
    let problems = save(&mut run, baselines).err().into_iter().collect();
    Measured { run, problems, is_stored: true }
}

fn parse(file: &Path) -> Result<Run, StoredRunError> {
    Ok(Run::parse(&fs::read(file)?)?)
}

fn args_of(run: &Run) -> impl Iterator<Item = &Arg> {
    let measured = run.records.iter().flat_map(|record| &record.case.args);
    measured.chain(run.skipped.iter().flat_map(|skipped| &skipped.args))
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
        let device = options.device.as_deref();
        let devices = run.devices.iter().filter(|facts| device.is_none_or(|device| is_named(device, facts)));
        Self { entries, selection, devices: devices.map(|facts| facts.device.clone()).collect() }
    }

    /// Removes everything that is not selected from `run`: cases, skipped cases, and devices without cases.
    fn narrow(&self, run: &mut Run) {
        let had: Vec<String> = devices_with_cases(run);
        let before = run.records.len();
        run.records.retain(|record| self.takes(record));
        run.planned -= (before - run.records.len()).min(run.planned);
        run.skipped.retain(|skipped| self.takes_skipped(skipped));
        let have = devices_with_cases(run);
        run.devices.retain(|facts| {
            let emptied = had.contains(&facts.device) && !have.contains(&facts.device);
            self.devices.contains(&facts.device) && !emptied
        });
    }

    fn takes(&self, record: &Record) -> bool {
        self.devices.contains(&record.case.device)
            && self.selection.takes(
                self.entries,
                &record.case.benchmark,
                &record.case.args,
                record.case.cache,
            )
    }

    fn takes_skipped(&self, skipped: &Skipped) -> bool {
        self.devices.contains(&skipped.device)
            && self.selection.takes_benchmark(self.entries, &skipped.benchmark, &skipped.args)
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

fn devices_with_cases(run: &Run) -> Vec<String> {
    let measured = run.records.iter().map(|record| &record.case.device);
    measured.chain(run.skipped.iter().map(|skipped| &skipped.device)).cloned().collect()
}

/// Returns true if `device`, in the form of `--device`, names the device of `facts`.
fn is_named(device: &str, facts: &Facts) -> bool {
    let uuid = facts.properties.iter().find_map(|property| match &property.value {
        Value::Text(uuid) if property.name == UUID => Some(uuid.as_str()),
        _ => None,
    });
    device == "all" || select::names(device, &facts.device, uuid)
}
