//! The row of a comparison that answers a change. In: the rows, which may be of several devices; out: the answer of the one whose device
//! the change is of.

use gpubench_records::comparison::CaseFinding;
use gpubench_records::facts::{Facts, UUID};
use gpubench_records::record::{Record, Run};
use gpubench_report::history::Confirmation;

use super::Told;
use crate::output;

/// Returns the answer to a change: of the row of its device, else of another device of its model, else of the only device there is.
pub(super) fn answer(run: Option<&Run>, told: &Told<'_>) -> Confirmation {
    let not_measured = |reason: &str| Confirmation::NotMeasured { reason: reason.to_owned() };
    let rows: Vec<Row<'_>> = run.into_iter().flat_map(rows).filter(|row| row.is_of_case(told)).collect();
    if rows.is_empty() {
        return not_measured("the case was not measured");
    }
    let only = |is_this: &dyn Fn(&Row<'_>) -> bool| {
        let mut found = rows.iter().filter(|row| is_this(row));
        found.next().filter(|_| found.next().is_none())
    };
    let its_own = only(&|row| told.uuid.is_some() && row.uuid() == told.uuid);
    let of_model = || only(&|row| row.record.case.model == told.case.case.model);
    let Some(row) = its_own.or_else(of_model).or_else(|| only(&|_| true)) else {
        let devices: Vec<&str> = rows.iter().map(|row| &*row.line.device).collect();
        let of = told.uuid.unwrap_or(&told.case.case.model);
        return not_measured(&format!(
            "its device, {of}, is none of {}: give one by -- --device",
            devices.join(", ")
        ));
    };
    if its_own.is_none() && (told.uuid.is_some() || row.record.case.model != told.case.case.model) {
        let case = &told.case.case;
        let was = told.uuid.map_or_else(String::new, |uuid| format!(" ({uuid})"));
        let is = row.uuid().map_or_else(String::new, |uuid| format!(" ({uuid})"));
        output::warn(&format!(
            "{case}: its change is of {}{was}, and is measured again on {}{is}",
            case.model, row.record.case.model
        ));
    }
    Confirmation::new(told.change.ratio, &row.line.finding)
}

/// A row with its record and the facts of its device.
struct Row<'a> {
    line: &'a CaseFinding,
    record: &'a Record,
    device: Option<&'a Facts>,
}

/// Returns the rows of a run, which are in the order of its records.
fn rows(run: &Run) -> impl Iterator<Item = Row<'_>> {
    let lines = run.check.iter().flat_map(|check| &check.lines);
    lines.zip(&run.records).map(|(line, record)| {
        let device = run.devices.iter().find(|facts| facts.device == record.device);
        Row { line, record, device }
    })
}

impl Row<'_> {
    fn is_of_case(&self, told: &Told<'_>) -> bool {
        self.line.name == told.case.case.name() && self.line.cache == told.case.case.cache
    }

    fn uuid(&self) -> Option<&str> {
        self.device.and_then(|facts| facts.text(UUID))
    }
}
