//! `fleet`: the runs of many GPUs. In: files and folders; out: the slow GPUs, as a table or JSON, and exit code 3 if there is
//! one. Files that cannot be read are named in the answer, and do not change it.

use std::path::PathBuf;

use gpubench_records::comparison::Threshold;
use gpubench_records::exit::Exit;
use gpubench_records::selection::CaseSelection;
use gpubench_report::fleet::{FleetReport, FleetRules, FleetRuns, fleet_files, render};
use gpubench_table::export::ExportTo;

use crate::error::CommandError;
use crate::output::{self, PrintOptions};

/// The files of a fleet, and the file that its answer is written to.
pub(super) struct FleetFiles<'a> {
    pub(super) files: &'a [PathBuf],
    pub(super) least: &'a str,
    pub(super) fdr: &'a str,
    pub(super) selection: CaseSelection,
    pub(super) json: &'a Option<PathBuf>,
}

pub(super) fn fleet(fleet: &FleetFiles<'_>, print_options: PrintOptions) -> Result<Exit, CommandError> {
    let rules = FleetRules {
        least: percentage("--least", fleet.least)?,
        false_discoveries: percentage("--fdr", fleet.fdr)?,
    };
    let json = fleet.json.clone().map(ExportTo::of);
    if let Some(to) = &json {
        let sources: Vec<ExportTo> = fleet_files(fleet.files).0.into_iter().map(ExportTo::File).collect();
        output::check_destination(to, &sources)?;
    }
    let runs = FleetRuns::read(fleet.files, &fleet.selection);
    if let Some(first) = runs.unread.first().filter(|_| runs.is_empty()) {
        return Err(CommandError::NothingRead { first: first.clone() });
    }
    let answer = FleetReport::new(runs, rules);
    if json != Some(ExportTo::StandardOutput) {
        output::print(&render(&answer, print_options.page()), print_options)?;
    }
    if let Some(to) = &json {
        output::write_to(to, &|out| answer.write_json(out))?;
    }
    Ok(answer.exit())
}

fn percentage(flag: &'static str, text: &str) -> Result<f64, CommandError> {
    Threshold::part(text).ok_or_else(|| CommandError::Percentage { flag, text: text.to_owned(), also: "" })
}
