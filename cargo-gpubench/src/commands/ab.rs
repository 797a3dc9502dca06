//! `ab`: compares two revisions. Both are built first. Then processes of both are interleaved on one device, until every result is decided
//! or the time is up. What was measured before a signal came is compared.

use gpubench_records::exit::Exit;
use gpubench_records::record::Run;
use gpubench_table::export::{Format, write_markdown};
use gpubench_table::paragraph;

use super::exit_of_all;
use super::pairs::{Pairs, run_folder};
use super::revision::{Revision, Revisions};
use super::suites::{Built, BuiltSuite};
use crate::args::AbArgs;
use crate::error::CommandError;
use crate::output::{self, PrintOptions, Results};

pub(super) fn ab(args: &AbArgs, options: PrintOptions) -> Result<Exit, CommandError> {
    let results = Results::new(&args.exports, &[], options)?;
    let revisions = Revisions::here(&args.build)?;
    let [then, now] = [revisions.named(&args.then)?, revisions.named(&args.now)?];
    if then.1 == now.1 {
        return Err(CommandError::usage(format!("both revisions are {}: name two that differ", then.0)));
    }
    let then = revisions.check_out("then", then, &args.build)?;
    let now = revisions.check_out("now", now, &args.build)?;
    let in_common = |other: &Revision| {
        now.targets.iter().filter(|it| other.targets.iter().any(|other| it.has_names_of(other))).count()
    };
    refuse_formats(&results, in_common(&then))?;
    let built = [then.build(&args.build)?, now.build(&args.build)?];
    let (both, others) = pairs_of_suites(&then.name, &now.name, &built)?;
    others.iter().for_each(|other| output::warn(other));
    let folder = run_folder(&revisions.home().join("ab"))?;
    let mut runs = Vec::new();
    let measure = || -> Result<Exit, CommandError> {
        let mut ends = Vec::new();
        for suite in both {
            let sides = [(&*then.name, &built[0]), (&*now.name, &built[1])];
            let mut pairs = Pairs::new(sides, suite, &folder, &revisions.target, args);
            if let Some(run) = pairs.compared()? {
                ends.push(exit(&run));
                results.print_run("", &run, false)?;
                runs.push((suite[1].name(), run));
            }
            if let Some(interrupted) = pairs.interrupted {
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

/// Returns the benchmark binaries that both revisions have, the earlier revision's first, and a sentence for each that one lacks.
fn pairs_of_suites<'a>(
    then: &str,
    now: &str,
    [old, new]: &'a [Built; 2],
) -> Result<(Vec<[&'a BuiltSuite; 2]>, Vec<String>), CommandError> {
    let find = |built: &'a Built, like: &BuiltSuite| {
        built.suites.iter().find(|suite| suite.target.has_names_of(&like.target))
    };
    let both: Vec<_> = new.suites.iter().filter_map(|new| Some([find(old, new)?, new])).collect();
    let lacking = |built: &'a Built, other: &'a Built, what: &str| {
        let alone = built.suites.iter().filter(|suite| find(other, suite).is_none());
        alone.map(|suite| format!("{} is {what} {now}", suite.name())).collect::<Vec<_>>()
    };
    let added = lacking(new, old, "new in").into_iter().map(|sentence| sentence + ", and not measured");
    let others: Vec<String> = added.chain(lacking(old, new, "missing in")).collect();
    if both.is_empty() {
        let lines: String = others.iter().map(|other| format!("\n  {other}")).collect();
        let message = format!("{then} and {now} have no benchmark binary in common{lines}");
        return Err(CommandError::new(Exit::Nothing, message));
    }
    Ok((both, others))
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
