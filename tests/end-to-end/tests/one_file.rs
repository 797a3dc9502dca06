//! Files that a command line names twice, and places of results that cannot be used: both are refused before anything is measured.

use std::fs;
use std::path::{Path, PathBuf};

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

    fn read(&self, path: &Path) -> Vec<u8> {
        fs::read(self.0.path().join(path)).expect("it is there")
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
fn no_result_is_written_over_another_or_over_what_is_read() {
    let place = Place::new();
    let baseline = ["--save-baseline", "main.json"];
    _ = place.measure(&baseline).with_code(0);
    _ = place.measure(&["--save-baseline", "./folder"]).with_code(0);
    fs::hard_link(place.path("main.json"), place.path("second.json")).expect("it can be made");
    std::os::unix::fs::symlink("main.json", place.path("link.json")).expect("it can be made");
    fs::write(place.path("gpubench.toml"), "").expect("it can be written");
    let first = |folder: &str| {
        let mut entries = fs::read_dir(place.path(folder)).expect("it is there").flatten();
        entries.next().expect("a run").path()
    };
    let (in_folder, run) = (first("folder"), first("runs").join("records.jsonl"));
    let [in_folder, run] = [&in_folder, &run].map(|path| path.to_str().expect("UTF-8"));
    let last = format!("{run}.copy");
    fs::copy(run, &last).expect("it can be copied");
    let read = "would be written over the baseline that is read from it: give another file";
    let both = "give each a file of its own";
    let from = ["--from", "main.json"];
    for (words, told) in [
        (&["--save-baseline", "main.json", "--csv", "main.json"] as &[&str], both),
        (&["--save-baseline", "new.json", "--csv", "./new.json"], both),
        (&["--save-baseline", "main.json", "--csv", "second.json"], both),
        (&["--history", "new", "--csv", "new"], both),
        (&["--baseline", "main.json", "--csv", "link.json"], read),
        (&["--baseline", "main.json", "--csv", "second.json"], read),
        (&["--baseline", "./folder", "--json", in_folder], read),
        (&["--save-baseline", "./folder", "--json", in_folder], read),
        (
            &[&format!("--resume={last}"), "--csv", &last],
            "would be written over the run that is read from it",
        ),
        (&["--config", "gpubench.toml", "--csv", "gpubench.toml"], "over the settings that are read from it"),
        (
            &[&from[..], &["--csv", "second.json"]].concat(),
            "would be written over the run that is read from it",
        ),
        (&[&from[..], &baseline].concat(), "would be written over the run that is read from it"),
    ] {
        let files = ["main.json", in_folder, &last, "gpubench.toml"].map(|file| place.read(Path::new(file)));
        let ended = match words[0] {
            "--from" => place.run(SUITE, words),
            _ => place.measure(words),
        };
        ended.with_code(2).says_only(told);
        let after = ["main.json", in_folder, &last, "gpubench.toml"].map(|file| place.read(Path::new(file)));
        assert!(files == after && !place.path("new.json").exists(), "{words:?}");
    }
    // A baseline may be compared with and then be replaced.
    _ = place.measure(&["--baseline", "main.json", "--save-baseline", "main.json"]).with_code(0);
}

#[test]
fn an_answer_of_races_that_could_not_be_stored_is_not_looked_for() {
    let place = Place::new();
    fs::write(place.path("gpubench.toml"), "").expect("it can be written");
    for (words, told) in [
        (&["--save-tuning", "no/such/folder.json"] as &[&str], "--save-tuning no/such/folder.json: "),
        (
            &["--config", "gpubench.toml", "--save-tuning", "gpubench.toml"],
            "--save-tuning gpubench.toml would be written over the settings",
        ),
    ] {
        place.run(TUNED, &[&["--tune"], words].concat()).with_code(2).says_only(told);
    }
}

#[test]
fn a_run_that_no_history_takes_is_not_measured() {
    let place = Place::new();
    fs::write(place.path("file"), "").expect("it can be written");
    for (history, told) in
        [("/dev/null", "--history: /dev/null: "), ("file/history", "--history: file/history: ")]
    {
        let ended = place.measure(&["--history", history]).with_code(2);
        ended.says_only(told);
        assert_eq!(ended.stdout, "", "{ended}");
    }
}
