//! Compares a run with a baseline, case by case: which records can be compared, which difference between two processes is
//! assumed where none was measured, and the finding about each case. `decisions` gives the answers, of all cases together.

use std::collections::{HashMap, HashSet};

use gpubench_stats::{DECISION_ERROR, Median, Nanoseconds};

use crate::baseline::decisions::{RowDecision, RowMedians, decide};
use crate::work::{self, Link};
use crate::{
    AssumedSpread, BaselineComparison, Cache, CaseFinding, CaseId, DeviceInfo, Finding, Measurement,
    PlannedCase, Property, Reason, Record, Run, State, Threshold, Value,
    baseline::Baseline,
    device_info::UUID,
    metrics::{describe_changed_metrics, is_rate},
};

/// Compares `run` with `baseline`. `wanted` returns true for a case of the baseline that the run should have. Answers share
/// `error`, the probability that one of them is wrong: [`DECISION_ERROR`](gpubench_stats::DECISION_ERROR), or less for one of several
/// looks at a comparison that goes on.
pub fn check(
    run: &Run,
    baseline: &Baseline,
    wanted: &dyn Fn(&Record) -> bool,
    error: f64,
) -> BaselineComparison {
    let cases = RunCases::new(run, baseline);
    let rows = compared_cases(run, baseline, &cases, run.regression_threshold, error);
    let mut found: Vec<String> = Vec::new();
    for remark in rows.iter().flatten().flat_map(|row| remarks_on_changes(row.now, row.then)) {
        if !found.contains(&remark) {
            found.push(remark);
        }
    }
    let tested_together = rows.iter().flatten().count();
    let finding = |(record, row): (&Record, Result<ComparedCase<'_>, Finding>)| CaseFinding {
        name: record.case.name(),
        device: record.device.clone(),
        cache: record.case.cache,
        finding: row.map_or_else(|other| other, |row| row.finding()),
    };
    let missing = baseline.cases().filter(|old| wanted(old) && !cases.contains_case_of(old));
    BaselineComparison {
        baseline: baseline.name.clone(),
        equivalence_margin: run.sampling.equivalence_margin,
        tested_together,
        remarks: found,
        missing: missing.map(|record| record.case.to_string()).collect(),
        findings: run.records.iter().zip(rows).map(finding).collect(),
    }
}

/// Returns the cases of `run` that more processes may find slower than `baseline` allows, or not.
pub(crate) fn seem_regressed<'a>(run: &'a Run, baseline: &Baseline, threshold: Threshold) -> Vec<&'a Record> {
    let cases = RunCases::new(run, baseline);
    let rows = compared_cases(run, baseline, &cases, Some(threshold), DECISION_ERROR);
    let seems = |row: &ComparedCase<'_>| row.decision.is_some_and(|decision| decision.seems_regressed);
    let rows = run.records.iter().zip(rows).filter(|(_, row)| row.as_ref().is_ok_and(seems));
    rows.map(|(record, _)| record).collect()
}

/// A case with a usable measurement in the run (`now`) and in the baseline (`then`).
struct ComparedCase<'a> {
    now: MeasuredRecord<'a>,
    then: MeasuredRecord<'a>,
    processes: [usize; 2],
    /// Nothing if a time is not above zero.
    decision: Option<RowDecision>,
}

/// Pairs each record of `run` with its record in `baseline`, and decides on all pairs together. Returns one
/// entry per record, in order: the pair, or the finding that explains why there is none.
fn compared_cases<'a>(
    run: &'a Run,
    baseline: &'a Baseline,
    cases: &RunCases<'_>,
    threshold: Option<Threshold>,
    error: f64,
) -> Vec<Result<ComparedCase<'a>, Finding>> {
    let mut medians = Vec::new();
    let row = |record| {
        let (now, then) = pair_with_baseline(run, record, baseline, cases)?;
        let [new, old] = [now, then].map(|it| it.process_medians(1.0 - error));
        let processes = [new.len(), old.len()];
        let (same_device, assumed) = (same_device(now, then), assumed_spread(now, then));
        medians.push(RowMedians { now: new, then: old, same_device, assumed });
        Ok(ComparedCase { now, then, processes, decision: None })
    };
    let mut rows: Vec<Result<ComparedCase<'_>, Finding>> = run.records.iter().map(row).collect();
    let decisions = decide(&medians, run.sampling.equivalence_margin, threshold, error);
    for (row, decision) in rows.iter_mut().flatten().zip(decisions) {
        row.decision = decision;
    }
    rows
}

