//! Each flag has a twin in the environment, and the flag wins.

use std::fs;

use end_to_end::running::{cases, run_with};
use gpubench_records::facts::PeakSource;
use gpubench_records::record::Run;
use gpubench_records::sampling::Sampling;

const SUITE: &str = env!("CARGO_BIN_EXE_two_devices");

/// The run that is stored with these variables, `GPUBENCH_` left out.
#[track_caller]
fn measured(arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let mut variables: Vec<(String, &str)> =
        environment.iter().map(|(name, value)| (format!("GPUBENCH_{name}"), *value)).collect();
    variables.push(("GPUBENCH_JSON".to_owned(), file.to_str().expect("UTF-8")));
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let ended = run_with(SUITE, arguments, &variables).with_code(0);
    let stored = fs::read_to_string(file).unwrap_or_else(|error| panic!("{error}: {ended}"));
    serde_json::from_str(&stored).expect("a run")
}

const SWEEP: (&str, &str) = ("FILTER", "sweep[n=1]");
const CLOCKWORK: (&str, &str) = ("DEVICE", "clockwork");

#[test]
fn switches_are_true_or_false() {
    for (value, max_time) in [("true", 5e7), ("false", 3e9)] {
        assert_eq!(
            measured(&[], &[SWEEP, CLOCKWORK, ("QUICK", value)]).sampling.max_time.0,
            max_time,
            "{value}"
        );
    }
}

#[test]
fn switches_are_1_or_0_too() {
    for (value, max_time) in [("1", 5e7), ("0", 3e9)] {
        assert_eq!(
            measured(&[], &[SWEEP, CLOCKWORK, ("QUICK", value)]).sampling.max_time.0,
            max_time,
            "{value}"
        );
    }
}

#[test]
fn variables_choose_the_cases() {
    let quick = ("QUICK", "true");
    let run = measured(&[], &[CLOCKWORK, quick, ("FILTER", "sweep[n=1,hair"), ("SKIP", "n=10]")]);
    assert_eq!(cases(&run), ["two_devices::hair hot", "two_devices::sweep[n=1] hot"]);
    let exact = [("EXACT", "true"), ("FILTER", "two_devices::beat"), ("CACHE", "cold")];
    assert_eq!(
        cases(&measured(&[], &[&exact[..], &[CLOCKWORK, quick]].concat())),
        ["two_devices::beat cold"]
    );
    let run = measured(&[], &[CLOCKWORK, quick, ("FILTER", "grid"), ("ARG", "n=3,4;unit=Tick")]);
    assert_eq!(
        cases(&run),
        ["two_devices::grid[n=3, unit=Tick] hot", "two_devices::grid[n=4, unit=Tick] hot"]
    );
}

#[test]
fn variables_say_how_to_measure() {
    let how =
        [("PRECISION", "2%"), ("WARMUP", "0.1"), ("MIN_TIME", "0.2"), ("MAX_TIME", "0.4"), ("SAMPLES", "12")];
    let run =
        measured(&[], &[&how[..], &[SWEEP, CLOCKWORK, ("IN_PROCESS", "true"), ("TIMEOUT", "5")]].concat());
    let sampling = run.sampling;
    assert_eq!((sampling.precision, sampling.warm_up.0), (0.02, 1e8));
    assert_eq!((sampling.min_time.0, sampling.max_time.0, sampling.samples), (2e8, 4e8, Some(12)));
}

#[test]
fn variables_list_and_colour() {
    let list = [("GPUBENCH_LIST", "true"), ("GPUBENCH_FORMAT", "json"), ("GPUBENCH_FILTER", "hair")];
    let ended = run_with(SUITE, &[], &list).with_code(0);
    assert_eq!(
        ended.stdout,
        "{\"name\":\"two_devices::hair\",\"device\":\"clockwork\",\"caches\":[\"hot\"]}\n"
    );
    let colour = [("GPUBENCH_COLOR", "always"), ("GPUBENCH_DEVICE", "clockwork")];
    assert!(run_with(SUITE, &["hair"], &colour).with_code(0).stdout.contains('\u{1b}'));
}

#[test]
fn a_time_limit_comes_from_the_environment_too() {
    let environment = [("GPUBENCH_TIMEOUT", "0.2"), ("GPUBENCH_DEVICE", "clockwork")];
    let ended = run_with(env!("CARGO_BIN_EXE_faults"), &["never_ends"], &environment).with_code(1);
    ended.shows("took longer than 0.2 s");
}

#[test]
fn peaks_come_from_the_environment_too() {
    let beat = [("FILTER", "s::beat"), ("CACHE", "hot"), CLOCKWORK, ("QUICK", "true")];
    let shares = |arguments: &[&str]| {
        let run = measured(arguments, &[&beat[..], &[("PEAK", "memory=6GB/s; f32=1GFLOP/s")]].concat());
        let metrics = run.records[0].measurement.as_ref().expect("it was measured").metrics.clone();
        metrics.shares.iter().map(|share| (1e6 * share.of_peak).round()).collect::<Vec<_>>()
    };
    // Hot, 9600 bytes and 1600 operations in 3.2 µs.
    assert_eq!(shares(&[]), [0.5e6, 0.5e6]);
    assert_eq!(shares(&["--peak", "memory=12GB/s"]), [0.25e6]);
}

