//! A run compared with a baseline, case by case. In: both; out: a [`BaselineComparison`]. `decisions` gives the answers, of all cases together.

use std::collections::{HashMap, HashSet};

use super::assumed::assumed;
use super::comparable::{MeasuredRecord, differences, remarks, same_device};
use super::decisions::{RowDecision, RowMedians, decide, decide_within};
use super::newest::Baseline;
use crate::comparison::{BaselineComparison, CaseFinding, Finding, Threshold};
use crate::id::{CaseId, PlannedCase};
use crate::method::Cache;
use crate::record::{Measurement, Record, Run};
use crate::verdict::State;
use gpubench_stats::{DECISION_ERROR, Median};

/// Holds `run` against `baseline`. `wanted` says of a case of the baseline whether the run should have it.
pub fn check(run: &Run, baseline: &Baseline, wanted: &dyn Fn(&Record) -> bool) -> BaselineComparison {
    check_within(run, baseline, wanted, DECISION_ERROR)
}

/// Holds `run` against `baseline` as [`check`] does, for one of several looks at a comparison that goes on: the looks share
/// [`DECISION_ERROR`], and this one may take the part `error` of answers wrongly.
pub fn check_within(
    run: &Run,
    baseline: &Baseline,
    wanted: &dyn Fn(&Record) -> bool,
    error: f64,
) -> BaselineComparison {
    let cases = Cases::new(run, baseline);
    let pairs: Vec<_> = run.records.iter().map(|record| pair(run, record, baseline, &cases)).collect();
    let compared: Vec<_> = pairs.iter().filter_map(|pair| pair.as_ref().ok().copied()).collect();
    let mut found: Vec<String> = Vec::new();
    for (now, then) in &compared {
        let new = remarks(*now, *then).into_iter().filter(|remark| !found.contains(remark));
        found.extend(new.collect::<Vec<_>>());
    }
    let rows: Vec<RowMedians> = compared.iter().map(|(now, then)| row(*now, *then, error)).collect();
    let decisions = decide_within(&rows, run.sampling.equivalence_margin, run.regression_threshold, error);
    let mut decided = rows.iter().zip(decisions);
    let finding = |(record, pair): (&Record, Result<_, Finding>)| CaseFinding {
        name: record.case.name(),
        device: record.device.clone(),
        cache: record.case.cache,
        finding: pair.map_or_else(
            |other| other,
            |_| {
                decided.next().map_or(Finding::New, |(row, decision)| compared_finding(record, row, decision))
            },
        ),
    };
    let lines = run.records.iter().zip(pairs).map(finding).collect();
    let missing = baseline.cases().filter(|old| wanted(old) && !cases.have(old));
    BaselineComparison {
        baseline: baseline.name.clone(),
        equivalence_margin: run.sampling.equivalence_margin,
        tested_together: Some(rows.len()),
        remarks: found,
        findings: lines,
        missing: missing.map(|record| record.case.to_string()).collect(),
    }
}

/// Returns the cases of `run` that more processes may find slower than `baseline` allows, or not.
pub(super) fn seem_regressed<'a>(run: &'a Run, baseline: &Baseline, threshold: Threshold) -> Vec<&'a Record> {
    let cases = Cases::new(run, baseline);
    let of = |record| Some((record, pair(run, record, baseline, &cases).ok()?));
    let compared: Vec<_> = run.records.iter().filter_map(of).collect();
    let rows: Vec<RowMedians> =
        compared.iter().map(|(_, (now, then))| row(*now, *then, DECISION_ERROR)).collect();
    let decisions = decide(&rows, run.sampling.equivalence_margin, Some(threshold));
    let seem = compared
        .iter()
        .zip(decisions)
        .filter(|(_, decision)| decision.is_some_and(|decision| decision.seems_regressed));
    seem.map(|((record, _), _)| *record).collect()
}

/// The cases of a run, as they are and as they were planned.
struct Cases<'a> {
    now: HashSet<&'a CaseId>,
    planned: HashSet<PlannedCase>,
    /// The benchmarks of the baseline of which the run has no case with the same arguments.
    changed: HashSet<BenchmarkKey<'a>>,
}

/// The benchmark, model and cache state of a case: cases with the same differ in their arguments alone.
type BenchmarkKey<'a> = (&'a str, &'a str, Cache);

fn benchmark(case: &CaseId) -> BenchmarkKey<'_> {
    (&case.benchmark, &case.model, case.cache)
}