impl ComparedCase<'_> {
    fn finding(&self) -> Finding {
        let Some(decision) = self.decision else {
            return Finding::NoTime("a time at or below zero".to_owned());
        };
        let RowDecision {
            ratio, times: [time, baseline_time], noise_known, assumed, answer, regressed, ..
        } = decision;
        Finding::Compared {
            ratio,
            time,
            baseline_time,
            processes: self.processes,
            noise_known,
            assumed_spread: assumed,
            answer,
            regressed,
            remeasured: self.now.record.remeasured,
        }
    }
}

/// The cases of a run, as measured (`now`) and as planned, to look up cases of a baseline.
struct RunCases<'a> {
    now: HashSet<&'a CaseId>,
    planned: HashSet<PlannedCase>,
    /// The benchmarks of the baseline of which the run has no case with the same arguments.
    changed: HashSet<BenchmarkKey<'a>>,
}

/// The benchmark, model and cache state of a case: cases with the same differ in their arguments alone.
type BenchmarkKey<'a> = (&'a str, &'a str, Cache);

/// Returns the key that cases share which differ only in their arguments.
fn benchmark_key(case: &CaseId) -> BenchmarkKey<'_> {
    (&case.benchmark, &case.model, case.cache)
}

impl<'a> RunCases<'a> {
    fn new(run: &'a Run, baseline: &'a Baseline) -> Self {
        let now: HashSet<_> = run.records.iter().map(|record| &record.case).collect();
        let mut then: HashMap<_, bool> = HashMap::new();
        for old in baseline.cases() {
            *then.entry(benchmark_key(&old.case)).or_default() |= now.contains(&old.case);
        }
        let changed = then.into_iter().filter(|(_, is_there)| !is_there).map(|(key, _)| key).collect();
        Self { now, planned: run.records.iter().map(Record::planned).collect(), changed }
    }

    /// Returns the finding about a case that the baseline lacks: new, or not comparable if the baseline
    /// contains the benchmark with other arguments only.
    fn finding_without_baseline(&self, case: &CaseId) -> Finding {
        if !self.changed.contains(&benchmark_key(case)) {
            return Finding::New;
        }
        let why = "the baseline has this benchmark with other arguments only: measure the baseline again";
        Finding::NotComparable(vec![why.to_owned()])
    }

    /// Returns true if the run contains the case of `old`, a record of the baseline: the same case on any
    /// device of that model, or the same planned case on the same device name, whatever its model.
    fn contains_case_of(&self, old: &Record) -> bool {
        self.now.contains(&old.case) || self.planned.contains(&old.planned())
    }
}

/// Returns `record` and its record in the baseline. Fails with the finding that explains why they cannot be
/// compared.
fn pair_with_baseline<'a>(
    run: &'a Run,
    record: &'a Record,
    baseline: &'a Baseline,
    cases: &RunCases<'_>,
) -> Result<(MeasuredRecord<'a>, MeasuredRecord<'a>), Finding> {
    let (old_run, old) =
        baseline.find(run, record).ok_or_else(|| cases.finding_without_baseline(&record.case))?;
    let no_number = |why, when| Finding::NoTime(format!("{why} {when}"));
    let measurement = number_or_reason(record).map_err(|why| no_number(why, "now"))?;
    let now = MeasuredRecord { run, record, measurement };
    let measurement = number_or_reason(old).map_err(|why| no_number(why, "then"))?;
    let then = MeasuredRecord { run: old_run, record: old, measurement };
    let differences = differences(now, then);
    if differences.is_empty() { Ok((now, then)) } else { Err(Finding::NotComparable(differences)) }
}

