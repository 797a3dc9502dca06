//! Compares a run with a baseline, case by case: which records can be compared, which difference between two processes is
//! assumed where none was measured, and the finding about each case. `decisions` gives the answers, of all cases together.

use crate::baseline::Baseline;
use crate::baseline::decisions::{CaseDecision, CaseMedians, decide_cases};
use crate::metrics::{Link, count_differences, describe_changed_metrics, is_rate};
use crate::{
    AssumedSpread, BaselineComparison, BaselineFinding, Cache, CaseFinding, CaseId, DeviceInfo, Measurement,
    PlannedCase, Property, Reason, Record, Run, Threshold, Value, device_info::UUID, unique,
};
use gpubench_stats::{DECISION_ERROR, Median, Nanoseconds, Set};

/// Compares `run` with `baseline`. `wanted` selects the cases of the baseline that the run should have; those
/// of them that the run lacks are reported as missing. `error` is the probability that an answer is wrong:
/// [`DECISION_ERROR`], or less for one of several interim analyses.
pub fn check(
    run: &Run,
    baseline: &Baseline,
    wanted: &dyn Fn(&Record) -> bool,
    error: f64,
) -> BaselineComparison {
    let cases = RunCases::new(run, baseline);
    let rows = compared_cases(run, baseline, &cases, run.regression_threshold, error);
    let remarks = unique(rows.iter().flatten().flat_map(|row| remarks_on_changes(row.now, row.then)));
    let tested_together = rows.iter().flatten().count();
    let finding = |(record, row): (&Record, Result<ComparedCase<'_>, BaselineFinding>)| CaseFinding {
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
        remarks,
        missing: missing.map(|record| record.case.to_string()).collect(),
        findings: run.records.iter().zip(rows).map(finding).collect(),
    }
}

/// Returns the cases of `run` that seem to be regressions against `baseline`, which further processes should confirm.
pub fn seem_regressed<'a>(run: &'a Run, baseline: &Baseline, threshold: Threshold) -> Vec<&'a Record> {
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
    /// The number of processes that measured the case and whose samples are stored: in the run, and in the
    /// baseline.
    processes: [usize; 2],
    /// `None` if a side has no stored samples, or a median's interval reaches zero.
    decision: Option<CaseDecision>,
}

/// Pairs each record of `run` with its record in `baseline`, and decides on all pairs together. Returns one
/// entry per record, in order: the pair, or the finding that explains why there is none.
fn compared_cases<'a>(
    run: &'a Run,
    baseline: &'a Baseline,
    cases: &RunCases<'_>,
    threshold: Option<Threshold>,
    error: f64,
) -> Vec<Result<ComparedCase<'a>, BaselineFinding>> {
    let mut medians = Vec::new();
    let row = |record| {
        let (now, then) = pair_with_baseline(run, record, baseline, cases)?;
        let [new, old] = [now, then].map(|it| it.process_medians(1.0 - error));
        let processes = [new.len(), old.len()];
        let (same_device, assumed) = (same_device(now, then), assumed_spread(now, then));
        medians.push(CaseMedians { now: new, then: old, same_device, assumed });
        Ok(ComparedCase { now, then, processes, decision: None })
    };
    let mut rows: Vec<Result<ComparedCase<'_>, BaselineFinding>> = run.records.iter().map(row).collect();
    let decisions = decide_cases(&medians, run.sampling.equivalence_margin, threshold, error);
    for (row, decision) in rows.iter_mut().flatten().zip(decisions) {
        row.decision = decision;
    }
    rows
}

impl ComparedCase<'_> {
    /// Returns the finding to store: the decision, or without one, that there is no time above zero.
    fn finding(&self) -> BaselineFinding {
        let Some(decision) = self.decision else {
            return BaselineFinding::NoTime("a time at or below zero".to_owned());
        };
        let CaseDecision {
            ratio, times: [time, baseline_time], noise_known, assumed, answer, regressed, ..
        } = decision;
        BaselineFinding::Compared {
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
    now: Set<&'a CaseId>,
    planned: Set<PlannedCase>,
    /// The benchmarks that the baseline has with other arguments only: the run has none of their cases.
    changed: Set<BenchmarkKey<'a>>,
}

/// The benchmark, model and cache state of a case. Cases with an equal key differ only in their arguments.
type BenchmarkKey<'a> = (&'a str, &'a str, Cache);

/// Returns the key of a case.
fn benchmark_key(case: &CaseId) -> BenchmarkKey<'_> {
    (&case.benchmark, &case.model, case.cache)
}

