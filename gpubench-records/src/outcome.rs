//! The outcome of a run: its exit code, the number of its results, and the gate of `--fail-on-regression`.

use std::process::ExitCode;

use crate::{Answer, BaselineFinding, Cache, CaseFinding, Run, State, Threshold};
use gpubench_stats::{Map, Ratio, Set};

/// The way in which a run ended, from the most to the least important: if several apply, the first one
/// counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("exit code {}", self.code())]
pub enum Exit {
    /// 129, 130 or 143: SIGHUP, SIGINT or SIGTERM ended the run early. The field is the number of the signal,
    /// to which 128 is added.
    Interrupted(u8),
    /// 2: the command line asks for something impossible.
    Usage,
    /// 5: the requested device is missing, or busy and the user does not want to wait.
    NoDevice,
    /// 4: no benchmark matches, or a run has no records.
    Nothing,
    /// 1: a benchmark failed or is invalid, a gate could not judge a case, or results could not be written.
    Failed,
    /// 3: a case is slower than allowed.
    Regression,
    /// 0: everything requested was done, even if some results are suspect.
    Done,
}

impl Exit {
    /// Returns the exit of a program that reports `run`: [`Self::Nothing`] without records, unless cases were
    /// skipped and none were planned. Otherwise the more important of the exit of the gate, and
    /// [`Self::Failed`] if a case is invalid.
    pub fn of(run: &Run) -> Self {
        // Planned cases that were not measured are nothing, whatever else was skipped.
        if run.records.is_empty() && (run.skipped.is_empty() || run.planned_cases > 0) {
            return Self::Nothing;
        }
        let verdicts = run.records.iter().flat_map(|record| {
            let compared = record.compared.iter().map(|compared| &compared.verdict);
            std::iter::once(&record.verdict).chain(compared)
        });
        let invalid = verdicts.into_iter().any(|verdict| verdict.state == State::Invalid);
        let failed = if invalid { Self::Failed } else { Self::Done };
        failed.min(run.gate().map_or(Self::Done, |gate| gate.exit()))
    }

    /// Returns the exit code of the process.
    pub fn code(self) -> u8 {
        match self {
            Self::Interrupted(signal) => 128 + signal,
            Self::Usage => 2,
            Self::NoDevice => 5,
            Self::Nothing => 4,
            Self::Failed => 1,
            Self::Regression => 3,
            Self::Done => 0,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The number of results by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResultCounts {
    /// All results.
    pub results: usize,
    /// The valid ones.
    pub valid: usize,
    /// The suspect ones.
    pub suspect: usize,
    /// The invalid ones, failed ones included.
    pub invalid: usize,
    /// The results without a measurement.
    pub failed: usize,
    /// The planned cases without a result.
    pub missing: usize,
    /// The cases that a benchmark's `skip_if` leaves out, each counted once for all devices.
    pub skipped: usize,
}

impl Run {
    /// Counts the results.
    pub fn counts(&self) -> ResultCounts {
        let count = |state| self.records.iter().filter(|record| record.verdict.state == state).count();
        let skipped: Set<_> = self.skipped.iter().map(|it| (&it.benchmark, it.name(), &it.reason)).collect();
        ResultCounts {
            results: self.records.len(),
            valid: count(State::Valid),
            suspect: count(State::Suspect),
            invalid: count(State::Invalid),
            failed: self.records.iter().filter(|record| record.measurement.is_none()).count(),
            missing: self.planned_cases.saturating_sub(self.records.len()),
            skipped: skipped.len(),
        }
    }
}

/// The outcome of the gate `--fail-on-regression`.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The difference from which on a slower case is a regression.
    pub threshold: Threshold,
    /// The cases of the run that were to be compared, with another case or with the baseline. Cases that are
    /// new to the baseline are left out.
    pub cases: Vec<GatedCase>,
    /// The cases of the baseline that the run lacks.
    pub missing: Vec<String>,
}

/// A case at the gate.
#[derive(Clone, Debug, PartialEq)]
pub struct GatedCase {
    /// The case's name.
    pub name: String,
    /// Its device.
    pub device: String,
    /// Its cache state.
    pub cache: Cache,
    /// The outcome.
    pub outcome: GateOutcome,
    /// The case or the baseline that it was compared with, in a few words, or the reason why there is no
    /// comparison.
    pub about: String,
}

/// The outcome for a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GateOutcome {
    /// It is no regression.
    Passed,
    /// It is slower than allowed, by this ratio.
    Regressed(Ratio),
    /// It could not be judged.
    Unjudged(Unjudged),
}

/// The reason that a case could not be judged, in the order in which reports list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unjudged {
    /// The run lacks it.
    NotMeasured,
    /// It cannot be compared with the case of the baseline.
    NotComparable,
    /// It has no usable time in the run or in the baseline.
    NoNumber,
    /// The ratio of two interleaved cases has no interval.
    NoInterval,
    /// It is slower by the threshold or more, but not with certainty.
    Undecided,
    /// The threshold is the spread between processes, which is not known.
    NoiseUnknown,
}