/// Returns the measurement of a record that is not invalid; otherwise `failed` or `invalid`.
fn number_or_reason(record: &Record) -> Result<&Measurement, &'static str> {
    match &record.measurement {
        None => Err("failed"),
        Some(_) if record.verdict.state == State::Invalid => Err("invalid"),
        Some(measurement) => Ok(measurement),
    }
}

/// A record with its measurement, and the run that contains both.
#[derive(Clone, Copy)]
pub struct MeasuredRecord<'a> {
    /// The run.
    pub run: &'a Run,
    /// The record.
    pub record: &'a Record,
    /// Its number.
    pub measurement: &'a Measurement,
}

impl<'a> MeasuredRecord<'a> {
    fn device_info(&self) -> Option<&'a DeviceInfo> {
        self.run.device_of(self.record)
    }

    /// Returns the median time of each process that measured the case, with an interval of this confidence
    /// (0.99 for 99 %). Processes without samples are left out.
    fn process_medians(&self, confidence: f64) -> Vec<Median> {
        self.record.measurements().filter_map(|measured| measured.samples.median(confidence)).collect()
    }
}

/// Returns the reasons why `now` and `then` cannot be compared, such as `path stream, was host`; empty if
/// they can.
pub fn differences(now: MeasuredRecord<'_>, then: MeasuredRecord<'_>) -> Vec<String> {
    let (new, old) = (now.measurement, then.measurement);
    let mut found = work::differences(&new.counts, &old.counts);
    let mut hold = |what: &str, now: String, then: String| {
        if now != then {
            found.push(format!("{what} {now}, was {then}"));
        }
    };
    let method = |measured: &Measurement| {
        let (method, convention) = (&measured.samples.method, measured.samples.timer.convention());
        [method.path.to_string(), method.flush.to_string(), convention.unwrap_or("none").to_owned()]
    };
    for ((what, now), then) in ["path", "flush", "overhead"].into_iter().zip(method(new)).zip(method(old)) {
        hold(what, now, then);
    }
    // A time with the memory's stalls is that of launches at random times; one of which nothing is known may be without.
    if [new, old].iter().any(|measured| measured.samples.dram_stall.is_some()) {
        let told = |measured: &Measurement| {
            if measured.samples.start_intervals.is_empty() { "in no time" } else { "in each time" }
        };
        hold("DRAM stall", told(new).to_owned(), told(old).to_owned());
    }
    hold("device", device_label(&now), device_label(&then));
    // The speed of the program's own code depends on its optimisation. Old runs do not have this field.
    if [now, then].iter().any(|it| it.device_info().is_some_and(|info| info.runs_program_code)) {
        hold("opt-level", now.run.program.opt_level.clone(), then.run.program.opt_level.clone());
    }
    for (what, now, then) in shared_device_properties(now, then) {
        if let (Value::Count(now), Value::Count(then)) = (now, then) {
            hold(what, now.to_string(), then.to_string());
        }
    }
    found
}

/// Returns phrases about differences that do not prevent a comparison: properties of the device, settings of
/// the environment, and the benchmark's own metrics.
pub(super) fn remarks_on_changes(now: MeasuredRecord<'_>, then: MeasuredRecord<'_>) -> Vec<String> {
    let settings = [now, then].map(|measured| measured.run.environment.settings());
    let mut found = describe_changes([device_properties(now), device_properties(then)], "not known");
    if !same_device(now, then) {
        found.push(other_device_remark([now, then].map(|measured| &*measured.record.device)));
    }
    found.extend(describe_changes([&settings[0], &settings[1]], "not set"));
    // Rates are left out: they follow from the time, which is compared.
    let metrics = now.measurement.user_metrics.iter().filter(|metric| !is_rate(metric));
    let changed = describe_changed_metrics(metrics, &then.measurement.user_metrics, ", was");
    found.extend(changed.map(|change| format!("{change} ({})", now.record.case)));
    found
}

