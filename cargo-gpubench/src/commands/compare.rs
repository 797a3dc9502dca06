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

/// The differences that matter.
pub(super) struct Limits {
    equivalence_margin: Option<f64>,
    /// The difference from which on a slower case is a regression.
    threshold: Option<Threshold>,
}

impl Limits {
    pub(super) fn new(args: &LimitArgs) -> Result<Self, CommandError> {
        Self::parse(args.equivalence_margin.as_deref(), args.fail_on_regression.as_deref())
    }

    pub(super) fn parse(margin: Option<&str>, threshold: Option<&str>) -> Result<Self, CommandError> {
        let refused = |flag, text: &str, also| CommandError::Percentage { flag, text: text.to_owned(), also };
        let threshold = threshold
            .map(|text| text.parse().map_err(|_| refused("--fail-on-regression", text, ", or `noise`")));
        let margin =
            margin.map(|text| Threshold::part(text).ok_or_else(|| refused("--equivalence-margin", text, "")));
        Ok(Self { equivalence_margin: margin.transpose()?, threshold: threshold.transpose()? })
    }

    /// Sets the limits of a comparison. The equivalence margin is the user's, else that of the run, and at most a regression.
    pub(super) fn set(&self, run: &mut Run) {
        let margin = &mut run.sampling.equivalence_margin;
        *margin = match (self.equivalence_margin, self.threshold) {
            (Some(given), _) => given,
            (None, Some(Threshold::Fraction(fraction))) => fraction.min(*margin),
            (None, _) => *margin,
        };
        run.regression_threshold = self.threshold;
    }
}

/// Compares the run `later` with the earlier run of `args`, or with the complete run of the same benchmark binary before it.
pub(super) fn compare(
    stored: &StoredRuns,
    later: &String,
    args: &CompareArgs,
    options: PrintOptions,
) -> Result<Exit, CommandError> {
    let limits = Limits::new(&args.limits)?;
    let selection = args.selection.selection()?;
    let read: Vec<String> = args.earlier.iter().chain([later]).cloned().collect();
    let results = Results::new(&args.exports, &output::sources(&read, stored), options)?;
    let mut run = select(load(stored, later)?, &selection)?;
    let mut before = match &args.earlier {
        Some(earlier) => load(stored, earlier)?,
        None => stored.before(&run.program.suite, run.started)?,
    };
    selection.narrow(&mut before.run);
    limits.set(&mut run);
    run.baseline_comparison = Some(check(&run, &Baseline::of(before.name, before.run), &|_| true));
    results.print_run("", &run, false)?;
    results.write(&run)?;
    Ok(Exit::of(&run))
}
