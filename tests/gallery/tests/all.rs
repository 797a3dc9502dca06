//! Runs each example of docs/book/gallery.md as a reader would, those for a GPU on the fake driver, and compares its results
//! with those of `output`, which the page shows.

#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use gpubench_records::record::Run;
use gpubench_records::verdict::State;

const ON_CPU: [&str; 2] = ["cpu", "sizes_and_types"];
const ON_GPU: [&str; 6] =
    ["implementations", "in_place", "raw_stream", "reference", "saxpy_cudarc", "saxpy_cust"];

/// Measures an example with the driver of this path, and returns its results.
///
/// # Panics
/// If the example fails, or has other results than its recorded output.
fn measure(example: &str, driver: &OsStr) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let mut command = Command::new(program(example));
    for (name, _) in env::vars_os() {
        let shown = name.to_string_lossy();
        if ["GPUBENCH_", "SLURM_", "CUDA_"].iter().any(|ours| shown.starts_with(ours)) {
            command.env_remove(name);
        }
    }
    command.args(["--quick", "--json"]).arg(&file);
    command.args((example == "implementations").then_some(["--compare-with", "naive"]).iter().flatten());
    command.env("GPUBENCH_LIBCUDA", driver).env("GPUBENCH_LIBNVML", "no-libnvml-here");
    command.env("GPUBENCH_RUNS_DIR", "none").env("GPUBENCH_CACHE_DIR", folder.path().join("cache"));
    // Runs on the fake driver do not wait for each other.
    command.env("TMPDIR", folder.path()).current_dir(&folder);
    let output = command.output().expect("the example starts");
    assert_eq!(output.status.code(), Some(0), "{example}: {output:?}");

    let run: Run = serde_json::from_slice(&fs::read(file).expect("a file")).expect("a run");
    assert!(!run.records.is_empty(), "{example}: {output:?}");
    let recorded = format!("{}/output/{example}.txt", env!("CARGO_MANIFEST_DIR"));
    let recorded = fs::read_to_string(&recorded).unwrap_or_else(|error| panic!("{recorded}: {error}"));
    for record in &run.records {
        let (name, cache) = (record.case.name(), record.case.cache.to_string());
        let name = name.rsplit("::").next().unwrap_or_default();
        let is_row = |line: &str| {
            let words: Vec<&str> = line.trim_start_matches(['?', ' ']).split_whitespace().collect();
            words.join(" ").starts_with(&format!("{name} {cache} "))
        };
        assert!(recorded.lines().any(is_row), "the recorded output of {example} lacks {name} {cache}");
    }
    run
}

/// The executable of an example, which cargo builds before this test.
fn program(example: &str) -> PathBuf {
    let program = test_folder().join("../examples").join(example);
    assert!(program.exists(), "{} is not there: `cargo test -p gallery` builds it", program.display());
    program
}

fn test_folder() -> PathBuf {
    env::current_exe().expect("a test has a path").parent().expect("it is in a folder").to_owned()
}

#[test]
fn cpu_examples_have_no_invalid_result() {
    for example in ON_CPU {
        for record in measure(example, OsStr::new("no-libcuda-here")).records {
            assert_ne!(record.verdict.state, State::Invalid, "{example}: {:?}", record.verdict);
        }
    }
}

#[test]
fn gpu_examples_are_valid_on_the_fake_driver() {
    let driver = test_folder().join("libfake_cuda.so");
    for example in ON_GPU {
        for record in measure(example, driver.as_os_str()).records {
            assert_eq!(record.verdict.state, State::Valid, "{example}: {:?}", record.verdict);
        }
    }
}

#[test]
fn each_example_is_run_and_is_shorter_than_60_lines() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(ON_CPU.contains(&&*name) || ON_GPU.contains(&&*name), "no test runs {name}");
        assert!(
            fs::read_to_string(&path).expect("text").lines().count() < 60,
            "{name} is too long for the page"
        );
    }
}
