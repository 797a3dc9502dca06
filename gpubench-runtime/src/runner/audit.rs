//! The comparison of a finished run with its plan. In: both; out: nothing, or the cases that are missing, that are there too
//! often, or that nobody planned: a run that lost a record must not look complete.

use std::collections::BTreeMap;

use crate::plan::{JobStatus, Plan};
use crate::runner::RunError;
use gpubench_records::id::PlannedCase;
use gpubench_records::record::Record;
use gpubench_stats::format::counted;

/// The longest list of cases that an error names.
const NAMED: usize = 10;

/// The differences between the records of a run and its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("the records are not those of the plan: {}", self.describe())]
pub struct OtherRecords {
    /// The cases without a record.
    missing: Vec<String>,
    /// The cases with too many.
    doubled: Vec<String>,
    /// The cases that are not planned.
    unplanned: Vec<String>,
}

impl OtherRecords {
    fn describe(&self) -> String {
        let Self { missing, doubled, unplanned } = self;
        let kinds = [("missing", missing), ("too often", doubled), ("not planned", unplanned)];
        let told = kinds.into_iter().filter(|(_, cases)| !cases.is_empty());
        let told = told.map(|(what, cases)| {
            let named = cases.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
            let others = match cases.len().saturating_sub(NAMED) {
                0 => String::new(),
                others => format!(" and {others} more"),
            };
            format!("{what}: {named}{others} ({})", counted(cases.len(), "case"))
        });
        told.collect::<Vec<_>>().join("; ")
    }
}

/// Compares `records`, which `runs` repetitions of `plan` have left.
///
/// # Errors
/// Returns an error that names the cases that do not have exactly one record of each repetition.
pub(super) fn audit(plan: &Plan, records: &[Record], runs: usize) -> Result<(), RunError> {
    let planned = plan.jobs.iter().filter(|(_, fate)| !matches!(fate, JobStatus::Skipped(_)));
    let cases = planned.flat_map(|(job, _)| job.caches.iter().map(|cache| job.case(*cache)));
    let mut counts: BTreeMap<PlannedCase, (usize, usize)> = BTreeMap::new();
    for case in cases {
        counts.entry(case).or_default().0 += runs;
    }
    for record in records {
        counts.entry(record.planned()).or_default().1 += 1;
    }
    let mut found = OtherRecords::default();
    for (case, (wanted, there)) in &counts {
        let list = match (*wanted, there.cmp(wanted)) {
            (_, std::cmp::Ordering::Equal) => continue,
            (_, std::cmp::Ordering::Less) => &mut found.missing,
            (0, std::cmp::Ordering::Greater) => &mut found.unplanned,
            (_, std::cmp::Ordering::Greater) => &mut found.doubled,
        };
        list.push(format!("`{case}` on `{}`", case.device));
    }
    if found == OtherRecords::default() { Ok(()) } else { Err(found.into()) }
}
