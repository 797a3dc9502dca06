//! The edge of the runtime: all printing happens here, and processes begin and end here. In: the command
//! line. Out: results on standard output, everything else on standard error, and an exit code.

mod checkout;
pub mod cli;
mod list;
mod messages;
mod observer;
mod output;
pub mod program;
mod progress;
mod setup;
mod signals;
mod stored;
mod trials;

pub(crate) use self::messages::complain;
pub(crate) use self::output::Results;

use std::collections::BTreeSet;
use std::env;
use std::io;
use std::process::ExitCode;

use signal_hook::consts::SIGINT;

use self::checkout::Lookup;
use self::cli::{Exit, ListFormat, Options};
use self::messages::say;
use self::observer::RunObserver;
use self::output::Output;
use self::progress::Progress;
use self::setup::{RunSetup, fresh, kinds, refuse, run_setup, runs};
use self::signals::Stop;
use self::stored::stored;
use crate::device::Available;
use crate::device::kinds;
use crate::device::select::{self, Devices};
use crate::peaks::{CeilingCache, PeakSources};
use crate::plan::{Fate, Ignored, Plan, PlanError, Selection};
use crate::registry::{self, Entry};
use crate::runner::clock_lock::{self, ClockLock};
use crate::runner::lock::{self, NotLocked};
use crate::runner::trial::{self, Outcome};
use crate::runner::{self, Beginning, RunConfig, RunError, RunEvents};
use crate::worker;
use gpubench_records::baseline::OpenBaselines;
use gpubench_records::facts::{Peak, Quantity};
use gpubench_records::files as store;
use gpubench_records::id::{CaseId, DeviceId};
use gpubench_records::record::{Program, Record, Run};
use gpubench_records::verdict::State;
use gpubench_report as report;
use gpubench_report::export::{Export, ExportTo};

/// Runs a suite: the `main` that `gpubench::main!` generates. `bench_target` is true in a bench target.
#[must_use]
pub fn main(program: Program, bench_target: bool) -> ExitCode {
    if let Some(code) = run_as_child() {
        return code;
    }
    let options = match cli::parse(env::args_os(), bench_target) {
        Ok(options) => options,
        Err(message) => {
            let exit = if message.use_stderr() { Exit::Usage } else { Exit::Done };
            // If even this cannot be printed, the exit code still reports it.
            drop(message.print());
            return exit.into();
        }
    };
    // From here on the user's code runs, such as code that lists arguments. Its output is no result.
    let results = match Results::take_standard_output() {
        Ok(results) => results,
        Err(error) => return cannot_print(&error).into(),
    };
    let exit = suite(&options, program, &results, &mut |run| print_run(run, &options, &results));
    exit.unwrap_or_else(|exit| exit).into()
}

/// Does the work of a child process, if another process of this program started this one: measures for it, or
/// keeps clocks locked.
pub(crate) fn run_as_child() -> Option<ExitCode> {
    let served = match env::args_os().nth(1)? {
        flag if flag == worker::FLAG => worker::serve().map_err(|error| complain(&error, Exit::Failed)),
        flag if flag == clock_lock::FLAG => {
            let arguments: Vec<String> = env::args().skip(2).collect();
            clock_lock::serve(&arguments).map_err(|error| complain(&error, Exit::Failed))
        }
        _ => return None,
    };
    Some(served.map_or_else(ExitCode::from, |()| ExitCode::SUCCESS))
}