impl<'a> Cases<'a> {
    fn new(run: &'a Run, baseline: &'a Baseline) -> Self {
        let now: HashSet<_> = run.records.iter().map(|record| &record.case).collect();
        let mut then: HashMap<_, bool> = HashMap::new();
        for old in baseline.cases() {
            *then.entry(benchmark(&old.case)).or_default() |= now.contains(&old.case);
        }
        let changed = then.into_iter().filter(|(_, is_there)| !is_there).map(|(key, _)| key).collect();
        Self { now, planned: run.records.iter().map(Record::planned).collect(), changed }
    }

    /// The finding about a case that the baseline lacks: it is new, unless the baseline has its benchmark with other arguments only.
    fn unknown(&self, case: &CaseId) -> Finding {
        if !self.changed.contains(&benchmark(case)) {
            return Finding::New;
        }
        let why = "the baseline has this benchmark with other arguments only: measure the baseline again";
        Finding::NotComparable(vec![why.to_owned()])
    }

    /// Returns true if the run has the case of `old`, on any device of its model or on another model in its place.
    fn have(&self, old: &Record) -> bool {
        self.now.contains(&old.case) || self.planned.contains(&old.planned())
    }
}

/// The case now and then, if they can be compared.
fn pair<'a>(
    run: &'a Run,
    record: &'a Record,
    baseline: &'a Baseline,
    cases: &Cases<'_>,
) -> Result<(MeasuredRecord<'a>, MeasuredRecord<'a>), Finding> {
    let (old_run, old) = baseline.find(run, record).ok_or_else(|| cases.unknown(&record.case))?;
    let no_number = |why, when| Finding::NoTime(format!("{why} {when}"));
    let measurement = number(record).map_err(|why| no_number(why, "now"))?;
    let now = MeasuredRecord { run, record, measurement };
    let measurement = number(old).map_err(|why| no_number(why, "then"))?;
    let then = MeasuredRecord { run: old_run, record: old, measurement };
    let differences = differences(now, then);
    if differences.is_empty() { Ok((now, then)) } else { Err(Finding::NotComparable(differences)) }
}

/// The medians of a case, now and then.
fn row(now: MeasuredRecord<'_>, then: MeasuredRecord<'_>, error: f64) -> RowMedians {
    let confidence = 1.0 - error;
    let [new, old] = [now, then].map(|it| medians(it.record, it.measurement, confidence));
    RowMedians { now: new, then: old, same_device: same_device(now, then), assumed: assumed(now, then) }
}

fn compared_finding(record: &Record, row: &RowMedians, decision: Option<RowDecision>) -> Finding {
    let Some(decision) = decision else {
        return Finding::NoTime("a time at or below zero".to_owned());
    };
    let RowDecision { ratio, times: [now, then], noise_known, assumed, answer, regressed, .. } = decision;
    let processes = [row.now.len(), row.then.len()];
    Finding::Compared {
        ratio,
        time: now,
        baseline_time: then,
        processes,
        noise_known,
        assumed_spread: assumed,
        answer,
        regressed,
        remeasured: record.remeasured,
    }
}

/// Returns the measurement, if it holds.
fn number(record: &Record) -> Result<&Measurement, &'static str> {
    match &record.measurement {
        None => Err("failed"),
        Some(_) if record.verdict.state == State::Invalid => Err("invalid"),
        Some(measurement) => Ok(measurement),
    }
}