/// Returns a phrase for each property that differs, except UUIDs, which tell a reader nothing. `missing` is the
/// value on a side that lacks the property, such as `not set`. A device has the property `clocks` only if they are locked.
fn describe_changes([now, then]: [&[Property]; 2], missing: &str) -> Vec<String> {
    let value = |side: &[Property], name: &str| {
        let found = side.iter().find(|property| property.name == name);
        let missing = if name == "clocks" { "not locked" } else { missing };
        found.map_or_else(|| missing.to_owned(), |property| property.value.to_string())
    };
    let gone = then.iter().filter(|old| now.iter().all(|new| new.name != old.name));
    let changes =
        now.iter().chain(gone).filter(|property| property.name != UUID).map(|Property { name, .. }| {
            let [now, then] = [now, then].map(|side| value(side, name));
            (now != then).then(|| format!("{name} {now}, was {then}"))
        });
    changes.flatten().collect()
}

/// Returns true unless the UUIDs of the two devices are known and differ.
pub(super) fn same_device(now: MeasuredRecord<'_>, then: MeasuredRecord<'_>) -> bool {
    shared_device_properties(now, then).all(|(what, now, then)| what != UUID || now == then)
}

/// Returns the remark that another device of the same model was used, with both device names if they differ.
fn other_device_remark([now, then]: [&str; 2]) -> String {
    let names = if now == then { String::new() } else { format!(" ({now}, was {then})") };
    format!("another device of its kind{names}")
}

/// Returns the model name of the device, marked if it is a fake.
fn device_label(measured: &MeasuredRecord<'_>) -> String {
    let name = measured.device_info().map(|info| info.name.clone()).unwrap_or_default();
    if measured.record.fake { format!("{name} (a fake)") } else { name }
}

/// Returns the name and both values of each property that both devices have.
fn shared_device_properties<'a>(
    now: MeasuredRecord<'a>,
    then: MeasuredRecord<'a>,
) -> impl Iterator<Item = (&'a str, &'a Value, &'a Value)> {
    device_properties(now).iter().filter_map(move |property| {
        let other = device_properties(then).iter().find(|other| other.name == property.name)?;
        Some((&*property.name, &property.value, &other.value))
    })
}

fn device_properties<'a>(measured: MeasuredRecord<'a>) -> &'a [Property] {
    measured.device_info().map_or(&[], |info| &info.properties)
}

/// The assumed relative difference between processes that share the host's processors or memory with other
/// programs.
const SHARED_HOST_SPREAD: f64 = 0.4;
/// The assumed relative difference between processes that have a GPU to themselves.
const OWN_GPU_SPREAD: f64 = 0.02;
/// The assumed least difference between such processes as a time. For short launches it is more than
/// [`OWN_GPU_SPREAD`].
const OWN_GPU_SPREAD_TIME: Nanoseconds = Nanoseconds(130.0);
/// The smallest fraction of the samples in a mode that can become the median of another process.
const MIN_MODE_FRACTION: f64 = 0.2;

/// Returns the relative difference that two processes may show although nothing changed: the larger of the
/// two sides.
pub(super) fn assumed_spread(now: MeasuredRecord<'_>, then: MeasuredRecord<'_>) -> AssumedSpread {
    match (assumed_spread_of_process(now), assumed_spread_of_process(then)) {
        (Some(now), Some(then)) => AssumedSpread::UpTo(now.max(then)),
        _ => AssumedSpread::Any,
    }
}

