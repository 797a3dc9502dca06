//! `verify`: measures cases, counts their launches with Nsight Compute, and compares the counters with the declared bytes and flops.

mod counted;
mod ncu;
mod table;

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use gpubench_records::exit::Exit;
use gpubench_records::files::load;
use gpubench_records::id::PlannedCase;
use gpubench_records::method::Cache;
use gpubench_records::record::{Record, Run};
use gpubench_records::verdict::Reason;
use gpubench_records::verification::NcuPass;

use super::suites::{self, Cargo, shared_file};
use super::{exit_of_all, signals};
use crate::args::VerifyArgs;
use crate::error::{CommandError, at};
use crate::output::{self, PrintOptions, Results};

/// The kind of devices that Nsight Compute counts.
const COUNTED: &str = "cuda:";

pub(super) fn verify(args: &VerifyArgs, options: PrintOptions) -> Result<Exit, CommandError> {
    let results = Results::new(&args.exports, &[], options)?;
    signals::listen()?;
    let binaries = binaries(args)?;
    if let Some(export) = results.exports.first().filter(|_| binaries.len() > 1) {
        return Err(shared_file(export.format.name, binaries.len()));
    }
    let mut ends = Vec::new();
    for mut binary in binaries {
        match measure(&mut binary)? {
            Err(exit) => ends.push(exit),
            Ok(mut run) => {
                count(args, &binary, &mut run);
                results.print_run("", &run, args.explain)?;
                results.write(&run)?;
                ends.push(exit(&run));
            }
        }
        if let Some(interrupted) = signals::received() {
            return Ok(interrupted);
        }
    }
    Ok(exit_of_all(ends))
}

/// Returns a command for each benchmark binary, which measures what the user wants.
fn binaries(args: &VerifyArgs) -> Result<Vec<Command>, CommandError> {
    if let Some(program) = &args.program {
        let program = program.canonicalize().map_err(|error| CommandError::usage(at(program, error)))?;
        let mut command = Command::new(program);
        command.args(&args.flags).arg("--bench");
        return Ok(vec![command]);
    }
    let cargo = Cargo::default();
    let built = cargo.build(&cargo.workspace(&args.build)?.suites(&args.build)?, &args.build)?;
    Ok(built.suites.iter().map(|suite| built.command(suite, &args.flags)).collect())
}

/// Returns the exit code for a verified run: failed if a counter contradicts a case, or if a case has no counters.
fn exit(run: &Run) -> Exit {
    let is_contradicted =
        |reason: &Reason| matches!(reason, Reason::TrafficMismatch { .. } | Reason::FlopsMismatch { .. });
    let is_right = |record: &Record| {
        let verification = record.measurement.as_ref().and_then(|measured| measured.verification.as_ref());
        let counted = verification.and_then(|verification| verification.ncu.as_ref());
        !record.verdict.reasons.iter().any(is_contradicted) && !matches!(counted, Some(NcuPass::Failed(_)))
    };
    let is_counted = run.records.iter().any(|record| record.device.starts_with(COUNTED));
    let exit = if run.records.iter().all(is_right) { Exit::Done } else { Exit::Failed };
    if is_counted { exit.min(Exit::of(run)) } else { Exit::NoDevice.min(Exit::of(run)) }
}

/// Measures with a benchmark binary. Returns its exit code if it measured nothing.
fn measure(binary: &mut Command) -> Result<Result<Run, Exit>, CommandError> {
    let folder = tempfile::tempdir()
        .map_err(|error| CommandError::failed(format!("a temporary folder cannot be made: {error}")))?;
    let file = folder.path().join("run.json");
    // This run does not belong into a history, and the user gets the verified one.
    binary.env("GPUBENCH_RUNS_DIR", "none").env("GPUBENCH_HISTORY", "none");
    let ended = suites::output(binary.arg("--json").arg(&file).stdout(Stdio::null()))?;
    if !file.is_file() {
        return Ok(Err(signals::exit(ended.status)));
    }
    Ok(Ok(load(&file)?.run))
}

/// Adds the counters to the records of a run: one process for each device and cache state.
fn count(args: &VerifyArgs, binary: &Command, run: &mut Run) {
    let is_counted = |record: &&Record| record.measurement.is_some() && record.device.starts_with(COUNTED);
    let cases: Vec<PlannedCase> = run.records.iter().filter(is_counted).map(Record::planned).collect();
    if cases.is_empty() {
        output::warn("no benchmark was measured on an NVIDIA GPU, and Nsight Compute counts no other");
    }
    let groups: BTreeSet<(&str, bool)> =
        cases.iter().map(|case| (&*case.device, case.cache == Cache::Cold)).collect();
    for (device, is_cold) in groups {
        if signals::received().is_some() {
            return;
        }
        let cache = if is_cold { Cache::Cold } else { Cache::Hot };
        let is_in_group = |case: &&PlannedCase| case.device == device && case.cache == cache;
        let cases: Vec<PlannedCase> = cases.iter().filter(is_in_group).cloned().collect();
        let passes = passes(args, binary, &cases).unwrap_or_else(|why| {
            output::warn(&format!("no counters of {cache} cases on `{device}`: {why}"));
            vec![NcuPass::Failed(why); cases.len()]
        });
        let info = run.devices.iter().find(|info| info.device == device);
        for (case, pass) in cases.iter().zip(passes) {
            let record = run.records.iter_mut().find(|record| record.planned() == *case);
            record.into_iter().for_each(|record| record.set_ncu(pass.clone(), info));
        }
    }
}

/// Counts cases in one process. If Nsight Compute knows none of the metrics, counts the usual ones alone.
fn passes(args: &VerifyArgs, binary: &Command, cases: &[PlannedCase]) -> Result<Vec<NcuPass>, String> {
    let ncu = ncu::find()?;
    let limit = args.timeout.saturating_mul(cases.len() as u32);
    let mut refused = String::new();
    for metrics in [counted::all_metrics(), counted::usual_metrics()] {
        let profile = ncu::profile(&ncu, binary, cases, &metrics, limit)?;
        let kernels = table::read(&profile.printed);
        if !kernels.is_empty() {
            return Ok(counted::passes(&kernels, cases.len(), &profile.failures));
        }
        if let Some(why) = profile.failures.values().next().filter(|_| profile.failures.len() == cases.len())
        {
            return Err(why.clone());
        }
        refused = profile.refusal();
        if !refused.starts_with(ncu::QUOTED) {
            break;
        }
    }
    Err(refused)
}
