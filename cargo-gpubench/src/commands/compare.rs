//! `compare`: compares a run with an earlier one, as a benchmark binary compares its run with a baseline.

use gpubench_records::baseline::{Baseline, check};
use gpubench_records::comparison::Threshold;
use gpubench_records::exit::Exit;
use gpubench_records::files::StoredRuns;
use gpubench_records::record::Run;

use super::{load, select};
use crate::args::{CompareArgs, LimitArgs};
use crate::error::CommandError;
use crate::output::{self, PrintOptions, Results};

impl LimitArgs {
    /// Sets the limits of a comparison. The equivalence margin is the user's, else that of the run, and at most a regression.
    pub(super) fn set(&self, run: &mut Run) {
        let margin = &mut run.sampling.equivalence_margin;
        *margin = match (self.equivalence_margin, self.fail_on_regression) {
            (Some(given), _) => given,
            (None, Some(Threshold::Fraction(fraction))) => fraction.min(*margin),
            (None, _) => *margin,
        };
        run.regression_threshold = self.fail_on_regression;
    }
}

/// Compares the run `later` with the earlier run of `args`, or with the complete run of the same benchmark binary before it.
pub(super) fn compare(
    stored: &StoredRuns,
    later: &String,
    args: &CompareArgs,
    options: PrintOptions,
) -> Result<Exit, CommandError> {
    let selection = args.selection.selection()?;
    let read: Vec<String> = args.earlier.iter().chain([later]).cloned().collect();
    let results = Results::new(&args.exports, &output::sources(&read, stored), options)?;
    let mut run = select(load(stored, later)?, &selection)?;
    let mut before = match &args.earlier {
        Some(earlier) => load(stored, earlier)?,
        None => stored.before(&run.program.suite, run.started)?,
    };
    selection.narrow(&mut before.run);
    args.limits.set(&mut run);
    run.baseline_comparison = Some(check(&run, &Baseline::of(before.name, before.run), &|_| true));
    results.print_run("", &run, false)?;
    results.write(&run)?;
    Ok(Exit::of(&run))
}