/// Returns the relative difference from this measurement that another process may show. `None` if it may be
/// any, since the time was not steady or not the launch's alone.
fn assumed_spread_of_process(it: MeasuredRecord<'_>) -> Option<f64> {
    let samples = &it.measurement.samples;
    let shares_memory = matches!(it.measurement.link, Some(Link::H2d | Link::D2h));
    let usual = if samples.shares_processors() || shares_memory {
        SHARED_HOST_SPREAD
    } else {
        OWN_GPU_SPREAD.max(OWN_GPU_SPREAD_TIME / it.measurement.median())
    };
    it.record.verdict.reasons.iter().try_fold(usual, |most, reason| match reason {
        Reason::TwoModes(modes)
            if (MIN_MODE_FRACTION..=1.0 - MIN_MODE_FRACTION).contains(&modes.high_fraction) =>
        {
            Some(most.max(modes.high / modes.low - 1.0))
        }
        Reason::Drift(drift) => Some(most.max(drift.change.abs())),
        Reason::NotConverged { .. }
        | Reason::TooFewSamples { .. }
        | Reason::Interrupted { .. }
        | Reason::WideInterval { .. }
        | Reason::ClocksFell { .. }
        | Reason::OtherProcesses { .. } => None,
        _ => Some(most),
    })
}

#[cfg(test)]
mod check_tests {
    use super::*;
    use crate::comparison::Answer;
    use crate::files::read;
    use crate::id::Arg;

    /// A run of one benchmark with these values of its argument.
    fn run(values: &[&str]) -> Run {
        let lines = include_bytes!("../../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");
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
        check(&run(now), &baseline, &|_| true, DECISION_ERROR)
            .findings
            .into_iter()
            .map(|line| line.finding)
            .collect()
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
            check(now, &baseline, &|_| true, DECISION_ERROR).findings.remove(0).finding
        };
        let none = |words: &str| Finding::NoTime(words.to_owned());
        assert_eq!(found(&failed, &whole), none("failed now"));
        assert_eq!(found(&invalid, &whole), none("invalid now"));
        assert_eq!(found(&whole, &failed), none("failed then"));
        assert_eq!(found(&whole, &invalid), none("invalid then"));
        assert!(matches!(found(&suspect, &suspect), Finding::Compared { .. }));
        let differs = Finding::NotComparable(vec!["flops 1, was 1600".to_owned()]);
        assert_eq!(found(&other_work, &whole), differs);
    }

    #[test]
    fn a_difference_of_devices_is_told_once_for_all_cases() {
        let then = run(&["1", "2", "3"]);
        let mut now = then.clone();
        now.devices[0].properties.push(Property::new("driver", Value::Text("590.2".to_owned())));
        let checked = check(&now, &Baseline::of("b".to_owned(), then), &|_| true, DECISION_ERROR);
        assert_eq!(checked.remarks, ["driver 590.2, was not known"]);
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
        let checked = check(&now, &baseline, &|_| true, DECISION_ERROR);
        let of = |finding: &Finding| match finding {
            Finding::Compared { processes, answer, .. } => (*processes, *answer),
            other => panic!("{other:?}"),
        };
        let found: Vec<_> = checked.findings.iter().map(|line| of(&line.finding)).collect();
        assert_eq!(found[0], ([1, 1], Answer::Undecided), "a step of the timer is one in a hundred");
        assert_eq!(found[1], ([1, 1], Answer::Slower));
        assert_eq!(found[2], ([2, 1], Answer::Undecided));
        assert_eq!(checked.tested_together, 3);
    }
}

#[cfg(test)]
mod comparable_tests {
    use super::*;
    use crate::baseline::fixture::stored_run;
    use crate::method::{Flush, Path};
    use crate::work::Counts;
    use gpubench_stats::DramStall;
    use gpubench_stats::units::{Bytes, Nanoseconds};

