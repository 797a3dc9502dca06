//! The list of stored runs: a line for each, or a few if a line is too long for the page. In: runs with their names; out:
//! lines, in the order given.

use std::ops::Range;
use std::path::Path;

use super::aligned::columns;
use super::page::Page;
use super::text::{paragraph, plain, spaces, width, wrapped};
use gpubench_records::counts::ResultCounts;
use gpubench_records::files::time_of_day;
use gpubench_records::record::Run;

/// A line of the list: the facts of a stored run that it shows, so that not all runs are in memory at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRun {
    /// The number by which it can be named.
    number: Option<usize>,
    name: String,
    contents: LineContent,
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LineContent {
    /// The file is a run.
    Run(RunFacts),
    /// The file cannot be read, for this reason.
    Unreadable(String),
}

/// The facts of a run that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RunFacts {
    started: String,
    suite: String,
    devices: String,
    cases: String,
    valid: usize,
    suspect: usize,
    invalid: usize,
    path: String,
}

impl ListedRun {
    /// The line of `run`, which is called `name` and stored at `path`.
    #[must_use]
    pub fn of(name: &str, path: &Path, run: &Run) -> Self {
        let ResultCounts { results, valid, suspect, invalid, missing, .. } = run.counts();
        let cases = if missing == 0 { results.to_string() } else { format!("{results} of {}", run.planned) };
        let devices: Vec<String> = run.devices.iter().map(|facts| plain(&facts.name)).collect();
        let contents = RunFacts {
            started: time_of_day(run.started).replace('T', " ").replace('Z', ""),
            suite: plain(&run.program.suite),
            devices: devices.join(", "),
            cases,
            valid,
            suspect,
            invalid,
            path: plain(&path.display().to_string()),
        };
        Self { number: None, name: plain(name), contents: LineContent::Run(contents) }
    }

    /// The line of a file that is no run, with the reason.
    #[must_use]
    pub fn unreadable(name: &str, why: &str) -> Self {
        Self { number: None, name: plain(name), contents: LineContent::Unreadable(plain(why)) }
    }

    fn contents(&self) -> Option<&RunFacts> {
        match &self.contents {
            LineContent::Run(contents) => Some(contents),
            LineContent::Unreadable(_) => None,
        }
    }

    /// The same line with the number by which the run can be named.
    #[must_use]
    pub fn numbered(self, number: usize) -> Self {
        Self { number: Some(number), ..self }
    }
}

const HEADS: [&str; 10] =
    ["#", "name", "started (UTC)", "suite", "device", "cases", "valid", "suspect", "invalid", "path"];
/// The place of the name, with which a list without numbers begins.
const NAME: usize = 1;
/// The columns of numbers.
const NUMBERS: Range<usize> = 5..9;

/// The list as it is printed.
#[must_use]
pub fn listing(runs: &[ListedRun], page: Page) -> String {
    let first = if runs.iter().any(|run| run.number.is_some()) { 0 } else { NAME };
    let readable: Vec<_> = runs.iter().filter_map(|run| Some((run, run.contents()?))).collect();
    let rows = readable.iter().map(|(run, contents)| cells(run, contents));
    let rows: Vec<_> = std::iter::once(HEADS.map(str::to_owned)).chain(rows).collect();
    // The path can be told from the name, and goes first.
    let ends = [HEADS.len(), HEADS.len() - 1].into_iter();
    let table = ends.into_iter().find_map(|end| table(&rows, first..end, page));
    let stacked = || readable.iter().map(|(run, contents)| stacked(run, contents, page)).collect();
    let readable = if readable.is_empty() { String::new() } else { table.unwrap_or_else(stacked) };
    let unreadable = runs.iter().filter_map(|run| {
        let LineContent::Unreadable(why) = &run.contents else { return None };
        Some(paragraph(&format!("{}{}: {why}", number(run), run.name), page))
    });
    unreadable.fold(readable, |text, line| text + &line)
}

fn cells(run: &ListedRun, contents: &RunFacts) -> [String; HEADS.len()] {
    let RunFacts { started, suite, devices, cases, valid, suspect, invalid, path } = contents.clone();
    let number = run.number.map(|number| number.to_string()).unwrap_or_default();
    let [valid, suspect, invalid] = [valid, suspect, invalid].map(|count| count.to_string());
    [number, run.name.clone(), started, suite, devices, cases, valid, suspect, invalid, path]
}

/// The number of a run and the space behind it.
fn number(run: &ListedRun) -> String {
    run.number.map(|number| format!("{number}  ")).unwrap_or_default()
}

/// These columns, if `page` has room for them.
fn table(rows: &[[String; HEADS.len()]], shown: Range<usize>, page: Page) -> Option<String> {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row[shown.clone()].to_vec()).collect();
    let numbers = NUMBERS.start - shown.start..NUMBERS.end - shown.start;
    let lines: Vec<String> = columns(&rows, numbers, Page::default()).into_iter().flatten().collect();
    // Nothing is above this table that it would be indented under.
    let lines = || lines.iter().map(|line| line.trim_start_matches("  "));
    let room = page.width().unwrap_or(usize::MAX);
    lines().all(|line| width(line) <= room).then(|| lines().map(|line| format!("{line}\n")).collect())
}

/// A run in a few lines.
fn stacked(run: &ListedRun, contents: &RunFacts, page: Page) -> String {
    let RunFacts { started, suite, devices, cases, valid, suspect, invalid, path } = contents;
    let number = number(run);
    let indent = spaces(number.len().max(2));
    let plural = if cases == "1" { "" } else { "s" };
    let counts = format!("{cases} case{plural}: {valid} valid, {suspect} suspect, {invalid} invalid");
    let first = wrapped(&run.name, &number, page).into_iter();
    // The name of a run in a file tells the file.
    let path = (!run.name.starts_with(&**path)).then(|| path.clone());
    let lines = [format!("{suite} on {devices}, started {started} UTC"), counts].into_iter().chain(path);
    let others: Vec<String> = lines.collect();
    let others = others.iter().flat_map(|line| wrapped(line, &indent, page));
    first.chain(others).map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use gpubench_records::files;

    fn list() -> Vec<ListedRun> {
        let lines = include_bytes!("../../gpubench-runtime/tests/parsing/corpus/runs/faults.jsonl");
        let mut run = files::read(&lines[..]).expect("a run").run;
        let path = Path::new("target/gpubench/runs/2026-08-02T12-33-10Z/records.jsonl");
        let first = ListedRun::of("2026-08-02T12-33-10Z", path, &run);
        run.planned += 3;
        run.program.suite = "\u{1b}[31mred".to_owned();
        let damaged =
            ListedRun::unreadable("2026-07-31T12-33-10Z", "it is empty, and no line of it is that of a run");
        let all = [first, ListedRun::of("2026-08-01T12-33-10Z", path, &run), damaged];
        all.into_iter().zip(1..).map(|(run, number)| run.numbered(number)).collect()
    }

    #[test]
    fn lists_look_so() {
        assert_snapshot!("list-piped", listing(&list(), Page::default()));
        for columns in [40, 80, 130] {
            let text = listing(&list(), Page::default().with_width(columns));
            assert_eq!(text.lines().find(|line| width(line) > columns), None, "at {columns} columns");
            assert_snapshot!(format!("list-{columns}"), text);
        }
        assert!(!listing(&list(), Page::default()).contains('\u{1b}'));
    }
}