impl<'a> RunCases<'a> {
    /// Collects the cases of `run`, and compares their arguments with those of `baseline`.
    fn new(run: &'a Run, baseline: &'a Baseline) -> Self {
        let now: Set<_> = run.records.iter().map(|record| &record.case).collect();
        let key = |old: &'a Record| benchmark_key(&old.case);
        let kept: Set<_> = baseline.cases().filter(|old| now.contains(&&old.case)).map(key).collect();
        let changed = baseline.cases().map(key).filter(|key| !kept.contains(key)).collect();
        Self { now, planned: run.records.iter().map(Record::planned).collect(), changed }
    }

    /// Returns the finding about a case that the baseline lacks: not comparable if the baseline has its
    /// benchmark with other arguments only ([`Self::changed`]); otherwise new.
    fn finding_without_baseline(&self, case: &CaseId) -> BaselineFinding {
        if !self.changed.contains(&benchmark_key(case)) {
            return BaselineFinding::New;
        }
        let why = "the baseline has this benchmark with other arguments only: measure the baseline again";
        BaselineFinding::NotComparable(vec![why.to_owned()])
    }

    /// Returns true if the run contains the case of `old`, a record of the baseline: either on any device of
    /// the same model, or on a device of the same name (such as `cuda:0`), whatever its model.
    fn contains_case_of(&self, old: &Record) -> bool {
        self.now.contains(&&old.case) || self.planned.contains(&old.planned())
    }
}

/// Returns `record` and its record in the baseline. Fails with the finding that explains why they cannot be
/// compared.
fn pair_with_baseline<'a>(
    run: &'a Run,
    record: &'a Record,
    baseline: &'a Baseline,
    cases: &RunCases<'_>,
) -> Result<(MeasuredRecord<'a>, MeasuredRecord<'a>), BaselineFinding> {
    let (old_run, old) =
        baseline.find(run, record).ok_or_else(|| cases.finding_without_baseline(&record.case))?;
    let usable = |record: &'a Record, when: &str| {
        let why = if record.measurement.is_none() { "failed" } else { "invalid" };
        record.usable_measurement().ok_or_else(|| BaselineFinding::NoTime(format!("{why} {when}")))
    };
    let now = MeasuredRecord { run, record, measurement: usable(record, "now")? };
    let then = MeasuredRecord { run: old_run, record: old, measurement: usable(old, "then")? };
    let differences = differences(now, then);
    if differences.is_empty() { Ok((now, then)) } else { Err(BaselineFinding::NotComparable(differences)) }
}

/// A record with its measurement, and the run that contains both.
#[derive(Clone, Copy)]
pub struct MeasuredRecord<'a> {
    /// The run.
    pub run: &'a Run,
    /// The record.
    pub record: &'a Record,
    /// The measurement of the record.
    pub measurement: &'a Measurement,
}

impl<'a> MeasuredRecord<'a> {
    /// Returns the device of the record; `None` if the run does not describe it.
    fn device_info(&self) -> Option<&'a DeviceInfo> {
        self.run.device_of(self.record)
    }

    /// Returns the median time of each process that measured the case, with an interval of this confidence
    /// (0.99 for 99 %). Processes whose samples were not stored are left out.
    fn process_medians(&self, confidence: f64) -> Vec<Median> {
        self.record.measurements().filter_map(|measured| measured.samples.median(confidence)).collect()
    }
}

