//! Launches by a library that opens the driver itself: a worker sees them like those of the program.

use std::os::unix::fs::symlink;

use end_to_end::running::run_with;
use gpubench_records::verdict::State;
use gpubench_stats::units::Bytes;
use protocol::fake::{failed, library, measure};

const OPENED: &str = env!("CARGO_BIN_EXE_opened");

#[test]
fn work_of_a_library_that_opens_the_driver_is_seen() {
    let measured = measure(OPENED, &["--quick", "--explain", "--color", "never"], &[]);
    let [(case, reason)] = &failed(&measured.run)[..] else { panic!("{}", measured.ended) };
    assert_eq!(case, "opened::goes_on_beside hot");
    let says =
        "work elsewhere: when the given stream was done, work of the launch still ran on 1 other stream";
    assert!(reason.contains(says), "{reason}");

    let record = |name: &str| {
        let name = format!("opened::{name}");
        measured.run.records.iter().find(|record| record.case.name() == name).expect("it was measured")
    };
    let written = |name: &str| {
        let seen = &record(name).measurement.as_ref().expect("it was measured").launch;
        seen.written.as_ref().map(|written| (written.changed, written.writes_on_other_contents))
    };
    assert_eq!(written("writes"), Some((Bytes(4 << 12), None)));
    assert_eq!(written("writes_nothing"), Some((Bytes(0), Some(false))));
    assert_eq!(record("writes").verdict.state, State::Valid);
    let ended = measured.ended.with_code(1);
    ended.shows_against("opened::writes_nothing hot", "suspect: outputs never written: ");
    ended.shows("  kernel    fill: 4 blocks of 256 threads");
}

/// The supervisor finds the driver as the system's loader does, and tells the worker where it is.
#[test]
fn a_driver_that_is_found_by_its_name_is_watched_too() {
    let folder = tempfile::tempdir().expect("a folder");
    symlink(library(), folder.path().join("libcuda.so.1")).expect("a link");
    let folder = folder.path().to_str().expect("UTF-8");
    let environment = [("GPUBENCH_LIBCUDA", ""), ("LD_LIBRARY_PATH", folder), ("TMPDIR", folder)];
    let ended =
        run_with(OPENED, &["--quick", "--color", "never", "writes_nothing"], &environment).with_code(0);
    ended.shows_against("opened::writes_nothing hot", "suspect: outputs never written: ");
}
