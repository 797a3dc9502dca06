//! Runs in other programs' formats.

mod page;
mod scale;
mod survive;

use std::fs;
use std::path::{Path, PathBuf};

use gpubench_records::comparison::{Answer, BaselineComparison, BaselineFinding, CaseFinding, Threshold};
use gpubench_records::files;
use gpubench_records::id::Arg;
use gpubench_records::record::{Measurement, Record, Run, Skipped};
use gpubench_records::verdict::{Reason, State, Verdict};
use gpubench_report::export::{BMF, CODSPEED, FORMATS, GITHUB_BENCHMARK, HTML, JUNIT};
use gpubench_stats::units::Nanoseconds;
use gpubench_stats::{Ratio, Summary};
use gpubench_table::export::Format;
use insta::assert_snapshot;
use serde_json::{Value, json};

/// Names that are made of what formats give a meaning to.
const ODD_NAMES: [&str; 10] = [
    "a,b",
    "say \"hi\"",
    "two\nlines\r\nor three",
    "a|b",
    "\u{1b}[31mred\u{1b}[0m",
    "naïve 千 🦀",
    "=1+1",
    "</script><!--",
    "\0\u{7f}\u{85}\u{2028}]]>",
    "ends::",
];

fn exported(format: Format, run: &Run) -> String {
    let mut out = Vec::new();
    (format.write)(run, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("UTF-8")
}

/// A small run with suspect, failed and compared rows, on two devices.
fn small(name: &str) -> Run {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpubench-runner/tests/parsing/corpus/runs");
    let file = fs::File::open(corpus.join(name)).expect("it is there");
    files::read(file).expect("a run").run
}

/// A run whose benchmarks, arguments and notes have odd names.
fn odd() -> Run {
    let mut run = small("clockwork.jsonl");
    let record = run.records.remove(0);
    let renamed = ODD_NAMES.iter().map(|name| {
        let mut record = record.clone();
        record.case.benchmark = format!("odd::{name}");
        record.case.args = vec![Arg { name: (*name).to_owned(), value: format!("{name}!") }];
        record
    });
    run.records = renamed.collect();
    run.notes = vec!["a note | of <two>\nlines".to_owned()];
    run
}

/// A number of a measurement.
type MetricReader = fn(&Measurement) -> Option<f64>;

struct CsvRows {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl CsvRows {
    fn of(format: Format, run: &Run) -> Self {
        let text = exported(format, run);
        let mut read = csv::ReaderBuilder::new().flexible(false).from_reader(text.as_bytes());
        let heads = read.headers().expect("a head").iter().map(str::to_owned).collect();
        let rows = read.records().map(|row| row.expect("a row").iter().map(str::to_owned).collect());
        Self { heads, rows: rows.collect() }
    }

    fn cell(&self, row: usize, head: &str) -> &str {
        let column = self.heads.iter().position(|known| known == head);
        &self.rows[row][column.unwrap_or_else(|| panic!("there is no column {head}"))]
    }

    fn number(&self, row: usize, head: &str) -> Option<f64> {
        let cell = self.cell(row, head);
        (!cell.is_empty()).then(|| cell.parse().unwrap_or_else(|error| panic!("{head} `{cell}`: {error}")))
    }
}

#[test]
fn small_runs_look_so() {
    for name in ["clockwork", "faults", "gpu"] {
        let run = small(&format!("{name}.jsonl"));
        assert_snapshot!(format!("{name}-csv"), exported(Format::CSV, &run));
        assert_snapshot!(format!("{name}-markdown"), exported(Format::MARKDOWN, &run));
    }
}

/// Formats of other programs, of a run on a GPU with a failed case and a skipped benchmark.
#[test]
fn formats_of_others_look_so() {
    let run = mixed();
    for format in [BMF, GITHUB_BENCHMARK, JUNIT] {
        assert_snapshot!(format!("mixed-{}", format.name), exported(format, &run));
    }
}

/// All keys and types of CodSpeed's `WalltimeResults`, and the figures of eight samples by hand, 16 launches each.
#[test]
fn codspeed_reads_its_walltime_results() {
    let mut run = small("gpu.jsonl");
    run.records.truncate(1);
    let samples = &mut run.records[0].measurement.as_mut().expect("it was measured").samples;
    let times = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 49.0].map(|time| Nanoseconds(1000.0 * time));
    (samples.event_times, samples.overheads) = (times.to_vec(), Vec::new());
    (samples.dram_stall, samples.method.batch) = (None, Some(16));
    samples.warm_up.launches = 12;
    let overhead = times[0] - samples.times()[0];
    samples.event_times.iter_mut().for_each(|time| *time += overhead);
    samples.time = Summary::of(&samples.times(), Nanoseconds::ZERO).expect("eight samples");
    let results: Value = serde_json::from_str(&exported(CODSPEED, &run)).expect("JSON");
    let keys = |of: &Value| Vec::from_iter(of.as_object().expect("an object").keys().cloned());
    assert_eq!(keys(&results), ["benchmarks", "creator", "instrument"]);
    assert_eq!(results["instrument"], json!({ "type": "walltime" }));
    let creator = &results["creator"];
    assert_eq!((&creator["name"], &creator["version"]), (&json!("gpubench"), &json!(run.program.version)));
    assert!(creator["pid"].as_u64().is_some_and(|pid| u32::try_from(pid).is_ok()), "{creator}");
    let [benchmark] = &results["benchmarks"].as_array().expect("a list")[..] else { panic!("{results}") };
    assert_eq!(keys(benchmark), ["config", "name", "stats", "uri"]);
    assert_eq!(benchmark["name"], run.records[0].case.to_string());
    assert_eq!(benchmark["uri"], benchmark["name"]);
    assert_eq!(
        keys(&benchmark["config"]),
        ["max_rounds", "max_time_ns", "min_round_time_ns", "warmup_time_ns"]
    );
    let stats = &benchmark["stats"];
    let number = |key: &str| stats[key].as_f64().unwrap_or_else(|| panic!("{key}: {stats}"));
    let shown = ["min_ns", "q1_ns", "median_ns", "q3_ns", "max_ns", "mean_ns"].map(number);
    assert_eq!(shown.map(f64::round), [2e3, 4e3, 4.5e3, 5.5e3, 49e3, 10e3]);
    assert!((number("stdev_ns") - 15_820.8).abs() < 1.0, "{stats}");
    assert!((number("total_time") - 80e-6 * 16.0).abs() < 1e-9, "seconds: {stats}");
    let count = |key: &str| stats[key].as_u64().unwrap_or_else(|| panic!("{key}: {stats}"));
    let counts = ["rounds", "iqr_outlier_rounds", "stdev_outlier_rounds", "iter_per_round", "warmup_iters"];
    assert_eq!(counts.map(count), [8, 1, 0, 16, 12]);
    assert_eq!(stats.as_object().map(serde_json::Map::len), Some(13));
    run.records[0].verdict.state = State::Invalid;
    let results: Value = serde_json::from_str(&exported(CODSPEED, &run)).expect("JSON");
    assert_eq!(results["benchmarks"], json!([]), "no invalid number is drawn");
}

/// With a gate, a regression is a failed test, and what could not be judged is no passed one.
#[test]
fn a_gate_is_in_what_others_read() {
    let run = gated();
    for format in [JUNIT, Format::MARKDOWN] {
        assert_snapshot!(format!("gated-{}", format.name), exported(format, &run));
    }
    let page = exported(HTML, &run);
    for told in ["gate failed: 1 result not comparable", "gate failed: 1 result of the baseline not measured"]
    {
        assert!(page.contains(told), "{told}");
    }
    let ungated = Run { regression_threshold: None, ..run.clone() };
    let text = exported(JUNIT, &ungated);
    assert!(text.contains("failures=\"0\" errors=\"0\"") && !text.contains("regression"), "{text}");
    let new = Run {
        baseline_comparison: Some(BaselineComparison {
            findings: Vec::new(),
            missing: Vec::new(),
            ..checked(&run)
        }),
        ..run
    };
    let text = exported(JUNIT, &new);
    assert!(text.contains("errors=\"1\"") && text.contains("not judged: nothing was compared"), "{text}");
}

/// Comparisons come before the cases and begin with the outcome of the gate, if there is one. The table of the cases has every change.
#[test]
fn comparisons_begin_with_the_outcome_of_the_gate() {
    let top = |run: &Run| {
        let page = exported(HTML, run);
        assert!(page.contains("1 slower, 1 faster, 1 the same, 0 undecided"), "the drawing");
        let (_, from) = page.split_once("id=\"baseline\"").expect("comparisons");
        let (gate, table) = from.split_once("<h3>").expect("a table");
        assert!(table.starts_with("Against baseline main") && table.contains("id=\"cases\""));
        // Changes that were decided are listed; the table of all cases has each.
        let (list, cases) = table.split_once("id=\"cases\"").expect("cases");
        assert!(list.contains("+10.00 %") && !list.contains("+0.00 %"), "{list}");
        assert!(cases.contains("+10.00 %</td>") && cases.contains("+0.00 %</td>"), "{cases}");
        gate.to_owned()
    };
    let gated = gated();
    let without = top(&Run { regression_threshold: None, ..gated.clone() });
    assert!(!without.contains("regression"), "{without}");
    assert!(top(&gated).contains("<strong class=\"bad\">1 regression</strong> of 5.00 % or more"));
    let mut loose = Run { regression_threshold: Some(Threshold::Fraction(0.25)), ..gated };
    for line in loose.baseline_comparison.iter_mut().flat_map(|check| &mut check.findings) {
        if let BaselineFinding::Compared { regressed, .. } = &mut line.finding {
            *regressed = false;
        }
    }
    let loose = top(&loose);
    assert!(loose.contains("<p>0 regressions of 25.0 % or more"), "{loose}");
}

fn checked(run: &Run) -> BaselineComparison {
    run.baseline_comparison.clone().expect("it was compared with a baseline")
}

/// Four cases with a gate, of which one is the same, one slower, one faster and one not comparable; and one is missing.
fn gated() -> Run {
    let mut run = small("gpu.jsonl");
    let ratio = |value| Ratio { value, low: value - 0.001, high: value + 0.001, confidence: 0.99 };
    let findings = [Some(1.0), Some(1.1), Some(0.9), None].map(|value| match value {
        None => BaselineFinding::NotComparable(vec!["bytes read 8, were 4".to_owned()]),
        Some(value) => BaselineFinding::Compared {
            ratio: ratio(value),
            time: Nanoseconds(1000.0 * value),
            baseline_time: Nanoseconds(1000.0),
            processes: [1, 1],
            noise_known: false,
            assumed_spread: None,
            answer: Answer::from_ratio(&ratio(value), 0.005),
            regressed: value > 1.05,
            remeasured: if value > 1.05 { 8 } else { 0 },
        },
    });
    let lines = run.records.iter().zip(findings).map(|(record, finding)| CaseFinding {
        name: record.case.name(),
        device: record.device.clone(),
        cache: record.case.cache,
        finding,
    });
    let lines: Vec<_> = lines.collect();
    assert_eq!(lines.len(), 4);
    let missing = vec!["gpubench_kernels::cuda::gone[n=1] hot".to_owned()];
    run.baseline_comparison = Some(BaselineComparison {
        baseline: "main".to_owned(),
        equivalence_margin: 0.005,
        tested_together: 3,
        remarks: Vec::new(),
        findings: lines,
        missing,
    });
    run.regression_threshold = Some(Threshold::Fraction(0.05));
    run
}

/// The page on files lists the formats as the help does.
#[test]
fn the_formats_are_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/files.md");
    let page = fs::read_to_string(page).expect("it is there");
    for (format, purpose) in FORMATS {
        let row = format!("--{} <FILE>` | {} |", format.name, purpose);
        assert!(page.contains(&row), "docs/book/files.md lacks {row}");
    }
}

