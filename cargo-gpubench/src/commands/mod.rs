//! The command line, and the selection of runs that several commands share. Each command returns the exit code,
//! or an error for `main` to print.

mod ab;
mod benchmark_binaries;
mod doctor;
mod init;
mod many_runs;
mod ncu_counters;
mod revision;
mod signals;
mod stored;
mod verify;

use std::{env, path::PathBuf};

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use gpubench_records::files::LAST;
use gpubench_records::{CaseSelection, Exit, Run, StoredRun};
use gpubench_report::{
    loading::{faults, retain_selected, unknown_arg},
    stored_runs::{NamedRun, StoredRuns},
};

use crate::manifest::{Manifest, package_folder};
use crate::output::{self, PrintOptions, Result, bail};

/// Cargo's command line, of which this program is a subcommand.
#[derive(Parser)]
#[command(name = "cargo", bin_name = "cargo")]
pub(crate) enum CargoArgs {
    Gpubench(Gpubench),
}

/// Set up and run GPU benchmarks; report, compare and merge stored runs; find slow GPUs
#[derive(Args)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = "A benchmark binary is what cargo builds from a bench target with `gpubench::main!`. It measures and stores its \
                  results as a run.\n\
                  A RUN is a file that --json wrote, `-` for standard input, the folder, name or number of a stored run (1 is the \
                  newest), the name of a baseline, or `last`. FILE means all runs in it, FILE#2 the second.\n\
                  Where a command writes a FILE, `-` is standard output; then nothing else is printed there.\n\
                  \n\
                  Exit codes:\n  \
                  0              done\n  \
                  1              a benchmark failed or is invalid, or a result could not be judged or written\n                 \
                  `doctor`: a problem; `merge`: results are missing; `verify`: a difference\n  \
                  2              wrong usage, or no such RUN\n  \
                  3              a regression, or a slow GPU\n  \
                  4              nothing matched or stored, or no GPU that `fleet` could judge\n  \
                  5              the device is missing or busy\n  \
                  129, 130, 143  interrupted by a signal"
)]
pub(crate) struct Gpubench {
    #[command(subcommand)]
    command: Option<GpubenchCommand>,

    /// Print a script that completes these commands in a shell
    #[arg(long, value_name = "SHELL")]
    completions: Option<Shell>,

    /// The folder with stored runs and baselines [default: `$CARGO_TARGET_DIR/gpubench`, else the nearest `target/gpubench` here or in a
    /// parent folder, else `~/.local/state/gpubench`]
    #[arg(long, value_name = "FOLDER", global = true)]
    home: Option<PathBuf>,

    #[command(flatten)]
    print: PrintOptions,
}