impl Run {
    /// Returns the outcome of the gate for interleaved cases and for cases that were compared with a
    /// baseline. `None` if the user gave no regression threshold.
    pub fn gate(&self) -> Option<Gate> {
        let threshold = self.regression_threshold?;
        let interleaved = self.records.iter().filter_map(|record| {
            let compared = record.compared.as_ref()?;
            let comparison = &compared.comparison;
            let outcome = comparison.ratio.map_or(GateOutcome::Unjudged(Unjudged::NoInterval), |ratio| {
                judge_ratio(ratio, comparison.answer, comparison.regressed(threshold), threshold)
            });
            let (case, about) = (&record.case, format!("interleaved with `{}`", compared.with));
            let (name, device) = (case.name(), record.device.clone());
            Some(GatedCase { name, device, cache: case.cache, outcome, about })
        });
        let with_baseline = self.baseline_comparison.iter().flat_map(|check| {
            check.findings.iter().filter_map(|line| {
                let outcome = baseline_outcome(&line.finding, threshold)?;
                let about = match &line.finding {
                    BaselineFinding::NotComparable(why) => why.join("; "),
                    BaselineFinding::NoTime(why) => why.clone(),
                    _ => format!("against baseline `{}`", check.baseline),
                };
                let CaseFinding { name, device, cache, .. } = line.clone();
                Some(GatedCase { name, device, cache, outcome, about })
            })
        });
        let missing = self.baseline_comparison.iter().flat_map(|check| &check.missing).cloned().collect();
        Some(Gate { threshold, cases: interleaved.chain(with_baseline).collect(), missing })
    }
}

/// Returns the outcome for a compared case: a regression if `regressed` is true. Otherwise unjudged if the
/// answer is undecided and the ratio reaches a threshold that is a percentage, and else passed.
fn judge_ratio(ratio: Ratio, answer: Answer, regressed: bool, threshold: Threshold) -> GateOutcome {
    match threshold {
        _ if regressed => GateOutcome::Regressed(ratio),
        Threshold::Fraction(part) if answer == Answer::Undecided && ratio.value >= 1.0 + part => {
            GateOutcome::Unjudged(Unjudged::Undecided)
        }
        _ => GateOutcome::Passed,
    }
}

/// Returns the outcome for a case with this finding about it and the baseline; `None` for a case that is new.
/// With the threshold `noise`, a case whose spread between processes is unknown cannot be judged.
fn baseline_outcome(finding: &BaselineFinding, threshold: Threshold) -> Option<GateOutcome> {
    Some(match finding {
        BaselineFinding::Compared { regressed: false, noise_known: false, .. }
            if threshold == Threshold::Noise =>
        {
            GateOutcome::Unjudged(Unjudged::NoiseUnknown)
        }
        BaselineFinding::Compared { ratio, answer, regressed, .. } => {
            judge_ratio(*ratio, *answer, *regressed, threshold)
        }
        BaselineFinding::NotComparable(_) => GateOutcome::Unjudged(Unjudged::NotComparable),
        BaselineFinding::NoTime(_) => GateOutcome::Unjudged(Unjudged::NoNumber),
        BaselineFinding::New => return None,
    })
}

