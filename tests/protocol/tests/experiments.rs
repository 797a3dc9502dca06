//! Runs the experiments in `examples` with small sizes on the fake driver, and without a GPU. `cargo test` builds their programs.

use std::fs;
use std::path::Path;

use end_to_end::running::{Ended, SettingsFile, files, run_with};
use protocol::fake::library;

const EXPERIMENTS: [(&str, &[&str]); 6] = [
    ("hot_cold", &["--repeats", "3", "--warm-ups", "2", "--l2", "1"]),
    ("metrics", &["--elements", "4099"]),
    ("transfers", &["--size", "1", "--repeats", "4"]),
    ("mixes", &["--size", "1", "--bus-size", "1"]),
    ("pitfalls", &["--scale-down", "16"]),
    // Launches of 512² lie on the edge between two steps of the timer, and read one or the other as their places in time are.
    ("throttle", &["--seconds", "0.2", "--size", "1024"]),
];

/// The program of an example: beside the folder of this test.
fn program(example: &str) -> String {
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test.ancestors().nth(2).expect("tests are built into a folder of a profile");
    let program = profile.join("examples").join(example);
    assert!(program.exists(), "{} is not there: `cargo build --examples` makes it", program.display());
    program.to_str().expect("UTF-8").to_owned()
}

/// Runs an experiment on the fake, with `folder` for its files.
fn on_the_fake(example: &str, arguments: &[&str], folder: &Path) -> Ended {
    let library = library().to_str().expect("UTF-8");
    let out = ["--quick", "--out", folder.to_str().expect("UTF-8")];
    // `hot_cold` warms up by a number of launches, and there can be no time as well.
    let warmup = if example == "hot_cold" { "" } else { "warmup = \"1ms\"\n" };
    let settings = SettingsFile::new(&format!("{warmup}max-time = \"2ms\"\n"));
    let mut environment = vec![("GPUBENCH_LIBCUDA", library), settings.variable()];
    // The others do without sensors.
    if example == "throttle" {
        environment.push(("GPUBENCH_LIBNVML", library));
    }
    run_with(&program(example), &[arguments, &out].concat(), &environment).with_code(0)
}

#[test]
fn experiments_print_their_tables_and_write_their_files() {
    let shown: [&[&str]; 6] = [
        &[
            "source, RTX 3090, L2/2",
            "32 × 1024 threads, L2/8, flush `discard`",
            "sum: cold launches take more than 2 % longer",
        ],
        &[
            "source, Tesla M2050",
            "maximum error 0",
            "one thread per block",
            "host clock and wait",
            "the last element is 604",
        ],
        &["kernelCopy", "unifiedMemcpy", "both directions at once", "reads and writes", "invalid"],
        &["1 : 0", "0 : 1", "8 : 0", "0 : 8"],
        &[
            "B1: ",
            "wrong: host clock around the launch",
            "PTX with compilation (CUDA_CACHE_DISABLE=1)",
            "after the same kernel",
            "95th percentile",
            "naive kernel, 128",
            "no sensors",
            "empty kernel: graph, complete",
            "B11: ",
        ],
        &["sustained, last third", "A sustained launch takes 0.00 % less time than a launch in a burst"],
    ];
    let written: [&[&str]; 6] = [
        &["hot_cold-runs.json", "hot_cold.svg"],
        &["metrics-runs.json"],
        &[
            "transfers-bus.svg",
            "transfers-runs.json",
            "transfers-times.svg",
            "transfers-within.svg",
            "transfers.csv",
        ],
        &["mixes-bus.svg", "mixes-memory.svg", "mixes-runs.json"],
        &[
            "pitfalls-flush.svg",
            "pitfalls-launches.svg",
            "pitfalls-read.json",
            "pitfalls-runs.json",
            "pitfalls-timers.svg",
        ],
        &["throttle-read.json", "throttle-runs.json", "throttle.svg"],
    ];
    for (((example, arguments), shown), written) in EXPERIMENTS.into_iter().zip(shown).zip(written) {
        let folder = tempfile::tempdir().expect("a folder");
        let ended = on_the_fake(example, arguments, folder.path());
        ended.shows("FAKE: its times are made up");
        shown.iter().for_each(|words| ended.shows(words));
        let found = files(folder.path());
        let names: Vec<_> =
            found.iter().map(|file| file.file_name().expect("a name").to_str().expect("UTF-8")).collect();
        assert_eq!(names, written, "{example}");
        for svg in found.iter().filter(|file| file.extension().is_some_and(|it| it == "svg")) {
            let text = fs::read_to_string(svg).expect("it is there");
            assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"), "{}", svg.display());
            assert!(!text.contains("NaN") && !text.contains("inf"), "{}", svg.display());
        }
        if example == "transfers" {
            the_csv_is_the_sources(
                &fs::read_to_string(folder.path().join("transfers.csv")).expect("it is there"),
            );
        }
    }
}

fn the_csv_is_the_sources(csv: &str) {
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["type", "size", "unit", "numTransfers", "run1", "run2", "run3", "run4"]);
    let kinds: Vec<_> = rows[1..].iter().map(|row| (row[0], row[1], row[2], row[3])).collect();
    assert_eq!(
        kinds[..3],
        [("kernelCopy", "1", "MiB", "2"), ("memcpyDtoD", "1", "MiB", "1"), ("pagedDtoH", "1", "MiB", "1")]
    );
    assert_eq!(kinds.len(), 9);
    for row in &rows[1..] {
        assert!(row[4..].iter().all(|time| time.parse::<f64>().is_ok_and(|time| time > 0.0)), "{row:?}");
        assert_eq!(row.len(), 8);
    }
}

/// The settings of suites hold for experiments too, and bad values are refused in the same words.
#[test]
fn experiments_take_the_settings_of_suites() {
    let settings = SettingsFile::new("precision = \"much\"");
    let ended = run_with(&program("mixes"), &[], &[settings.variable()]).with_code(2);
    ended.says_only("'much' for '--precision <PERCENT>': give a percentage above 0");
}

#[test]
fn what_there_is_not_is_refused_with_what_there_is() {
    let refused =
        |example: &str, arguments: &[&str]| run_with(&program(example), arguments, &[]).with_code(2);
    refused("pitfalls", &["B1", "B12"]).says_only("the steps are B1, B2, B3, B4, B5, B6, B7, B8, B9, B11");
    refused("throttle", &["--size", "1000"]).says_only("give a multiple of 256");
}

#[test]
fn experiments_say_that_there_is_no_gpu() {
    for (example, arguments) in EXPERIMENTS {
        let ended = run_with(&program(example), arguments, &[]).with_code(5);
        ended.says_only("there is no device `0`: ");
    }
}
