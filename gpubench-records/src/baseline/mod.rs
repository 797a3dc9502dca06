//! Baselines: earlier runs that a run is compared with. Reads records and nothing else, so that a stored run is compared as a live
//! one is.
//!
//! `check` pairs their cases with those of a run, and `decisions` decides on all pairs together. `files` keeps baselines.

mod check;
mod decisions;

pub use self::check::{MeasuredRecord, check, differences, seem_regressed};
pub use self::decisions::{CaseDecision, CaseMedians, MAX_REMEASURING_PROCESSES, decide_cases};
use crate::{Cache, CaseId, PlannedCase, Record, Run, device_info::UUID};
use gpubench_stats::{Map, Set};

/// A baseline in memory: the runs that were saved under one name. `files` reads it, and [`check()`] compares a
/// run with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// The name that the user gave.
    pub name: String,
    /// The runs, the newest first.
    runs: Vec<Run>,
    /// The records of each case name and cache state, on any device, those of the newest run first.
    records_by_case: Map<(String, Cache), Vec<RecordIndex>>,
}

/// The index of a run in the baseline, and the index of a record in that run.
type RecordIndex = (usize, usize);

impl Baseline {
    /// Creates a baseline of the name `name` with one run.
    pub fn new(name: String, run: Run) -> Self {
        Self::from_runs(name, vec![run])
    }

    /// Creates a baseline of `runs`, which are sorted, the newest first.
    pub(crate) fn from_runs(name: String, runs: Vec<Run>) -> Self {
        let mut records_by_case: Map<_, Vec<RecordIndex>> = Map::default();
        for (number, run) in runs.iter().enumerate() {
            for (place, record) in run.records.iter().enumerate() {
                records_by_case.or_insert(name_and_cache(&record.case), Vec::new()).push((number, place));
            }
        }
        Self { name, runs, records_by_case }
    }

    /// Returns the runs of the baseline, the newest first.
    pub fn into_runs(self) -> Vec<Run> {
        self.runs
    }

    /// Returns the record of the baseline to compare `record` of `run` with, and the run that contains it.
    ///
    /// Candidates have the benchmark, arguments and cache state of `record`, and the same model or the same
    /// device name. Preferred are, in this order: the same model, a measurement, the same device, the same
    /// device name, the newest run. `None` if there are no candidates.
    pub fn find(&self, run: &Run, record: &Record) -> Option<(&Run, &Record)> {
        let candidates = self.records_by_case.get(&name_and_cache(&record.case))?;
        let own = uuid(run, record);
        let ranked = candidates.iter().filter_map(|(run, place)| {
            let (run, candidate) = (&self.runs[*run], &self.runs[*run].records[*place]);
            let is_same_case = candidate.case == record.case;
            let is_same_place = candidate.device == record.device;
            // Two devices without a UUID, or not described, count as the same.
            let is_same_device = uuid(run, candidate) == own;
            let rank = (is_same_case, candidate.measurement.is_some(), is_same_device, is_same_place);
            (is_same_case || is_same_place).then_some((rank, (run, candidate)))
        });
        // Of the same rank, the last is the maximum: the newest comes last.
        let ranked: Vec<_> = ranked.collect();
        ranked.into_iter().rev().max_by_key(|(rank, _)| *rank).map(|(_, found)| found)
    }

    /// Returns the newest record of each case.
    pub fn cases(&self) -> impl Iterator<Item = &Record> {
        let mut seen = Set::default();
        self.runs.iter().flat_map(|run| &run.records).filter(move |record| seen.insert(&record.case))
    }
}

/// Returns the name and the cache state of a case, which are the same on GPUs of different models.
fn name_and_cache(case: &CaseId) -> (String, Cache) {
    (case.name(), case.cache)
}

/// Returns the UUID of the device that `record` of `run` was measured on.
fn uuid<'a>(run: &'a Run, record: &Record) -> Option<&'a str> {
    run.device_of(record)?.text(UUID)
}

/// Returns true if `newest` contains every case of `older` on a device of the same name, and has a
/// measurement of each case that `older` has a measurement of.
pub(crate) fn supersedes(newest: &Run, older: &Run) -> bool {
    let mut newer: Map<Box<PlannedCase>, bool> = Map::default();
    for record in &newest.records {
        *newer.or_insert(Box::new(record.planned()), false) |= record.measurement.is_some();
    }
    older.records.iter().all(|older| {
        let newer = newer.get(&older.planned());
        newer.is_some_and(|has_number| *has_number || older.measurement.is_none())
    })
}

