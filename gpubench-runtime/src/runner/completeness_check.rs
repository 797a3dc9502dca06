//! Compares a finished run with its plan: a run that lost a record must not look complete.

use std::collections::BTreeMap;

use crate::plan::Plan;
use gpubench_records::id::PlannedCase;
use gpubench_records::record::Record;

/// Compares `records` with `runs` repetitions of `plan`.
///
/// # Errors
/// Returns an error that names the first case that does not have exactly one record of each repetition.
pub(super) fn check(plan: &Plan, records: &[Record], runs: usize) -> Result<(), String> {
    let mut missing: BTreeMap<PlannedCase, isize> = BTreeMap::new();
    for (job, cache) in plan.planned_cases() {
        *missing.entry(job.case(cache)).or_default() += runs as isize;
    }
    records.iter().for_each(|record| *missing.entry(record.planned()).or_default() -= 1);
    missing.retain(|_, missing| *missing != 0);
    let Some((case, missing)) = missing.first_key_value() else { return Ok(()) };
    let difference = if *missing > 0 { "lacks" } else { "has more than" };
    Err(format!("the run {difference} its records of `{case}` on `{}`", case.device))
}
