//! Programs around the engine: typed options in, runs out, nothing printed but what the program prints, and errors that
//! hold what was measured.

use end_to_end::running::{Ended, SettingsFile, run, run_with};

fn measuring(what: &str) -> Ended {
    run(env!("CARGO_BIN_EXE_measuring"), &[what])
}

#[test]
fn a_program_measures_by_typed_options_and_prints_its_own_results() {
    let ended = measuring("sizes").with_code(0);
    let lines = ["ticks[n=3] hot", "ticks[n=3] cold", "ticks[n=5] hot", "ticks[n=5] cold"];
    assert_eq!(ended.stdout, lines.map(|line| format!("measuring::{line} valid\n")).concat());
    assert_eq!(ended.stderr, "", "measuring prints nothing");
}

#[test]
fn an_observer_sees_each_step_of_a_run() {
    let ended = measuring("observed").with_code(0);
    let once = ["", " hot"].map(|hot| format!("measuring::ticks[n=1]{hot}\n")).concat()
        + &["", " hot"].map(|hot| format!("measuring::ticks[n=2]{hot}\n")).concat();
    let expected = format!(
        "2 cases, 2 times\nopening devices\nstarted on clockwork, 0 resumed\n{once}{once}ended with 2\n"
    );
    assert_eq!(ended.stdout, expected);
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_failed_case_is_a_record() {
    let ended = measuring("failing").with_code(0);
    assert_eq!((&*ended.stdout, &*ended.stderr), ("measuring::fails hot invalid\n", ""));
}

#[test]
fn the_environment_holds_where_a_program_reads_it() {
    let of =
        |variables: &[(&str, &str)]| run_with(env!("CARGO_BIN_EXE_measuring"), &["environment"], variables);
    let cold = SettingsFile::new("quick = true\ncache = \"cold\"\n");
    let ended = of(&[("GPUBENCH_FILTER", "n=2"), cold.variable()]).with_code(0);
    assert_eq!((&*ended.stdout, &*ended.stderr), ("measuring::ticks[n=2] cold valid\n", ""));
    of(&[SettingsFile::new("samples = 0").variable()]).with_code(2).says_only(
        "gpubench.toml: line 1: invalid value '0' for '--samples <N>': give a whole number from 1",
    );
    of(&[SettingsFile::new("cache = \"warm\"").variable()])
        .with_code(2)
        .says_only("[possible values: hot, cold, both]");
}

#[test]
fn an_error_of_the_engine_has_its_exit_code_and_is_printed_once() {
    for (what, code, expected) in [
        ("impossible", 2, "error: --samples 0: give 1 to 1000000\n"),
        (
            "nothing",
            4,
            "error: no benchmark matches `no_such` on clockwork; --list without a filter shows all\n",
        ),
        ("wrapped", 4, "error: the second step: no benchmark matches `no_such` on clockwork"),
        ("dance", 1, "error: `dance` is nothing that this program does\n"),
    ] {
        let ended = measuring(what).with_code(code);
        ended.says_only(expected);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended}");
    }
}

#[test]
fn an_interrupted_run_is_part_of_the_error() {
    let ended = measuring("interrupted").with_code(143);
    assert!(ended.stdout.starts_with("measuring::ticks[n=1] hot valid\n"), "{ended}");
    assert!(!ended.stdout.contains("after_an_interrupt"), "{ended}");
    assert_eq!(ended.stderr, "error: interrupted\n");
}

#[test]
fn progress_is_no_output_where_there_is_no_terminal() {
    let ended = measuring("progress").with_code(0);
    assert_eq!(ended.stdout, "measuring::ticks[n=1] hot valid\nmeasuring::ticks[n=2] hot valid\n");
    assert_eq!(ended.stderr, "");
}
