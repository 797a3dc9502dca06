//! `verify`: measures cases, has Nsight Compute count their launches, and compares the counters with the declared bytes and flops.

mod counted;
mod ncu;
mod refusal;
mod table;

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use gpubench_records::certificate::NcuPass;
use gpubench_records::exit::Exit;
use gpubench_records::files::load;
use gpubench_records::id::PlannedCase;
use gpubench_records::method::Cache;
use gpubench_records::record::{Record, Run};
use gpubench_records::verdict::Reason;
use gpubench_table as report;
use gpubench_table::export::{ExportTo, exports};

use self::ncu::{Files, Ncu};
use super::suites::{self, Cargo, Interruption, Workspace, build, metadata_flags};
use crate::args::VerifyArgs;
use crate::error::{CommandError, RunError};
use crate::output::{self, PrintOptions};

/// The launches of each case that are counted.
const LAUNCHES: usize = 3;

/// The kind of devices that Nsight Compute counts.
const COUNTED: &str = "cuda:";

pub(super) fn verify(args: &VerifyArgs, print_options: PrintOptions) -> Result<Exit, CommandError> {
    let exports = exports(args.exports.0.clone())?;
    exports.iter().try_for_each(|export| output::check_destination(&export.to, &[]))?;
    let binaries = binaries(args)?;
    if let Some(export) = exports.first().filter(|_| binaries.len() > 1) {
        let (format, suites) = (export.format.name, binaries.len());
        return Err(RunError::SharedResults { format, suites }.into());
    }
    let verification =
        Verification { args, interruption: Interruption::listen().map_err(RunError::NoSignals)? };
    let mut ends = Vec::new();
    for mut binary in binaries {
        match verification.run(&mut binary)? {
            Err(exit) => ends.push(exit),
            Ok(run) => {
                if !exports.iter().any(|export| export.to == ExportTo::StandardOutput) {
                    let mut text = report::render(&run, print_options.page());
                    if args.explain {
                        text += &report::explain(&run, print_options.page());
                    }
                    output::print(&text, print_options)?;
                }
                output::write(&exports, &run)?;
                ends.push(exit(&run));
            }
        }
        if let Some(interrupted) = verification.interruption.exit() {
            return Ok(interrupted);
        }
    }
    // A filter need not match in every benchmark binary.
    Ok(ends.into_iter().filter(|exit| *exit != Exit::Nothing).min().unwrap_or(Exit::Nothing))
}

/// Returns a command for each benchmark binary that measures what the user wants.
fn binaries(args: &VerifyArgs) -> Result<Vec<Command>, CommandError> {
    if let Some(program) = &args.program {
        let not_there = |error| RunError::NotThere { path: program.clone(), error };
        let mut command = Command::new(program.canonicalize().map_err(not_there)?);
        command.args(&args.flags).arg("--bench");
        return Ok(vec![command]);
    }
    let cargo = Cargo::default();
    let workspace: Workspace = cargo.metadata(&metadata_flags(&args.build))?;
    let mut built = build(&workspace.suites(&args.build)?, &cargo, &args.build)?;
    built.keep_suites();
    if built.suites.is_empty() {
        return Err(RunError::NoSuites.into());
    }
    let loader_path = built.loader_path();
    Ok(built.suites.iter().map(|suite| suites::command(suite, &args.flags, &loader_path)).collect())
}

/// Returns the exit code for a verified run: failed if a counter contradicts a case, or if a case has no counters.
fn exit(run: &Run) -> Exit {
    let is_contradicted =
        |reason: &Reason| matches!(reason, Reason::MovesOtherwise { .. } | Reason::ComputesOtherwise { .. });
    let is_right = |record: &Record| {
        let verification = record.measurement.as_ref().and_then(|measured| measured.verification.as_ref());
        let counted = verification.and_then(|verification| verification.ncu.as_ref());
        !record.verdict.reasons.iter().any(is_contradicted) && !matches!(counted, Some(NcuPass::Failed(_)))
    };
    let is_counted = run.records.iter().any(|record| record.device.starts_with(COUNTED));
    let exit = if run.records.iter().all(is_right) { Exit::Done } else { Exit::Failed };
    if is_counted { exit.min(Exit::of(run)) } else { Exit::NoDevice.min(Exit::of(run)) }
}