/// Two cases of a GPU, one of them suspect, and of another device a failed one and one that is skipped.
fn mixed() -> Run {
    let mut run = small("gpu.jsonl");
    let mut faults = small("faults.jsonl");
    run.records.truncate(2);
    let suspect = Reason::TooFewSamples { samples: 3, needed: 6, budget: None };
    run.records[1].verdict = Verdict::of(vec![suspect]);
    faults.records.retain(|record| record.measurement.is_none());
    faults.records.truncate(1);
    run.records.append(&mut faults.records);
    run.devices.append(&mut faults.devices);
    run.program.suite = "kernels/suite".to_owned();
    run.started = 1_785_587_590;
    run.environment.host = Some("bench-7".to_owned());
    run.environment.command = ["suite", "--quick"].map(str::to_owned).to_vec();
    run.skipped = vec![Skipped {
        benchmark: "gpubench_kernels::cuda::sum".to_owned(),
        args: vec![Arg { name: "n".to_owned(), value: "64".to_owned() }],
        device: "cuda:0".to_owned(),
        reason: "n is less than a block".to_owned(),
    }];
    run
}

/// A run of one case, a line for each key.
#[test]
fn a_stored_run_looks_so() {
    let mut run = small("gpu.jsonl");
    run.records.truncate(1);
    run.planned_cases = 1;
    let json: Value = serde_json::from_str(&exported(Format::JSON, &run)).expect("JSON");
    assert_snapshot!("one-json", serde_json::to_string_pretty(&json).expect("JSON"));
}

