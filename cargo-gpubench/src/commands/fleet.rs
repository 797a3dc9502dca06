//! `fleet`: finds the slow GPUs among the runs of many, and exits with 3 if there is one. The answer names files that cannot be read.

use gpubench_records::exit::Exit;
use gpubench_report::fleet::{FleetReport, FleetRules, FleetRuns, fleet_files, render};
use gpubench_table::export::ExportTo;

use crate::args::FleetArgs;
use crate::error::CommandError;
use crate::output::{self, PrintOptions};

pub(super) fn fleet(args: &FleetArgs, options: PrintOptions) -> Result<Exit, CommandError> {
    let json = args.json.clone().map(ExportTo::of);
    if let Some(to) = &json {
        let sources: Vec<ExportTo> = fleet_files(&args.files).0.into_iter().map(ExportTo::File).collect();
        output::check_destination(to, &sources)?;
    }
    let runs = FleetRuns::read(&args.files, &args.selection.selection()?);
    if let Some(first) = runs.unread.first().filter(|_| runs.is_empty()) {
        return Err(CommandError::usage(format!("no run could be read. {first}")));
    }
    let answer = FleetReport::new(runs, FleetRules { least: args.least, false_discoveries: args.fdr });
    output::answer(&render(&answer, options.page()), &answer, json.as_ref(), options)?;
    Ok(answer.exit())
}
