//! The records of several processes made one for each case. In: records in the order they were made; out: of each case the
//! one whose median is in the middle, with what the others measured. Nothing is left out, and every failure is reported.

use std::collections::HashMap;

use crate::id::PlannedCase;
use crate::record::{Measurement, Record};
use gpubench_stats::units::Nanoseconds;

/// One record for each case, in the order in which cases first came.
#[must_use]
pub fn merged(records: Vec<Record>) -> Vec<Record> {
    let mut cases: Vec<Vec<Record>> = Vec::new();
    let mut places: HashMap<PlannedCase, usize> = HashMap::new();
    for record in records {
        let place = *places.entry(record.planned()).or_insert(cases.len());
        match cases.get_mut(place) {
            Some(case) => case.push(record),
            None => cases.push(vec![record]),
        }
    }
    cases.into_iter().filter_map(of_case).collect()
}

/// Chooses the worst verdict first, then the middle of the records that have it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Failure, Stage};
    use crate::files;
    use crate::verdict::State;

    /// The record of a benchmark whose median is this.
    fn record(benchmark: &str, median: f64) -> Record {
        let lines = include_bytes!("../../gpubench-runtime/tests/parsing/corpus/runs/clockwork.jsonl");
        let mut record = files::read(&lines[..]).expect("a run").run.records.swap_remove(0);
        benchmark.clone_into(&mut record.case.benchmark);
        record.measurement.as_mut().expect("it was measured").samples.time.median = Nanoseconds(median);
        record
    }

    fn medians(record: &Record) -> Vec<f64> {
        let all = record.measurement.iter().chain(&record.other_processes);
        all.map(|measurement| measurement.median().0).collect()
    }

    #[test]
    fn each_case_is_there_once_in_the_order_in_which_it_first_came() {
        let records = [("b", 3.0), ("a", 7.0), ("b", 1.0), ("c", 5.0), ("a", 8.0), ("b", 2.0)];
        let merged = merged(records.map(|(name, median)| record(name, median)).to_vec());
        let cases: Vec<_> = merged.iter().map(|record| &*record.case.benchmark).collect();
        assert_eq!(cases, ["b", "a", "c"]);
        assert_eq!(medians(&merged[0]), [2.0, 1.0, 3.0], "the one in the middle is shown, and none is lost");
        assert_eq!(medians(&merged[2]), [5.0]);
    }

    #[test]
    fn a_failure_is_shown_and_the_measurements_beside_it_are_kept() {
        let failed = Record::failed(record("a", 1.0).planned(), Failure::new(Stage::Launch, "no"));
        let merged = merged(vec![record("a", 1.0), failed, record("a", 2.0)]);
        assert_eq!((merged.len(), merged[0].verdict.state), (1, State::Invalid));
        assert_eq!((merged[0].measurement.is_none(), merged[0].other_processes.len()), (true, 2));
    }
}