#[cfg(test)]
pub(crate) mod fixture {
    use crate::files;
    use crate::record::Run;

    /// Returns a run that was read from a file.
    pub(crate) fn stored_run() -> Run {
        let lines = include_bytes!("../../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");
        files::read(&lines[..]).expect("a run").run
    }
}

#[cfg(test)]
mod newest_tests {
    use super::fixture::stored_run;
    use super::*;
    use crate::baseline::check;
    use crate::comparison::BaselineFinding;
    use crate::device_info::{Property, Value};
    use gpubench_stats::DECISION_ERROR;

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
        let baseline = Baseline::from_runs("main".to_owned(), vec![new.clone(), old.clone()]);
        let started = |record: &Record| baseline.find(&old, record).map(|(run, _)| run.started);
        assert_eq!(started(&new.records[0]), Some(old.started));
        assert_eq!(started(&new.records[1]), Some(new.started));
        assert_eq!(started(&old.records[4]), Some(old.started));
        let cases: Vec<_> = baseline.cases().map(|record| &record.case).collect();
        let [first, second, rest @ ..] = &old.records[..] else { panic!("it has some") };
        let order = [second, first].into_iter().chain(rest).map(|record| &record.case);
        assert_eq!(cases, order.collect::<Vec<_>>(), "each once, the newest run's first");
    }

    #[test]
    fn of_several_runs_the_first_counts() {
        let old = stored_run();
        let mut other = old.clone();
        other.records[0].measurement = None;
        let baseline = Baseline::from_runs("main".to_owned(), vec![other, old.clone()]);
        let failed = |record: &Record| record.measurement.is_none();
        assert!(baseline.cases().next().is_some_and(failed), "the first run is listed");
        assert!(
            baseline.find(&old, &old.records[0]).is_some_and(|(_, found)| !failed(found)),
            "a number counts"
        );
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
    /// The run as measured on another device of this name, model and UUID.
    fn elsewhere(run: &Run, device: &str, model: &str, uuid: &str) -> Run {
        let mut run = run.clone();
        run.devices.truncate(1);
        let info = &mut run.devices[0];
        let was = std::mem::replace(&mut info.device, device.to_owned());
        model.clone_into(&mut info.name);
        info.properties.retain(|property| property.name != UUID);
        info.properties.push(Property::new(UUID, Value::Text(uuid.to_owned())));
        run.records.retain(|record| record.device == was);
        for record in &mut run.records {
            device.clone_into(&mut record.device);
            model.clone_into(&mut record.case.model);
        }
        run
    }

    #[test]
    fn a_case_is_the_same_on_every_device_of_a_model() {
        let then = stored_run();
        let [first, second] =
            ["GPU-1", "GPU-2"].map(|uuid| elsewhere(&then, &format!("cuda:{uuid}"), "H200", uuid));
        let found = |baseline: Vec<Run>, now: &Run| {
            let baseline = Baseline::from_runs("main".to_owned(), baseline);
            baseline.find(now, &now.records[0]).map(|(_, record)| record.device.clone())
        };
        // On another device of the model, unless it was measured on this one, whatever its number now.
        assert_eq!(found(vec![first.clone()], &second).as_deref(), Some("cuda:GPU-1"));
        assert_eq!(found(vec![first.clone(), second.clone()], &second).as_deref(), Some("cuda:GPU-2"));
        let renumbered = elsewhere(&then, "cuda:7", "H200", "GPU-1");
        assert_eq!(found(vec![first.clone(), second.clone()], &renumbered).as_deref(), Some("cuda:GPU-1"));
        // A number from another device of the model counts more than none from this one.
        let mut failed = second.clone();
        failed.records[0].measurement = None;
        assert_eq!(found(vec![failed, first.clone()], &second).as_deref(), Some("cuda:GPU-1"));
        // Another model has nothing to say, unless it had this place: then the reason is that it is another.
        let other = elsewhere(&then, "cuda:7", "B200", "GPU-3");
        assert_eq!(found(vec![first.clone()], &other), None);
        assert_eq!(found(vec![renumbered], &other).as_deref(), Some("cuda:7"));

        let checked = check(&second, &Baseline::new("main".to_owned(), first), &|_| true, DECISION_ERROR);
        assert_eq!(checked.missing, [""; 0]);
        assert!(checked.findings.iter().any(|line| matches!(line.finding, BaselineFinding::Compared { .. })));
        let said = "another device of its kind (cuda:GPU-2, was cuda:GPU-1)";
        assert!(checked.remarks.contains(&said.to_owned()), "{:?}", checked.remarks);
    }
}
