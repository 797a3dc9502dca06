//! Launch functions on this machine's CPU, honest, mistaken and deceptive: each has the verdict that it must have.

use end_to_end::caught::marked;
use end_to_end::running::{SettingsFile, run_with};

const CAUGHT: &str = env!("CARGO_BIN_EXE_cpu_caught");

#[test]
fn every_launch_on_a_cpu_has_its_verdict() {
    let ended = run_with(CAUGHT, &[], &[SettingsFile::new("quick = true").variable()]);
    assert_eq!(marked(&ended.stdout), [""; 0], "{ended}");
    assert_eq!(ended.code, Some(0), "{ended}");
}
