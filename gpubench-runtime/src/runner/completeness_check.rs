//! Compares a finished run with its plan: a run that lost a record must not look complete.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::plan::Plan;
use gpubench_records::id::PlannedCase;
use gpubench_records::record::Record;
use gpubench_stats::format::counted;

/// The longest list of cases that an error names.
const MOST_NAMED: usize = 10;

/// Compares `records` with `runs` repetitions of `plan`.
///
/// # Errors
/// Returns an error that names the cases that do not have exactly one record of each repetition.
pub(super) fn check(plan: &Plan, records: &[Record], runs: usize) -> Result<(), String> {
    let mut counts: BTreeMap<PlannedCase, (usize, usize)> = BTreeMap::new();
    for (job, cache) in plan.planned_cases() {
        counts.entry(job.case(cache)).or_default().0 += runs;
    }
    for record in records {
        counts.entry(record.planned()).or_default().1 += 1;
    }
    let mut wrong: [(&str, Vec<String>); 3] =
        ["missing", "too often", "not planned"].map(|kind| (kind, Vec::new()));
    for (case, (planned, found)) in counts {
        let kind = match (planned, found.cmp(&planned)) {
            (_, Ordering::Equal) => continue,
            (_, Ordering::Less) => 0,
            (0, Ordering::Greater) => 2,
            (_, Ordering::Greater) => 1,
        };
        wrong[kind].1.push(format!("`{case}` on `{}`", case.device));
    }
    let described = wrong.iter().filter(|(_, cases)| !cases.is_empty()).map(|(kind, cases)| {
        let others = match cases.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        let named = cases[..cases.len().min(MOST_NAMED)].join(", ");
        format!("{kind}: {named}{others} ({})", counted(cases.len(), "case"))
    });
    let described: Vec<String> = described.collect();
    match described.is_empty() {
        true => Ok(()),
        false => Err(format!("the records are not those of the plan: {}", described.join("; "))),
    }
}
