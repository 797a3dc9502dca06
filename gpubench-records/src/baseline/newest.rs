//! The newest number of each case. In: the runs of a baseline, in any order; out: for each case the newest record that has a
//! number, and the runs that a newer one supersedes.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::id::CaseId;
use crate::record::{Record, Run};

/// A baseline as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// The name that the user gave.
    pub name: String,
    /// The newest first.
    runs: Vec<Run>,
    /// The newest record of each case, in their order.
    cases: Vec<RecordPlace>,
    /// For each case the newest record with a number; if there is none, the newest without.
    places: HashMap<CaseId, RecordPlace>,
}

/// The numbers of a run and of a record in it.
type RecordPlace = (usize, usize);

impl Baseline {
    /// The baseline of one run.
    #[must_use]
    pub fn of(name: String, run: Run) -> Self {
        Self::new(name, vec![run])
    }

    /// The baseline of `runs`. Of several that began in the same second, the first counts as the newest.
    pub(super) fn new(name: String, mut runs: Vec<Run>) -> Self {
        runs.sort_by_key(|run| Reverse(run.started));
        let (mut cases, mut places) = (Vec::new(), HashMap::new());
        let has_number = |(run, record): RecordPlace| runs[run].records[record].measurement.is_some();
        for (number, run) in runs.iter().enumerate() {
            for (place, record) in run.records.iter().enumerate() {
                let this = (number, place);
                match places.entry(record.case.clone()) {
                    Entry::Vacant(entry) => {
                        entry.insert(this);
                        cases.push(this);
                    }
                    Entry::Occupied(mut entry) if !has_number(*entry.get()) && has_number(this) => {
                        entry.insert(this);
                    }
                    Entry::Occupied(_) => {}
                }
            }
        }
        Self { name, runs, cases, places }
    }

    /// Returns the baseline as one run: the newest, with the records of older ones that [`find`](Self::find) returns.
    #[must_use]
    pub fn into_run(self) -> Option<Run> {
        let mut runs = self.runs.into_iter();
        let mut whole = runs.next()?;
        let places = whole.records.iter().map(|record| record.case.clone()).zip(0..);
        let mut places: HashMap<CaseId, usize> = places.collect();
        for older in runs {
            whole.add_devices(older.devices);
            for record in older.records {
                match places.get(&record.case).map(|place| &mut whole.records[*place]) {
                    None => {
                        places.insert(record.case.clone(), whole.records.len());
                        whole.records.push(record);
                    }
                    Some(newer) if newer.measurement.is_none() && record.measurement.is_some() => {
                        *newer = record;
                    }
                    Some(_) => {}
                }
            }
        }
        whole.planned = whole.planned.max(whole.records.len());
        Some(whole)
    }

    /// The newest record of the case of `record`, with its run: one that has a number, if there is one.
    #[must_use]
    pub fn find(&self, record: &Record) -> Option<(&Run, &Record)> {
        let (run, place) = *self.places.get(&record.case)?;
        let run = &self.runs[run];
        Some((run, &run.records[place]))
    }

    /// Every case once, each as the newest run has it.
    pub fn cases(&self) -> impl Iterator<Item = &Record> {
        self.cases.iter().map(|(run, place)| &self.runs[*run].records[*place])
    }
}

/// Returns true if `newest` has every case of `older`, with a number for each that has one there.
pub(super) fn supersedes(newest: &Run, older: &Run) -> bool {
    let mut newer: HashMap<&CaseId, bool> = HashMap::new();
    for record in &newest.records {
        *newer.entry(&record.case).or_default() |= record.measurement.is_some();
    }
    older.records.iter().all(|older| {
        let newer = newer.get(&older.case);
        newer.is_some_and(|has_number| *has_number || older.measurement.is_none())
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::stored_run;
    use super::*;

    /// A run of `old`'s cases of these numbers, measured a minute later.
    fn later(old: &Run, cases: impl IntoIterator<Item = usize>) -> Run {
        let records = cases.into_iter().map(|number| old.records[number].clone()).collect();
        Run { started: old.started + 60, records, ..old.clone() }
    }

    #[test]
    fn of_a_case_the_newest_record_with_a_number_counts() {
        let old = stored_run();
        let mut new = later(&old, [1, 0]);
        // It failed, and what was measured before counts.
        new.records[0].measurement = None;
        for runs in [vec![old.clone(), new.clone()], vec![new.clone(), old.clone()]] {
            let baseline = Baseline::new("main".to_owned(), runs);
            let started = |record: &Record| baseline.find(record).map(|(run, _)| run.started);
            assert_eq!(started(&new.records[0]), Some(old.started));
            assert_eq!(started(&new.records[1]), Some(new.started));
            assert_eq!(started(&old.records[4]), Some(old.started));
            let cases: Vec<_> = baseline.cases().map(|record| &record.case).collect();
            let [first, second, rest @ ..] = &old.records[..] else { panic!("it has some") };
            let order = [second, first].into_iter().chain(rest).map(|record| &record.case);
            assert_eq!(cases, order.collect::<Vec<_>>(), "each once, the newest run's first");
        }
    }

    #[test]
    fn all_of_it_is_one_run_with_the_records_that_count() {
        let old = stored_run();
        let mut new = later(&old, [1, 0]);
        new.records[0].measurement = None;
        let baseline = Baseline::new("main".to_owned(), vec![old.clone(), new.clone()]);
        let counting: Vec<Record> = baseline.cases().cloned().collect();
        let counting: Vec<Record> =
            counting.iter().filter_map(|record| Some(baseline.find(record)?.1.clone())).collect();
        let whole = baseline.into_run().expect("there are runs");
        assert_eq!((whole.started, whole.planned), (new.started, old.planned.max(old.records.len())));
        assert_eq!(whole.records, counting);
    }

    #[test]
    fn of_the_same_second_the_first_run_counts() {
        let old = stored_run();
        let mut other = old.clone();
        other.records[0].measurement = None;
        let baseline = Baseline::new("main".to_owned(), vec![other, old.clone()]);
        let failed = |record: &Record| record.measurement.is_none();
        assert!(baseline.cases().next().is_some_and(failed), "the first run is listed");
        assert!(baseline.find(&old.records[0]).is_some_and(|(_, found)| !failed(found)), "a number counts");
    }

    #[test]
    fn a_run_supersedes_another_if_it_has_a_number_for_all_of_its_numbers() {
        let old = stored_run();
        let all = 0..old.records.len();
        let mut failed = later(&old, all.clone());
        failed.records[0].measurement = None;
        for (newer, older, expected) in [
            (later(&old, all.clone()), old.clone(), true),
            (later(&old, all.clone().rev()), later(&old, [2]), true),
            (later(&old, all.skip(1)), old.clone(), false),
            (failed.clone(), old.clone(), false),
            (old.clone(), failed.clone(), true),
            (failed.clone(), failed, true),
            (old.clone(), later(&old, []), true),
        ] {
            let cases = [&newer, &older].map(|run| run.records.len());
            assert_eq!(supersedes(&newer, &older), expected, "{cases:?}");
        }
    }
}
