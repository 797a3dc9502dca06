mod lines_tests {
    use super::super::*;
    use crate::merge::merged;
    use crate::sampling::MOST_SAMPLES;

    #[test]
    fn a_run_is_done_if_it_has_its_end_and_all_records() {
        let run = read(CLOCKWORK).expect("a run").run;
        let written = |number: usize| {
            let record = &run.records[number];
            WrittenLine::Record { at: run.wall_time, record }.to_bytes().expect("a vector takes everything")
        };
        let (record, other) = (written(0), written(1));
        let [end, early] = [false, true].map(|ended_early| {
            let (wall_time, regression_threshold, baseline_comparison) = (run.wall_time, None, None);
            let end = WrittenLine::End { wall_time, ended_early, regression_threshold, baseline_comparison };
            end.to_bytes().expect("a vector takes everything")
        });
        let bare = Run { records: Vec::new(), planned_cases: 2, ..run.clone() };
        let head = WrittenLine::Run(&bare).to_bytes().expect("a vector takes everything");
        let (whole, cut, other) = (&record[..], &record[..record.len() - 9], &other[..]);
        for (behind, expected) in [
            (&[][..], true),
            (&[&end[..]], true),
            (&[whole], false),
            (&[cut], true),
            (&[whole, &end], false),
            (&[whole, other], false),
            (&[whole, other, &end], true),
            (&[whole, other, &early], false),
            (&[whole, whole, &end], false),
            (&[whole, other, &end[..end.len() - 1]], false),
        ] {
            let file = [&head[..], &behind.concat()].concat();
            let found = read(&*file).expect("a run").is_done();
            assert_eq!(found, expected, "{} lines behind the first", behind.len());
        }
    }

    const CLOCKWORK: &[u8] =
        include_bytes!("../../../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");

    /// The message has the first fault and the number of similar ones.
    #[test]
    fn damaged_lines_are_counted() {
        let mut lines = CLOCKWORK.split_inclusive(|byte| *byte == b'\n');
        let head = lines.next().expect("the first line").to_vec();
        let told = |faults: usize| {
            let file = [head.clone(), b"{}\n".repeat(faults)].concat();
            let stored = read(&*file).expect("a run");
            assert_eq!(stored.run.records.len(), 0);
            stored.remarks
        };
        assert_eq!(told(0), [""; 0]);
        let [one, two, four] = [1, 2, 4].map(|faults| told(faults).concat());
        assert!(one.starts_with("line 2 is no record (") && one.ends_with("): left out"), "{one}");
        assert!(two.ends_with("), and 1 line like it: left out"), "{two}");
        assert!(four.ends_with("), and 3 lines like it: left out"), "{four}");
    }

    /// As `--runs 3` leaves it: one row, as the suite showed it. A line that is there twice counts once.
    #[test]
    fn a_case_has_one_record_of_all_its_processes() {
        let run = read(CLOCKWORK).expect("a run").run;
        let processes: Vec<Record> = (1..=3)
            .map(|factor| {
                let mut record = run.records[0].clone();
                let time = &mut record.measurement.as_mut().expect("it was measured").samples.time;
                time.median = f64::from(factor) * time.median;
                record
            })
            .collect();
        let bare = Run { records: Vec::new(), ..run };
        let mut file = WrittenLine::Run(&bare).to_bytes().expect("a vector takes everything");
        for record in processes.iter().chain([&processes[0]]) {
            let line = WrittenLine::Record { at: Nanoseconds(1.0), record };
            file.extend(line.to_bytes().expect("a vector takes everything"));
        }
        let stored = read(&*file).expect("a run");
        assert_eq!(stored.run.records, merged(processes));
        assert_eq!(stored.run.records[0].processes().map(|(_, count)| count), Some(3));
        let told = stored.remarks.concat();
        assert!(
            told.starts_with("line 5 is no record (`")
                && told.ends_with("` is there twice, with the same measurement): left out"),
            "{told}"
        );
    }

    #[test]
    fn a_run_without_its_first_line_is_told_so() {
        let run = read(CLOCKWORK).expect("a run").run;
        let record = WrittenLine::Record { at: run.wall_time, record: &run.records[0] };
        let record = record.to_bytes().expect("a vector takes everything");
        let told = read(&*record).expect_err("it is no run").to_string();
        assert!(told.contains("it has no `schema`"), "{told}");
    }

    /// A line that somebody changed by hand is no record, and a first line like that no run. In a file with checksums each line has one.
    #[test]
    fn a_changed_line_is_refused() {
        let run = read(CLOCKWORK).expect("a run").run;
        let record = WrittenLine::Record { at: run.wall_time, record: &run.records[0] };
        let record = String::from_utf8(record.to_bytes().expect("a vector takes everything")).expect("UTF-8");
        let head = WrittenLine::Run(&Run { records: Vec::new(), ..run }).to_bytes();
        let head = String::from_utf8(head.expect("a vector takes everything")).expect("UTF-8");
        let stored = |head: &str, record: &str| read(format!("{head}{record}").as_bytes());
        let whole = stored(&head, &record).expect("a run");
        assert_eq!((whole.run.records.len(), whole.remarks), (1, vec![]));
        let by_hand = record.replace("\"flops\":1600", "\"flops\":9999");
        let (unsummed, _) = record.rsplit_once(",\"crc32\"").expect("it has a checksum");
        for (record, why) in
            [(by_hand, CHECKSUM_DIFFERS), (format!("{unsummed}}}}}\n"), "it has no checksum")]
        {
            let found = stored(&head, &record).expect("a run");
            let told = found.remarks.concat();
            assert!(
                found.run.records.is_empty() && told.contains(&format!("line 2 is no record ({why}")),
                "{told}"
            );
        }
        let told = stored(&head.replace("\"planned_cases\":8", "\"planned_cases\":1"), &record)
            .expect_err("it is no run");
        assert_eq!(told.to_string(), format!("not a stored run: line 1: {CHECKSUM_DIFFERS}"));
        let cut_off = stored(&head, &record[..record.len() - 9]).expect("a run");
        assert!(cut_off.is_cut_off && cut_off.remarks.is_empty());
    }

    /// The most samples that a user may ask for, each as long as a number can be.
    #[test]
    fn the_longest_record_is_read_back() {
        let mut run = read(CLOCKWORK).expect("a run").run;
        let mut record = run.records.swap_remove(0);
        let samples = &mut record.measurement.as_mut().expect("it was measured").samples;
        let longest = Nanoseconds(1.234_567_890_123_456_7e-299);
        samples.event_times = vec![longest; MOST_SAMPLES];
        run.records.clear();
        let mut file = WrittenLine::Run(&run).to_bytes().expect("a vector takes everything");
        let line = WrittenLine::Record { at: run.wall_time, record: &record };
        file.extend(line.to_bytes().expect("a vector takes everything"));
        let found = read(&*file).expect("a run");
        assert_eq!(found.remarks, [""; 0]);
        assert!(found.run.records == [record]);
    }
}

