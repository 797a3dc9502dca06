//! The records of several processes made one for each case. In: records in the order they were made; out: of each case the one
//! whose median is in the middle, with what the others measured. Nothing is left out, and whatever failed is told.

use crate::record::{Measurement, Record};
use gpubench_stats::units::Nanoseconds;

/// One record for each case, in the order in which cases first came.
#[must_use]
pub fn merged(records: Vec<Record>) -> Vec<Record> {
    let mut cases: Vec<Vec<Record>> = Vec::new();
    for record in records {
        match cases.iter_mut().find(|case| case[0].case == record.case) {
            Some(case) => case.push(record),
            None => cases.push(vec![record]),
        }
    }
    cases.into_iter().filter_map(of_case).collect()
}

/// The worst verdict comes first, then the middle of those that have it.
fn of_case(mut records: Vec<Record>) -> Option<Record> {
    let worst = records.iter().map(|record| record.verdict.state).max()?;
    let median =
        |record: &Record| record.measurement.as_ref().map_or(Nanoseconds(f64::INFINITY), Measurement::median);
    records.sort_by(|a, b| median(a).total_cmp(&median(b)));
    let middle = records.len() / 2;
    let distance = |place: usize| place.abs_diff(middle);
    let shown = (0..records.len())
        .filter(|place| records[*place].verdict.state == worst)
        .min_by_key(|place| distance(*place))?;
    let mut shown = records.remove(shown);
    shown.other_processes = records.into_iter().filter_map(|record| record.measurement).collect();
    Some(shown)
}
