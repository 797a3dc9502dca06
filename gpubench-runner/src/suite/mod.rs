//! The edge of the runtime: the command line in, results on standard output, everything else on standard error, and an
//! exit code. [`program`] is the same for a user's own program: it prints nothing but the error that ends it.

use std::{env, error::Error as StdError, iter, process::ExitCode};

use self::cli::{Action, Caller, Exit, Options};
use self::measure::{Extension, PreparedRun};
use self::output::{Printer, conclude, ignore_closed_pipe, print_problems, say, warn};
use self::{prepare::Purpose, progress::Progress};
use crate::runner::{RunEvents, clock_lock};
use crate::{settings::Settings, system};
use gpubench_records::{Program, Run};
use gpubench_runtime::worker;

pub use self::output::Error;

pub(crate) mod cli;
pub(crate) mod flag_hints;
pub(crate) mod measure;
pub(crate) mod output;
mod peaks;
mod prepare;
pub(crate) mod progress;
mod share;
mod test_harness;

/// Runs a suite: the `main` that `gpubench::main!` generates. `bench_target` is true in a bench target.
pub fn main(program: Program, bench_target: bool, extension: Option<Extension>) -> ExitCode {
    // A worker too: it writes a file in memory, and starts without what this process has set.
    system::ignore_file_size_signal();
    if let Some(ended) = run_as_child() {
        return ended;
    }
    system::keep_exit_statuses();
    match cli::parse(env::args_os(), &caller(&program, bench_target, extension)) {
        Ok(options) => conclude(run(&options, program)).into(),
        Err(message) => match ignore_closed_pipe(message.print()) {
            // If even this cannot be printed, the exit code still reports it.
            _ if message.use_stderr() => Exit::Usage.into(),
            Ok(()) => Exit::Done.into(),
            Err(error) => conclude(Err(Error::not_printed(error))).into(),
        },
    }
}

/// Does the work for which another process of this program started this one: measures, keeps clocks locked or
/// launches for a profiler. Returns the exit code after it. Returns `None` at once in any other process.
pub fn run_as_child() -> Option<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    let served = match arguments.next()? {
        flag if flag == worker::FLAG => worker::serve(),
        flag if flag == clock_lock::FLAG => {
            clock_lock::keep_clocks_locked(&env::args().skip(2).collect::<Vec<_>>())
        }
        flag if flag == worker::PROFILED_FLAG => {
            worker::serve_profiled(arguments.next().unwrap_or_default().as_ref())
        }
        _ => return None,
    };
    Some(conclude(served.map(|()| Exit::Done).map_err(Error::failed)).into())
}

/// Describes the program for its command line: its name, the command that starts it, its version and the
/// extension.
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

/// Performs the action that the command line requests, and prints its results. Returns the exit code.
fn run(options: &Options, program: Program) -> Result<Exit, Error> {
    let Options { action, settings, warning } = options;
    let printer = Printer::new(settings)?;
    warning.iter().for_each(|warning| warn(warning));
    let measure = |purpose| measure_and_show(purpose, program.clone(), settings, &printer);
    match action {
        Action::Measure => measure(Purpose::Measure),
        // Of the devices that the user names, of the GPU if none is named, and of the CPU if there is no GPU.
        Action::MeasurePeaks => match peaks::device_with_kept_peaks(settings.device.as_deref()) {
            Some(device) if settings.device.is_some() => peaks::measure_again(device, settings, &printer),
            this_machine => match (measure(Purpose::MeasurePeaks), this_machine) {
                (Err(Error::NoGpu), Some(device)) => peaks::measure_again(device, settings, &printer),
                (measured, _) => measured,
            },
        },
        Action::Extension(extension, flags) => {
            let mut progress = progress(settings);
            let prepared = PreparedRun::new(Purpose::Extension, program, settings, &mut progress)?;
            prepared.extend(extension, flags, &printer, &mut progress)
        }
        Action::List(format) => {
            printer.print(&test_harness::list(settings, *format)?)?;
            Ok(Exit::Done)
        }
        Action::Test { format, fail_fast } => {
            let (text, ended) = test_harness::test(settings, *format, *fail_fast)?;
            let printed = printer.print(&text);
            ended.and_then(|exit| printed.map(|()| exit))
        }
    }
}