/// Returns the reasons why `now` and `then` cannot be compared, such as `path stream, was host`; empty if
/// they can.
pub fn differences(now: MeasuredRecord<'_>, then: MeasuredRecord<'_>) -> Vec<String> {
    let (new, old) = (now.measurement, then.measurement);
    let mut found = count_differences(&new.counts, &old.counts);
    let mut compare = |what: &str, now: String, then: String| {
        if now != then {
            found.push(format!("{what} {now}, was {then}"));
        }
    };
    let method = |measured: &Measurement| {
        let (method, convention) = (&measured.samples.method, measured.samples.timer.convention());
        [method.path.to_string(), method.flush.to_string(), convention.unwrap_or("none").to_owned()]
    };
    for ((what, now), then) in ["path", "flush", "overhead"].into_iter().zip(method(new)).zip(method(old)) {
        compare(what, now, then);
    }
    // A time with the memory's stalls is that of launches at random times; one of which nothing is known may be without.
    if [new, old].iter().any(|measured| measured.samples.dram_stall.is_some()) {
        let stall_times = |measured: &Measurement| {
            if measured.samples.start_intervals.is_empty() { "in no time" } else { "in each time" }
        };
        compare("DRAM stall", stall_times(new).to_owned(), stall_times(old).to_owned());
    }
    compare("device", device_label(&now), device_label(&then));
    // The speed of the program's own code depends on its optimisation. Old runs do not have this field.
    if [now, then].iter().any(|it| it.device_info().is_some_and(|info| info.runs_program_code)) {
        compare("opt-level", now.run.program.opt_level.clone(), then.run.program.opt_level.clone());
    }
    for (what, now, then) in shared_device_properties(now, then) {
        if let (Value::Count(now), Value::Count(then)) = (now, then) {
            compare(what, now.to_string(), then.to_string());
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
        let [new, old] = [now, then].map(|measured| &measured.record.device);
        let names = if new == old { String::new() } else { format!(" ({new}, was {old})") };
        found.push(format!("another device of its kind{names}"));
    }
    found.extend(describe_changes([&settings[0], &settings[1]], "not set"));
    // Rates are left out: they follow from the time, which is compared.
    let metrics = now.measurement.user_metrics.iter().filter(|metric| !is_rate(metric));
    let changed = describe_changed_metrics(metrics, &then.measurement.user_metrics, ", was");
    found.extend(changed.map(|change| format!("{change} ({})", now.record.case)));
    found
}

/// Returns a phrase for each property that differs, except UUIDs, which mean nothing to a reader. `missing`
/// is the text for a side that lacks the property, such as `not set`. For the property `clocks`, which a
/// device has only if its clocks are locked, that text is `not locked`.
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

/// Returns true unless the UUIDs of both devices are known and differ: a device without a UUID counts as the
/// same as any other.
pub(super) fn same_device(now: MeasuredRecord<'_>, then: MeasuredRecord<'_>) -> bool {
    shared_device_properties(now, then).all(|(what, now, then)| what != UUID || now == then)
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

/// Returns the properties of the device; empty if the run does not describe it.
fn device_properties<'a>(measured: MeasuredRecord<'a>) -> &'a [Property] {
    measured.device_info().map_or(&[], |info| &info.properties)
}

/// The assumed relative difference between processes that share the host's processors or memory with other
/// programs. It is used for launches on a CPU, for launches whose threads waited for a processor, and for
/// copies between host and device.
const SHARED_HOST_SPREAD: f64 = 0.4;
/// The assumed relative difference between processes that have a GPU to themselves.
const OWN_GPU_SPREAD: f64 = 0.02;
/// The smallest assumed difference between processes that have a GPU to themselves, as a time. It exceeds
/// [`OWN_GPU_SPREAD`] for launches shorter than 6.5 µs.
const OWN_GPU_SPREAD_TIME: Nanoseconds = Nanoseconds(130.0);
/// The fraction of the samples from which on a mode may contain the median of another process. If both modes
/// have this fraction, the assumed difference is at least the distance between the modes.
const MIN_MODE_FRACTION: f64 = 0.2;

/// Returns the relative difference that two processes may show although nothing changed: the larger one of
/// the two sides. It is [`AssumedSpread::Any`] if either side may show any difference.
pub(super) fn assumed_spread(now: MeasuredRecord<'_>, then: MeasuredRecord<'_>) -> AssumedSpread {
    match (assumed_spread_of_process(now), assumed_spread_of_process(then)) {
        (Some(now), Some(then)) => AssumedSpread::UpTo(now.max(then)),
        _ => AssumedSpread::Any,
    }
}

/// Returns the relative difference from this measurement that another process may show. Two modes and a drift
/// increase it. `None` if any difference may show: the time was not steady, its interval is too wide, or
/// other programs used the device.
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
mod tests;
