//! `ab`: two revisions compared. In: their names; out: the table of the later one with the change of each case, and exit code 3 for a
//! regression. Both are built first; then processes of both alternate on one device, until every row is decided or the time is
//! up. What was measured before a signal came is compared all the same.

mod results;

use gpubench_records::exit::Exit;
use gpubench_records::record::Run;
use gpubench_table::export::{Export, Format, exports};

use self::results::Results;
use super::compare::Limits;
use super::pairs::{Pairs, Processes, RunFolder, compared, in_common};
use super::revision::{BuiltRevision, Revisions};
use super::suites::BuiltSuite;
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
    let then = revisions.check_out(&then, &args.build)?;
    let now = revisions.check_out(&now, &args.build)?;
    refuse_formats(&exports, now.in_common(&then))?;
    let [then, now] = [then.build(&args.build)?, now.build(&args.build)?];
    let suites = in_common(&then, &now)?;
    let comparison = Comparison {
        built: [&then, &now],
        folder: RunFolder::below(&revisions.home().join("ab"))?,
        revisions: &revisions,
        pairs: Pairs {
            most: args.pairs.pairs,
            seed: args.pairs.seed,
            time: args.time,
            limits,
            filters: &args.filters,
            flags: &args.flags,
        },
    };
    let mut results = Results::new(&exports, suites.others, print_options);
    let ended = comparison.measure(&suites.both, &mut results);
    // What was compared before an error is shown and written too.
    let written = results.end();
    let exit = ended?;
    written.map(|()| exit)
}

/// Refuses formats that have no place for several suites, before anything is built.
fn refuse_formats(exports: &[Export], suites: usize) -> Result<(), RevisionError> {
    match exports.iter().find(|export| export.format != Format::MARKDOWN) {
        Some(export) if suites > 1 => {
            Err(RevisionError::SeveralSuites { format: export.format.name, suites })
        }
        _ => Ok(()),
    }
}

/// The comparison of two revisions.
struct Comparison<'a> {
    built: [&'a BuiltRevision; 2],
    folder: RunFolder,
    revisions: &'a Revisions,
    pairs: Pairs<'a>,
}

impl Comparison<'_> {
    /// Measures these suites, one after another, until a signal comes.
    fn measure(&self, suites: &[[&BuiltSuite; 2]], results: &mut Results<'_>) -> Result<Exit, CommandError> {
        let mut ends = Vec::new();
        for suite in suites {
            let mut processes = Processes::new(self.built, *suite, &self.folder, self.revisions, &self.pairs);
            match compared(&mut processes, &self.pairs)? {
                Some(run) => {
                    ends.push(exit(&run));
                    results.add(suite[1].name(), run)?;
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
}

/// Returns the end by a comparison. One without a row of the later revision is no empty run: it lists what is missing.
fn exit(run: &Run) -> Exit {
    match Exit::of(run) {
        Exit::Nothing => run.gate().map_or(Exit::Done, |gate| gate.exit()),
        exit => exit,
    }
}