impl Gate {
    /// Returns each regression: the name with the cache state, and the ratio of times.
    pub fn regressions(&self) -> Vec<(String, Ratio)> {
        let ratio = |case: &GatedCase| match case.outcome {
            GateOutcome::Regressed(ratio) => Some((format!("{} {}", case.name, case.cache), ratio)),
            _ => None,
        };
        self.cases.iter().filter_map(ratio).collect()
    }

    /// Returns the names of the cases that could not be judged, with their cache states, by reason. This
    /// includes the cases that the run lacks.
    pub fn unjudged(&self) -> Map<Unjudged, Vec<String>> {
        let missing = self.missing.iter().map(|name| (Unjudged::NotMeasured, name.clone()));
        let cases = self.cases.iter().filter_map(|case| match case.outcome {
            GateOutcome::Unjudged(why) => Some((why, format!("{} {}", case.name, case.cache))),
            _ => None,
        });
        let mut names = Map::default();
        missing.chain(cases).for_each(|(why, name)| names.or_insert(why, Vec::new()).push(name));
        names
    }

    /// Returns the exit of a program that applied this gate: `Failed` if a case could not be judged or there
    /// were no cases to compare, else `Regression` if there is one, else `Done`.
    pub fn exit(&self) -> Exit {
        if self.cases.is_empty() || !self.unjudged().is_empty() {
            Exit::Failed
        } else if self.regressions().is_empty() {
            Exit::Done
        } else {
            Exit::Regression
        }
    }
}

#[cfg(test)]
mod gate_tests {
    use super::*;
    use crate::comparison::{AssumedSpread, BaselineComparison, CaseFinding};
    use crate::files;
    use crate::record::Skipped;
    use gpubench_stats::units::Nanoseconds;

    fn compared(value: f64, noise_known: bool) -> BaselineFinding {
        let ratio = Ratio { value, low: value, high: value, confidence: 0.99 };
        let (now, then) = (Nanoseconds(value), Nanoseconds(1.0));
        let regressed = value > 1.05;
        let answer = Answer::from_ratio(&ratio, 0.005);
        let (processes, assumed) = ([1, 1], None);
        BaselineFinding::Compared {
            ratio,
            time: now,
            baseline_time: then,
            processes,
            noise_known,
            assumed_spread: assumed,
            answer,
            regressed,
            remeasured: 0,
        }
    }

    /// A run that was compared with a baseline with these findings.
    fn run(findings: Vec<BaselineFinding>, missing: &[&str], threshold: Option<Threshold>) -> Run {
        let lines = include_bytes!("../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");
        let mut run = files::read(&lines[..]).expect("a run").run;
        run.records.truncate(findings.len().max(1));
        let line = |(number, finding)| CaseFinding {
            name: format!("case {number}"),
            device: "clockwork".to_owned(),
            cache: Cache::Hot,
            finding,
        };
        run.baseline_comparison = Some(BaselineComparison {
            baseline: "main".to_owned(),
            equivalence_margin: 0.005,
            tested_together: 0,
            remarks: Vec::new(),
            findings: findings.into_iter().enumerate().map(line).collect(),
            missing: missing.iter().map(ToString::to_string).collect(),
        });
        run.regression_threshold = threshold;
        run
    }