mod validate_tests {
    use super::super::*;
    use crate::clock_faults::ClockFaults;
    use crate::record::Run;
    use crate::verdict::Verdict;

    fn run() -> Run {
        let lines = include_bytes!("../../../../gpubench-runner/tests/parsing/corpus/runs/clockwork.jsonl");
        read(&lines[..]).expect("a run").run
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
    fn a_time_that_no_clock_gives_is_refused_with_its_case() {
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
            assert_eq!(told, format!("not a stored run{expected}"));
        }
        let infinite = told(|it| samples(it).time.median = Nanoseconds(f64::INFINITY));
        assert!(infinite.is_err_and(|told| told.starts_with("not a stored run: line 3, ")));
    }

    /// A launch may be too short for the clock of the whole, and the median of an invalid result is not used.
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
            it.verdict.add([Reason::BelowResolution { resolution: step }]);
        });
        assert!(below.is_ok(), "{below:?}");
    }
}

mod checksum_tests {
    use super::super::*;

    #[test]
    fn every_changed_byte_is_found() {
        let mut line = br#"{"end":{"wall":12.5}}"#.to_vec();
        assert_eq!(check_line(&line), Checksum::Missing);
        add_checksum(&mut line);
        assert_eq!(str::from_utf8(&line), Ok(r#"{"end":{"wall":12.5,"crc32":"9b8b1b34"}}"#));
        line.push(b'\n');
        assert_eq!(check_line(&line), Checksum::Fits);
        for place in 0..line.len() - 3 {
            let mut changed = line.clone();
            changed[place] ^= 1;
            assert_ne!(check_line(&changed), Checksum::Fits, "byte {place}");
        }
    }
}
