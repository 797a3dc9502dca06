//! The edge: where all that is said is printed, and where a process begins and ends. In: the command line; out: results on
//! standard output, everything else on standard error, and an exit code.

mod output;
mod say;
mod stop;

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use signal_hook::consts::SIGINT;

pub(crate) use self::say::complain;

use self::output::{Output, print};
use self::stop::Stop;
use crate::baseline::Held;
use crate::ceilings;
use crate::cli::{self, Exit, Options};
use crate::device::found::{self, Devices, Selected};
use crate::device::id::Found;
use crate::device::{Peak, Quantity};
use crate::keeper::{self, Keeper};
use crate::peaks::{Kept, Known};
use crate::plan::{Plan, PlanError};
use crate::record::{Program, Record, Run};
use crate::registry::{self, Entry};
use crate::report::{self, Progress};
use crate::run::{self, Conduct, RunError};
use crate::trial::{self, Outcome};
use crate::verdict::State;
use crate::worker;

/// The `main` of a suite, which `gpubench::main!` generates; `bench_target` says whether that is one.
#[must_use]
pub fn main(program: Program, bench_target: bool) -> ExitCode {
    if let Some(code) = as_asked() {
        return code;
    }
    let options = match cli::parse(env::args_os(), bench_target) {
        Ok(options) => options,
        Err(message) => {
            let exit = if message.use_stderr() { Exit::Usage } else { Exit::Done };
            // Where even this cannot be printed, the exit code still tells.
            drop(message.print());
            return exit.into();
        }
    };
    suite(&options, program, &mut |run| print_run(run, &options)).unwrap_or_else(|exit| exit).into()
}

/// Does what another process of this program started this one for, if one did: measure for it, or keep clocks locked.
pub(crate) fn as_asked() -> Option<ExitCode> {
    let served = match env::args_os().nth(1)? {
        flag if flag == worker::FLAG => worker::serve().map_err(|error| complain(&error, Exit::Failed)),
        flag if flag == keeper::FLAG => {
            let arguments: Vec<String> = env::args().skip(2).collect();
            keeper::serve(&arguments).map_err(|error| complain(&error, Exit::Failed))
        }
        _ => return None,
    };
    Some(served.map_or_else(ExitCode::from, |()| ExitCode::SUCCESS))
}

/// A suite as its command line has it, whose results are for `deliver` to show, which is asked once if there are any.
pub(crate) fn suite(
    options: &Options,
    program: Program,
    deliver: &mut dyn FnMut(&Run) -> Exit,
) -> Result<Exit, Exit> {
    let entries = if options.measure_peaks { ceilings::entries() } else { registry::entries() };
    if options.list.is_some() {
        return list(&entries, options);
    }
    if let Some(file) = &options.from {
        let run = stored(file).map_err(|message| complain(&message, Exit::Usage))?;
        let held = options.baselines.open().map_err(|error| complain(&error, Exit::Usage))?;
        let json = options.json.as_deref().map(Output::create).transpose()?;
        return Ok(finish(run, Exit::Done, &held, json, &entries, options, deliver));
    }
    let Selected { devices, mut notes } = Devices::find(&kinds(&entries))
        .select(options.device.as_deref())
        .map_err(|error| complain(&error, Exit::NoDevice))?;
    if options.measure_peaks && devices.is_empty() {
        return Err(complain(&NO_GPU, Exit::NoDevice));
    }
    let planned = Plan::of(&entries, &options.selection, &names(&devices));
    if options.test {
        return test(planned, options);
    }
    let mut plan = planned.map_err(|error| refuse(&error))?;
    if options.measure_peaks {
        ceilings::settle(&mut plan);
    }
    know_precisions(&entries, &options.peaks)?;
    let (known, strange) = known(&entries, options)?;
    notes.extend(strange);
    let held = options.baselines.open().map_err(|error| complain(&error, Exit::Usage))?;
    let json = options.json.as_deref().map(Output::create).transpose()?;
    if program.opt_level == "0" {
        notes.push(
            "this program is not optimised (opt-level 0): what runs on the CPU is slower than it need be"
                .into(),
        );
    }

    let keeper = lock_clocks(options, &devices)?;
    let locked = keeper.iter().flat_map(|keeper| keeper.locked.clone()).collect();
    let stop = Stop::on_signals();
    let mut progress = Progress::over(plan.cases() * options.runs);
    progress.says("measuring the device's peaks");
    let (mut run, ended) = run::measure(
        &plan,
        &devices,
        notes,
        program,
        &conduct(options, known, locked),
        &mut progress,
        &|| stop.signal().is_some(),
    );
    drop(progress);

    let released = keeper.map_or(Ok(()), Keeper::release);
    let mut exit = ended.map_or_else(|error| give_up(&error, &stop), |()| Exit::Done);
    if let Err(why) = released {
        exit = exit.min(complain(&why, Exit::Failed));
    }
    if options.measure_peaks {
        exit = exit.min(keep(&mut run, options));
    }
    Ok(finish(run, exit, &held, json, &entries, options, deliver))
}

