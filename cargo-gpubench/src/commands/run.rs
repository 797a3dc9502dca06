//! `run`: builds and runs all benchmark binaries of a workspace, one after another. They print their tables, and `run` prints a summary.

use clap::Args;
use gpubench_records::Exit;
use gpubench_report::export::FORMATS;
use gpubench_table::paragraph;

use super::suites::{BuildArgs, Built, Cargo, refuse_shared_file};
use super::{exit_of_all, signals};
use crate::output::{self, PrintOptions, Result};

/// The benchmark binaries to run.
#[derive(Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub build: BuildArgs,
    /// Filters and flags of each benchmark binary; flags of this command go before them
    #[arg(value_name = "FILTER|FLAG", trailing_var_arg = true, allow_hyphen_values = true)]
    flags: Vec<String>,
}

pub(super) fn run(args: &RunArgs, options: PrintOptions) -> Result<Exit> {
    signals::listen()?;
    let cargo = Cargo::default();
    let workspace = cargo.workspace(&args.build)?;
    let targets = workspace.suites(&args.build)?;
    let format = FORMATS.into_iter().find(|format| is_given(&args.flags, format.name));
    refuse_shared_file(format, targets.len())?;
    let built = cargo.build(&targets, &args.build)?;
    let ends = measure(&built, &args.flags)?;
    let exit = exit_of_all(ends.iter().map(|(_, exit)| *exit));
    if ends.len() > 1 {
        output::print(&format!("\n{}", paragraph(&summary(&ends, exit), options.page())), options)?;
    }
    Ok(exit)
}

/// Returns true if the flag is given, as `--json FILE` or `--json=FILE`.
fn is_given(flags: &[String], name: &str) -> bool {
    flags.iter().filter_map(|flag| flag.strip_prefix("--")?.split('=').next()).any(|flag| flag == name)
}

/// Runs the benchmark binaries, one after another, until a signal comes. Returns the name and the end of each.
fn measure(built: &Built, flags: &[String]) -> Result<Vec<(String, Exit)>> {
    let mut ends = Vec::new();
    let count = built.suites.len();
    for (number, suite) in (1..).zip(&built.suites) {
        if count > 1 {
            output::note(&format!("benchmark binary {number} of {count}: {}", suite.name()));
        }
        let exit = signals::exit(signals::output(&mut built.command(suite, flags), Exit::Failed)?.status);
        ends.push((suite.name(), exit));
        if matches!(exit, Exit::Interrupted(_)) {
            break;
        }
    }
    Ok(ends)
}

/// Returns a line for each benchmark binary, and one for all.
fn summary(ends: &[(String, Exit)], all: Exit) -> String {
    let width = ends.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines: String = ends.iter().map(|(name, exit)| format!("{name:width$}  {exit}\n")).collect();
    format!("{} benchmark binaries, {all}\n{lines}", ends.len())
}
