//! Runs as they are printed.

use std::fs;
use std::path::Path;

use gpubench_records::comparison::{
    Answer, BaselineComparison, BaselineFinding, CaseFinding, Comparison, Round, Threshold,
};
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::files;
use gpubench_records::id::{Arg, BenchmarkId};
use gpubench_records::method::Timer;
use gpubench_records::metrics::PeakFraction;
use gpubench_records::record::{Compared, Record, Run, Skipped};
use gpubench_records::verdict::{Reason, Verdict};
use gpubench_records::{Cache, DeviceInfo, Quantity};
use gpubench_stats::Ratio;
use gpubench_stats::units::Nanoseconds;
use gpubench_table::export::Format;
use gpubench_table::{Page, TableWriter, check_columns, end, explain, header, render};
use insta::assert_snapshot;
use unicode_width::UnicodeWidthStr;

/// The widths that people have.
const WIDTHS: [usize; 4] = [60, 80, 120, 200];

fn page(width: usize) -> Page {
    Page::default().with_width(width)
}

fn stored(path: &str) -> Run {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    if path.ends_with(".jsonl") {
        return files::read(fs::File::open(file).expect("it is there")).expect("a run").run;
    }
    Run::parse(&fs::read(file).expect("it is there")).expect("a run")
}

fn small(name: &str) -> Run {
    stored(&format!("gpubench-runner/tests/parsing/corpus/runs/{name}.jsonl"))
}

/// Rows of every kind: on a fake and on a device that is none, valid, suspect, failed and skipped ones, compared with another
/// and with a baseline, and names of all sorts.
fn mixed() -> Run {
    let mut run = small("clockwork");
    for other in [small("faults"), small("gpu")] {
        let known: Vec<String> = run.devices.iter().map(|info| info.device.clone()).collect();
        run.devices.extend(other.devices.into_iter().filter(|info| !known.contains(&info.device)));
        run.records.extend(other.records);
    }
    let sample = run.records[0].clone();
    let named = |name: &str, value: &str| {
        let mut record = sample.clone();
        record.case.benchmark = format!("names::{name}");
        record.case.args = vec![Arg { name: "n".to_owned(), value: value.to_owned() }];
        record
    };
    run.records.push(named("\u{1b}[31mred\u{1b}[0m", "1\n2"));
    run.records.push(named("naïve_千代に八千代に_🦀", "1"));
    run.records
        .push(named("a_name_that_is_longer_than_the_columns_that_most_terminals_have_for_it", "1048576"));
    run.records.extend(
        [("faster", 0.8, 0.999), ("slower", 1.25, 0.997)]
            .map(|(name, ratio, confidence)| compared(named(name, "1"), ratio, confidence)),
    );
    run.planned_cases = run.records.len() + 2;
    run.notes =
        vec!["no CUDA device: measuring this machine's CPU, which is not what anybody asked for".to_owned()];
    let skipped = |name: &str| Skipped {
        benchmark: format!("names::{name}"),
        args: Vec::new(),
        device: "clockwork".to_owned(),
        reason: "it needs more memory than there is".to_owned(),
    };
    run.skipped = vec![skipped("large"), skipped("\u{7}bell")];
    run.baseline_comparison = Some(check());
    run.regression_threshold = Some(Threshold::Fraction(0.05));
    run
}

fn compared(mut record: Record, value: f64, confidence: f64) -> Record {
    let ratio = Ratio { value, low: 0.99 * value, high: 1.01 * value, confidence };
    let measurement = record.measurement.clone().expect("it was measured");
    let verdict = record.verdict.clone();
    record.compared = Some(Box::new(Compared {
        with: BenchmarkId { benchmark: "names::the_one_before".to_owned(), args: record.case.args.clone() },
        comparison: Comparison {
            ratio: Some(ratio),
            equivalence_margin: 0.005,
            answer: Answer::from_ratio(&ratio, 0.005),
            rounds: vec![Round { pairs: 10, log_ratio: value.ln() }; 3],
            seed: None,
        },
        measurement,
        verdict,
    }));
    record
}