struct Verification<'a> {
    args: &'a VerifyArgs,
    interruption: Interruption,
}

impl Verification<'_> {
    /// Measures the cases of a benchmark binary and counts them. Returns its exit code if it measured nothing.
    fn run(&self, binary: &mut Command) -> Result<Result<Run, Exit>, CommandError> {
        let program = binary.get_program().to_string_lossy().into_owned();
        let not_started = |error| RunError::NotStarted { program: program.clone(), error };
        let files = Files::make().map_err(not_started)?;
        let file = files.at("run.json");
        // This run is no night of a history, and the user has the verified one.
        binary.env("GPUBENCH_RUNS_DIR", "none").env("GPUBENCH_HISTORY", "none");
        let child = binary.arg("--json").arg(&file).stdout(Stdio::null()).spawn().map_err(not_started)?;
        let status = self.interruption.wait(child).map_err(not_started)?;
        if !file.is_file() {
            return Ok(Err(self.interruption.exit().unwrap_or_else(|| suites::exit(status))));
        }
        let mut run = load(&file)?.run;
        self.count(binary, &mut run);
        Ok(Ok(run))
    }

    /// Adds the counters to the records of a run: one process for each device and cache state.
    fn count(&self, binary: &Command, run: &mut Run) {
        let cases: Vec<PlannedCase> = run
            .records
            .iter()
            .filter(|record| record.measurement.is_some() && record.device.starts_with(COUNTED))
            .map(Record::planned)
            .collect();
        if cases.is_empty() {
            output::warn("no case was measured on an NVIDIA GPU, and Nsight Compute counts no other");
        }
        let devices: BTreeSet<&str> = cases.iter().map(|case| &*case.device).collect();
        for device in devices {
            for cache in [Cache::Hot, Cache::Cold] {
                let is_wanted = |case: &&PlannedCase| case.device == device && case.cache == cache;
                let cases: Vec<PlannedCase> = cases.iter().filter(is_wanted).cloned().collect();
                if cases.is_empty() || self.interruption.exit().is_some() {
                    continue;
                }
                let passes = self.passes(binary, &cases, cache).unwrap_or_else(|why| {
                    output::warn(&format!("no counters of {cache} cases on `{device}`: {why}"));
                    vec![NcuPass::Failed(why); cases.len()]
                });
                for (case, pass) in cases.iter().zip(passes) {
                    let facts = run.devices.iter().find(|facts| facts.device == device).cloned();
                    let record = run.records.iter_mut().find(|record| record.planned() == *case);
                    record.into_iter().for_each(|record| record.set_ncu(pass.clone(), facts.as_ref()));
                }
            }
        }
    }

    /// Counts cases in one process. If Nsight Compute takes none of the metrics, counts the usual ones alone.
    fn passes(&self, binary: &Command, cases: &[PlannedCase], cache: Cache) -> Result<Vec<NcuPass>, String> {
        let ncu = Ncu::find()?;
        let limit: Duration = self.args.timeout.saturating_mul(cases.len() as u32);
        let stop = || self.interruption.exit().is_some();
        let mut refused = String::new();
        for metrics in [ncu::all_metrics(), ncu::usual_metrics()] {
            let run = ncu.run(binary, cases, (cache, LAUNCHES), &metrics, (limit, &stop))?;
            let kernels = table::read(&run.printed);
            if !kernels.is_empty() {
                return Ok(counted::passes(&kernels, cases.len(), &run.failures));
            }
            if let Some(why) = run.failures.values().next().filter(|_| run.failures.len() == cases.len()) {
                return Err(why.clone());
            }
            refused = refusal::reason(&run.printed).unwrap_or_else(|| run.ended());
            if !refused.starts_with(refusal::TOLD) {
                break;
            }
        }
        Err(refused)
    }
}
