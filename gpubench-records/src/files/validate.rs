//! The validity of records that are read. A launch takes longer than nothing: only a row that is below the timer's resolution has a
//! time that is not above zero. A case without a measurement is invalid, and no measurement is stored twice.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use crate::id::{CaseId, PlannedCase};
use crate::merge::merged;
use crate::record::{Measurement, Record};
use crate::verdict::{Reason, State};
use gpubench_stats::units::Nanoseconds;

/// The reason that no run has such a record.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum InvalidRecord {
    /// It has a time that no clock gives.
    #[error("`{case}` has {what} of {time}, which no clock gives")]
    Time { case: CaseId, what: &'static str, time: Nanoseconds },
    /// It was not measured, and has no reason for that.
    #[error("`{case}` is {state} without a measurement")]
    NoMeasurement { case: CaseId, state: State },
    /// Another record has the same measurement.
    #[error("`{case}` is there twice, with the same measurement")]
    Twice { case: CaseId },
}

/// Checks that a run can have this record.
pub(super) fn validate(record: &Record) -> Result<(), InvalidRecord> {
    let (case, state) = (record.case.clone(), record.verdict.state);
    if record.measurement.is_none() && state != State::Invalid {
        return Err(InvalidRecord::NoMeasurement { case, state });
    }
    let compared = record.compared.iter().map(|compared| &compared.measurement);
    let all = record.measurement.iter().chain(&record.other_processes).chain(compared);
    let negative = all.flat_map(times).find(|(_, time)| *time < Nanoseconds::ZERO);
    let invalid = negative.or_else(|| median_of_nothing(record));
    invalid.map_or(Ok(()), |(what, time)| Err(InvalidRecord::Time { case, what, time }))
}

/// The times that are never below zero, not even where the timer resolves too little; event times if the record does not say
/// that their clock is broken.
fn times(measured: &Measurement) -> impl Iterator<Item = (&'static str, Nanoseconds)> {
    let samples = &measured.samples;
    let events = samples.event_times.iter().filter(|_| samples.clock_faults.is_none());
    let events = events.map(|event| ("an event time", *event));
    events.chain([("a sampling time", samples.device_time), ("a wall time", samples.wall_time)])
}

/// The median, if it is not above zero and the verdict does not say why.
fn median_of_nothing(record: &Record) -> Option<(&'static str, Nanoseconds)> {
    let is_known = |reason: &Reason| matches!(reason, Reason::BelowResolution { .. });
    let median = record.measurement.as_ref()?.median();
    let is_unsound = median <= Nanoseconds::ZERO
        && record.verdict.state != State::Invalid
        && !record.verdict.reasons.iter().any(is_known);
    is_unsound.then_some(("a median", median))
}

/// The records of a run so far. Processes that measured the same case have a measurement each.
#[derive(Default)]
pub(super) struct Records {
    records: Vec<Record>,
    places: HashMap<PlannedCase, Vec<usize>>,
}

impl Records {
    /// Adds a record, unless its measurement is there already.
    pub(super) fn add(&mut self, record: Record) -> Result<(), InvalidRecord> {
        let places = self.places.entry(record.planned()).or_default();
        let is_same = |place: &usize| self.records[*place].measurement == record.measurement;
        if record.measurement.is_some() && places.iter().any(is_same) {
            return Err(InvalidRecord::Twice { case: record.case });
        }
        places.push(self.records.len());
        self.records.push(record);
        Ok(())
    }

    /// Returns one record for each case, as the suite showed it.
    pub(super) fn of_cases(self) -> Vec<Record> {
        if self.places.len() < self.records.len() { merged(self.records) } else { self.records }
    }
}

/// Reads records, and refuses the first invalid one. Those of several processes become one.
pub(crate) fn valid_records<'de, D: Deserializer<'de>>(records: D) -> Result<Vec<Record>, D::Error> {
    let mut all = Records::default();
    for ValidRecord(record) in Vec::<ValidRecord>::deserialize(records)? {
        all.add(record).map_err(D::Error::custom)?;
    }
    Ok(all.of_cases())
}

/// A record that is checked while its list is read, so that the error has its line.
#[derive(Deserialize)]
#[serde(try_from = "Record")]
struct ValidRecord(Record);

impl TryFrom<Record> for ValidRecord {
    type Error = InvalidRecord;

