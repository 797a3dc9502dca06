//! `run`: builds and runs all suites of a workspace, of a folder, of a repository or of a published crate, one after another. In: flags
//! of a suite; out: their tables, a summary, and the exit code that counts among theirs.

mod source;
mod summary;

use gpubench_records::exit::Exit;
use gpubench_records::files::StoredRuns;
use gpubench_report::export::FORMATS;
use gpubench_table::export::Format;
use gpubench_table::paragraph;

use self::summary::SuiteEnd;
use super::suites::{self, Built, Cargo, Interruption, Workspace, build, metadata_flags};
use crate::args::RunArgs;
use crate::error::{CommandError, RunError};
use crate::output::{self, PrintOptions};

pub(super) fn run(args: &RunArgs, print_options: PrintOptions) -> Result<Exit, CommandError> {
    let manifest = source::manifest(args)?;
    let cargo = Cargo::of(manifest.as_deref());
    let workspace: Workspace = cargo.metadata(&metadata_flags(&args.build))?;
    let wanted = workspace.suites(&args.build)?;
    check_results(&args.flags, wanted.len())?;
    let mut built = build(&wanted, &cargo, &args.build)?;
    built.keep_suites();
    if built.suites.is_empty() {
        return Err(RunError::NoSuites.into());
    }
    let stored = runs(&workspace);
    let ends = measure(&built, &args.flags, stored.as_ref())?;
    if ends.len() > 1 {
        let summary = paragraph(&summary::summary(&ends), print_options.page());
        output::print(&format!("\n{summary}"), print_options)?;
    }
    Ok(summary::exit(&ends))
}

/// Several suites would write the same file of results, each over the last one.
fn check_results(flags: &[String], suites: usize) -> Result<(), RunError> {
    let is_flag = |format: &&Format, word: &String| {
        word.strip_prefix("--").is_some_and(|word| word.split('=').next() == Some(format.name))
    };
    let shared = FORMATS.iter().find(|format| flags.iter().any(|word| is_flag(format, word)));
    match shared.filter(|_| suites > 1) {
        Some(format) => Err(RunError::SharedResults { format: format.name, suites }),
        None => Ok(()),
    }
}

/// The runs that suites of the workspace store, unless the user has them stored elsewhere.
fn runs(workspace: &Workspace) -> Option<StoredRuns> {
    let elsewhere = std::env::var_os("GPUBENCH_RUNS_DIR").is_some();
    (!elsewhere).then(|| StoredRuns::within(workspace.target_directory.join("gpubench")))
}

/// Runs the suites, one after another, until a signal comes.
fn measure(built: &Built, flags: &[String], stored: Option<&StoredRuns>) -> Result<Vec<SuiteEnd>, RunError> {
    let interruption = Interruption::listen().map_err(RunError::NoSignals)?;
    let loader_path = built.loader_path();
    let mut ends = Vec::new();
    for (number, suite) in (1..).zip(&built.suites) {
        if built.suites.len() > 1 {
            output::note(&format!("suite {number} of {}: {}", built.suites.len(), suite.name()));
        }
        let before = stored.map(StoredRuns::runs).unwrap_or_default();
        let not_started =
            |error| RunError::NotStarted { program: suite.program.display().to_string(), error };
        let child = suites::command(suite, flags, &loader_path).spawn().map_err(not_started)?;
        let status = interruption.wait(child).map_err(not_started)?;
        let run = stored.and_then(|stored| stored.runs().into_iter().find(|run| !before.contains(run)));
        let exit = interruption.exit().unwrap_or_else(|| suites::exit(status));
        ends.push(SuiteEnd::of(suite.name(), exit, run.as_ref().map(|(_, path)| path.as_path())));
        if matches!(exit, Exit::Interrupted(_)) {
            break;
        }
    }
    Ok(ends)
}
