//! Launch functions on this machine's CPU, honest, mistaken and deceptive: each has the verdict that it must have.

use end_to_end::caught::marked;
use end_to_end::running::{SettingsFile, run_with};

const CAUGHT: &str = env!("CARGO_BIN_EXE_cpu_caught");

/// Other programs use the processor too, and a disturbed result may lack the reason that is looked for: such launches are
/// measured again, twice at most. A result that is valid or invalid where it must not be fails at once.
#[test]
fn every_launch_on_a_cpu_has_its_verdict() {
    let settings = SettingsFile::new("quick = true");
    let (mut names, mut printed): (Vec<String>, String) = Default::default();
    for _ in 0..3 {
        let names_now: Vec<&str> = names.iter().map(String::as_str).collect();
        let ended = run_with(CAUGHT, &names_now, &[settings.variable()]);
        assert!(!ended.stdout.contains("and should be"), "{ended}");
        names = marked(&ended.stdout).into_iter().map(Into::into).collect();
        assert_eq!(ended.code, Some(i32::from(!names.is_empty())), "{ended}");
        if names.is_empty() {
            return;
        }
        printed = ended.to_string();
    }
    panic!("{names:?} did not have their verdicts in three runs: {printed}");
}