/// What becomes of a run, live or stored: held against a baseline, shown, written and stored as far as that is asked for.
fn finish(
    mut run: Run,
    ended: Exit,
    held: &Held<'_>,
    json: Option<Output>,
    entries: &[&Entry],
    options: &Options,
    deliver: &mut dyn FnMut(&Run) -> Exit,
) -> Exit {
    let wanted =
        |record: &Record| options.selection.takes(entries, &record.benchmark, &record.args, record.cache);
    run.threshold = options.threshold;
    held.check(&mut run, &wanted);
    let mut exit = ended.min(worst(&run)).min(regressed(&run));
    exit = exit.min(deliver(&run));
    // A device that failed before anything was measured leaves nothing worth an earlier file.
    if let Some(json) = json.filter(|_| !run.devices.is_empty()) {
        exit = exit.min(json.write(&run).err().unwrap_or(Exit::Done));
    }
    // An earlier baseline is worth more than a part of a run.
    if ended == Exit::Done {
        run.check = None;
        let saved = held.save(&run).map_err(|error| complain(&error, Exit::Failed));
        exit = exit.min(saved.err().unwrap_or(Exit::Done));
    }
    exit
}

/// A run that `--json` stored.
fn stored(file: &Path) -> Result<Run, String> {
    let read = fs::read(file).map_err(|error| error.to_string());
    read.and_then(|json| Run::parse(&json)).map_err(|error| format!("--from {}: {error}", file.display()))
}

/// Launches each benchmark once. A filter that leaves nothing is no error: `cargo test FILTER` hands it to every target.
fn test(planned: Result<Plan, PlanError>, options: &Options) -> Result<Exit, Exit> {
    let plan = match planned {
        Ok(plan) => plan,
        Err(PlanError::Nothing { ignored, .. }) => Plan { ignored, ..Plan::default() },
        Err(error) => return Err(refuse(&error)),
    };
    let stop = Stop::on_signals();
    let mut progress = Progress::over(plan.jobs.len());
    let (trials, ended) = trial::run(
        &plan,
        &conduct(options, Known::default(), Vec::new()),
        &mut |job| progress.begins(job),
        &|| stop.signal().is_some(),
    );
    drop(progress);
    let failed = trials.iter().any(|trial| matches!(trial.outcome, Outcome::Failed(_)));
    let found = if failed { Exit::Failed } else { Exit::Done };
    let exit = ended.map_or_else(|error| give_up(&error, &stop), |()| found);
    Ok(exit.min(print_results(&report::trials(&trials, plan.ignored), options)))
}

/// Locks clocks, where that is asked for. What a user asks for and does not get is not measured otherwise.
fn lock_clocks(options: &Options, devices: &[Found]) -> Result<Option<Keeper>, Exit> {
    let Some(target) = options.lock_clocks else { return Ok(None) };
    let locked = Keeper::lock(devices, target);
    locked.map(Some).map_err(|why| complain(&format!("--lock-clocks {target}: {why}"), Exit::Usage))
}

fn conduct(options: &Options, known: Known, locked: Vec<(String, String)>) -> Conduct {
    let Options { sampling, timeout, own_timeout, in_process, runs, .. } = *options;
    Conduct { sampling, known, timeout, own_timeout, in_process, locked, runs }
}

