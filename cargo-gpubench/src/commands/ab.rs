//! `ab`: two revisions compared. In: their names; out: the table of the later one with the change of each case, and exit code 3 for a
//! regression. Both are built first; then processes of both alternate on one device, until every row is decided or the time is
//! up. What was measured before a signal came is compared all the same.

use gpubench_records::exit::Exit;
use gpubench_records::record::Run;
use gpubench_report as report;
use gpubench_report::export::{Export, ExportTo, exports};
use gpubench_stats::DECISION_ERROR;

use super::compare::Limits;
use super::pairs::{Pairs, Processes, RunFolder, Suites, compared, in_common};
use super::revision::Revisions;
use crate::args::AbArgs;
use crate::error::{CommandError, RevisionError};
use crate::output::{self, PrintOptions};

pub(super) fn ab(args: &AbArgs, print_options: PrintOptions) -> Result<Exit, CommandError> {
    let limits = Limits::parse(args.band.as_deref(), args.fail_on_regression.as_deref())?;
    let exports = exports(args.exports.0.clone())?;
    exports.iter().try_for_each(|export| output::check_destination(&export.to, &[]))?;
    let revisions = Revisions::here(&args.build)?;
    let [then, now] = [revisions.named(&args.then)?, revisions.named(&args.now)?];
    if then == now {
        return Err(RevisionError::Same(then.to_string()).into());
    }
    let then = revisions.build(&then, &args.build)?;
    let now = revisions.build(&now, &args.build)?;
    let Suites { both: suites, others } = in_common(&then, &now)?;
    others.iter().for_each(|other| output::warn(other));
    if suites.len() > 1 && !exports.is_empty() {
        return Err(RevisionError::SeveralSuites(suites.len()).into());
    }
    let folder = RunFolder::below(&revisions.home().join("ab"))?;
    let pairs = Pairs {
        most: args.pairs.pairs,
        seed: args.pairs.seed,
        time: args.time,
        error: DECISION_ERROR,
        limits,
        filters: &args.filters,
        flags: &args.flags,
    };
    let mut ends = Vec::new();
    for suite in suites {
        let mut processes = Processes::new([&then, &now], suite, &folder, &revisions, &pairs);
        match compared(&mut processes, &pairs)? {
            Some(run) => {
                show(&run, &exports, print_options)?;
                ends.push(exit(&run));
            }
            None => ends.push(Exit::Nothing),
        }
        if let Some(interrupted) = processes.interrupted() {
            ends.push(interrupted);
            break;
        }
    }
    // A filter need not match in every suite.
    Ok(ends.into_iter().filter(|exit| *exit != Exit::Nothing).min().unwrap_or(Exit::Nothing))
}

fn show(run: &Run, exports: &[Export], print_options: PrintOptions) -> Result<(), CommandError> {
    if !exports.iter().any(|export| export.to == ExportTo::StandardOutput) {
        output::print(&report::render(run, print_options.page()), print_options)?;
    }
    output::write(exports, run)
}

/// Returns the end by a comparison. One without a row of the later revision is no empty run: it lists what is missing.
fn exit(run: &Run) -> Exit {
    match Exit::of(run) {
        Exit::Nothing => run.gate().map_or(Exit::Done, |gate| gate.exit()),
        exit => exit,
    }
}