#[test]
fn json_is_read_again() {
    let run = odd();
    let json = exported(Format::JSON, &run);
    assert_eq!(Run::parse(json.as_bytes()).expect("a run"), run);
    assert!(json.ends_with("}\n"));
}

#[test]
fn odd_names_survive_in_csv() {
    let run = odd();
    let rows = CsvRows::of(Format::CSV, &run);
    for (row, name) in ODD_NAMES.iter().enumerate() {
        assert_eq!(rows.cell(row, "benchmark"), format!("odd::{name}"));
        for other in ODD_NAMES {
            let expected = if other == *name { format!("{name}!") } else { String::new() };
            assert_eq!(rows.cell(row, &format!("arg.{other}")), expected);
        }
    }
    assert_eq!(rows.rows.len(), ODD_NAMES.len());
}

#[test]
fn odd_names_stay_in_their_cells_in_markdown() {
    let run = odd();
    let text = exported(Format::MARKDOWN, &run);
    assert!(!text.contains('\u{1b}'), "no terminal is coloured by it");
    let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(table.len(), 2 + ODD_NAMES.len());
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(table.iter().all(|line| cells(line) == cells(table[0])), "{text}");
    assert_snapshot!("odd-markdown", text);
}

/// Each number of every recorded run is read back as the very number that is stored.
#[test]
fn numbers_are_read_back_exactly() {
    let numbers: &[(&str, MetricReader)] = &[
        ("time_ns", |it| Some(it.median().0)),
        ("time_low_ns", |it| Some(it.samples.time.median_ci.low.0)),
        ("time_high_ns", |it| Some(it.samples.time.median_ci.high.0)),
        ("mean_ns", |it| Some(it.samples.time.mean.0)),
        ("standard_deviation_ns", |it| Some(it.samples.time.standard_deviation.0)),
        ("effective_samples", |it| it.samples.time.effective_samples),
        ("overhead_ns", |it| Some(it.samples.overhead().0)),
        ("moved_bytes", |it| it.counts.bytes.map(|bytes| bytes as f64)),
        ("bandwidth_bytes_per_s", |it| it.metrics.bandwidth.map(|rate| rate.0)),
        ("throughput_flop_per_s", |it| it.metrics.throughput.map(|rate| rate.0)),
        ("intensity_flop_per_byte", |it| it.metrics.arithmetic_intensity),
        ("cold_over_hot", |it| it.metrics.cold_over_hot),
    ];
    let mut compared = 0;
    for file in recorded() {
        let run = Run::parse(&fs::read(&file).expect("it is there"))
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let rows = CsvRows::of(Format::CSV, &run);
        assert_eq!(rows.rows.len(), run.records.len());
        for (row, record) in run.records.iter().enumerate() {
            for (head, number) in numbers {
                let stored = record.measurement.as_ref().and_then(number);
                let read = rows.number(row, head);
                assert_eq!(read.map(f64::to_bits), stored.map(f64::to_bits), "{head} of {}", record.case);
                compared += usize::from(read.is_some());
            }
        }
    }
    assert!(compared > 1000, "{compared} numbers");
}

