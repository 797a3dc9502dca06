//! The edge of the runtime: the command line in, results on standard output, everything else on standard error, and an
//! exit code. [`program`] is the same for a user's own program: it prints nothing but the error that ends it.

mod again;
mod ceilings;
mod checkout;
mod child;
pub(crate) mod cli;
mod error;
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
mod tune;

use std::env;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) use self::error::{RunsFolderError, SuiteError};
pub(crate) use self::progress::Progress;

use self::child::run_as_child;
use self::cli::{Action, Caller, Exit, Options, TuneOptions};
use self::live::Live;
use self::measure::Prepared;
use self::messages::{conclude, warn};
use self::prepare::Task;
use self::show::Printer;
use crate::runner::RunEvents;
use crate::settings::Settings;
use crate::system::{children, stopping};
use gpubench_records::files::Destination;
use gpubench_records::record::Program;
use gpubench_table::tuning;

/// Runs a suite: the `main` that `gpubench::main!` generates. `bench_target` is true in a bench target.
#[must_use]
pub fn main(program: Program, bench_target: bool) -> ExitCode {
    // A worker too: it writes a file in memory, and starts without what this process has set.
    stopping::outlive_file_limits();
    if let Some(ended) = run_as_child() {
        return conclude(ended).into();
    }
    children::remember_ends();
    match cli::parse(env::args_os(), &caller(&program, bench_target)) {
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
fn caller(program: &Program, is_bench_target: bool) -> Caller {
    let own = program.package.as_ref().map(|package| format!("{} ", package.version)).unwrap_or_default();
    let version = format!("{own}(gpubench {})", program.version);
    let target = program.suite.rsplit('/').next().unwrap_or_default();
    let folder = env::current_exe().ok().and_then(|path| Some(path.parent()?.file_name()?.to_owned()));
    let command = match (is_bench_target, folder) {
        (true, _) => format!("cargo bench --bench {target} --"),
        (false, Some(folder)) if folder == "examples" => format!("cargo run --example {target} --"),
        _ => target.to_owned(),
    };
    Caller { name: program.suite.clone(), command, version, is_bench_target }
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
        Action::Tune(wanted) => tune_and_show(program, settings, wanted, &printer, progress),
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

fn tune_and_show(
    program: Program,
    options: &Settings,
    wanted: &TuneOptions,
    printer: &Printer<'_>,
    mut progress: Progress,
) -> Result<Exit, SuiteError> {
    let open = |file: &PathBuf| match Destination::open(file) {
        Ok(destination) => Ok((file.clone(), destination)),
        Err(error) => Err(SuiteError::TuningNotOpened { file: file.clone(), error }),
    };
    let save = wanted.save.as_ref().map(open).transpose()?;
    let tuned = tune::tune(program, options, wanted, &mut progress)?;
    drop(progress);
    printer.print(&tuning(&tuned.tuning, printer.page()))?;
    let exit = tuned.exit();
    if let Some((file, destination)) = save {
        let not_saved = |error| SuiteError::TuningNotSaved { file, error };
        destination.write(&|out| tuned.tuning.write(out)).map_err(not_saved)?;
    }
    match tuned.problems.into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(exit),
    }
}