fn check() -> BaselineComparison {
    let sample = small("clockwork").records[0].planned();
    let line = |name: &str, finding| CaseFinding {
        name: format!("names::{name}"),
        device: sample.device.clone(),
        cache: sample.cache,
        finding,
    };
    let since = |value: f64| {
        let ratio = Ratio { value, low: 0.99 * value, high: 1.01 * value, confidence: 0.99 };
        let (now, then) = (Nanoseconds(3200.0 * value), Nanoseconds(3200.0));
        let answer = Answer::from_ratio(&ratio, 0.005);
        let regressed = answer == Answer::Slower;
        BaselineFinding::Compared {
            ratio,
            time: now,
            baseline_time: then,
            answer,
            regressed,
            processes: [1, 1],
            noise_known: false,
            assumed_spread: None,
            remeasured: 0,
        }
    };
    let again = |mut finding, times| {
        if let BaselineFinding::Compared { remeasured, processes, .. } = &mut finding {
            (*remeasured, *processes) = (times, [1 + times, 1]);
        }
        finding
    };
    let undecided = |mut finding| {
        if let BaselineFinding::Compared { answer, regressed, .. } = &mut finding {
            (*answer, *regressed) = (Answer::Undecided, false);
        }
        finding
    };
    BaselineComparison {
        baseline: "main".to_owned(),
        equivalence_margin: 0.005,
        remarks: vec!["driver 580 instead of 570".to_owned()],
        tested_together: 3,
        findings: vec![
            line("slower[n=1]", again(since(1.25), 8)),
            line("same", since(1.0)),
            line("chance", undecided(since(1.02))),
            line("new", BaselineFinding::New),
            line(
                "other",
                BaselineFinding::NotComparable(vec!["bytes: 4 instead of 8".to_owned(), "hot".to_owned()]),
            ),
            line("failed", BaselineFinding::NoTime("invalid now".to_owned())),
        ],
        missing: vec!["names::gone hot".to_owned()],
    }
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn the_host_s_costs_are_columns_on_request() {
    let mut run = stored("docs/results/h200/readme.json");
    run.records.truncate(1);
    let measured = run.records[0].measurement.as_mut().expect("it was measured");
    (measured.call_time, measured.launch.first_launch_time) =
        (Some(Nanoseconds(3_200.0)), Some(Nanoseconds(1.9e6)));
    assert!(!plain(&render(&run, page(200))).contains("1.900 ms"));
    run.columns = ["time", "call", "first"].map(str::to_owned).to_vec();
    let table = plain(&render(&run, page(120)));
    let row = table.lines().find(|line| line.contains("saxpy")).expect("a row");
    assert!(row.contains("3.200 µs") && row.contains("1.900 ms"), "{table}");
}

/// On a narrow page, the first ones that were chosen. In Markdown, all.
#[test]
fn chosen_columns_are_those_that_are_shown() {
    let mut run = stored("docs/results/h200/readme.json");
    run.records.truncate(2);
    run.columns = ["p99", "TIME", "±", "energy", "p5", "max"].map(str::to_owned).to_vec();
    let table = |columns| plain(&render(&run, page(columns)));
    let lines = |text: &str, words: &[&str]| {
        let lines = text.lines().filter(|line| words.iter().any(|words| line.contains(words)));
        lines.map(|line| line.to_owned() + "\n").collect::<String>()
    };
    assert_snapshot!(lines(&table(120), &["p99", "saxpy", "columns"]), @"
    my_kernels                    p99       time   ± %     energy         p5        max
      saxpy[n=16384]  hot    2.089 µs 970.6   ns  3.88            557.4   ns   2.488 µs
      saxpy[n=16384]  cold   1.697 µs   1.358 µs  2.50            985.5   ns   2.135 µs
    ");
    assert_snapshot!(lines(&table(60), &["p99", "saxpy", "columns"]), @"
    my_kernels                    p99       time   ± %
      saxpy[n=16384]  hot    2.089 µs 970.6   ns  3.88
      saxpy[n=16384]  cold   1.697 µs   1.358 µs  2.50
    columns left out, since they do not fit: energy, p5, max
    ");
    let mut markdown = Vec::new();
    (Format::MARKDOWN.write)(&run, &mut markdown).expect("a buffer takes all");
    assert_snapshot!(lines(&String::from_utf8(markdown).expect("UTF-8"), &["|"]), @r"
    | case | cache | p99 | time | 95 % interval, ± % | energy | p5 | max | verdict |
    | :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | my\_kernels::saxpy\[n=16384\] | hot | 2.089 µs | 970.6 ns | 3.88 |  | 557.4 ns | 2.488 µs |  |
    | my\_kernels::saxpy\[n=16384\] | cold | 1.697 µs | 1.358 µs | 2.50 |  | 985.5 ns | 2.135 µs |  |
    ");
}

#[test]
fn an_unknown_column_is_an_error_with_all_names() {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(check_columns(&names(&["p50", "GB/S", "L2-hit"])), Ok(()));
    let error = check_columns(&names(&["time", "p42"])).expect_err("there is none");
    assert_snapshot!(error, @"--columns: unknown column `p42`: choose from time, ±, min, p5, p50, p95, p99, max, mean, call, first, slowest, range, spread, GB/s, peak, GFLOP/s, items, cold/hot, back-to-back, energy, moved, L2-hit, processes, samples");
    assert!(check_columns(&names(&[""])).is_err() && check_columns(&names(&["cache"])).is_err());
}

/// A short launch after a long one adds no column, which would need new heads in the middle of a group.
#[test]
fn a_short_launch_after_a_long_one_needs_no_new_heads() {
    let mut run = small("gpu");
    run.records.retain(|record| record.case.cache == Cache::Hot);
    let mut first = *run.records[0].boxed_clone();
    first.case.args[0].value = "1048576".to_owned();
    let samples = &mut first.measurement.as_mut().expect("it was measured").samples;
    assert!(samples.back_to_back.take().is_some());
    run.records = vec![first, *run.records[0].boxed_clone()];
    let heads = |run: &Run, width| {
        let text = plain(&render(run, page(width)));
        (text.matches(" time ").count(), text.contains("back-to-back"))
    };
    assert_eq!([80, 120, 200].map(|width| heads(&run, width)), [(1, false); 3]);
    let text = explain(&run, page(200));
    assert_eq!(text.matches("sequence  back-to-back, one more launch takes 2.143 µs").count(), 1, "{text}");
    run.columns = ["time", "back-to-back"].map(str::to_owned).to_vec();
    assert_eq!(heads(&run, 80), (1, true));
}

/// DRAM does not limit a hot launch whose data fit the cache. It can limit the same launch cold.
#[test]
fn the_cache_serves_hot_launches_whose_data_fit_it() {
    let mut run = small("gpu");
    run.records.truncate(2);
    let cache = run.devices[0].last_level_cache.expect("it is known");
    let roofs = |run: &Run| {
        let text = plain(&explain(run, page(200)));
        text.lines()
            .filter_map(|line| line.strip_prefix("  roofline  "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for record in &mut run.records {
        let measured = record.measurement.as_mut().expect("it was measured");
        measured.samples.timer.marginal_empty_launch = None;
        measured.counts.bytes = Some(cache.0);
        let dram = PeakFraction { quantity: Quantity::MemoryBandwidth, fraction: 0.1 };
        let compute = PeakFraction { quantity: Quantity::Compute("f32".to_owned()), fraction: 0.01 };
        measured.metrics.arithmetic_intensity = Some(0.25);
        measured.metrics.roofline = Some(dram.clone());
        measured.metrics.peak_fractions = vec![dram, compute];
    }
    let told = roofs(&run);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0], format!("the last-level cache of {cache} serves the data, not DRAM"));
    assert!(told[1].starts_with("the roof is DRAM: "), "{told:?}");
    for record in &mut run.records {
        record.measurement.as_mut().expect("it was measured").counts.bytes = Some(cache.0 + 1);
    }
    let told = roofs(&run);
    assert!(told.len() == 2 && told.iter().all(|roof| roof.starts_with("the roof is DRAM: ")), "{told:?}");
}

#[test]
fn rows_of_every_kind_look_so() {
    for width in WIDTHS {
        assert_snapshot!(format!("mixed-{width}"), plain(&render(&mixed(), page(width))));
    }
    assert_snapshot!("mixed-piped", plain(&render(&mixed(), Page::default())));
}

#[test]
fn colours_look_so() {
    let coloured = render(&mixed(), page(80)).replace('\u{1b}', "␛");
    assert_snapshot!("mixed-colours", coloured);
}

#[test]
fn a_recorded_suite_looks_so() {
    for width in WIDTHS {
        assert_snapshot!(
            format!("suite-{width}"),
            plain(&render(&stored("docs/results/h200/suite.json"), page(width)))
        );
    }
}

#[test]
fn explanations_look_so() {
    assert_snapshot!("explain-80", plain(&explain(&small("gpu"), page(80))));
}

#[test]
fn a_batch_of_launches_is_explained() {
    let mut run = small("gpu");
    let samples = &mut run.records[0].measurement.as_mut().expect("it was measured").samples;
    samples.method.batch = Some(64);
    samples.timer = Timer::new(Nanoseconds(10.0)).with_empty_span(Nanoseconds(32.0)).of_batch(64);
    run.records.truncate(1);
    let text = plain(&explain(&run, page(100)));
    let time = text.split("\n  time").nth(1).and_then(|text| text.split("\n  overhead").next());
    assert_snapshot!(time.expect("it is explained"), @"
    2.144 µs = event time 2.144 µs − overhead 0.500 ns; the event time has steps of
          10.00 ns, so 0.156 ns for each of the 64 back-to-back launches of a sample: one alone is
          too short for it
    ");
}

#[test]
fn every_line_fits_every_page() {
    // The first has the longest of everything, and the others many rows.
    let (suite, faults) = (stored("docs/results/h200/suite.json"), stored("docs/results/h200/faults.json"));
    for (run, step) in [(mixed(), 1), (suite, 7), (faults, 7)] {
        for width in (Page::LEAST_WIDTH..=220).step_by(step) {
            let text = plain(&(render(&run, page(width)) + &explain(&run, page(width))));
            let broken = text.lines().find(|line| line.width() > width);
            assert_eq!(broken, None, "at {width} columns");
        }
    }
}

/// No control character of a name reaches the terminal.
#[test]
fn names_move_no_cursor() {
    for page in [page(80), Page::default()] {
        let text = plain(&(render(&mixed(), page) + &explain(&mixed(), page)));
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
        assert!(text.contains("\\u{1b}[31mred") && text.contains("\\u{7}bell"), "{text}");
    }
}

/// A page with no end to its lines has every column that has a cell, every name, and every figure.
#[test]
fn nothing_is_left_out_of_a_file() {
    let text = plain(&render(&mixed(), Page::default()));
    assert!(!text.contains("columns left out") && !text.contains('…'), "{text}");
    assert!(
        text.contains("a_name_that_is_longer_than_the_columns_that_most_terminals_have_for_it[n=1048576]")
    );
}

/// Rows printed one by one are the table of the stored run.
#[test]
fn rows_one_after_the_other_are_the_table() {
    for run in [mixed(), stored("docs/results/h200/suite.json")] {
        for page in [page(60), page(120), Page::default()] {
            let before = Run { records: Vec::new(), ..run.clone() };
            let planned = run.records.iter().map(Record::planned);
            let mut table = TableWriter::new(&before, planned, page);
            let mut text = header(&before, page);
            let jobs = run.records.chunk_by(|one, next| {
                (&one.case.benchmark, &one.case.args, &one.device)
                    == (&next.case.benchmark, &next.case.args, &next.device)
            });
            jobs.for_each(|records| text += &table.rows(&records.iter().collect::<Vec<_>>()));
            assert_eq!(text + &end(&run, &mut table, page), render(&run, page));
        }
    }
}

/// Four GPUs of one host: one reads its memory 4.5 % slower.
fn four_gpus() -> Run {
    let mut run = stored("docs/results/h200/suite.json");
    run.records.truncate(6);
    let info = run.devices.swap_remove(0);
    let (mut devices, mut records) = (Vec::new(), Vec::new());
    for (number, slower) in [1.0, 1.045, 0.999, 1.001].into_iter().enumerate() {
        let device = format!("cuda:{number}");
        let mut other = info.clone();
        other.device.clone_from(&device);
        devices.push(other);
        for mut record in run.records.clone() {
            record.device = device.clone();
            let time = &mut record.measurement.as_mut().expect("it was measured").samples.time;
            time.median = time.median * slower;
            records.push(record);
        }
    }
    // One of them fails in one case, and is suspect in another.
    let last = records.len() - 1;
    records[last].measurement = None;
    records[last].verdict = Verdict::of(vec![Reason::Failed(Failure::new(Stage::Launch, "no"))]);
    records[last - 2].verdict = Verdict::of(vec![Reason::BelowResolution { resolution: Nanoseconds(32.0) }]);
    Run { devices, planned_cases: records.len(), records, skipped: Vec::new(), ..run }
}

#[test]
fn devices_of_a_model_stand_side_by_side() {
    let run = four_gpus();
    for width in [80, 120] {
        assert_snapshot!(format!("four-{width}"), plain(&render(&run, page(width))));
    }
    // Measured side by side, their records come in another order.
    let mut mixed = run.clone();
    mixed.records.sort_by_key(|record| record.planned().name());
    let rows = |run: &Run| plain(&render(run, page(120)));
    let sorted = |text: String| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(rows(&mixed)), sorted(rows(&run)));
}

/// Two GPUs of two models, whose modules alternate: the records of each benchmark.
fn two_models() -> (Run, Vec<Vec<Record>>) {
    let mut run = stored("docs/results/h200/suite.json");
    run.records.truncate(6);
    let mut other = run.devices[0].clone();
    (other.device, other.name) = ("cuda:1".to_owned(), "NVIDIA H100".to_owned());
    run.devices = vec![run.devices.swap_remove(0), other];
    // A module of two rows, hot, and one of two rows, hot and cold.
    let rows = [0..1, 2..4, 1..2, 4..6].map(|row| {
        let on = |info: &DeviceInfo| {
            let mut records = run.records[row.clone()].to_vec();
            records.iter_mut().for_each(|record| record.device.clone_from(&info.device));
            records
        };
        run.devices.iter().flat_map(on).collect::<Vec<Record>>()
    });
    let rows = Vec::from(rows);
    let records = rows.concat();
    (Run { planned_cases: records.len(), records, skipped: Vec::new(), ..run }, rows)
}

#[test]
fn each_module_has_one_heading_on_each_model() {
    let (run, rows) = two_models();
    assert_snapshot!("two-models-100", plain(&render(&run, page(100))));
    let names = |text: &str| {
        let lines = text.lines().filter(|line| line.contains(" hot "));
        lines.map(|line| line.split_whitespace().next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let [first, second] = ["chase[bytes=1048576]", "chase[bytes=1073741824]"];
    let [naive, shared] = ["naive[n=2048]", "shared[n=2048]"];
    let steps: [&[&str]; 4] = [&[first], &[], &[second, first, second, naive], &[shared, naive, shared]];
    // All of it, and what is there where the run ends early.
    for measured in [4, 2] {
        let records = rows[..measured].concat();
        let run = Run { records, ..run.clone() };
        let before = Run { records: Vec::new(), ..run.clone() };
        let planned = rows.iter().flatten().map(Record::planned);
        let mut table = TableWriter::new(&before, planned, page(100));
        let mut text = header(&before, page(100));
        for (records, step) in rows[..measured].iter().zip(steps) {
            let printed = table.rows(&records.iter().collect::<Vec<_>>());
            assert_eq!(names(&plain(&printed)), step);
            text += &printed;
        }
        text += &end(&run, &mut table, page(100));
        // Cases that are only planned may have longer names.
        let words = |text: &str| plain(text).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&text), words(&render(&run, page(100))), "no row is lost");
    }
}

/// A row that is valid when it is printed, and suspect with a further process: it is printed again, and the counts are of that row.
#[test]
fn a_row_that_further_processes_change_is_printed_again() {
    let page = Page::default();
    let mut run = small("gpu");
    run.planned_cases = run.records.len();
    let suspect = Verdict::of(vec![Reason::BelowResolution { resolution: Nanoseconds(32.0) }]);
    run.records[0].verdict = suspect.clone();
    let planned = run.records.iter().map(Record::planned);
    let before = Run { records: Vec::new(), ..run.clone() };
    let mut table = TableWriter::new(&before, planned, page);
    let printed = plain(&table.rows(&run.records.iter().collect::<Vec<_>>()));
    assert_eq!(printed.lines().filter(|line| line.starts_with("? ")).count(), 1, "{printed}");
    assert!(!plain(&end(&run, &mut table, page)).contains("measured again"), "nothing changed");

    for number in [1, 3] {
        run.records[number].verdict = suspect.clone();
        let again = run.records[number].measurement.clone();
        run.records[number].other_processes.extend(again);
    }
    let replaced = plain(&end(&run, &mut table, page));
    let (_, rows) =
        replaced.split_once("measured again; these results replace those above:\n").expect("a title");
    let marks = rows.lines().filter(|line| line.starts_with("? ")).count();
    assert_eq!(marks, 3, "{replaced}");
    assert!(replaced.contains(" 3 suspect,") && replaced.contains("[1] applies to 3 results"), "{replaced}");
}

/// Inputs of each size have figures of their own: later rows print these, and not again the words that all have.
#[test]
fn a_reason_of_several_sizes_is_printed_once_with_the_figures_of_each() {
    let mut run = small("clockwork");
    run.records.truncate(3);
    let reason = |time: f64| Reason::NoLongerThanEmpty { time: Nanoseconds(time), empty: Nanoseconds(3.0) };
    let other = Reason::BelowResolution { resolution: Nanoseconds(32.0) };
    for (record, reason) in run.records.iter_mut().zip([reason(4e3), other, reason(5e6)]) {
        record.verdict = Verdict::of(vec![reason]);
    }
    let text = plain(&render(&run, Page::default()));
    let reasons: Vec<_> = text.lines().filter(|line| line.starts_with("    [")).collect();
    assert!(reasons.len() == 3 && reasons[0].contains("this one only 4.000 µs more"), "{text}");
    assert_eq!(
        reasons[2],
        "    [1] hot result: an empty launch takes 3.000 ns, and this one only 5.000 ms more"
    );
    assert!(text.contains("\n[1] applies to 2 results\n"), "{text}");
}

/// A cache serves a hot result above the memory's bandwidth only if the data fit in it. Otherwise the peak is too low.
#[test]
fn a_result_above_a_peak_has_a_percentage_unless_the_cache_holds_its_data() {
    let mut run = small("clockwork");
    run.records.retain(|record| record.case.cache == Cache::Hot);
    run.records.truncate(1);
    let mut shown = |exceeds_cache, quantity| {
        let metrics = &mut run.records[0].measurement.as_mut().expect("it was measured").metrics;
        metrics.peak_fractions = vec![PeakFraction { quantity, fraction: 1.43 }];
        (metrics.roofline, metrics.exceeds_cache) = (None, exceeds_cache);
        let text = plain(&render(&run, page(120)));
        (
            text.contains("cache in place of a % of peak"),
            text.contains(" 143 "),
            text.contains("results above 100 % of a peak: the peak is too low"),
        )
    };
    assert_eq!(shown(false, Quantity::MemoryBandwidth), (true, false, false));
    assert_eq!(shown(true, Quantity::MemoryBandwidth), (false, true, true));
    assert_eq!(shown(false, Quantity::Compute("f32".to_owned())), (false, true, true));
}

/// Its own interval is in the column `± %`, so that rows share these words.
#[test]
fn cases_that_have_not_converged_say_once_what_helps() {
    let mut run = small("clockwork");
    run.records.truncate(3);
    for (record, (reached, requested)) in
        run.records.iter_mut().zip([(0.04, 0.005), (0.3, 0.005), (0.4, 0.02)])
    {
        record.verdict = Verdict::of(vec![Reason::NotConverged { reached, requested }]);
    }
    let text = plain(&render(&run, Page::default()));
    let reasons: Vec<_> = text.lines().filter(|line| line.starts_with("    [")).collect();
    assert_eq!(
        reasons,
        [
            "    [1] suspect: not converged: the interval of the median is ± 4.00 %, wider than the target of ± 0.50 %: raise --max-time \
             (which overrides the attribute's `max_time`), and --timeout if it is shorter, or set a wider target with --precision",
            "    [1] hot result: the interval of the median is ± 40.0 %, wider than the target of ± 2.00 %",
        ]
    );
}

/// Behind a space, or on the next line where the row has no room.
#[test]
fn each_row_has_the_numbers_of_its_reasons() {
    let mut run = small("clockwork");
    let reasons = [1, 2, 3].map(|number| Reason::SecondTry(Failure::new(Stage::Setup, number)));
    run.records.iter_mut().for_each(|record| record.verdict = Verdict::of(reasons.to_vec()));
    let mut below = 0;
    for width in 60..130 {
        let table = render(&run, Page::default().with_width(width));
        let marked: Vec<&str> = table.lines().filter(|line| line.ends_with(" [1][2][3]")).collect();
        assert_eq!(marked.len(), run.records.len(), "{table}");
        below += marked.iter().filter(|line| line.trim_start().starts_with("[1]")).count();
    }
    assert!(below > 0, "no row was that long");
}
