//! `run`: builds and runs all suites of a workspace, of a folder, of a repository or of a published crate, one after another. In: flags
//! of a suite; out: their tables, a summary, and the exit code that counts among theirs.

mod build;
mod interruption;
mod source;
mod started;
mod suites;
mod summary;

use std::io;
use std::path::PathBuf;

use gpubench_records::exit::Exit;
use gpubench_records::files::StoredRuns;
use gpubench_report::export::Format;
use gpubench_report::paragraph;

use self::build::{Built, BuiltSuite, build};
use self::interruption::Interruption;
use self::suites::{Workspace, metadata};
use self::summary::SuiteEnd;
use crate::args::RunArgs;
use crate::error::CommandError;
use crate::manifest::ManifestError;
use crate::output::{self, PrintOptions};

/// Suites that cannot be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("cargo does not start: {0}")]
    NoCargo(io::Error),
    #[error("cargo finds no workspace that could be measured: its words are above")]
    NoWorkspace,
    #[error("cargo's answer cannot be read: {0}")]
    Garbled(serde_json::Error),
    #[error("--package {0}: the workspace has no package of this name")]
    NoPackage(String),
    #[error("--bench {name}: no package that depends on gpubench has such a bench target{}", among(known))]
    NoBench { name: String, known: Vec<String> },
    #[error(
        "no package with a bench target depends on gpubench: `cargo gpubench init` adds both to a package"
    )]
    NoSuites,
    #[error("the suites could not be built: cargo's words are above")]
    NotBuilt,
    #[error("--crate {0}: give the name of a published crate, or NAME@VERSION")]
    BadCrate(String),
    #[error("there is no cache folder: give one by --cache-dir")]
    NoCache,
    #[error("{}: {error}", path.display())]
    NoPlace { path: PathBuf, error: io::Error },
    #[error("{}: {error}", path.display())]
    NotThere { path: PathBuf, error: io::Error },
    #[error("{0} could not be fetched: git's words are above")]
    NotFetched(String),
    #[error("git does not start: {0}")]
    NoGit(io::Error),
    #[error(
        "--{format}: {suites} suites would write the same results: name one by --bench, or write stored runs by `cargo gpubench convert`"
    )]
    SharedResults { format: &'static str, suites: usize },
    #[error("{program} does not start: {error}")]
    NotStarted { program: String, error: io::Error },
    #[error("signals cannot be heard: {0}")]
    NoSignals(io::Error),
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl RunError {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NoSuites => Exit::Nothing,
            Self::NotBuilt | Self::NotFetched(_) | Self::NotStarted { .. } | Self::NoPlace { .. } => {
                Exit::Failed
            }
            _ => Exit::Usage,
        }
    }
}

fn among(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; there is {}", known.join(", ")) }
}

pub(super) fn run(args: &RunArgs, print_options: PrintOptions) -> Result<Exit, CommandError> {
    let manifest = source::manifest(args)?;
    let workspace: Workspace = metadata(manifest.as_deref(), &metadata_flags(args))?;
    let wanted = workspace.suites(&args.package, &args.bench)?;
    check_results(&args.flags, wanted.len())?;
    let mut built = build(&wanted, manifest.as_deref(), args)?;
    let loader_path = built.loader_path();
    let (suites, others): (Vec<_>, Vec<_>) = std::mem::take(&mut built.suites)
        .into_iter()
        .partition(|suite| started::is_suite(&suite.program, &loader_path));
    for other in others {
        output::warn(&format!("{} is no suite of gpubench, and left out", other.name()));
    }
    if suites.is_empty() {
        return Err(RunError::NoSuites.into());
    }
    built.suites = suites;
    let stored = runs(&workspace);
    let ends = measure(&built, &args.flags, stored.as_ref())?;
    if ends.len() > 1 {
        let summary = paragraph(&summary::summary(&ends), print_options.page());
        output::print(&format!("\n{summary}"), print_options)?;
    }
    Ok(summary::exit(&ends))
}

impl BuiltSuite {
    /// The words for it.
    fn name(&self) -> String {
        format!("{}: {}", self.target.package, self.target.name)
    }
}

fn metadata_flags(args: &RunArgs) -> Vec<&'static str> {
    let flags = [(args.locked, "--locked"), (args.offline, "--offline")];
    let given = flags.into_iter().filter_map(|(given, flag)| given.then_some(flag));
    ["--no-deps"].into_iter().chain(given).collect()
}

/// Several suites would write the same file of results, each over the last one.
fn check_results(flags: &[String], suites: usize) -> Result<(), RunError> {
    let is_flag = |format: &&Format, word: &String| {
        word.strip_prefix("--").is_some_and(|word| word.split('=').next() == Some(format.name()))
    };
    let shared = Format::ALL.iter().find(|format| flags.iter().any(|word| is_flag(format, word)));
    match shared.filter(|_| suites > 1) {
        Some(format) => Err(RunError::SharedResults { format: format.name(), suites }),
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
        let child = started::start(suite, flags, &loader_path).map_err(not_started)?;
        let status = interruption.wait(child).map_err(not_started)?;
        let run = stored.and_then(|stored| stored.runs().into_iter().find(|run| !before.contains(run)));
        let exit = interruption.exit().unwrap_or_else(|| started::exit(status));
        ends.push(SuiteEnd::of(suite.name(), exit, run.as_ref().map(|(_, path)| path.as_path())));
        if matches!(exit, Exit::Interrupted(_)) {
            break;
        }
    }
    Ok(ends)
}
