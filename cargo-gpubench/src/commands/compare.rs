//! `compare`: a run held against an earlier one, as a suite holds its run against a baseline. In: both; out: the table of the
//! later with the change of each case, and exit code 3 for a regression.

use gpubench_records::baseline::{Baseline, check};
use gpubench_records::comparison::Threshold;
use gpubench_records::exit::Exit;
use gpubench_records::files::NamedRun;
use gpubench_records::files::StoredRuns;
use gpubench_records::selection::CaseSelection;
use gpubench_report::export::ExportArgs;
use gpubench_table as report;
use gpubench_table::export::{ExportTo, exports};

use super::{load, load_selected};
use crate::error::CommandError;
use crate::output::{self, PrintOptions};

/// The runs to compare.
pub(super) struct ComparedRuns<'a> {
    /// Without a name, the complete run of the same benchmark binary before the later one.
    pub(super) earlier: Option<&'a str>,
    pub(super) later: &'a str,
    pub(super) selection: CaseSelection,
    pub(super) limits: Limits,
}

/// The differences that matter.
pub(super) struct Limits {
    band: Option<f64>,
    threshold: Option<Threshold>,
}

impl Limits {
    pub(super) fn parse(band: Option<&str>, threshold: Option<&str>) -> Result<Self, CommandError> {
        let refused = |flag, text: &str, also| CommandError::Percentage { flag, text: text.to_owned(), also };
        let threshold = threshold
            .map(|text| text.parse().map_err(|_| refused("--fail-on-regression", text, ", or `noise`")));
        let band = band.map(|text| Threshold::part(text).ok_or_else(|| refused("--band", text, "")));
        Ok(Self { band: band.transpose()?, threshold: threshold.transpose()? })
    }
}

pub(super) fn compare(
    stored: &StoredRuns,
    comparison: &ComparedRuns<'_>,
    given: &ExportArgs,
    print_options: PrintOptions,
) -> Result<Exit, CommandError> {
    let ComparedRuns { earlier, later, selection, limits } = comparison;
    let exports = exports(given.0.clone())?;
    let read: Vec<String> = earlier.iter().chain([later]).map(ToString::to_string).collect();
    output::check(&exports, &read, stored)?;
    let mut run = load_selected(stored, later, selection)?;
    let mut before = match earlier {
        Some(earlier) => NamedRun { name: (*earlier).to_owned(), run: load(stored, earlier)? },
        None => stored.before(&run.program.suite, run.started)?,
    };
    selection.narrow(&mut before.run);
    let baseline = Baseline::of(before.name, before.run);
    run.threshold = limits.threshold;
    run.sampling.band = limits.band(run.sampling.band);
    run.check = Some(check(&run, &baseline, &|_| true));
    if !exports.iter().any(|export| export.to == ExportTo::StandardOutput) {
        output::print(&report::render(&run, print_options.page()), print_options)?;
    }
    output::write(&exports, &run)?;
    Ok(Exit::of(&run))
}

impl Limits {
    /// Returns the difference from which on a slower case is a regression.
    pub(super) fn threshold(&self) -> Option<Threshold> {
        self.threshold
    }

    /// Returns the band: as the user gives it, else that of the run, but no wider than what is a regression.
    pub(super) fn band(&self, of_run: f64) -> f64 {
        match (self.band, self.threshold) {
            (Some(band), _) => band,
            (None, Some(Threshold::Part(part))) => part.min(of_run),
            (None, _) => of_run,
        }
    }
}
