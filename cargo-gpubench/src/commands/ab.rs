//! `ab`: compares two revisions. Both are built first. Then processes of both are interleaved on one device, until every result is decided
//! or the time is up. What was measured before a signal came is compared.

use gpubench_records::exit::Exit;
use gpubench_records::record::Run;
use gpubench_table::export::{Format, write_markdown};
use gpubench_table::paragraph;

use super::compare::Limits;
use super::exit_of_all;
use super::pairs::{Pairs, Processes, RunFolder, Suites, compared, in_common};
use super::revision::Revisions;
use crate::args::AbArgs;
use crate::error::CommandError;
use crate::output::{self, PrintOptions, Results};

pub(super) fn ab(args: &AbArgs, options: PrintOptions) -> Result<Exit, CommandError> {
    let limits = Limits::new(&args.limits)?;
    let results = Results::new(&args.exports, &[], options)?;
    let revisions = Revisions::here(&args.build)?;
    let [then, now] = [revisions.named(&args.then)?, revisions.named(&args.now)?];
    if then.hash == now.hash {
        let message = format!("both revisions are {}: name two that differ", then.name);
        return Err(CommandError::usage(message));
    }
    let [then, now] = [revisions.check_out(&then, &args.build)?, revisions.check_out(&now, &args.build)?];
    refuse_formats(&results, now.in_common(&then))?;
    let [then, now] = [then.build(&args.build)?, now.build(&args.build)?];
    let Suites { both, others } = in_common(&then, &now)?;
    others.iter().for_each(|other| output::warn(other));
    let pairs = Pairs {
        most: args.pairs.pairs,
        seed: args.pairs.seed,
        time: args.time,
        limits,
        filters: &args.filters,
        flags: &args.flags,
    };
    let folder = RunFolder::below(&revisions.home().join("ab"))?;
    let mut runs = Vec::new();
    let measure = || -> Result<Exit, CommandError> {
        let mut ends = Vec::new();
        for suite in both {
            let mut processes = Processes::new([&then, &now], suite, &folder, &revisions, &pairs);
            if let Some(run) = compared(&mut processes, &pairs)? {
                ends.push(exit(&run));
                results.print_run("", &run, false)?;
                runs.push((suite[1].name(), run));
            }
            if let Some(interrupted) = processes.interrupted() {
                ends.push(interrupted);
                break;
            }
        }
        Ok(exit_of_all(ends))
    };
    let ended = measure();
    // What was compared before an error is written too.
    let written = write(&results, &runs, &others, options);
    let exit = ended?;
    written.map(|()| exit)
}

/// Refuses formats that hold one benchmark binary, before anything is built.
fn refuse_formats(results: &Results, suites: usize) -> Result<(), CommandError> {
    match results.exports.iter().find(|export| export.format != Format::MARKDOWN) {
        Some(export) if suites > 1 => Err(CommandError::usage(format!(
            "--{} holds one benchmark binary, and both revisions have {suites}: choose one by --bench, or write --markdown, which has \
             a section for each",
            export.format.name
        ))),
        _ => Ok(()),
    }
}

/// Returns the exit code for a comparison. One without results of the later revision is no empty run: it lists what is missing.
fn exit(run: &Run) -> Exit {
    match Exit::of(run) {
        Exit::Nothing => run.gate().map_or(Exit::Done, |gate| gate.exit()),
        exit => exit,
    }
}

/// Prints the benchmark binaries that were not compared, and writes the files.
fn write(
    results: &Results,
    runs: &[(String, Run)],
    others: &[String],
    options: PrintOptions,
) -> Result<(), CommandError> {
    if !others.is_empty() {
        let lines: String = others.iter().map(|other| format!("{other}\n")).collect();
        results.print(&format!("\n{}", paragraph(&lines, options.page())))?;
    }
    for export in &results.exports {
        match runs {
            [] if others.is_empty() => {}
            runs if export.format == Format::MARKDOWN => {
                output::write_to(&export.to, &|out| write_markdown(runs, others, out))?;
            }
            [(_, run)] => output::write(export, run)?,
            _ => {}
        }
    }
    Ok(())
}