    /// A run whose first record has a stall in its time, if it has a length, and knows when its samples began.
    fn run(stall: Option<f64>, starts: bool) -> Run {
        let mut run = stored_run();
        let samples = &mut run.records[0].measurement.as_mut().expect("it was measured").samples;
        let [period, from, width, error] = [1e5, 0.0, 14e3, 5.0].map(Nanoseconds);
        samples.dram_stall = stall.map(|length| DramStall {
            period,
            delay: Nanoseconds(length),
            from,
            width,
            delayed_fraction: 0.13,
            error,
        });
        samples.start_intervals =
            if starts { vec![Nanoseconds(5e4); samples.event_times.len()] } else { Vec::new() };
        run
    }

    fn found(now: &Run, then: &Run) -> Vec<String> {
        let [now, then] = [now, then].map(|run| {
            let record = &run.records[0];
            MeasuredRecord { run, record, measurement: record.measurement.as_ref().expect("it was measured") }
        });
        differences(now, then)
    }

    /// Two records of one case, on devices with these properties.
    fn on(
        now: &[(&str, Value)],
        then: &[(&str, Value)],
        of: impl Fn(MeasuredRecord<'_>, MeasuredRecord<'_>),
    ) {
        let [now, then] = [now, then].map(|properties| {
            let mut run = stored_run();
            let info = properties.iter().cloned();
            run.devices[0].properties =
                info.map(|(name, value)| Property { name: name.to_owned(), value }).collect();
            run
        });
        let [now, then] = [&now, &then].map(|run| {
            let record = &run.records[0];
            MeasuredRecord { run, record, measurement: record.measurement.as_ref().expect("it was measured") }
        });
        of(now, then);
    }

    #[test]
    fn properties_that_both_have_are_held_against_each_other() {
        let text = |text: &str| Value::Text(text.to_owned());
        let old = [("driver", text("580.1")), (UUID, text("GPU-1")), ("multiprocessors", Value::Count(132))];
        on(&old, &old, |now, then| {
            assert!(same_device(now, then));
            assert_eq!((differences(now, then), remarks_on_changes(now, then)), (vec![], vec![]));
        });
        let new = [("driver", text("590.2")), (UUID, text("GPU-2")), ("multiprocessors", Value::Count(114))];
        on(&new, &old, |now, then| {
            assert!(!same_device(now, then), "another UUID");
            assert_eq!(differences(now, then), ["multiprocessors 114, was 132"]);
            assert_eq!(
                remarks_on_changes(now, then),
                ["driver 590.2, was 580.1", "multiprocessors 114, was 132", "another device of its kind"]
            );
        });
        on(&new[..1], &old[1..2], |now, then| {
            assert!(same_device(now, then), "one of them has no UUID");
            assert_eq!(remarks_on_changes(now, then), ["driver 590.2, was not known"]);
        });
        on(&[], &old, |now, then| {
            assert_eq!(
                remarks_on_changes(now, then),
                ["driver not known, was 580.1", "multiprocessors not known, was 132"]
            );
        });
        let cache = |bytes| [("cache", Value::Bytes(Bytes(bytes)))];
        on(&cache(1), &cache(2), |now, then| {
            assert_eq!(remarks_on_changes(now, then), ["cache 1 B, was 2 B"]);
        });
    }

    /// Changes the first record of a run and its measurement.
    fn changed(change: impl Fn(&mut Record, &mut Measurement)) -> Run {
        let mut run = run(None, true);
        let mut measurement = run.records[0].measurement.take().expect("it was measured");
        change(&mut run.records[0], &mut measurement);
        run.records[0].measurement = Some(measurement);
        run
    }