/// Returns a display of progress, which shows only warnings with `--quiet`.
fn progress<'a>(options: &Settings) -> Progress<'a> {
    if options.quiet { Progress::quiet() } else { Progress::default() }
}

/// Measures benchmarks or peaks, prints rows meanwhile, and then prints and writes the rest of the run. Returns the exit code.
fn measure_and_show(
    purpose: Purpose,
    program: Program,
    options: &Settings,
    printer: &Printer<'_>,
) -> Result<Exit, Error> {
    let mut progress = progress(options);
    progress.printer = Some(printer);
    let prepared = PreparedRun::new(purpose, program, options, &mut progress)?;
    if let Some(empty) = prepared.empty_share_message() {
        warn(&empty);
        return Ok(Exit::Done);
    }
    let outputs = printer.open_outputs()?;
    let measured = prepared.measure(&mut progress, printer.prints_rows_alone())?;
    printer.show(measured, std::mem::take(&mut progress.shown), &outputs)
}

/// The benchmarks of this program, which its code can measure repeatedly and in any order.
#[derive(Clone, Debug)]
pub struct Suite {
    build: Program,
}

impl Suite {
    /// Measures the selected cases and returns the run. Prints nothing.
    ///
    /// Failed cases are records of the run, marked by their verdicts. Ctrl-C, SIGTERM and SIGHUP end the run.
    ///
    /// # Errors
    /// Returns an [`Error`] if the run could not begin: nothing matches, for instance, or the device is missing. If it
    /// began and did not finish, or could not be stored as a baseline, [`Error::run`] is everything that was measured.
    pub fn measure(&self, options: &Settings) -> Result<Run, Error> {
        self.measure_with(options, &mut ())
    }

    /// Measures as [`measure`](Self::measure) does while `events` observes the run.
    /// [`Progress`](crate::Progress) shows it on standard error.
    ///
    /// # Errors
    /// Returns an [`Error`] in the same cases.
    pub fn measure_with(&self, options: &Settings, events: &mut dyn RunEvents) -> Result<Run, Error> {
        options.validate().map_err(Error::usage)?;
        let prepared = PreparedRun::new(Purpose::Measure, self.build.clone(), options, events)?;
        prepared.measure(events, false)?.into_result()
    }
}

/// Runs a program that measures by its own code: its `main` calls this with the code as `body`. If another
/// process of the program started this one, to measure for instance, does that work and not `body`.
///
/// An error of `body` is printed on standard error. An [`Error`], or one that was caused by it, has its own
/// exit code; any other ends with 1. An [`Exit`] is the exit code, and prints nothing.
pub fn program(build: Program, body: impl FnOnce(&Suite) -> Result<(), Box<dyn StdError>>) -> ExitCode {
    run_as_child().unwrap_or_else(|| body(&Suite { build }).map_or_else(conclude_any, |()| Exit::Done).into())
}

/// Returns the exit code for an error with which the code of a program ended: that of an [`Exit`], else that
/// of an [`Error`] if it is one or one caused it, else 1. Prints the error, unless it is an [`Exit`].
fn conclude_any(error: Box<dyn StdError>) -> Exit {
    if let Some(exit) = error.downcast_ref::<Exit>() {
        return *exit;
    }
    match error.downcast_ref::<Error>() {
        Some(error) => print_problems(error),
        None => say(&format!("error: {error}")),
    }
    let mut causes = iter::successors(Some(&*error as &(dyn StdError + 'static)), |&error| error.source());
    causes.find_map(|cause| cause.downcast_ref::<Error>()).map_or(Exit::Failed, Error::exit)
}
