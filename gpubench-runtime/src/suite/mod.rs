//! The edge of the runtime: the command line in, results on standard output, everything else on standard error, and an
//! exit code. [`program`] is the same for a user's own program: it prints nothing but the error that ends it.

mod checkout;
pub(crate) mod cli;
mod error;
pub(crate) mod extension;
mod list;
mod measure;
mod messages;
mod peaks;
mod prepare;
mod printer;
pub(crate) mod program;
pub(crate) mod progress;
mod retry_regressions;
mod share;
mod test_mode;

use std::env;
use std::io::ErrorKind;
use std::process::ExitCode;

pub use self::error::SuiteError;

use self::cli::{Action, Caller, Exit, Options};
use self::extension::Extension;
use self::measure::Prepared;
use self::messages::{conclude, warn};
use self::prepare::Task;
use self::printer::Printer;
use self::progress::Progress;
use crate::runner::clock_lock;
use crate::settings::Settings;
use crate::system::{children, stopping};
use crate::worker::{self, profiled};
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
                conclude(Err(SuiteError::not_printed(error))).into()
            }
            _ => Exit::Done.into(),
        },
    }
}

/// Measures, keeps clocks locked or launches for a profiler, for the process that started this one. Returns `None` in any other process.
fn run_as_child() -> Option<Result<Exit, SuiteError>> {
    let mut arguments = env::args_os().skip(1);
    let served = match arguments.next()? {
        flag if flag == worker::FLAG => worker::serve(),
        flag if flag == clock_lock::FLAG => clock_lock::serve(&env::args().skip(2).collect::<Vec<_>>()),
        flag if flag == profiled::FLAG => profiled::serve(arguments.next().unwrap_or_default().as_ref()),
        _ => return None,
    };
    Some(served.map(|()| Exit::Done).map_err(SuiteError::failed))
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
    warning.iter().for_each(|warning| warn(warning));
    let measure = |task| measure_and_show(task, program.clone(), settings, &printer);
    match action {
        Action::Measure => measure(Task::Measure),
        // Of the devices that the user names, of the GPU if none is named, and of the CPU if there is no GPU.
        Action::MeasurePeaks => match peaks::of_this_machine(settings.device.as_deref()) {
            Some(device) if settings.device.is_some() => peaks::measure_again(device, settings, &printer),
            this_machine => match (measure(Task::MeasurePeaks), this_machine) {
                (Err(SuiteError::NoGpu), Some(device)) => peaks::measure_again(device, settings, &printer),
                (measured, _) => measured,
            },
        },
        Action::Extension(extension, flags) => {
            let mut progress = progress(settings);
            let prepared = Prepared::new(Task::Extension, program, settings, &mut progress)?;
            prepared.extend(extension, flags, &printer, &mut progress)
        }
        Action::List { format, ceilings } => {
            let task = if *ceilings { Task::MeasurePeaks } else { Task::Measure };
            printer.print(&list::list(task, settings, *format)?)?;
            Ok(Exit::Done)
        }
        Action::Test { format, fail_fast } => {
            let (text, ended) = test_mode::test(settings, *format, *fail_fast)?;
            let printed = printer.print(&text);
            ended.and_then(|exit| printed.map(|()| exit))
        }
    }
}

fn progress<'a>(options: &Settings) -> Progress<'a> {
    if options.quiet { Progress::quiet() } else { Progress::default() }
}

fn measure_and_show(
    task: Task,
    program: Program,
    options: &Settings,
    printer: &Printer<'_>,
) -> Result<Exit, SuiteError> {
    let mut progress = progress(options);
    progress.show_rows(printer);
    let prepared = Prepared::new(task, program, options, &mut progress)?;
    if let Some(empty) = prepared.empty_share() {
        warn(&empty);
        return Ok(Exit::Done);
    }
    let outputs = printer.open_outputs()?;
    let measured = prepared.measure(&mut progress)?;
    printer.show(measured, progress.into_output(), &outputs)
}