#[derive(Subcommand)]
enum GpubenchCommand {
    /// Add a first benchmark to a package (dependency, bench target, annotated function): for the CPU, or for a GPU with --binding
    #[command(
        after_help = "For example: cargo gpubench init                     # for the CPU; then: cargo bench\n             \
                      cargo gpubench init --binding cudarc    # for an NVIDIA GPU"
    )]
    Init(init::InitArgs),
    /// Build and run all benchmark binaries of a workspace, one after another: the bench targets of packages that depend on gpubench
    #[command(after_help = "For example: cargo gpubench run --quick saxpy\n\
                      If the benchmark binaries exit with different codes, the first in the list 129, 130, 143, 2, 5, 1, 3, 0 is the code of \
                      the command. It exits with 4 only if nothing matched in any of them.")]
    Run(benchmark_binaries::RunArgs),
    /// Compare two revisions: build both, run their benchmark binaries in alternating processes on the same device, and decide for
    /// each result whether it changed
    #[command(
        after_help = "For example: cargo gpubench ab main                        # the working tree against main\n             \
                      cargo gpubench ab v1.2 main saxpy -- --quick   # two commits, some benchmarks, flags"
    )]
    Ab(ab::AbArgs),
    /// Check that this machine can measure: driver, GPUs, permissions, limits; print what to do; exit with 1 on a
    /// problem
    Doctor(doctor::DoctorArgs),
    /// Print the table of a run, or write it in another format
    #[command(
        after_help = "For example: cargo gpubench report                          # the last run of this package\n             \
                                  cargo gpubench report last --html page.html -- saxpy\n             \
                                  cargo gpubench report run.json --explain --cache cold"
    )]
    Report(stored::ReportArgs),
    /// Compare a run with an earlier one, result by result
    Compare(stored::CompareArgs),
    /// Merge several runs into one: repeated runs of one build, or the parts of a run that --share split among processes; exit with
    /// 1 if a part is missing
    Merge(stored::MergeArgs),
    /// Find GPUs that are slower than others of the same model, in runs of the same benchmarks on many GPUs; exit with 3 if there is one
    Fleet(many_runs::FleetArgs),
    /// Find the commits that changed each result, and by how much, in a history of runs
    #[command(
        after_help = "For example: cargo gpubench history add last --history history   # in CI, each night\n             \
                      cargo gpubench history history saxpy --json changes.json\n\
                      For a history in a folder named `add`, write ./add."
    )]
    History(many_runs::HistoryArgs),
    /// Compare declared flops, and declared bytes of cold results, with Nsight Compute's counters; exit with 1 if they differ
    #[command(
        after_help = "`verify` stores no run. The flags below Results write the results with the counters.\n\n\
                      For example: cargo gpubench verify -- saxpy\n             cargo gpubench verify --program target/release/examples/suite -- --quick --cache cold"
    )]
    Verify(verify::VerifyArgs),
}

/// Runs the command in `args`.
pub(crate) fn run(args: &Gpubench) -> Result<Exit> {
    let options = args.print;
    let stored = || stored_runs(args);
    let Some(command) = &args.command else { return print_completions(args, options) };
    match command {
        GpubenchCommand::Init(args) => init::init(args, options),
        GpubenchCommand::Run(args) => benchmark_binaries::run(args, options),
        GpubenchCommand::Ab(args) => ab::ab(args, options),
        GpubenchCommand::Doctor(args) => doctor::doctor(args, options),
        GpubenchCommand::Report(report) => {
            let stored = stored()?;
            let last = if report.runs.is_empty() { vec![last_run(&stored, args)?] } else { Vec::new() };
            stored::report(&stored, &[&report.runs[..], &last].concat(), report, options)
        }
        GpubenchCommand::Compare(compare) => {
            let stored = stored()?;
            let earlier = compare.earlier.as_ref().map(|earlier| load(&stored, earlier)).transpose()?;
            let last = || {
                last_run(&stored, args)
                    .map_err(|error| error.with_context("two runs are needed, and there is none"))
            };
            let later = compare.later.clone().map_or_else(last, Ok)?;
            stored::compare(&stored, earlier, &later, compare, options)
        }
        GpubenchCommand::Merge(args) => stored::merge(&stored()?, args, options),
        GpubenchCommand::Fleet(args) => many_runs::fleet(args, options),
        GpubenchCommand::History(args) => many_runs::history(&stored()?, args, options),
        GpubenchCommand::Verify(args) => verify::verify(args, options),
    }
}

/// The name of the program, which cargo calls as its subcommand.
const PROGRAM_NAME: &str = "cargo-gpubench";

/// Prints the completion script for the shell that the user names. Without a shell, the user gave no command:
/// that is a usage error.
fn print_completions(args: &Gpubench, options: PrintOptions) -> Result<Exit> {
    let Some(shell) = args.completions else {
        bail!(Usage, "give a command: `cargo gpubench --help` lists them");
    };
    let mut text = Vec::new();
    clap_complete::generate(
        shell,
        &mut Gpubench::augment_args(clap::Command::new(PROGRAM_NAME)),
        PROGRAM_NAME,
        &mut text,
    );
    output::print(&String::from_utf8_lossy(&text), options)?;
    Ok(Exit::Done)
}