/// What is known of devices beside what they tell.
fn known(entries: &[&Entry], options: &Options) -> Result<(Known, Vec<String>), Exit> {
    let kept = Kept::in_folder(options.cache_dir.as_deref()).filter(|_| !options.measure_peaks);
    let known = Known::of(options.peaks.clone(), options.config.as_deref(), kept);
    let known = known.map_err(|error| complain(&error, Exit::Usage))?;
    let notes = known.strange_precisions(entries.iter().map(|entry| entry.options.precision));
    Ok((known, notes))
}

/// What a user reads who wants a CPU's ceilings.
const NO_GPU: &str = "--measure-peaks is for GPUs, and there is none: what this machine's CPU reaches is measured in every run";

/// Keeps what the devices of a run were seen to reach, and has the run show it.
fn keep(run: &mut Run, options: &Options) -> Exit {
    let mut exit = Exit::Done;
    let reached: Vec<_> = run.devices.iter().map(|facts| ceilings::reached(run, &facts.device)).collect();
    for (facts, reached) in run.devices.iter_mut().zip(reached) {
        let kept = match Kept::in_folder(options.cache_dir.as_deref()) {
            Some(kept) => kept.keep(facts, &reached),
            None => Err("there is no place for what was measured: give one by --cache-dir".to_owned()),
        };
        match kept {
            // Where standard error is closed, the file is there all the same.
            Ok(Some(place)) => _ = writeln!(io::stderr(), "kept for later runs in {}", place.display()),
            Ok(None) => {}
            Err(error) => exit = complain(&error, Exit::Failed),
        }
        facts.add(reached.into_iter().map(|ceiling| ceiling.peak).collect());
    }
    exit
}

/// Says why a run ended early.
fn give_up(error: &RunError, stop: &Stop) -> Exit {
    let exit = match error {
        RunError::Interrupted => Exit::Interrupted(stop.signal().unwrap_or(SIGINT as u8)),
        RunError::Device { .. } => Exit::NoDevice,
        RunError::NoWorker(_) => Exit::Failed,
    };
    complain(error, exit)
}

fn print_run(run: &Run, options: &Options) -> Exit {
    let mut results = report::render(run);
    if options.explain {
        results += &report::explain(run);
    }
    print_results(&results, options)
}

fn print_results(text: &str, options: &Options) -> Exit {
    match print(text, options) {
        Ok(()) => Exit::Done,
        Err(error) => complain(&format!("the results cannot be printed: {error}"), Exit::Failed),
    }
}

fn list(entries: &[&Entry], options: &Options) -> Result<Exit, Exit> {
    let format = options.list.unwrap_or_default();
    // What is listed are the program's benchmarks, whether or not their devices are here.
    let wanted = options.device.as_deref();
    let kinds =
        kinds(entries).into_iter().filter(|kind| wanted.is_none_or(|wanted| found::asks_for(wanted, kind)));
    let kinds: Vec<_> = kinds.map(|kind| (kind.to_owned(), kind)).collect();
    let plan = match Plan::of(entries, &options.selection, &kinds) {
        Ok(plan) => plan,
        Err(PlanError::Nothing { .. }) => Plan::default(),
        Err(error) => return Err(refuse(&error)),
    };
    print(&report::list(&plan, format), options)
        .map(|()| Exit::Done)
        .map_err(|error| complain(&error, Exit::Failed))
}

fn refuse(error: &PlanError) -> Exit {
    let exit = match error {
        PlanError::Empty | PlanError::Nothing { .. } => Exit::Nothing,
        PlanError::Duplicate { .. }
        | PlanError::NoPartner(_)
        | PlanError::Ambiguous { .. }
        | PlanError::Unpaired { .. }
        | PlanError::Twice { .. }
        | PlanError::NoSuchAxis(_)
        | PlanError::BadArg { .. } => Exit::Usage,
    };
    complain(error, exit)
}

/// Refuses a peak of a precision that no benchmark has: a misspelt one would be none at all, and say nothing.
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

fn names(devices: &[Found]) -> Vec<(String, &'static str)> {
    devices.iter().map(|found| (found.device.clone(), found.kind)).collect()
}

/// The kinds of device that the entries run on, in the order they are first met.
fn kinds(entries: &[&Entry]) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    for variant in entries.iter().flat_map(|entry| entry.variants) {
        if !kinds.contains(&variant.device) {
            kinds.push(variant.device);
        }
    }
    kinds
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
