//! The list of stored runs: a line for each. In: runs with their names; out: aligned lines, in the order given.

use std::path::Path;

use super::aligned::columns;
use super::page::Page;
use gpubench_records::files::time_of_day;
use gpubench_records::record::Run;
use gpubench_records::verdict::State;

/// A line of the list: what of a stored run is shown there, so that the runs themselves need not be there at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRun {
    cells: Vec<String>,
}

impl ListedRun {
    /// The line of `run`, which is called `name` and stored at `path`.
    #[must_use]
    pub fn of(name: &str, path: &Path, run: &Run) -> Self {
        let count = |state| run.records.iter().filter(|record| record.verdict.state == state).count();
        let missing = run.planned.saturating_sub(run.records.len());
        let cases = if missing == 0 {
            run.records.len().to_string()
        } else {
            format!("{} of {}", run.records.len(), run.planned)
        };
        let devices: Vec<String> = run.devices.iter().map(|facts| facts.name.clone()).collect();
        let started = time_of_day(run.started).replace('T', " ").replace('Z', "");
        let [valid, suspect, invalid] = [State::Valid, State::Suspect, State::Invalid].map(count);
        let suite = run.program.suite.clone();
        let counts = [valid, suspect, invalid].map(|count| count.to_string());
        let mut cells = vec![name.to_owned(), started, suite, devices.join(", "), cases];
        cells.extend(counts);
        cells.push(path.display().to_string());
        Self { cells }
    }

    /// The line of a file that is no run, and why.
    #[must_use]
    pub fn unreadable(name: &str, why: &str) -> Self {
        Self { cells: vec![name.to_owned(), why.to_owned()] }
    }
}

/// The list as it is printed.
#[must_use]
pub fn listing(runs: &[ListedRun]) -> String {
    let head = ["name", "started (UTC)", "suite", "device", "cases", "valid", "suspect", "invalid", "path"];
    let (readable, unreadable): (Vec<_>, Vec<_>) = runs.iter().partition(|run| run.cells.len() == head.len());
    let rows = std::iter::once(head.map(str::to_owned).to_vec())
        .chain(readable.into_iter().map(|run| run.cells.clone()));
    let lines = columns(&rows.collect::<Vec<_>>(), 4..8, Page::default());
    let lines = lines.into_iter().flatten().map(|line| format!("{}\n", &line[2..]));
    let unreadable = unreadable.into_iter().map(|run| format!("{}\n", run.cells.join(": ")));
    lines.chain(unreadable).collect()
}
