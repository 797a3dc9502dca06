//! The end of several suites. In: their exit codes and stored runs; out: a line for each, and the exit code of all.

use std::path::Path;

use gpubench_records::counts::ResultCounts;
use gpubench_records::exit::Exit;
use gpubench_records::files::load;

/// The end of one suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SuiteEnd {
    name: String,
    exit: Exit,
    counts: Option<ResultCounts>,
}

impl SuiteEnd {
    /// The end of the suite `name`, which stored its run in the file `run`, if it did.
    pub(super) fn of(name: String, exit: Exit, run: Option<&Path>) -> Self {
        let counts = run.and_then(|path| load(path).ok()).map(|stored| stored.run.counts());
        Self { name, exit, counts }
    }
}

/// Returns the exit code that counts: the most important one. A selection need not match in every suite.
pub(super) fn exit(ends: &[SuiteEnd]) -> Exit {
    let matched = ends.iter().map(|end| end.exit).filter(|exit| *exit != Exit::Nothing);
    matched.min().unwrap_or(Exit::Nothing)
}

/// Returns a line for each suite, and one for all.
pub(super) fn summary(ends: &[SuiteEnd]) -> String {
    let width = ends.iter().map(|end| end.name.chars().count()).max().unwrap_or(0);
    let lines = ends.iter().map(|end| {
        let counts = end.counts.map_or_else(String::new, |counts| format!("{}; ", counted(counts)));
        format!("{:width$}  {counts}{}\n", end.name, words(end.exit))
    });
    let lines: String = lines.collect();
    format!("{} suites, {}\n{lines}", ends.len(), exit(ends))
}

/// The counts in words.
fn counted(counts: ResultCounts) -> String {
    let ResultCounts { results, valid, suspect, invalid, skipped, .. } = counts;
    let cases = if results == 1 { "1 case".to_owned() } else { format!("{results} cases") };
    let parts = [(valid, "valid"), (suspect, "suspect"), (invalid, "invalid"), (skipped, "skipped")];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { cases } else { format!("{cases}: {}", parts.join(", ")) }
}

/// The meaning of an exit code, in the words of the documentation.
fn words(exit: Exit) -> String {
    match exit {
        Exit::Interrupted(_) => "interrupted".to_owned(),
        Exit::Usage => "the command line asks for something impossible".to_owned(),
        Exit::NoDevice => "the device is missing or busy".to_owned(),
        Exit::Nothing => "nothing matched".to_owned(),
        Exit::Failed => "failed".to_owned(),
        Exit::Regression => "a regression".to_owned(),
        Exit::Done => "done".to_owned(),
    }
}