/// A row of a failed case has its reasons and no number.
#[test]
fn a_failed_case_has_a_row() {
    let run = small("faults.jsonl");
    let is_failed = |record: &&Record| record.measurement.is_none();
    let failed: Vec<usize> = (0..run.records.len()).filter(|row| is_failed(&&run.records[*row])).collect();
    assert!(!failed.is_empty(), "there is one");
    let rows = CsvRows::of(Format::CSV, &run);
    let markdown = exported(Format::MARKDOWN, &run);
    for row in failed {
        let Verdict { reasons, .. } = &run.records[row].verdict;
        assert_eq!((rows.cell(row, "verdict"), rows.number(row, "time_ns")), ("invalid", None));
        assert_eq!(rows.cell(row, "reasons"), reasons[0].to_string());
    }
    assert!(markdown.contains("| failed |") && markdown.contains("- **invalid** "), "{markdown}");
}

fn recorded() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results/h200");
    let files = fs::read_dir(folder).expect("there are recorded runs").flatten().map(|entry| entry.path());
    // Those of a program that makes several runs hold a list of them.
    let is_run = |path: &PathBuf| {
        path.extension().is_some_and(|it| it == "json")
            && fs::read(path).is_ok_and(|json| json.starts_with(b"{\"schema\":\"gpubench/"))
    };
    files.filter(is_run).collect()
}