    /// Times of other work, or taken another way, are not compared: each difference is named with both sides.
    #[test]
    fn a_difference_of_work_or_method_is_named_with_both_sides() {
        let then = changed(|_, _| ());
        let told = |change: fn(&mut Record, &mut Measurement)| found(&changed(change), &then);
        assert_eq!(told(|_, now| now.counts.flops = Some(1601)), ["flops 1601, was 1600"]);
        assert_eq!(told(|_, now| now.counts.flops = None), ["flops not counted, was 1600"]);
        assert_eq!(told(|_, now| now.counts.items = Some(7)), ["items 7, was not counted"]);
        assert_eq!(told(|_, now| now.counts.reads = Some(1)), ["bytes read 1, was 6400"]);
        assert_eq!(told(|_, now| now.counts.writes = None), ["bytes written not counted, was 3200"]);
        assert_eq!(told(|_, now| now.samples.method.path = Path::Stream), ["path stream, was host"]);
        assert_eq!(told(|_, now| now.samples.method.flush = Flush::Write), ["flush write, was none"]);
        let less_one_more = |reads_parameter| {
            changed(move |_, now| {
                let timer = &mut now.samples.timer;
                (timer.empty_launch_time, timer.marginal_empty_launch) =
                    (Some(Nanoseconds(9.0)), Some(Nanoseconds(3.0)));
                timer.reads_parameter = reads_parameter;
            })
        };
        assert_eq!(
            found(&less_one_more(true), &less_one_more(false)),
            [
                "overhead an empty launch that reads a parameter, less one more, was an empty launch less one more"
            ]
        );
        assert_eq!(found(&less_one_more(true), &less_one_more(true)), [""; 0]);
        assert_eq!(
            told(|now, _| now.fake = true),
            ["device a clock with known hands (a fake), was a clock with known hands"]
        );
    }

    /// A metric is no part of the work: the comparison goes on.
    #[test]
    fn a_metric_that_changed_is_a_remark() {
        let of = |unit: &'static str, value| {
            let metric = work::UserMetric { name: "steps".to_owned(), unit: unit.to_owned(), value };
            changed(move |_, now| now.user_metrics = vec![metric.clone()])
        };
        let told = |now: &Run, then: &Run| {
            let [now, then] = [now, then].map(|run| {
                let record = &run.records[0];
                MeasuredRecord { run, record, measurement: record.measurement.as_ref().expect("measured") }
            });
            (differences(now, then), remarks_on_changes(now, then))
        };
        let case = of("", 1.0).records[0].case.to_string();
        assert_eq!(
            told(&of("", 12.0), &of("", 9.0)),
            (vec![], vec![format!("steps 12, was 9, +33.33 % ({case})")])
        );
        for (now, then) in
            [(("", 12.0), ("", 12.00001)), (("1/s", 12.0), ("1/s", 9.0)), (("", 1.0), ("%", 2.0))]
        {
            assert_eq!(told(&of(now.0, now.1), &of(then.0, then.1)), (vec![], vec![]));
        }
    }

    /// The sum of bytes is work of its own only where it is not told apart.
    #[test]
    fn bytes_are_compared_as_reads_and_writes_if_these_are_known() {
        let sum = |bytes| {
            move |_: &mut Record, now: &mut Measurement| {
                now.counts = Counts { bytes: Some(bytes), ..Counts::default() };
            }
        };
        assert_eq!(found(&changed(sum(5)), &changed(sum(6))), ["bytes 5, was 6"]);
        assert_eq!(found(&changed(|_, now| now.counts.bytes = Some(5)), &changed(|_, _| ())), [""; 0]);
        let writes_alone =
            |bytes| changed(move |_, now| (now.counts.reads, now.counts.bytes) = (None, Some(bytes)));
        assert_eq!(found(&writes_alone(5), &writes_alone(6)), [""; 0]);
    }

    /// The optimisation of the program is a part of what was measured where the program's own code was.
    #[test]
    fn the_optimisation_counts_where_the_programs_own_code_was_measured() {
        let of = |opt_level: &str, runs_program_code| {
            let mut run = run(None, true);
            opt_level.clone_into(&mut run.program.opt_level);
            run.devices[0].runs_program_code = runs_program_code;
            run
        };
        assert_eq!(found(&of("0", true), &of("3", true)), ["opt-level 0, was 3"]);
        assert_eq!(found(&of("0", true), &of("3", false)), ["opt-level 0, was 3"], "an old run does not say");
        assert_eq!(found(&of("0", false), &of("3", false)), [""; 0]);
    }

    #[test]
    fn a_time_with_the_stall_is_not_held_against_one_that_may_be_without() {
        let [old, usual, with] = [run(None, false), run(None, true), run(Some(1400.0), true)];
        let told = vec!["DRAM stall in each time, was in no time".to_owned()];
        assert_eq!((found(&with, &old), found(&with, &usual), found(&with, &with)), (told, vec![], vec![]));
        assert_eq!((found(&usual, &old), found(&old, &with).len()), (vec![], 1));
    }
}