/// Runs a suite as its command line says. Calls `deliver` once with the run, if there is one. Lists and
/// trials go to `results`.
pub(crate) fn suite(
    options: &Options,
    mut program: Program,
    results: &Results,
    deliver: &mut dyn FnMut(&Run) -> Exit,
) -> Result<Exit, Exit> {
    let entries = if options.measure_peaks { kinds::ceilings() } else { registry::entries() };
    if options.list.is_some() {
        return list(&entries, options, results);
    }
    if let Some(file) = &options.from {
        let run = stored(file, &entries, options)?;
        let held = options.baselines.open().map_err(|error| complain(&error, Exit::Usage))?;
        let outputs = outputs(options, results)?;
        return Ok(finish(run, Exit::Done, &held, &outputs, &entries, options, deliver));
    }
    if options.test {
        let (planned, _) = fresh(&entries, options, options.device.as_deref())?;
        return test(planned, options, results);
    }
    // Ceilings are kept elsewhere, and are no run of the suite.
    let runs = if options.measure_peaks { None } else { runs(options)? };
    let checkout = Lookup::begin(program.package.take());
    program.fingerprint = runs.as_ref().and_then(|_| store::fingerprint());
    let RunSetup { mut plan, devices, mut notes, kept } =
        run_setup(&entries, options, &program, runs.as_deref())?;
    if options.measure_peaks {
        settle_ceilings(&mut plan);
    }
    know_precisions(&entries, &options.peaks)?;
    let (known, strange) = known(&entries, options)?;
    notes.extend(strange);
    let held = options.baselines.open().map_err(|error| complain(&error, Exit::Usage))?;
    let outputs = outputs(options, results)?;
    if program.opt_level == "0" {
        notes.push(
            "this program is not optimised (opt-level 0): what runs on the CPU is slower than it need be"
                .into(),
        );
    }

    let stop = Stop::on_signals();
    let stops = || stop.signal().is_some();
    let mut observer = RunObserver::of(&plan, options, runs.as_deref());
    let (mut _locks, mut clock_lock) = (Vec::new(), None);
    // If nothing is left to measure, the devices are not touched.
    if !kept.is_all_of(&plan) {
        _locks = lock::lock(&devices, &program.suite, options.wait, &mut |said| observer.tells(said), &stops)
            .map_err(|error| not_locked(&error, &stop))?;
        clock_lock = lock_clocks(options, &devices)?;
    }
    let locked = clock_lock.iter().flat_map(|clock_lock: &ClockLock| clock_lock.locked.clone()).collect();
    observer.progress.says("measuring the device's peaks");
    program.package = checkout.end();
    let beginning = Beginning { program, notes, kept };
    let (mut run, ended) = runner::measure(
        &plan,
        &devices,
        beginning,
        &run_config(options, known, locked),
        &mut observer,
        &stops,
    );
    let kept = observer.end(&run);
    let released = clock_lock.map_or(Ok(()), ClockLock::release);

    let mut exit = ended.map_or_else(|error| give_up(&error, &stop, kept == Ok(true)), |()| Exit::Done);
    if let Err(why) = released {
        exit = exit.min(complain(&why, Exit::Failed));
    }
    if options.measure_peaks {
        exit = exit.min(keep(&mut run, options));
    }
    let finished = finish(run, exit, &held, &outputs, &entries, options, deliver);
    Ok(finished.min(kept.err().unwrap_or(Exit::Done)))
}

/// Finishes a run, live or stored: compares it with baselines, shows it, writes it and stores it, as
/// requested.
fn finish(
    mut run: Run,
    ended: Exit,
    held: &OpenBaselines<'_>,
    outputs: &[Output],
    entries: &[&Entry],
    options: &Options,
    deliver: &mut dyn FnMut(&Run) -> Exit,
) -> Exit {
    // A device that is left out has no missing cases.
    let devices: Vec<String> = run.devices.iter().map(|facts| facts.device.clone()).collect();
    let wanted = |record: &Record| {
        let CaseId { benchmark, args, device, cache } = &record.case;
        (options.device.is_none() || devices.contains(device))
            && options.selection.takes(entries, benchmark, args, *cache)
    };
    run.threshold = options.threshold;
    held.check(&mut run, &wanted);
    let mut exit = ended.min(worst(&run)).min(regressed(&run));
    exit = exit.min(deliver(&run));
    // A device that failed before any measurement gives no reason to overwrite an earlier file.
    for output in outputs.iter().filter(|_| !run.devices.is_empty()) {
        let told = |error| complain(&format!("{}: {error}", output.export), Exit::Failed);
        exit = exit.min(output.write(&run).map_or_else(told, |()| Exit::Done));
    }
    // An earlier baseline is worth more than part of a run.
    if ended == Exit::Done {
        run.check = None;
        let saved = held.save(&run).map_err(|error| complain(&error, Exit::Failed));
        exit = exit.min(saved.err().unwrap_or(Exit::Done));
    }
    exit
}

fn outputs(options: &Options, results: &Results) -> Result<Vec<Output>, Exit> {
    let open = |export: &Export| {
        let told = |error| complain(&format!("{export}: {error}"), Exit::Usage);
        Output::open(export, results).map_err(told)
    };
    options.exports.iter().map(open).collect()
}