/// Returns the runs and baselines in the folder `--home`. Without this flag, returns those of the project in
/// the current folder, with the runs in `GPUBENCH_RUNS_DIR` if this variable names a folder. Returns an error
/// if [`StoredRuns::of_project`] finds no folder.
fn stored_runs(args: &Gpubench) -> Result<StoredRuns> {
    if let Some(home) = &args.home {
        if home.ends_with("runs") && home.is_dir() && !home.join("runs").exists() {
            bail!(Usage, "--home {} is a folder of runs: give the folder that contains it", home.display());
        }
        return Ok(StoredRuns::within(home.clone()));
    }
    let folder = env::current_dir();
    let Some(stored) = folder.ok().and_then(|folder| StoredRuns::of_project(&folder)) else {
        bail!(
            Nothing,
            "this folder and those above have no stored runs: measure first, or give a folder by --home"
        );
    };
    // Benchmark binaries store their runs in this folder.
    let runs = env::var_os("GPUBENCH_RUNS_DIR").filter(|runs| !runs.is_empty() && runs != "none");
    Ok(match runs {
        Some(runs) => stored.with_runs(runs.into()),
        None => stored,
    })
}

/// Returns the name of the newest run of the package in the current folder or its nearest parent. A package
/// without a run is an error. Without a package or with `--home`, returns `last`, which selects the newest of
/// all runs.
fn last_run(stored: &StoredRuns, args: &Gpubench) -> Result<String> {
    let folder = package_folder().filter(|_| args.home.is_none());
    let package =
        folder.and_then(|folder| Some(Manifest::read(&folder).ok()?.package_name().ok()?.to_owned()));
    Ok(package.map_or_else(|| Ok(LAST.to_owned()), |package| stored.last_of_package(&package))?)
}

/// Loads the run that the user calls `name`, and warns about faults of its file. No run and several runs are
/// errors.
fn load(stored: &StoredRuns, name: &str) -> Result<NamedRun> {
    Ok(with_warnings(name.to_owned(), stored.load(name)?))
}

/// Loads all runs that the user calls `name`, and warns about faults of their files.
fn load_all(stored: &StoredRuns, name: &str) -> Result<Vec<NamedRun>> {
    let runs = stored.load_all(name)?.into_iter();
    Ok(runs.map(|(name, stored)| with_warnings(name, stored)).collect())
}

/// Returns a loaded run with its name, and prints a warning for each fault of its file.
fn with_warnings(name: String, stored: StoredRun) -> NamedRun {
    for fault in faults(&stored) {
        output::warn(&format!("{name}: {fault}"));
    }
    NamedRun { name, run: stored.run }
}

/// Returns the run with only the selected cases. Returns an error if `selection` names an argument that the
/// run lacks, or takes nothing from a run that has cases or skipped benchmarks.
fn select_cases(NamedRun { name, mut run }: NamedRun, selection: &CaseSelection) -> Result<Run> {
    if let Some(arg) = unknown_arg(selection, &run) {
        bail!(Usage, "--arg {arg}=…: no benchmark of {name} has an argument of this name");
    }
    let results = run.records.len() + run.skipped.len();
    retain_selected(selection, &mut run);
    if results > 0 && run.records.is_empty() && run.skipped.is_empty() {
        bail!(Nothing, "{name}: no result matches the filter: `cargo gpubench report {name}` shows all");
    }
    Ok(run)
}

/// Returns the exit code for several benchmark binaries: the most important of theirs. Ignores
/// [`Exit::Nothing`], because a filter need not match in each binary; returns it only if there is no other
/// exit code.
fn combined_exit(ends: impl IntoIterator<Item = Exit>) -> Exit {
    ends.into_iter().filter(|exit| *exit != Exit::Nothing).min().unwrap_or(Exit::Nothing)
}