    fn try_from(record: Record) -> Result<Self, InvalidRecord> {
        validate(&record).map(|()| Self(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock_faults::ClockFaults;
    use crate::files;
    use crate::record::Run;
    use crate::verdict::Verdict;

    fn run() -> Run {
        let lines = include_bytes!("../../../gpubench-runtime/tests/parsing/corpus/runs/clockwork.jsonl");
        files::read(&lines[..]).expect("a run").run
    }

    /// The run as a document with a line for each record, of which the second is changed.
    fn told(change: impl Fn(&mut Record)) -> Result<Run, String> {
        let mut run = run();
        change(&mut run.records[1]);
        let mut json = Vec::new();
        run.write(&mut json).expect("a vector takes everything");
        let json = String::from_utf8(json).expect("UTF-8").replace("{\"benchmark\"", "\n{\"benchmark\"");
        Run::parse(json.as_bytes()).map_err(|error| error.to_string())
    }

    fn samples(record: &mut Record) -> &mut crate::samples::Samples {
        &mut record.measurement.as_mut().expect("it was measured").samples
    }

    #[test]
    fn a_time_that_no_clock_gives_is_refused_with_its_line() {
        assert!(told(|_| ()).is_ok());
        let case = run().records[1].case.to_string();
        for (change, words) in [
            (
                (|it| samples(it).event_times[0] = Nanoseconds(-5.0)) as fn(&mut Record),
                "an event time of -5.000 ns",
            ),
            (|it| samples(it).time.median = Nanoseconds(0.0), "a median of 0.000 ns"),
            (|it| samples(it).time.median = Nanoseconds(-1.0), "a median of -1.000 ns"),
            (|it| samples(it).wall_time = Nanoseconds(-1.0), "a wall time of -1.000 ns"),
            (|it| samples(it).device_time = Nanoseconds(-2.0), "a sampling time of -2.000 ns"),
            (
                |it| {
                    let mut other = it.measurement.clone().expect("it was measured");
                    other.samples.wall_time = Nanoseconds(-3.0);
                    it.other_processes = vec![other];
                },
                "a wall time of -3.000 ns",
            ),
        ] {
            let told = told(change).expect_err("it is refused");
            let expected = format!(": `{case}` has {words}, which no clock gives");
            // Behind the record, where the next one begins.
            assert_eq!(told, format!("not a stored run: line 4, column 0{expected}"));
        }
        let infinite = told(|it| samples(it).time.median = Nanoseconds(f64::INFINITY));
        assert!(infinite.is_err_and(|told| told.starts_with("not a stored run: line 3, ")));
    }

    /// A launch may be too short for the clock of the whole, and nobody uses the median of an invalid row.
    #[test]
    fn times_of_nothing_are_read_where_they_can_be() {
        assert!(
            told(|it| (samples(it).event_times[0], samples(it).wall_time) =
                (Nanoseconds::ZERO, Nanoseconds::ZERO))
            .is_ok()
        );
        let invalid = told(|it| {
            samples(it).time.median = Nanoseconds::ZERO;
            it.verdict = Verdict { state: State::Invalid, reasons: Vec::new() };
        });
        assert!(invalid.is_ok(), "{invalid:?}");
    }

    #[test]
    fn a_case_that_was_not_measured_is_refused_unless_it_is_invalid() {
        let case = run().records[1].case.to_string();
        let told = told(|it| it.measurement = None).expect_err("it is refused");
        assert!(told.ends_with(&format!(": `{case}` is valid without a measurement")), "{told}");
    }

    #[test]
    fn a_measurement_that_is_there_twice_is_refused() {
        let mut run = run();
        run.records.push(run.records[0].clone());
        let json = serde_json::to_vec(&run).expect("it can be written");
        let told = Run::parse(&json).expect_err("it is refused").to_string();
        assert!(
            told.ends_with(&format!("`{}` is there twice, with the same measurement", run.records[0].case)),
            "{told}"
        );
    }

    /// An event time below zero is evidence against a clock, which is kept.
    #[test]
    fn what_a_broken_clock_read_is_read() {
        let broken = told(|it| {
            let faults = ClockFaults { readings: 100, negative: 1, ..ClockFaults::default() };
            samples(it).event_times[0] = Nanoseconds(-5.0);
            samples(it).clock_faults = Some(faults);
            it.verdict = Verdict::of(vec![Reason::BrokenClock(faults)]);
        });
        assert!(broken.is_ok(), "{broken:?}");
    }

    /// A row whose verdict says so has such a median, and is read.
    #[test]
    fn a_time_below_the_timers_resolution_is_read() {
        let step = Nanoseconds(32.0);
        let below = told(|it| {
            samples(it).time.median = Nanoseconds(-1.0);
            it.verdict = it.verdict.clone().and(Reason::BelowResolution { resolution: step });
        });
        assert!(below.is_ok(), "{below:?}");
    }
}