/// Launches each benchmark once. A filter that leaves nothing is no error: `cargo test FILTER` passes it to
/// every target. Benchmarks that need a missing device are ignored, unless `--ignored` requests just those: a
/// test runner takes a successful run of one benchmark as a passed test.
fn test(planned: Result<Plan, PlanError>, options: &Options, results: &Results) -> Result<Exit, Exit> {
    let plan = match planned {
        Ok(plan) => plan,
        Err(PlanError::Nothing { ignored, .. }) => Plan { ignored, ..Plan::default() },
        Err(error) => return Err(refuse(&error)),
    };
    let stop = Stop::on_signals();
    let mut progress = Progress::over(plan.jobs.len(), "benchmarks");
    let (mut trials, ended) = trial::run(
        &plan,
        &run_config(options, PeakSources::default(), Vec::new()),
        &mut |job| progress.tries(job),
        &|| stop.signal().is_some(),
    );
    drop(progress);
    let demanded = options.selection.ignored == Ignored::Only;
    trials.extend(trial::absent(&plan, demanded));
    let lacking = if demanded && !plan.absent.is_empty() { Exit::NoDevice } else { Exit::Done };
    let failed = trials.iter().any(|trial| matches!(trial.outcome, Outcome::Failed(_)));
    let found = if failed { Exit::Failed } else { Exit::Done }.min(lacking);
    let exit = ended.map_or_else(|error| give_up(&error, &stop, false), |()| found);
    Ok(exit.min(print(&trials::trials(&trials, plan.ignored), options, results)))
}

/// Locks clocks, if requested. If that fails, nothing is measured with other clocks instead.
fn lock_clocks(options: &Options, devices: &[Available]) -> Result<Option<ClockLock>, Exit> {
    let Some(target) = options.lock_clocks else { return Ok(None) };
    let locked = ClockLock::lock(devices, target);
    locked.map(Some).map_err(|why| complain(&format!("--lock-clocks {target}: {why}"), Exit::Usage))
}

fn run_config(options: &Options, known: PeakSources, locked: Vec<(String, String)>) -> RunConfig {
    let Options { sampling, timeout, own_timeout, in_process, runs, .. } = *options;
    RunConfig { sampling, known, timeout, own_timeout, in_process, locked, runs }
}

/// Collects the peaks that devices do not report.
fn known(entries: &[&Entry], options: &Options) -> Result<(PeakSources, Vec<String>), Exit> {
    let kept = CeilingCache::in_folder(options.cache_dir.as_deref()).filter(|_| !options.measure_peaks);
    let known = PeakSources::of(options.peaks.clone(), options.config.as_deref(), kept);
    let known = known.map_err(|error| complain(&error, Exit::Usage))?;
    let notes = known.strange_precisions(entries.iter().map(|entry| entry.options.precision));
    Ok((known, notes))
}

/// Sets the cache state of each ceiling benchmark to the one that its limit needs, or leaves the benchmark
/// out.
fn settle_ceilings(plan: &mut Plan) {
    for (job, fate) in &mut plan.jobs {
        let device = DeviceId::parse(&job.device);
        let ceilings = kinds::kind(device.kind).and_then(|kind| kind.ceilings);
        match ceilings.and_then(|ceilings| (ceilings.cache)(&job.benchmark, &device)) {
            Some(Ok(cache)) => job.caches = vec![cache],
            Some(Err(why)) => *fate = Fate::Skipped(why),
            None => {}
        }
    }
}

/// Stores the ceilings that a run has measured, and adds them to the run for display.
fn keep(run: &mut Run, options: &Options) -> Exit {
    let mut exit = Exit::Done;
    let reached: Vec<_> = run.devices.iter().map(|facts| kinds::reached(run, &facts.device)).collect();
    for (facts, reached) in run.devices.iter_mut().zip(reached) {
        let kept = match CeilingCache::in_folder(options.cache_dir.as_deref()) {
            Some(kept) => kept.keep(facts, &reached).map_err(|error| error.to_string()),
            None => Err("there is no place for what was measured: give one by --cache-dir".to_owned()),
        };
        match kept {
            // If standard error is closed, the file still exists.
            Ok(Some(place)) => say(&format!("kept for later runs in {}", place.display())),
            Ok(None) => {}
            Err(error) => exit = complain(&error, Exit::Failed),
        }
        facts.add(reached.into_iter().map(|ceiling| ceiling.peak).collect());
    }
    exit
}