    /// A row of one process on each side that is slower by the threshold passes no gate, and neither is it a regression.
    #[test]
    fn what_processes_may_differ_by_is_not_judged() {
        let with = |value: f64, answer| {
            let ratio = Ratio { value, low: value / 1.4, high: value * 1.4, confidence: 0.99 };
            BaselineFinding::Compared {
                ratio,
                time: Nanoseconds(value),
                baseline_time: Nanoseconds(1.0),
                processes: [1, 1],
                noise_known: false,
                assumed_spread: Some(AssumedSpread::UpTo(0.4)),
                answer,
                regressed: answer == Answer::Slower,
                remeasured: 0,
            }
        };
        let part = Some(Threshold::Fraction(0.05));
        let exit = |finding| Exit::of(&run(vec![finding, compared(1.0, false)], &[], part));
        assert_eq!(exit(with(1.04, Answer::Undecided)), Exit::Done);
        assert_eq!(exit(with(1.2, Answer::Undecided)), Exit::Failed);
        assert_eq!(exit(with(1.5, Answer::Slower)), Exit::Regression);
        // Nor if several processes measured it.
        let mut measured = with(1.2, Answer::Undecided);
        if let BaselineFinding::Compared { assumed_spread, noise_known, .. } = &mut measured {
            (*assumed_spread, *noise_known) = (None, true);
        }
        assert_eq!(exit(measured.clone()), Exit::Failed);
        let gate = run(vec![measured], &[], part).gate().expect("a gate");
        assert_eq!(gate.unjudged().get(&Unjudged::Undecided).expect("a case"), &["case 0 hot"]);
    }

    #[test]
    fn only_what_was_compared_passes() {
        let part = Some(Threshold::Fraction(0.05));
        let same = || compared(1.0, false);
        let not_comparable = || BaselineFinding::NotComparable(vec!["bytes 8, was 4".to_owned()]);
        let no_number = || BaselineFinding::NoTime("failed then".to_owned());
        for (what, findings, missing, threshold, exit) in [
            ("all are the same", vec![same(), same()], &[][..], part, Exit::Done),
            ("one is slower", vec![same(), compared(1.1, false)], &[], part, Exit::Regression),
            ("one is new", vec![same(), BaselineFinding::New], &[], part, Exit::Done),
            ("all are new", vec![BaselineFinding::New, BaselineFinding::New], &[], part, Exit::Failed),
            ("there is none", vec![], &[], part, Exit::Failed),
            ("one is missing", vec![same()], &["gone hot"], part, Exit::Failed),
            ("one is not comparable", vec![same(), not_comparable()], &[], part, Exit::Failed),
            ("none is comparable", vec![not_comparable()], &[], part, Exit::Failed),
            ("one has no number", vec![same(), no_number()], &[], part, Exit::Failed),
            ("noise is known", vec![compared(1.0, true)], &[], Some(Threshold::Noise), Exit::Done),
            ("noise is not known", vec![same()], &[], Some(Threshold::Noise), Exit::Failed),
            (
                "what was not judged goes before a regression",
                vec![compared(1.1, false), not_comparable()],
                &[],
                part,
                Exit::Failed,
            ),
            ("there is no gate", vec![compared(1.1, false), not_comparable()], &["gone"], None, Exit::Done),
        ] {
            assert_eq!(Exit::of(&run(findings, missing, threshold)), exit, "{what}");
        }
    }

    #[test]
    fn an_empty_run_is_no_success() {
        let mut run = run(vec![], &[], None);
        assert_eq!(Exit::of(&run), Exit::Done);
        run.records.clear();
        assert_eq!(Exit::of(&run), Exit::Nothing);
        run.regression_threshold = Some(Threshold::Noise);
        assert_eq!(Exit::of(&run), Exit::Nothing, "that comes first");
        let skipped = Skipped {
            benchmark: "kernels::copy".into(),
            args: vec![],
            device: "cuda:0".into(),
            reason: "there is no other GPU".into(),
        };
        run.skipped.push(skipped);
        run.planned_cases = 0;
        assert_ne!(Exit::of(&run), Exit::Nothing, "all that there was is skipped");
        run.planned_cases = 2;
        assert_eq!(Exit::of(&run), Exit::Nothing, "two cases were to be measured");
    }
}