#[cfg(test)]
mod assumed_tests {
    use super::*;
    use crate::baseline::fixture::stored_run;
    use crate::method::Path;
    use crate::record::{Measurement, Record};
    use gpubench_stats::{Drift, Modes};

    /// The difference that is assumed of a launch of 100 µs on a GPU, after this change to the run before.
    fn found(change: impl Fn(&mut Record, &mut Measurement)) -> AssumedSpread {
        let mut now = stored_run();
        let record = &mut now.records[0];
        record.verdict.reasons.clear();
        let mut measurement = record.measurement.take().expect("it was measured");
        measurement.samples.method.path = Path::Graph;
        measurement.samples.time.median = Nanoseconds(100_000.0);
        record.measurement = Some(measurement.clone());
        let mut then = now.clone();
        change(&mut then.records[0], &mut measurement);
        then.records[0].measurement = Some(measurement);
        let [now, then] = [&now, &then].map(|run| {
            let record = &run.records[0];
            MeasuredRecord { run, record, measurement: record.measurement.as_ref().expect("it was measured") }
        });
        assert_eq!(assumed_spread(now, then), assumed_spread(then, now));
        assumed_spread(now, then)
    }

    #[test]
    fn processes_on_shared_processors_differ_by_more() {
        assert_eq!(found(|_, _| ()), AssumedSpread::UpTo(OWN_GPU_SPREAD));
        assert_eq!(
            found(|_, it| it.samples.method.path = Path::Host),
            AssumedSpread::UpTo(SHARED_HOST_SPREAD)
        );
        assert_eq!(
            found(|_, it| it.samples.processor_wait = Some(0.5)),
            AssumedSpread::UpTo(SHARED_HOST_SPREAD)
        );
        assert_eq!(found(|_, it| it.link = Some(Link::H2d)), AssumedSpread::UpTo(SHARED_HOST_SPREAD));
        assert_eq!(found(|_, it| it.link = Some(Link::P2p)), AssumedSpread::UpTo(OWN_GPU_SPREAD));
        let short = found(|_, it| it.samples.time.median = Nanoseconds(1_300.0));
        assert_eq!(short, AssumedSpread::UpTo(0.1));
    }

    #[test]
    fn a_time_that_is_not_steady_says_little_about_another_process() {
        let with = |reason: Reason| found(move |record, _| record.verdict.reasons.push(reason.clone()));
        let modes = |share_high| {
            let [low, high] = [100.0, 150.0].map(Nanoseconds);
            Reason::TwoModes(Modes { low, high, high_fraction: share_high })
        };
        assert_eq!(with(modes(0.5)), AssumedSpread::UpTo(0.5));
        assert_eq!(with(modes(0.1)), AssumedSpread::UpTo(OWN_GPU_SPREAD));
        assert_eq!(with(Reason::Drift(Drift { change: -0.07 })), AssumedSpread::UpTo(0.07));
        assert_eq!(with(Reason::NotConverged { reached: 0.3, requested: 0.005 }), AssumedSpread::Any);
        assert_eq!(with(Reason::Interrupted { interrupted: 9, samples: 10 }), AssumedSpread::Any);
        assert_eq!(
            with(Reason::BelowResolution { resolution: Nanoseconds(32.0) }),
            AssumedSpread::UpTo(OWN_GPU_SPREAD)
        );
    }
}