/// Prints the reason that a run ended early, and the way to resume it if it is kept.
fn give_up(error: &RunError, stop: &Stop, kept: bool) -> Exit {
    let exit = match error {
        RunError::Interrupted => interrupted(stop),
        RunError::Device { .. } => Exit::NoDevice,
        RunError::NoWorker(_) => Exit::Failed,
    };
    let how = if kept { " (--resume goes on with what is left)" } else { "" };
    complain(&format!("{error}{how}"), exit)
}

fn interrupted(stop: &Stop) -> Exit {
    Exit::Interrupted(stop.signal().unwrap_or(SIGINT as u8))
}

fn not_locked(error: &NotLocked, stop: &Stop) -> Exit {
    let exit = match error {
        NotLocked::Busy { .. } => Exit::NoDevice,
        NotLocked::Interrupted => interrupted(stop),
    };
    complain(error, exit)
}

/// Prints the table, unless another format uses standard output.
fn print_run(run: &Run, options: &Options, results: &Results) -> Exit {
    if options.exports.iter().any(|export| export.to == ExportTo::StandardOutput) {
        return Exit::Done;
    }
    let mut text = report::render(run);
    if options.explain {
        text += &report::explain(run);
    }
    print(&text, options, results)
}

fn print(text: &str, options: &Options, results: &Results) -> Exit {
    results.print(text, options.color).map_or_else(|error| cannot_print(&error), |()| Exit::Done)
}

fn cannot_print(error: &io::Error) -> Exit {
    complain(&format!("the results cannot be printed: {error}"), Exit::Failed)
}

fn list(entries: &[&Entry], options: &Options, results: &Results) -> Result<Exit, Exit> {
    let format = options.list.unwrap_or_default();
    // The list shows the program's benchmarks, with or without their devices.
    let wanted = options.device.as_deref();
    let kinds =
        kinds(entries).into_iter().filter(|kind| wanted.is_none_or(|wanted| select::asks_for(wanted, kind)));
    let kinds: Vec<_> = kinds.map(|kind| (kind.to_owned(), kind)).collect();
    // A test runner learns here which benchmarks are ignored. On this machine these include the ones without
    // a device.
    let runner_asks = options.selection.ignored == Ignored::Only && format == ListFormat::Terse;
    let missing = if runner_asks {
        Devices::find(&kinds.iter().map(|(_, kind)| *kind).collect::<Vec<_>>()).missing(wanted)
    } else {
        Vec::new()
    };
    let (lacking, there): (Vec<_>, Vec<_>) =
        kinds.into_iter().partition(|(_, kind)| missing.iter().any(|missing| missing.kind == *kind));
    let all = Selection { ignored: Ignored::Included, ..options.selection.clone() };
    let mut plan = Plan::default();
    for (selection, kinds) in [(&options.selection, there), (&all, lacking)] {
        match Plan::of(entries, selection, &kinds) {
            Ok(part) => plan.jobs.extend(part.jobs),
            Err(PlanError::Nothing { .. }) => {}
            Err(error) => return Err(refuse(&error)),
        }
    }
    Ok(print(&list::list(&plan, format), options, results))
}

/// Refuses a peak for a precision that no benchmark has. A misspelt one would otherwise have no effect,
/// silently.
fn know_precisions(entries: &[&Entry], peaks: &[Peak]) -> Result<(), Exit> {
    let known: BTreeSet<&str> = entries.iter().map(|entry| entry.options.precision).collect();
    for peak in peaks {
        let Quantity::Compute(precision) = &peak.quantity else { continue };
        if !known.contains(precision.as_str()) {
            let known: Vec<String> = known.iter().map(|precision| format!("`{precision}`")).collect();
            let message = format!(
                "--peak {precision}=…: no benchmark of this program has this precision (they have {})",
                known.join(", ")
            );
            return Err(complain(&message, Exit::Usage));
        }
    }
    Ok(())
}

fn worst(run: &Run) -> Exit {
    let verdicts = run.records.iter().flat_map(|record| {
        let compared = record.compared.iter().map(|compared| &compared.verdict);
        std::iter::once(&record.verdict).chain(compared)
    });
    let invalid = verdicts.into_iter().any(|verdict| verdict.state == State::Invalid);
    if invalid { Exit::Failed } else { Exit::Done }
}

fn regressed(run: &Run) -> Exit {
    if run.regressions().is_empty() { Exit::Done } else { Exit::Regression }
}