/// Returns the medians of all processes that measured the case.
fn medians(record: &Record, own: &Measurement, confidence: f64) -> Vec<Median> {
    let all = std::iter::once(own).chain(&record.other_processes);
    all.filter_map(|measured| measured.samples.median(confidence)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Answer;
    use crate::files::read;
    use crate::id::Arg;

    /// A run of one benchmark with these values of its argument.
    fn run(values: &[&str]) -> Run {
        let lines = include_bytes!("../../../gpubench-runtime/tests/parsing/corpus/runs/clockwork.jsonl");
        let mut run = read(&lines[..]).expect("a run").run;
        let record = run.records.swap_remove(0);
        let with = |value: &&str| {
            let args = vec![Arg { name: "n".to_owned(), value: (*value).to_owned() }];
            Record { case: CaseId { args, ..record.case.clone() }, ..record.clone() }
        };
        run.records = values.iter().map(with).collect();
        run
    }

    fn findings(now: &[&str], then: &[&str]) -> Vec<Finding> {
        let baseline = Baseline::of("b".to_owned(), run(then));
        check(&run(now), &baseline, &|_| true).findings.into_iter().map(|line| line.finding).collect()
    }

    /// While an earlier argument is left, others are new. If none is, nothing tells whether the case became slower.
    #[test]
    fn another_argument_is_a_new_case_beside_an_earlier_one() {
        for then in [["1", "2"], ["2", "1"]] {
            let found = findings(&["1", "3"], &then);
            assert!(matches!(found[..], [Finding::Compared { .. }, Finding::New]), "{found:?}");
        }
        let found = findings(&["9"], &["1", "2"]);
        assert!(matches!(found[..], [Finding::NotComparable(_)]), "{found:?}");
    }

    /// A case without a number, now or then, is told so and is neither faster nor slower.
    #[test]
    fn a_case_without_a_number_is_told_so() {
        let whole = run(&["1"]);
        let changed = |change: fn(&mut Record)| {
            let mut run = whole.clone();
            change(&mut run.records[0]);
            run
        };
        let failed = changed(|record| record.measurement = None);
        let invalid = changed(|record| record.verdict.state = State::Invalid);
        let suspect = changed(|record| record.verdict.state = State::Suspect);
        let other_work = changed(|record| {
            record.measurement.as_mut().expect("it was measured").counts.flops = Some(1);
        });
        let found = |now: &Run, then: &Run| {
            let baseline = Baseline::of("b".to_owned(), then.clone());
            check(now, &baseline, &|_| true).findings.remove(0).finding
        };
        let none = |words: &str| Finding::NoTime(words.to_owned());
        assert_eq!(found(&failed, &whole), none("failed now"));
        assert_eq!(found(&invalid, &whole), none("invalid now"));
        assert_eq!(found(&whole, &failed), none("failed then"));
        assert_eq!(found(&whole, &invalid), none("invalid then"));
        assert!(matches!(found(&suspect, &suspect), Finding::Compared { .. }));
        let differs = Finding::NotComparable(vec!["flops 1, were 1600".to_owned()]);
        assert_eq!(found(&other_work, &whole), differs);
    }

    #[test]
    fn a_difference_of_devices_is_told_once_for_all_cases() {
        let then = run(&["1", "2", "3"]);
        let mut now = then.clone();
        now.devices[0].properties.push(crate::device_info::Property::new(
            "driver",
            crate::device_info::Value::Text("590.2".to_owned()),
        ));
        let checked = check(&now, &Baseline::of("b".to_owned(), then), &|_| true);
        assert_eq!(checked.remarks, ["driver 590.2 now, not told then"]);
        assert_eq!((checked.findings.len(), checked.missing), (3, vec![]));
    }

    /// A case that was slower in all of its processes may be a regression; one that another process found as fast as before is none.
    #[test]
    fn cases_that_seem_to_be_regressions_are_those_slower_by_the_threshold() {
        let (mut now, then) = (run(&["1", "2", "3"]), run(&["1", "2", "3"]));
        let slower = |record: &mut Record, by: f64| {
            let samples = &mut record.measurement.as_mut().expect("it was measured").samples;
            samples.event_times = samples.event_times.iter().map(|event| by * *event).collect();
            samples.time.median = by * samples.time.median;
        };
        slower(&mut now.records[1], 2.0);
        slower(&mut now.records[2], 2.0);
        now.records[2].other_processes = vec![then.records[2].measurement.clone().expect("it was measured")];
        let baseline = Baseline::of("b".to_owned(), then);
        let seem = seem_regressed(&now, &baseline, Threshold::Fraction(0.05));
        assert_eq!(seem, [&now.records[1]]);
        let checked = check(&now, &baseline, &|_| true);
        let of = |finding: &Finding| match finding {
            Finding::Compared { processes, answer, .. } => (*processes, *answer),
            other => panic!("{other:?}"),
        };
        let found: Vec<_> = checked.findings.iter().map(|line| of(&line.finding)).collect();
        assert_eq!(found[0], ([1, 1], Answer::Undecided), "a step of the timer is one in a hundred");
        assert_eq!(found[1], ([1, 1], Answer::Slower));
        assert_eq!(found[2], ([2, 1], Answer::Undecided));
        assert_eq!(checked.tested_together, Some(3));
    }
}
