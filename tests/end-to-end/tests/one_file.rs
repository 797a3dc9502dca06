//! Places of results that cannot be used are refused before anything is measured.

use std::fs;
use std::path::PathBuf;

use end_to_end::running::{Ended, command};
use tempfile::TempDir;

const SUITE: &str = env!("CARGO_BIN_EXE_two_devices");
const TUNED: &str = env!("CARGO_BIN_EXE_tuned");

/// A folder in which suites are started.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, program: &str, words: &[&str]) -> Ended {
        let mut suite = command(program);
        suite.current_dir(self.0.path()).env("GPUBENCH_RUNS_DIR", self.path("runs")).args(words);
        suite.output().expect("the suite starts").into()
    }

    fn measure(&self, words: &[&str]) -> Ended {
        self.run(SUITE, &[&["s::beat", "--quick", "--device", "clockwork"], words].concat())
    }
}

#[test]
fn an_answer_of_races_that_could_not_be_stored_is_not_looked_for() {
    let place = Place::new();
    let words = ["--tune", "--save-tuning", "no/such/folder.json"];
    place.run(TUNED, &words).with_code(2).says_only("--save-tuning no/such/folder.json: ");
}

#[test]
fn a_run_that_no_history_takes_is_not_measured() {
    let place = Place::new();
    fs::write(place.path("file"), "").expect("it can be written");
    for (history, told) in
        [("/dev/null", "history: /dev/null: "), ("file/history", "history: file/history: ")]
    {
        fs::write(place.path("gpubench.toml"), format!("history = {history:?}")).expect("it can be written");
        let ended = place.measure(&[]).with_code(2);
        ended.says_only(told);
        assert_eq!(ended.stdout, "", "{ended}");
    }
}
