//! The results of a run so far. In: records and failures, in any order; out: the run, and each record to its observer. The
//! records of a row, those of a benchmark with its arguments on all devices, are together.

use std::collections::HashMap;

use super::RunEvents;
use crate::plan::{Job, Plan};
use gpubench_records::failure::Failure;
use gpubench_records::record::{Record, Run};

/// The results so far, and their observer.
pub(super) struct RunResults<'a> {
    /// The run, with the records of all rows that are finished.
    pub(super) run: Run,
    pub(super) observer: &'a mut dyn RunEvents,
    rows: Rows,
    /// True if the cases have been measured before.
    is_again: bool,
}

/// The rows of a plan.
#[derive(Default)]
pub(super) struct Rows {
    /// The row of each job.
    of: Vec<usize>,
    rows: Vec<RowInProgress>,
}

/// The jobs of a row that are not done, and its records, each with the place that it has in the row.
#[derive(Default)]
struct RowInProgress {
    left: usize,
    records: Vec<((usize, usize), Record)>,
}

impl Rows {
    /// The rows of `plan`, in the order in which its jobs name them.
    pub(super) fn of(plan: &Plan) -> Self {
        let mut numbers = HashMap::new();
        let mut rows: Vec<RowInProgress> = Vec::new();
        let of = plan.jobs.iter().map(|(job, _)| {
            let number = *numbers.entry((&job.benchmark, &job.args, &job.with)).or_insert(rows.len());
            if number == rows.len() {
                rows.push(RowInProgress::default());
            }
            rows[number].left += 1;
            number
        });
        let of = of.collect();
        Self { of, rows }
    }

    /// The number of a job's row.
    pub(super) fn of_job(&self, job: usize) -> usize {
        self.of[job]
    }
}

impl<'a> RunResults<'a> {
    pub(super) fn new(run: Run, observer: &'a mut dyn RunEvents) -> Self {
        Self { run, observer, rows: Rows::default(), is_again: false }
    }

    /// Begins the rows of a plan.
    pub(super) fn begin(&mut self, rows: Rows) {
        self.rows = rows;
    }

    /// Begins to measure cases again, those of `plan`.
    pub(super) fn begin_again(&mut self, plan: &Plan) {
        self.observer.measured_again(plan);
        self.is_again = true;
    }

    /// Adds a new record of `job`, which has this number in its plan.
    pub(super) fn add(&mut self, (number, job): (usize, &Job), mut record: Record) {
        if let Some(info) = self.run.device_of(&record) {
            record.measured_on(info);
        }
        record.remeasured = usize::from(self.is_again);
        self.observer.record_finished(&record);
        self.keep((number, job), record);
    }

    /// Adds a record of an earlier run.
    pub(super) fn keep(&mut self, (number, job): (usize, &Job), record: Record) {
        let place = job.caches.iter().position(|cache| *cache == record.case.cache).unwrap_or_default();
        self.rows.rows[self.rows.of[number]].records.push(((number, place), record));
    }

    /// Records the same failure for these cases of `job`.
    pub(super) fn fail(&mut self, numbered: (usize, &Job), left: &Job, failure: &Failure) {
        for cache in &left.caches {
            self.add(numbered, Record::failed(left.case(*cache), failure.clone()));
        }
    }

    /// Counts a job of this number as done. The last of a row finishes it.
    pub(super) fn job_done(&mut self, number: usize) {
        let row = self.rows.of[number];
        self.rows.rows[row].left -= 1;
        if self.rows.rows[row].left == 0 {
            self.finish(row);
        }
    }

    /// Finishes all rows as they are.
    pub(super) fn end(&mut self) {
        (0..self.rows.rows.len()).for_each(|row| self.finish(row));
    }

    fn finish(&mut self, row: usize) {
        let mut records = std::mem::take(&mut self.rows.rows[row].records);
        records.sort_by_key(|(place, _)| *place);
        let mut records: Vec<Record> = records.into_iter().map(|(_, record)| record).collect();
        // A row that is measured again is there already.
        if !records.is_empty() && !self.is_again {
            self.observer.job_finished(&records);
        }
        if self.observer.is_done_with_samples() {
            records.iter_mut().for_each(Record::forget_samples);
        }
        self.run.records.extend(records);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use gpubench_records::files::load;

    use super::*;
    use crate::plan::{JobStatus, SharedResource};

    /// Sees samples in each job that is finished, and may be done with them then.
    struct Reader {
        is_done: bool,
        seen: usize,
    }

    impl RunEvents for Reader {
        fn job_finished(&mut self, records: &[Record]) {
            self.seen += records.iter().map(samples).sum::<usize>();
        }

        fn is_done_with_samples(&self) -> bool {
            self.is_done
        }
    }

    fn samples(record: &Record) -> usize {
        record.measurement.as_ref().map_or(0, |measured| measured.samples.event_times.len())
    }

    #[test]
    fn samples_stay_for_those_who_read_them_at_the_end() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/parsing/corpus/runs/clockwork.jsonl");
        let stored = load(Path::new(file)).expect("a recorded run").run;
        let record = stored.records.iter().find(|record| samples(record) > 0).expect("one was measured");
        let job = Job {
            benchmark: record.case.benchmark.clone(),
            args: record.case.args.clone(),
            device: record.device.clone(),
            caches: vec![record.case.cache],
            timeout: None,
            with: None,
            shares: SharedResource::Nothing,
        };
        let plan = Plan { jobs: vec![(job.clone(), JobStatus::Measured)], ..Plan::default() };
        for (is_done, left) in [(false, samples(record)), (true, 0)] {
            let mut reader = Reader { is_done, seen: 0 };
            let mut results = RunResults::new(Run { records: Vec::new(), ..stored.clone() }, &mut reader);
            results.begin(Rows::of(&plan));
            results.keep((0, &job), record.clone());
            results.job_done(0);
            let kept = &results.run.records[0];
            assert_eq!(samples(kept), left);
            let figures =
                |record: &Record| record.measurement.as_ref().map(|measured| measured.samples.time.clone());
            assert_eq!(figures(kept), figures(record));
            assert_eq!(reader.seen, samples(record));
        }
    }
}
