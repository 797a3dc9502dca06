//! `cargo gpubench` as a user runs it, on runs that were recorded.

mod ab;
mod commands;
mod doctor;
mod errors;
mod fleet;
mod history;
mod init;
mod repository;
mod run;
mod shares;
mod trees;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use gpubench_records::record::Run;
use gpubench_report::loading::load;
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_cargo-gpubench");

/// A project's folder with stored runs and a baseline.
struct TestProject(TempDir);

impl TestProject {
    /// An empty one.
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// One with two stored runs, of which the second failed in parts, and a baseline `main`.
    fn with_runs() -> Self {
        let project = Self::new();
        project.store("runs/2026-08-01T12-33-10Z/records.jsonl", &corpus("gpu.jsonl"));
        project.store("runs/2026-08-02T12-33-10Z/records.jsonl", &corpus("faults.jsonl"));
        project.write("baselines/main/0000000001-0.json", &slowed(1.0));
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    fn in_home(&self, name: &str) -> PathBuf {
        let path = self.path("target/gpubench").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        path
    }

    fn store(&self, name: &str, from: &Path) {
        fs::copy(from, self.in_home(name)).expect("it can be copied");
    }

    fn write(&self, name: &str, run: &Run) -> String {
        let path = self.in_home(name);
        run.write(&mut fs::File::create(&path).expect("it can be made")).expect("it can be written");
        path.to_str().expect("UTF-8").to_owned()
    }

    /// Runs the program below the project's folder, as cargo does.
    fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.run_with(arguments, Stdio::null())
    }

    /// The same with this standard input.
    fn run_with(&self, arguments: &[&str], input: impl Into<Stdio>) -> CommandOutput {
        let folder = self.path("src");
        fs::create_dir_all(&folder).expect("it can be made");
        let mut command = Command::new(PROGRAM);
        command.arg("gpubench").args(arguments).current_dir(&folder).env_clear().stdin(input);
        CommandOutput { output: command.output().expect("it runs"), project: self.path("") }
    }
}

/// The exit code and the output of a run of the program.
struct CommandOutput {
    output: Output,
    project: PathBuf,
}

impl CommandOutput {
    #[track_caller]
    fn code(self, code: i32) -> Self {
        assert_eq!(self.output.status.code(), Some(code), "{}{}", self.stdout(), self.stderr());
        self
    }

    fn stdout(&self) -> String {
        self.shown(&self.output.stdout)
    }

    fn stderr(&self) -> String {
        self.shown(&self.output.stderr)
    }

    /// Text without the folder, which is another in each test.
    fn shown(&self, text: &[u8]) -> String {
        let text = String::from_utf8(text.to_vec()).expect("UTF-8");
        text.replace(self.project.to_str().expect("UTF-8"), "PROJECT/")
    }
}

/// The file of a program that makes several runs.
fn list(runs: &[Run]) -> Vec<u8> {
    let written = runs.iter().map(|run| {
        let mut json = Vec::new();
        run.write(&mut json).expect("a vector takes everything");
        json
    });
    [b"[".to_vec(), written.collect::<Vec<_>>().join(&b','), b"]\n".to_vec()].concat()
}

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpubench-runner/tests/parsing/corpus/runs").join(name)
}

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results/h200/suite.json")
}

/// Two recorded cases, with all times so many times as long.
fn slowed(factor: f64) -> Run {
    let mut run = load(&recorded()).expect("a run").run;
    run.records.retain(|record| record.case.name() == "gpubench_kernels::cuda::copy[n=67108864]");
    assert_eq!(run.records.len(), 2, "hot and cold");
    run.planned_cases = 2;
    run.skipped.clear();
    for record in &mut run.records {
        let samples = &mut record.measurement.as_mut().expect("it was measured").samples;
        let overhead = samples.timer.overhead;
        for event in &mut samples.event_times {
            *event = (*event - overhead) * factor + overhead;
        }
        let time = gpubench_stats::Summary::of(&samples.times(), samples.timer.resolution);
        samples.time = time.expect("there are samples");
    }
    run
}
