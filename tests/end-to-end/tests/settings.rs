//! Settings of `gpubench.toml` and of `Cargo.toml`: flags win over variables, those over the file, and the file over defaults.

use std::fs;
use std::path::Path;

use end_to_end::running::{Ended, cases, run_with};
use gpubench_records::record::Run;

const SUITE: &str = env!("CARGO_BIN_EXE_two_devices");

const FILE: &str = r#"
device = "clockwork"
filter = ["sweep[n=1]", "hair"]
precision = "2%"
max-time = "500ms"
tag = []

[peaks.clockwork]
memory = "6GB/s"
"#;

/// Writes `text` into a file called `name` in `folder`.
fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("it can be written");
}

/// Runs the suite of a package in `folder`, with these variables, `GPUBENCH_` left out.
#[track_caller]
fn in_package(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
    let mut variables: Vec<(String, &str)> =
        environment.iter().map(|(name, value)| (format!("GPUBENCH_{name}"), *value)).collect();
    variables.push(("CARGO_MANIFEST_DIR".to_owned(), folder.to_str().expect("UTF-8")));
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (&**name, *value)).collect();
    run_with(SUITE, arguments, &variables)
}

#[track_caller]
fn measured(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let ended = in_package(folder, &[arguments, &["--json", "-"]].concat(), environment).with_code(0);
    Run::parse(ended.stdout.as_bytes()).unwrap_or_else(|error| panic!("{error}: {ended}"))
}

/// The stored run has them too, so that it prints as it did.
#[test]
fn chosen_columns_are_printed_in_their_order() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "gpubench.toml", &format!("columns = [\"p95\", \"min\"]{FILE}"));
    let heads = |arguments: &[&str]| {
        let table = in_package(folder.path(), &[arguments, &["--color", "never"]].concat(), &[]).with_code(0);
        let head = table.stdout.lines().find(|line| line.starts_with("two_devices ")).map(str::to_owned);
        head.unwrap_or_else(|| panic!("no head: {table}"))
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(heads(&[]), ["two_devices", "p95", "min"]);
    assert_eq!(heads(&["--columns", "samples,time"]), ["two_devices", "samples", "time"]);
    assert_eq!(measured(folder.path(), &[], &[]).columns, ["p95", "min"]);
    in_package(folder.path(), &["--columns", "time,p42"], &[]).with_code(2).says_only(
        "--columns: unknown column `p42`: choose from time, ±, min, p5, p50, p95, p99, max, mean, ",
    );
    write(folder.path(), "gpubench.toml", "columns = \"middle\"");
    in_package(folder.path(), &[], &[])
        .with_code(2)
        .says_only("gpubench.toml: --columns: unknown column `middle`");
}

#[test]
fn a_flag_wins_over_a_variable_and_that_over_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "gpubench.toml", FILE);
    // The file is found from a folder below it.
    let package = folder.path().join("crates/kernels");
    fs::create_dir_all(&package).expect("it can be made");
    let by_file = measured(&package, &[], &[]);
    assert_eq!(cases(&by_file), ["two_devices::hair hot", "two_devices::sweep[n=1] hot"]);
    assert_eq!((by_file.sampling.precision, by_file.sampling.max_time.0), (0.02, 5e8));
    assert_eq!(by_file.devices[0].peaks[0].method, "gpubench.toml");
    assert_eq!(measured(&package, &["--precision", "5%"], &[]).sampling.precision, 0.05);
    let by_variable = measured(&package, &["--quick"], &[("FILTER", "hair")]);
    assert_eq!(cases(&by_variable), ["two_devices::hair hot"]);
    let by_flag = measured(&package, &["--quick", "sweep[n=2]"], &[("FILTER", "hair")]);
    assert_eq!(cases(&by_flag), ["two_devices::sweep[n=2] hot"]);
    // Lists are replaced as a whole.
    assert_eq!(cases(&measured(&package, &["sweep[n=2]"], &[])), ["two_devices::sweep[n=2] hot"]);
}

