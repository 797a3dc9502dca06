//! A stored run instead of a measurement: `--from`. In: the file that `--json` wrote, and the user's
//! selection. Out: the run with only the selected cases, or the exit code if there is none.

use std::fs;
use std::path::Path;

use super::cli::{Exit, Options};
use super::messages::complain;
use crate::device::select;
use crate::plan::{Ignored, PlanError, Selection};
use crate::registry::Entry;
use gpubench_records::facts::{Facts, UUID, Value};
use gpubench_records::id::Arg;
use gpubench_records::record::{Record, Run, Skipped};
use gpubench_stats::format;

/// Reads the run in `file`, and keeps the cases that `options` select.
pub(super) fn stored(file: &Path, entries: &[&Entry], options: &Options) -> Result<Run, Exit> {
    let mut run =
        read(file).map_err(|why| complain(&format!("--from {}: {why}", file.display()), Exit::Usage))?;
    let there = (run.records.len(), run.skipped.len());
    let chosen = Chosen::of(entries, options, &run);
    let unknown = chosen.benchmarks_without_known_tags(&run);
    chosen.narrow(&mut run);
    let left = (run.records.len(), run.skipped.len());
    if left == (0, 0) && left != there {
        let (cases, tags) = (format::counted(there.0 + there.1, "case"), tags_unknown(unknown));
        let what = chosen.selection.describe_all(options.device.as_deref());
        let why = format!("--from {}: {cases}, none of which matches: {what}{tags}", file.display());
        return Err(complain(&why, Exit::Nothing));
    }
    let known = |name: &str| args_of(&run).any(|arg| arg.name == *name);
    match options.selection.args.keys().find(|name| !known(name)) {
        Some(name) => Err(complain(&PlanError::NoSuchAxis(name.clone()), Exit::Usage)),
        None => Ok(run),
    }
}

fn read(file: &Path) -> Result<Run, String> {
    let json = fs::read(file).map_err(|error| error.to_string())?;
    Run::parse(&json).map_err(|error| error.to_string())
}

/// Explains unknown tags: a stored run has none, and a program that lacks a benchmark does not know them
/// either.
fn tags_unknown(benchmarks: usize) -> String {
    match benchmarks {
        0 => String::new(),
        1 => " (1 of its benchmarks is not in this program, which does not know its tags)".to_owned(),
        many => {
            format!(" ({many} of its benchmarks are not in this program, which does not know their tags)")
        }
    }
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
    fn of(entries: &'a [&'a Entry], options: &Options, run: &Run) -> Self {
        let mut selection = options.selection.clone();
        if selection.ignored == Ignored::Left {
            // The user who measured these had requested them.
            selection.ignored = Ignored::Included;
        }
        let wanted = options.device.as_deref();
        let devices = run.devices.iter().filter(|facts| wanted.is_none_or(|wanted| is_named(wanted, facts)));
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

/// Returns true if `wanted`, in the form of `--device`, names the device of `facts`.
fn is_named(wanted: &str, facts: &Facts) -> bool {
    let uuid = facts.properties.iter().find_map(|property| match &property.value {
        Value::Text(uuid) if property.name == UUID => Some(uuid.as_str()),
        _ => None,
    });
    wanted == "all" || select::names(wanted, &facts.device, uuid)
}
