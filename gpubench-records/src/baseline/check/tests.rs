mod check_tests {
    use super::super::*;
    use crate::State;
    use crate::comparison::Answer;
    use crate::files::read;
    use crate::id::Arg;

    /// A run of one benchmark with these values of its argument.
    fn run(values: &[&str]) -> Run {
        let lines = include_bytes!("../../../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");
        let mut run = read(&lines[..]).expect("a run").run;
        let record = run.records.swap_remove(0);
        let with = |value: &&str| {
            let args = vec![Arg { name: "n".to_owned(), value: (*value).to_owned() }];
            Record { case: CaseId { args, ..record.case.clone() }, ..record.clone() }
        };
        run.records = values.iter().map(with).collect();
        run
    }

    fn findings(now: &[&str], then: &[&str]) -> Vec<BaselineFinding> {
        let baseline = Baseline::new("b".to_owned(), run(then));
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
            assert!(
                matches!(found[..], [BaselineFinding::Compared { .. }, BaselineFinding::New]),
                "{found:?}"
            );
        }
        let found = findings(&["9"], &["1", "2"]);
        assert!(matches!(found[..], [BaselineFinding::NotComparable(_)]), "{found:?}");
    }

    /// A case without a time in one of the runs is reported, and is neither faster nor slower.
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
            let baseline = Baseline::new("b".to_owned(), then.clone());
            check(now, &baseline, &|_| true, DECISION_ERROR).findings.remove(0).finding
        };
        let none = |words: &str| BaselineFinding::NoTime(words.to_owned());
        assert_eq!(found(&failed, &whole), none("failed now"));
        assert_eq!(found(&invalid, &whole), none("invalid now"));
        assert_eq!(found(&whole, &failed), none("failed then"));
        assert_eq!(found(&whole, &invalid), none("invalid then"));
        assert!(matches!(found(&suspect, &suspect), BaselineFinding::Compared { .. }));
        let differs = BaselineFinding::NotComparable(vec!["flops 1, was 1600".to_owned()]);
        assert_eq!(found(&other_work, &whole), differs);
    }

    #[test]
    fn a_difference_of_devices_is_told_once_for_all_cases() {
        let then = run(&["1", "2", "3"]);
        let mut now = then.clone();
        now.devices[0].properties.push(Property::new("driver", Value::Text("590.2".to_owned())));
        let checked = check(&now, &Baseline::new("b".to_owned(), then), &|_| true, DECISION_ERROR);
        assert_eq!(checked.remarks, ["driver 590.2, was not known"]);
        assert_eq!((checked.findings.len(), checked.missing), (3, vec![]));
    }

    /// A case that was slower in all of its processes may be a regression; one that was as fast as before in a process is not a regression.
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
        let baseline = Baseline::new("b".to_owned(), then);
        let seem = seem_regressed(&now, &baseline, Threshold::Fraction(0.05));
        assert_eq!(seem, [&now.records[1]]);
        let checked = check(&now, &baseline, &|_| true, DECISION_ERROR);
        let of = |finding: &BaselineFinding| match finding {
            BaselineFinding::Compared { processes, answer, .. } => (*processes, *answer),
            other => panic!("{other:?}"),
        };
        let found: Vec<_> = checked.findings.iter().map(|line| of(&line.finding)).collect();
        assert_eq!(found[0], ([1, 1], Answer::Undecided), "a step of the timer is one in a hundred");
        assert_eq!(found[1], ([1, 1], Answer::Slower));
        assert_eq!(found[2], ([2, 1], Answer::Undecided));
        assert_eq!(checked.tested_together, 3);
    }
}

mod comparable_tests {
    use super::super::*;
    use crate::baseline::fixture::stored_run;
    use crate::method::{Flush, Path};
    use crate::{Counts, UserMetric};
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
            let metric = UserMetric { name: "steps".to_owned(), unit: unit.to_owned(), value };
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

mod assumed_tests {
    use super::super::*;
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
