//! Places of results that cannot be used are refused before anything is measured.

use end_to_end::running::{Ended, command};

const TUNED: &str = env!("CARGO_BIN_EXE_tuned");

#[test]
fn an_answer_of_races_that_could_not_be_stored_is_not_looked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut suite = command(TUNED);
    suite.current_dir(folder.path()).env("GPUBENCH_RUNS_DIR", folder.path().join("runs"));
    suite.args(["--tune", "--save-tuning", "no/such/folder.json"]);
    let ended: Ended = suite.output().expect("the suite starts").into();
    ended.with_code(2).says_only("--save-tuning no/such/folder.json: ");
}
