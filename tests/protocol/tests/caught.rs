//! Launches that deceive, launches that were mistaken once and launches that are as they should be: each has the verdict that it
//! must have, and `docs/what-is-caught.md` says so.

use std::fs;
use std::path::Path;

use end_to_end::reliability::is_written;
use end_to_end::running::{Ended, run_with};
use protocol::fake::library;

const CAUGHT: &str = env!("CARGO_BIN_EXE_caught_on_a_fake");

/// The marks between which the page has its tables.
const BEGIN: &str = "<!-- the tables: scripts/reliability -->\n";
const END: &str = "<!-- end of the tables -->\n";

/// Runs the program on the fake, of which `asked` asks something.
fn caught(arguments: &[&str], asked: &[(&str, &str)]) -> Ended {
    let folder = tempfile::tempdir().expect("a folder");
    let library = library().to_str().expect("UTF-8");
    let mut environment = vec![
        ("GPUBENCH_LIBCUDA", library),
        ("GPUBENCH_QUICK", "true"),
        ("TMPDIR", folder.path().to_str().expect("UTF-8")),
    ];
    environment.extend(asked);
    run_with(CAUGHT, arguments, &environment)
}

/// The names of the launches that the text marks.
fn marked(text: &str) -> Vec<&str> {
    let marked = text.lines().filter_map(|line| line.strip_prefix("! "));
    marked.filter_map(|row| row.split_whitespace().next()).collect()
}

#[test]
fn every_launch_is_judged_as_it_should_be_and_the_page_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let tables = folder.path().join("tables.md");
    let ended = caught(&["--markdown", tables.to_str().expect("UTF-8")], &[]);
    assert_eq!(marked(&ended.stdout), [""; 0], "{ended}");
    assert_eq!(ended.code, Some(0), "{ended}");
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{ended}");

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/what-is-caught.md");
    let page = fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("where the tables begin");
    let (there, after) = rest.split_once(END).expect("where they end");
    let current = format!("\n{}\n", fs::read_to_string(tables).expect("the program wrote it"));
    if is_written() {
        return fs::write(&path, [before, BEGIN, &current, END, after].concat()).expect("it can be written");
    }
    assert_eq!(there, current, "docs/what-is-caught.md is not current: scripts/reliability writes it anew");
}

/// The management library still reports the power cap of the row before; the device's own counters know of nothing.
#[test]
fn a_row_that_follows_a_power_cap_is_judged_by_its_own_time() {
    let library = library().to_str().expect("UTF-8");
    let asked =
        [("GPUBENCH_LIBNVML", library), ("GPUBENCH_FAKE_SLOWED", "4"), ("GPUBENCH_FAKE_CLOCKS", "1980")];
    let ended = caught(&["after_power_cap"], &asked);
    assert_eq!(marked(&ended.stdout), [""; 0], "{ended}");
}
