//! The edge of the runtime: the command line in, results on standard output, everything else on standard error, and an
//! exit code. [`program`] is the same for a user's own program: it prints nothing but the error that ends it.

mod again;
mod ceilings;
mod checkout;
mod child;
pub(crate) mod cli;
pub(crate) mod error;
pub(crate) mod extension;
mod list;
mod live;
mod machine_peaks;
mod measure;
mod messages;
mod output;
mod prepare;
pub(crate) mod program;
pub(crate) mod program_error;
pub(crate) mod progress;
mod recorder;
mod scheduled;
mod sharing;
mod show;
mod signals;
mod test_mode;
mod trials;

use std::env;
use std::io::ErrorKind;
use std::process::ExitCode;

pub(crate) use self::error::{RunsFolderError, SuiteError};
pub(crate) use self::progress::Progress;

use clap::ArgMatches;

use self::child::run_as_child;
use self::cli::{Action, Caller, Exit, Options};
use self::extension::Extension;
use self::live::Live;
use self::measure::Prepared;
use self::messages::{conclude, warn};
use self::prepare::Task;
use self::show::Printer;
use crate::runner::RunEvents;
use crate::settings::Settings;
use crate::system::{children, stopping};
use gpubench_records::record::Program;

/// Runs a suite: the `main` that `gpubench::main!` generates. `bench_target` is true in a bench target.
#[must_use]
pub fn main(program: Program, bench_target: bool, extension: Option<Extension>) -> ExitCode {
    // A worker too: it writes a file in memory, and starts without what this process has set.
    stopping::outlive_file_limits();
    if let Some(ended) = run_as_child() {
        return conclude(ended).into();
    }
    children::remember_ends();
    match cli::parse(env::args_os(), &caller(&program, bench_target, extension)) {
        Ok(options) => conclude(run(&options, program)).into(),
        Err(message) => match message.print() {
            // If even this cannot be printed, the exit code still reports it.
            _ if message.use_stderr() => Exit::Usage.into(),
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                conclude(Err(SuiteError::NotPrinted(error))).into()
            }
            _ => Exit::Done.into(),
        },
    }
}

/// Returns the program as its help and its version name it.
fn caller(program: &Program, is_bench_target: bool, extension: Option<Extension>) -> Caller {
    let own = program.package.as_ref().map(|package| format!("{} ", package.version)).unwrap_or_default();
    let version = format!("{own}(gpubench {})", program.version);
    let target = program.suite.rsplit('/').next().unwrap_or_default();
    let folder = env::current_exe().ok().and_then(|path| Some(path.parent()?.file_name()?.to_owned()));
    let command = match (is_bench_target, folder) {
        (true, _) => format!("cargo bench --bench {target} --"),
        (false, Some(folder)) if folder == "examples" => format!("cargo run --example {target} --"),
        _ => target.to_owned(),
    };
    Caller { name: program.suite.clone(), command, version, is_bench_target, extension }
}

/// Does what the command line asks for.
fn run(options: &Options, program: Program) -> Result<Exit, SuiteError> {
    let Options { action, settings, warning } = options;
    let printer = Printer::new(settings)?;
    if let Some(warning) = warning {
        warn(warning);
    }
    let progress = if settings.quiet { Progress::quiet() } else { Progress::default() };
    match action {
        Action::Measure => measure_and_show(Task::Measure, program, settings, &printer, progress),
        Action::MeasurePeaks => measure_peaks(program, settings, &printer, progress),
        Action::Extension(extension, flags) => {
            extend(extension, flags, program, settings, &printer, progress)
        }
        Action::List { format, ceilings } => {
            let task = if *ceilings { Task::MeasurePeaks } else { Task::Measure };
            printer.print(&list::list(&task.entries(), settings, *format)?)?;
            Ok(Exit::Done)
        }
        Action::Test { format, fail_fast } => {
            let (text, ended) = test_mode::test(settings, *format, *fail_fast)?;
            let printed = printer.print(&text);
            ended.and_then(|exit| printed.map(|()| exit))
        }
    }
}

/// Measures the peaks of the devices that the user names, of the GPU if none is named, and of the CPU if there is no GPU.
fn measure_peaks(
    program: Program,
    options: &Settings,
    printer: &Printer<'_>,
    progress: Progress,
) -> Result<Exit, SuiteError> {
    let measured = match machine_peaks::of_this_machine(options.device.as_deref()) {
        Some(device) if options.device.is_some() => {
            return machine_peaks::measure_again(device, options, printer);
        }
        _ => measure_and_show(Task::MeasurePeaks, program, options, printer, progress),
    };
    match (measured, machine_peaks::of_this_machine(options.device.as_deref())) {
        (Err(SuiteError::NoGpu), Some(device)) => machine_peaks::measure_again(device, options, printer),
        (measured, _) => measured,
    }
}

fn measure_and_show(
    task: Task,
    program: Program,
    options: &Settings,
    printer: &Printer<'_>,
    progress: Progress,
) -> Result<Exit, SuiteError> {
    let mut live = Live::new(printer, progress);
    let prepared = Prepared::of(task, program, options, &mut live)?;
    if let Some(empty) = prepared.empty_share() {
        live.warning(&empty);
        return Ok(Exit::Done);
    }
    let outputs = printer.open_outputs()?;
    let measured = prepared.measure(&mut live)?;
    printer.show(measured, live.end(), &outputs)
}

/// Lets an extension measure the selected cases in its own way.
fn extend(
    extension: &Extension,
    flags: &ArgMatches,
    program: Program,
    options: &Settings,
    printer: &Printer<'_>,
    mut progress: Progress,
) -> Result<Exit, SuiteError> {
    let prepared = Prepared::of(Task::Extension, program, options, &mut progress)?;
    prepared.extend(extension, flags, printer, &mut progress)
}
