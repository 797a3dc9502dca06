//! Merges the records of several processes into one for each case: the one with the middle median, which also gets the measurements of the
//! others. The worst verdict and every failure stay.

use crate::{Measurement, PlannedCase, Reason, Record};
use gpubench_stats::{Map, Nanoseconds};

/// Records grouped by case, in the order of the first record of each case.
#[derive(Default)]
pub(crate) struct RecordsByCase {
    cases: Vec<Vec<Record>>,
    /// Boxed, since the map moves its keys.
    indices: Map<Box<PlannedCase>, usize>,
}

impl RecordsByCase {
    /// Returns the records of `case` so far, to add another one. They are empty for a new case.
    pub(crate) fn of_case(&mut self, case: PlannedCase) -> &mut Vec<Record> {
        let index = *self.indices.or_insert(Box::new(case), self.cases.len());
        if index == self.cases.len() {
            self.cases.push(Vec::new());
        }
        &mut self.cases[index]
    }

    /// Merges the records of each case into one. Keeps the order of cases.
    pub(crate) fn merged(self) -> Vec<Record> {
        self.cases.into_iter().filter_map(merge_case).collect()
    }
}

/// Merges the records of each case into one. Cases are in the order of their first records.
pub fn merged(records: Vec<Record>) -> Vec<Record> {
    let mut cases = RecordsByCase::default();
    for record in records {
        cases.of_case(record.planned()).push(record);
    }
    cases.merged()
}

/// Merges the records of one case. Of the records with the worst verdict, keeps the one whose median is
/// nearest to the middle of all medians, and moves the measurements of all others into it. Returns `None` for
/// no records.
fn merge_case(mut records: Vec<Record>) -> Option<Record> {
    if records.len() == 1 {
        return records.pop();
    }
    let worst = records.iter().map(|record| record.verdict.state).max()?;
    let median =
        |measured: Option<&Measurement>| measured.map_or(Nanoseconds(f64::INFINITY), Measurement::median);
    let own = |record: &Record| median(record.measurement.as_ref());
    let others = records.iter().flat_map(|record| record.other_processes.iter().map(Measurement::median));
    let all: Vec<Nanoseconds> = records.iter().map(own).chain(others).collect();
    let distance = |record: &Record| {
        let faster = all.iter().filter(|median| **median < own(record)).count();
        faster.abs_diff(all.len() / 2)
    };
    gpubench_stats::sort_by(&mut records, |a, b| own(a).total_cmp(&own(b)));
    let candidates = records.iter().enumerate().filter(|(_, record)| record.verdict.state == worst);
    let (shown, _) = candidates.min_by_key(|(_, record)| distance(record))?;
    let mut shown = records.remove(shown);
    for record in records {
        shown.remeasured += record.remeasured;
        shown.other_processes.extend(record.measurement.into_iter().chain(record.other_processes));
    }
    gpubench_stats::sort_by(&mut shown.other_processes, |a, b| a.median().total_cmp(&b.median()));
    judge_work(&mut shown);
    Some(shown)
}

/// Makes a record invalid if its processes declare different work, since they did not measure the same. Does
/// not add the reason a second time.
fn judge_work(record: &mut Record) {
    let mut counts = record.measurements().map(|measured| &measured.counts);
    let Some(first) = counts.next() else { return };
    let Some(differences) =
        counts.map(|other| crate::metrics::count_differences(first, other)).find(|found| !found.is_empty())
    else {
        return;
    };
    let is_reported = |reason: &Reason| matches!(reason, Reason::WorkDiffers { .. });
    if !record.verdict.reasons.iter().any(is_reported) {
        record.verdict.add([Reason::WorkDiffers { differences: differences.join("; ") }]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{Failure, Stage};
    use crate::files;
    use crate::verdict::State;

    /// The record of a benchmark whose median is this.
    fn record(benchmark: &str, median: f64) -> Record {
        let lines = include_bytes!("../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");
        let mut record = files::read(&lines[..]).expect("a run").run.records.swap_remove(0);
        benchmark.clone_into(&mut record.case.benchmark);
        record.measurement.as_mut().expect("it was measured").samples.time.median = Nanoseconds(median);
        record
    }

    fn medians(record: &Record) -> Vec<f64> {
        let all = record.measurements();
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
    fn what_was_merged_before_loses_no_process() {
        let before = merged([4.0, 1.0, 2.0].map(|median| record("a", median)).to_vec());
        let again = [3.0, 5.0].map(|median| Record { remeasured: 1, ..record("a", median) });
        let merged = merged([before, again.to_vec()].concat());
        // The one in the middle is the second of the later ones: of those merged before only the shown one has its verdict.
        assert_eq!(medians(&merged[0]), [3.0, 1.0, 2.0, 4.0, 5.0]);
        assert_eq!(merged[0].remeasured, 2);
    }

    /// A benchmark that counts differently each time.
    #[test]
    fn processes_that_claim_different_work_make_a_case_invalid() {
        let claiming = |bytes: u64| {
            let mut record = record("a", bytes as f64);
            let counts = &mut record.measurement.as_mut().expect("it was measured").counts;
            (counts.bytes, counts.reads, counts.writes) = (Some(bytes), None, None);
            record
        };
        assert_eq!(merged(vec![claiming(1); 3])[0].verdict.state, State::Valid);
        let once = merged([1, 2, 3].map(claiming).to_vec());
        let again = merged([once.clone(), vec![claiming(2)]].concat());
        for (merged, processes) in [(once, 3), (again, 4)] {
            assert_eq!((merged.len(), medians(&merged[0]).len()), (1, processes), "nothing is lost");
            let told: Vec<String> = merged[0].verdict.reasons.iter().map(ToString::to_string).collect();
            assert_eq!(merged[0].verdict.state, State::Invalid);
            let claims = "work differs: processes declare different work (bytes 2, was 1)";
            assert!(told.len() == 1 && told[0].starts_with(claims), "{told:?}");
        }
    }

    #[test]
    fn a_failure_is_shown_and_the_measurements_beside_it_are_kept() {
        let failed = Record::failed(record("a", 1.0).planned(), Failure::new(Stage::Launch, "no"));
        let merged = merged(vec![record("a", 1.0), failed, record("a", 2.0)]);
        assert_eq!((merged.len(), merged[0].verdict.state), (1, State::Invalid));
        assert_eq!((merged[0].measurement.is_none(), merged[0].other_processes.len()), (true, 2));
    }
}
