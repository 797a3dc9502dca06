//! Some flags have a variable in the environment, and the flag wins.

use std::fs;

use end_to_end::running::{cases, measure_with, run_with};
use gpubench_records::device_info::PeakSource;
use gpubench_records::record::Run;

const SUITE: &str = env!("CARGO_BIN_EXE_two_devices");

/// The run that is stored with these variables, `GPUBENCH_` left out.
#[track_caller]
fn measured(arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let variables: Vec<(String, &str)> =
        environment.iter().map(|(name, value)| (format!("GPUBENCH_{name}"), *value)).collect();
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let arguments = [arguments, &["--json", file.to_str().expect("UTF-8")]].concat();
    let ended = run_with(SUITE, &arguments, &variables).with_code(0);
    let stored = fs::read_to_string(file).unwrap_or_else(|error| panic!("{error}: {ended}"));
    serde_json::from_str(&stored).expect("a run")
}

const CLOCKWORK: (&str, &str) = ("DEVICE", "clockwork");

#[test]
fn variables_choose_the_cases() {
    let run = measured(&["--quick", "--skip", "n=10]"], &[CLOCKWORK, ("FILTER", "sweep[n=1,hair")]);
    assert_eq!(cases(&run), ["two_devices::hair hot", "two_devices::sweep[n=1] hot"]);
    let exact = ("FILTER", "two_devices::beat,two_devices::hair");
    let run = measured(&["--quick", "--exact", "--cache", "cold"], &[CLOCKWORK, exact]);
    assert_eq!(cases(&run), ["two_devices::beat cold", "two_devices::hair cold"]);
}

/// A file that is wrong is refused with its line.
#[test]
fn peaks_come_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("it can be written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let good = write("good.toml", "[peaks.clockwork]\nmemory = \"6GB/s\"\n\"no such\" = \"1TFLOP/s\"\n");
    let beat = [("FILTER", "s::beat"), CLOCKWORK, ("CONFIG", &*good)];
    let of_memory = |arguments: &[&str]| {
        let run = measured(&[&["--quick", "--cache", "hot"], arguments].concat(), &beat);
        let share =
            run.records[0].measurement.as_ref().expect("it was measured").metrics.peak_fractions[0].fraction;
        let peak = run.devices[0].peaks[0].clone();
        assert_eq!(run.notes, ["peaks: no benchmark of this program has the data type `no such`"]);
        ((1e6 * share).round(), peak.source, peak.method)
    };
    assert_eq!(of_memory(&[]), (0.5e6, PeakSource::User, "gpubench.toml".to_owned()));

    let bad = write("bad.toml", "[peaks.clockwork]\nmemory = 6\n");
    let told = |path: &str| {
        let ended = run_with(SUITE, &["--device", "clockwork", "--quick"], &[("GPUBENCH_CONFIG", path)]);
        ended.with_code(2).stderr
    };
    assert!(told(&bad).contains("bad.toml: line 2: `memory` of `clockwork` has no unit"), "{}", told(&bad));
    assert!(
        told("nowhere.toml").contains("nowhere.toml, which GPUBENCH_CONFIG names: No such file"),
        "{}",
        told("nowhere.toml")
    );
}

/// The message of a wrong value names its flag, and the variable where the value is from there.
#[test]
fn a_wrong_value_is_reported_with_its_variable() {
    let tip = "tip: the value comes from the environment variable GPUBENCH_SHARE";
    let refused =
        |flags: &[&str]| run_with(SUITE, flags, &[("GPUBENCH_SHARE", "3")]).with_code(2).stderr.contains(tip);
    assert!(refused(&["--list"]));
    assert!(!refused(&["--list", "--share", "4"]));
}

#[test]
fn peaks_are_not_measured_by_a_test() {
    run_with(SUITE, &["--measure-peaks", "--test"], &[])
        .with_code(2)
        .says_only("'--measure-peaks' cannot be used with '--test'");
}

/// As a CI has them that leaves a variable out.
#[test]
fn an_empty_variable_is_unset() {
    let help = run_with(SUITE, &["--help"], &[]).with_code(0).stdout;
    let listed = run_with(SUITE, &["--list"], &[]).with_code(0).stdout;
    for name in
        ["GPUBENCH_FILTER", "GPUBENCH_DEVICE", "GPUBENCH_SHARE", "GPUBENCH_RUNS_DIR", "GPUBENCH_CONFIG"]
    {
        let ended = run_with(SUITE, &["--list"], &[(name, "")]).with_code(0);
        assert_eq!((&ended.stdout, &*ended.stderr), (&listed, ""), "{name}");
        assert!(help.contains(name), "{name}: {help}");
    }
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
    for flag in ["--list", "--exact", "--ignored", "--include-ignored", "--energy", "--bench", "--nocapture"]
    {
        _ = run_with(SUITE, &["--list", flag, flag], &[]).with_code(0);
    }
}

#[test]
fn flags_win() {
    let run =
        measured(&["hair", "--device", "clockwork", "--quick"], &[("FILTER", "sweep"), ("DEVICE", "host")]);
    assert_eq!(cases(&run), ["two_devices::hair hot"]);
}

/// Variables that the driver reads are stored without folders, remarked on where they can change times, and compared.
#[test]
fn variables_that_change_times_are_stored_and_remarked_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let baseline = folder.path().join("baseline.json");
    let baseline = baseline.to_str().expect("UTF-8");
    let beat = ["s::beat", "--device", "clockwork", "--quick", "--cache", "hot"];
    let set = [
        ("CUDA_LAUNCH_BLOCKING", "1"),
        ("CUDA_MODULE_LOADING", "EAGER"),
        ("CUDA_MPS_PIPE_DIRECTORY", "/home/someone/mps"),
        ("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "100"),
        ("NVIDIA_TF32_OVERRIDE", ""),
    ];
    let (ended, run) = measure_with(SUITE, &[&beat[..], &["--save-baseline", baseline]].concat(), &set);
    let stored: Vec<(&str, &str)> =
        run.environment.variables.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(
        stored,
        [
            ("CUDA_LAUNCH_BLOCKING", "1"),
            ("CUDA_MODULE_LOADING", "EAGER"),
            ("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "100"),
            ("CUDA_MPS_PIPE_DIRECTORY", "mps"),
        ]
    );
    let remarks: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("CUDA_")).collect();
    assert_eq!(
        remarks,
        [
            "CUDA_LAUNCH_BLOCKING 1: each launch waits for the GPU, so that times on a stream include gaps: unset it",
            "CUDA_MPS_PIPE_DIRECTORY mps: if an MPS server listens there, launches share the GPU with those of its other clients",
        ],
        "{ended}"
    );

    let (ended, run) = measure_with(
        SUITE,
        &[&beat[..], &["--baseline", baseline]].concat(),
        &[("CUDA_LAUNCH_BLOCKING", "0")],
    );
    assert!(!ended.stdout.contains("each launch waits"), "{ended}");
    let check = run.baseline_comparison.expect("it was compared");
    assert_eq!(check.remarks[0], "CUDA_LAUNCH_BLOCKING 0, was 1");
    ended.with_code(0).shows("; CUDA_MODULE_LOADING not set, was EAGER;");
}
