//! The end of several suites. In: their exit codes and stored runs; out: a line for each, and the exit code of all.

use std::path::Path;

use gpubench_records::exit::Exit;
use gpubench_records::files::load;
use gpubench_records::verdict::State;

/// The end of one suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SuiteEnd {
    name: String,
    exit: Exit,
    counts: Option<Counts>,
}

/// The numbers of cases with each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    cases: usize,
    valid: usize,
    suspect: usize,
    invalid: usize,
    skipped: usize,
}

impl SuiteEnd {
    /// The end of the suite `name`, which stored its run in the file `run`, if it did.
    pub(super) fn of(name: String, exit: Exit, run: Option<&Path>) -> Self {
        let counts = run.and_then(|path| load(path).ok()).map(|stored| {
            let run = stored.run;
            let count = |state| run.records.iter().filter(|record| record.verdict.state == state).count();
            Counts {
                cases: run.records.len(),
                valid: count(State::Valid),
                suspect: count(State::Suspect),
                invalid: count(State::Invalid),
                skipped: run.skipped.len(),
            }
        });
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
        let counts = end.counts.map_or_else(String::new, |counts| format!("{}; ", counts.words()));
        format!("{:width$}  {counts}{}\n", end.name, words(end.exit))
    });
    let lines: String = lines.collect();
    format!("{} suites, {}\n{lines}", ends.len(), exit(ends))
}

impl Counts {
    fn words(self) -> String {
        let Self { cases, valid, suspect, invalid, skipped } = self;
        let cases = if cases == 1 { "1 case".to_owned() } else { format!("{cases} cases") };
        let parts = [(valid, "valid"), (suspect, "suspect"), (invalid, "invalid"), (skipped, "skipped")];
        let parts =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
        let parts: Vec<String> = parts.collect();
        if parts.is_empty() { cases } else { format!("{cases}: {}", parts.join(", ")) }
    }
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