#[test]
fn a_switch_is_taken_back() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "gpubench.toml", &format!("quick = true{FILE}"));
    let slow = measured(folder.path(), &["--quick=false", "--max-time", "0.1"], &[]);
    assert_eq!((slow.sampling.max_time.0, slow.sampling.energy), (1e8, None));
    let quick = measured(folder.path(), &["--max-time", "0.1"], &[]);
    assert_eq!(quick.sampling.energy, Some(false));
}

#[test]
fn a_mistake_is_told_with_its_line_and_what_to_write() {
    let folder = tempfile::tempdir().expect("a folder");
    for (text, words) in [
        ("precison = \"1%\"", "gpubench.toml: line 1: unknown setting `precison`: did you mean `precision`?"),
        ("[peak.clockwork]\nf32 = \"1TFLOP/s\"", "unknown setting `peak`: did you mean `peaks`?"),
        (
            "\nprecision = \"fine\"",
            "line 2: invalid value 'fine' for '--precision <PERCENT>': give a percentage",
        ),
        ("cache = \"warm\"", "[possible values: hot, cold, both]"),
        ("max-time = \"soon\"", "'soon' for '--max-time <TIME>': give a time, such as 500ms"),
        ("quick = \"often\"", "[possible values: true, false]"),
        ("samples = [1, 2]\nsamples = 3", "duplicate key"),
        ("list = true", "unknown setting `list`"),
        ("equivalence-margin = \"0%\"", "invalid value '0%' for '--equivalence-margin"),
        ("nocapture = true", "unknown setting `nocapture`"),
        ("arg = \"n\"", "give a name and its values, such as n=1024,4096"),
        ("\n\nfilter = [\"no_such\"]", "no benchmark matches `no_such` on "),
        ("filter = \"/[/\"", "gpubench.toml: the filter `/[/` is not a valid regular expression"),
        (
            "samples = 0",
            "gpubench.toml: line 1: invalid value '0' for '--samples <N>': give a whole number from 1",
        ),
        ("min-time = 2\nmax-time = 1", "gpubench.toml: --min-time is more than --max-time"),
    ] {
        write(folder.path(), "gpubench.toml", text);
        let code = if text.contains("no_such") { 4 } else { 2 };
        in_package(folder.path(), &["--device", "clockwork"], &[]).with_code(code).says_only(words);
    }
    // A flag of the command line replaces the line of the file.
    write(folder.path(), "gpubench.toml", "warmup = \"5ms\"");
    let run = measured(folder.path(), &["hair", "--device", "clockwork", "--warmup", "3"], &[]);
    assert_eq!(run.sampling.warm_up_launches, Some(3));
}

/// A value that is refused after the file was read names the file, unless it may be one of the command line.
#[test]
fn a_value_that_is_refused_later_is_told_with_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "gpubench.toml", "quick = true\n\ndevice = \"H200\"\n");
    let ended = in_package(folder.path(), &[], &[]).with_code(5);
    ended.says_only("there is no device `H200`: ");
    assert!(
        ended.stderr.contains(" (`H200` is from ") && ended.stderr.contains("gpubench.toml, line 3)"),
        "{ended}"
    );
    for (flag, device) in [("--device=H200", ""), ("--quick", "H200")] {
        let ended = in_package(folder.path(), &[flag], &[("DEVICE", device)]).with_code(5);
        assert!(!ended.stderr.contains("gpubench.toml"), "{ended}");
    }
}

/// What only a measurement needs does not stop `cargo test` or a list.
#[test]
fn a_gate_in_the_file_is_for_measurements() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "gpubench.toml", "fail-on-regression = \"5%\"\n");
    let words = "--fail-on-regression needs --baseline or --compare-with";
    in_package(folder.path(), &["hair"], &[]).with_code(2).says_only(words);
    in_package(folder.path(), &["hair", "--test"], &[]).with_code(0).shows("1 passed");
    in_package(folder.path(), &["hair", "--list"], &[]).with_code(0).shows("two_devices::hair");
}

/// Its settings are not passed over, as those of a link that leads nowhere would be.
#[test]
fn a_file_that_cannot_be_read_stops_the_suite() {
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink("moved.toml", folder.path().join("gpubench.toml")).expect("a link");
    in_package(folder.path(), &["--list"], &[])
        .with_code(2)
        .says_only("gpubench.toml: No such file or directory");
}