/// A file's peaks count as a flag's do, behind them; a file that is wrong is refused with its line.
#[test]
fn peaks_come_from_a_file_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("it can be written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let good = write("good.toml", "[peaks.clockwork]\nmemory = \"6GB/s\"\n\"no such\" = \"1TFLOP/s\"\n");
    let beat = [("FILTER", "s::beat"), ("CACHE", "hot"), CLOCKWORK, ("QUICK", "true"), ("CONFIG", &good)];
    let of_memory = |arguments: &[&str]| {
        let run = measured(arguments, &beat);
        let share = run.records[0].measurement.as_ref().expect("it was measured").metrics.shares[0].of_peak;
        let peak = run.devices[0].peaks[0].clone();
        assert_eq!(run.notes, ["good.toml:3: no benchmark of this program has the precision `no such`"]);
        ((1e6 * share).round(), peak.source, peak.method)
    };
    assert_eq!(of_memory(&[]), (0.5e6, PeakSource::User, "good.toml:2".to_owned()));
    // 9600 bytes in 3.2 µs.
    let flag = of_memory(&["--peak", "memory=12GB/s"]);
    assert_eq!(flag, (0.25e6, PeakSource::User, "--peak".to_owned()));

    let bad = write("bad.toml", "[peaks.clockwork]\nmemory = 6\n");
    let told = |path: &str| {
        let ended = run_with(SUITE, &["--device", "clockwork", "--quick", "--config", path], &[]);
        ended.with_code(2).stderr
    };
    assert!(
        told(&bad).contains("bad.toml:2: `memory`: give a number with its unit in quotes"),
        "{}",
        told(&bad)
    );
    assert!(told("nowhere.toml").contains("nowhere.toml: No such file"), "{}", told("nowhere.toml"));
}

#[test]
fn peaks_are_not_measured_by_a_test() {
    run_with(SUITE, &["--measure-peaks", "--test"], &[]).with_code(2).says_only("the other times nothing");
}

/// As a CI has them that leaves a variable out: each twin alone, then all of them at once.
#[test]
fn an_empty_variable_is_unset() {
    let help = run_with(SUITE, &["--help"], &[]).with_code(0).stdout;
    let twins: Vec<&str> = help
        .split("[env: ")
        .skip(1)
        .map(|rest| rest.split('=').next().expect("there is a first part"))
        .collect();
    assert!(
        twins.len() >= 40 && twins.contains(&"GPUBENCH_SKIP") && twins.contains(&"GPUBENCH_FILTER"),
        "{twins:?}"
    );
    let listed = run_with(SUITE, &["--list"], &[]).with_code(0).stdout;
    for twin in &twins {
        let ended = run_with(SUITE, &["--list"], &[(twin, "")]).with_code(0);
        assert_eq!((&ended.stdout, &*ended.stderr), (&listed, ""), "{twin}");
    }
    let all: Vec<(&str, &str)> = twins.iter().map(|twin| (*twin, "")).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let flags = ["sweep[n=1]", "--device", "clockwork", "--runs-dir", "none", "--json"];
    let ended = run_with(SUITE, &[&flags[..], &[file.to_str().expect("UTF-8")]].concat(), &all).with_code(0);
    assert_eq!(ended.stderr, "");
    let run = Run::parse(&fs::read(file).expect("it was written")).expect("a run");
    assert_eq!(run.sampling, Sampling::USUAL);
    assert_eq!(cases(&run), ["two_devices::sweep[n=1] hot"]);
    // The help names all of them all the same.
    let help_then = run_with(SUITE, &["--help"], &all).with_code(0).stdout;
    assert!(twins.iter().all(|twin| help_then.contains(&format!("[env: {twin}="))), "{help_then}");
    // What is not empty still counts.
    run_with(SUITE, &[], &[("GPUBENCH_SAMPLES", " ")])
        .with_code(2)
        .says_only("invalid value ' ' for 'GPUBENCH_SAMPLES'");
}

/// Of single values the last counts, and lists add up: scripts append flags to those that are there.
#[test]
fn a_flag_may_be_given_again() {
    let how = ["--explain", "--explain", "--quick", "--quick", "--cache", "cold", "--cache", "hot"];
    let values =
        ["--precision", "1%", "--precision", "2%", "--samples", "7", "--samples=12", "--skip", "n=2"];
    let lists =
        ["--skip", "n=10", "--device", "host", "--device", "clockwork", "--color=always", "--color=never"];
    let run = measured(&[&["sweep"], &how[..], &values, &lists].concat(), &[]);
    assert_eq!(cases(&run), ["two_devices::sweep[n=1] hot"]);
    assert_eq!((run.sampling.precision, run.sampling.samples), (0.02, Some(12)));
    let run =
        measured(&["grid", "--arg", "n=3", "--arg", "n=4", "--arg", "unit=Tick", "--quick"], &[CLOCKWORK]);
    assert_eq!(cases(&run).len(), 2);
    // Every flag that takes no value, twice.
    for flag in [
        "--list",
        "--exact",
        "--ignored",
        "--include-ignored",
        "--energy",
        "--no-wait",
        "--bench",
        "--nocapture",
    ] {
        _ = run_with(SUITE, &["--list", flag, flag], &[]).with_code(0);
    }
}

#[test]
fn flags_win() {
    let environment = [SWEEP, CLOCKWORK, ("SAMPLES", "12"), ("PRECISION", "2%"), ("CACHE", "cold")];
    let run = measured(&["hair", "--samples", "7", "--precision", "3%", "--cache", "hot"], &environment);
    assert_eq!(cases(&run), ["two_devices::hair hot"]);
    assert_eq!((run.sampling.samples, run.sampling.precision), (Some(7), 0.03));
}
