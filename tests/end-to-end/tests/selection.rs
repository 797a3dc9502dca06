//! Selection of cases: listed for people, runners and programs, and chosen by filter, argument, cache state and device.

use std::fs;
use std::time::Duration;

use end_to_end::running::{cases, measure, run};

const SUITE: &str = env!("CARGO_BIN_EXE_two_devices");

/// The names that `--list` shows for these arguments.
#[track_caller]
fn listed(arguments: &[&str]) -> Vec<String> {
    let ended = run(SUITE, &[&["--list", "--format", "terse"], arguments].concat()).with_code(0);
    assert_eq!(ended.stderr, "", "{ended}");
    let name = |line: &str| line.strip_suffix(": benchmark").expect("a terse line").to_owned();
    ended.stdout.lines().map(name).collect()
}

/// The cases that are measured on the clockwork for these arguments.
#[track_caller]
fn measured(arguments: &[&str]) -> Vec<String> {
    let (ended, run) = measure(SUITE, &[&["--quick", "--device", "clockwork"], arguments].concat());
    _ = ended.with_code(0);
    cases(&run)
}

#[test]
fn pretty_lists_are_for_people() {
    insta::assert_snapshot!(run(SUITE, &["--list"]).with_code(0).stdout, @"
    two_devices::beat: benchmark
    two_devices::between_steps: benchmark
    two_devices::hair: benchmark
    two_devices::tick_tock: benchmark
    two_devices::tick_tock_in_haste: benchmark
    two_devices::wakes_up: benchmark
    two_devices::sorts: benchmark
    two_devices::needs_its_reset: benchmark
    two_devices::sweep[n=1]: benchmark
    two_devices::sweep[n=2]: benchmark
    two_devices::sweep[n=10]: benchmark
    two_devices::grid[n=1, unit=Tick]: benchmark
    two_devices::grid[n=1, unit=Tock]: benchmark
    two_devices::grid[n=2, unit=Tick]: benchmark
    two_devices::grid[n=2, unit=Tock]: benchmark
    two_devices::inner::beat[size=one]: benchmark
    two_devices::inner::beat[size=three]: benchmark
    two_devices::needs_its_reset_on_the_host: benchmark
    two_devices::rows: benchmark
    two_devices::sum[n=1024]: benchmark

    20 benchmarks, 24 results (hot and cold count as two)
    ");
}

#[test]
fn terse_lists_are_for_test_runners() {
    let ended = run(SUITE, &["--list", "--format", "terse", "sweep"]).with_code(0);
    let lines = ["two_devices::sweep[n=1]", "two_devices::sweep[n=2]", "two_devices::sweep[n=10]"];
    assert_eq!(ended.stdout, lines.map(|line| format!("{line}: benchmark\n")).concat());
    assert_eq!(ended.stderr, "");
}

/// As libtest has it: the list, and no test.
#[test]
fn a_list_of_tests_is_a_list() {
    let [list, tests] =
        [&["--list", "sweep"][..], &["--test", "--list", "sweep"]].map(|flags| run(SUITE, flags));
    assert_eq!((tests.code, &tests.stdout), (Some(0), &list.with_code(0).stdout));
}

#[test]
fn json_lists_are_for_programs() {
    insta::assert_snapshot!(run(SUITE, &["--list", "--format", "json", "two_devices::beat", "sum"]).with_code(0).stdout, @r#"
    {"name":"two_devices::beat","device":"clockwork","caches":["hot","cold"]}
    {"name":"two_devices::sum[n=1024]","device":"host","caches":["hot","cold"]}
    "#);
}

#[test]
fn nothing_is_ignored_and_nothing_to_list_is_no_error() {
    for arguments in [&["--ignored"] as &[&str], &["no_such"], &["--ignored", "no_such"]] {
        assert_eq!(listed(arguments), [""; 0], "{arguments:?}");
    }
}

#[test]
fn a_device_chooses_what_is_listed() {
    assert_eq!(
        listed(&["--device", "host"]),
        ["two_devices::needs_its_reset_on_the_host", "two_devices::rows", "two_devices::sum[n=1024]"]
    );
}

/// A benchmark whose arguments cannot be listed is in the list nevertheless.
#[test]
fn a_benchmark_whose_arguments_panic_is_listed() {
    let ended = run(env!("CARGO_BIN_EXE_faults"), &["--list", "--format", "terse"]).with_code(0);
    ended.shows("faults::list_panics");
}

/// cargo-nextest lists, and then runs each name that it read.
#[test]
fn each_listed_name_selects_itself() {
    let all = listed(&["--skip", "grid"]);
    assert_eq!(all.len(), 16);
    for name in &all {
        assert_eq!(listed(&["--exact", name, "--nocapture", "--bench"]), [name.as_str()]);
    }
}

/// A line break in a value would make two lines of one for a test runner.
#[test]
fn so_does_one_with_line_breaks_and_escapes() {
    let suite = env!("CARGO_BIN_EXE_odd_names");
    let list = |arguments: &[&str]| {
        let ended = run(suite, &[&["--list", "--format", "terse"], arguments].concat()).with_code(0);
        ended.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let odd = [
        r"odd_names::odd[text=two\nlines: benchmark]: benchmark",
        r"odd_names::odd[text=\u{1b}[31mred\u{7}]: benchmark",
        "odd_names::odd[text=plain]: benchmark",
    ];
    assert_eq!(list(&["::odd"]), odd);
    for line in odd {
        let name = line.strip_suffix(": benchmark").expect("a terse line");
        assert_eq!(list(&["--exact", name]), [line]);
        run(suite, &["--exact", name, "--samples", "9"]).with_code(0).shows("1 valid");
    }
}

/// No name, argument, condition, error or path colours a terminal or moves its cursor, wherever it is printed.
#[test]
fn escapes_are_shown_and_not_printed() {
    let suite = env!("CARGO_BIN_EXE_odd_names");
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let [json, csv, markdown] = ["json", "csv", "md"].map(path);
    let missing = path("\u{1b}[31m/x.json");
    for (arguments, code, shown) in [
        (&["--list"] as &[&str], 0, r"(skipped: \u{1b}[2Jnever)"),
        (&["--test"], 1, r"\u{1b}]0;title\u{7}gone"),
        (&["--quick", "--explain"], 1, r"\u{1b}]0;title\u{7}gone"),
        (
            &["--quick", "--json", &json, "--csv", &csv, "--markdown", &markdown],
            1,
            r"text=\u{1b}[31mred\u{7}",
        ),
        (&["--quick", "--baseline", &json], 1, r"text=\u{1b}[31mred\u{7}"),
        (&["--json", &missing], 2, r"\u{1b}[31m/x.json"),
        (&["\u{1b}[2J"], 4, r"\u{1b}[2J"),
        (&["--baseline", "\u{1b}[2J"], 2, r"\u{1b}[2J"),
    ] {
        let ended = run(suite, arguments).with_code(code);
        let printed = ended.stdout.clone() + &ended.stderr;
        assert!(printed.contains(shown), "{arguments:?}: {printed}");
        assert!(!printed.contains(|c: char| c.is_control() && c != '\n'), "{arguments:?}: {printed:?}");
    }
    let text = fs::read_to_string(&markdown).expect("it was written");
    assert!(text.contains("31mred"), "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text}");
}

/// The name of a case with several arguments has a comma in it.
#[test]
fn so_does_one_with_several_arguments() {
    let name = "two_devices::grid[n=1, unit=Tick]";
    assert_eq!(listed(&["--exact", name]), [name]);
    assert_eq!(listed(&["grid", "--exact", "--skip", name]).len(), 0);
    assert_eq!(listed(&["grid", "--skip", "n=1, unit=Tick"]).len(), 3);
}

#[test]
fn a_test_runner_measures_one_case_by_its_name() {
    assert_eq!(
        measured(&["--exact", "two_devices::sweep[n=1]", "--nocapture", "--bench"]),
        ["two_devices::sweep[n=1] hot"]
    );
}

#[test]
fn filters_are_parts_of_names_and_add_up() {
    assert_eq!(listed(&["sweep[n=1"]), ["two_devices::sweep[n=1]", "two_devices::sweep[n=10]"]);
    assert_eq!(listed(&["sweep[n=2", "hair"]), ["two_devices::hair", "two_devices::sweep[n=2]"]);
    assert_eq!(
        listed(&["inner::"]),
        ["two_devices::inner::beat[size=one]", "two_devices::inner::beat[size=three]"]
    );
}

#[test]
fn exact_filters_are_whole_names() {
    assert_eq!(listed(&["--exact", "two_devices::beat"]), ["two_devices::beat"]);
    assert_eq!(listed(&["--exact", "two_devices::sweep"]), [""; 0]);
    assert_eq!(listed(&["--exact", "beat"]), [""; 0]);
}

#[test]
fn skips_take_away_from_what_filters_chose() {
    let left = ["two_devices::sweep[n=2]", "two_devices::sweep[n=10]"];
    assert_eq!(listed(&["sweep", "--skip", "n=1]"]), left);
    assert_eq!(listed(&["sweep", "--exact", "--skip", "n=1]", "two_devices::sweep[n=2]"]), left[..1]);
    assert_eq!(listed(&["--exact", "--skip", "two_devices::beat"]).len(), 19);
}

#[test]
fn arguments_replace_those_that_are_listed() {
    assert_eq!(measured(&["sweep", "--arg", "n=2"]), ["two_devices::sweep[n=2] hot"]);
    // Not listed, in the order given, from two flags.
    assert_eq!(
        measured(&["sweep", "--arg", "n=7, 1", "--arg", "n=3"]),
        ["two_devices::sweep[n=7] hot", "two_devices::sweep[n=1] hot", "two_devices::sweep[n=3] hot"]
    );
    assert_eq!(
        measured(&["grid", "--arg", "unit=Tock", "--arg", "n=5"]),
        ["two_devices::grid[n=5, unit=Tock] hot"]
    );
    // A filter looks at the names that come out.
    assert_eq!(measured(&["sweep[n=7]", "--arg", "n=7,8"]), ["two_devices::sweep[n=7] hot"]);
}

#[test]
fn an_argument_leaves_benchmarks_without_it_alone() {
    let expected = ["two_devices::hair hot", "two_devices::sweep[n=5] hot"];
    assert_eq!(measured(&["hair", "sweep", "--arg", "n=5"]), expected);
}

/// A case is known by its name, so that it is measured once.
#[test]
fn a_value_given_twice_is_one_case() {
    assert_eq!(measured(&["sweep", "--arg", "n=5,5"]), ["two_devices::sweep[n=5] hot"]);
}

#[test]
fn filters_between_slashes_are_regular_expressions() {
    let sweep = |n: u32| format!("two_devices::sweep[n={n}] hot");
    assert_eq!(measured(&["/sweep.n=(1|2)]$/"]), [sweep(1), sweep(2)]);
    assert_eq!(measured(&["sweep", "--skip", "/=1/"]), [sweep(2)]);
    // A whole name is no expression.
    run(SUITE, &["--exact", "/sweep/"]).with_code(4).says_only("no benchmark matches `/sweep/`");
    run(SUITE, &["/sweep[/"])
        .with_code(2)
        .says_only("the filter `/sweep[/` is not a valid regular expression: ");
}

#[test]
fn sizes_are_written_as_people_do() {
    let of = |values: &str| measured(&["sweep", "--arg", values]);
    let sweep = |n: u32| format!("two_devices::sweep[n={n}] hot");
    assert_eq!(of("n=1k,1Ki,2^3"), [sweep(1000), sweep(1024), sweep(8)]);
    run(SUITE, &["sweep", "--arg", "n=1.0001k"]).with_code(2).says_only(
        "--arg n: `1.0001k` cannot be read as a value of `n`; the benchmark's own values are 1, 2, 10",
    );
}

#[test]
fn a_filter_that_matches_nothing_beside_others_is_told() {
    let (ended, run_of) = measure(SUITE, &["hair", "no_such", "/x{9}/", "--device", "clockwork", "--quick"]);
    ended.with_code(0).shows("no benchmark matches `no_such` or `/x{9}/`");
    assert_eq!(run_of.notes, ["no benchmark matches `no_such` or `/x{9}/`"]);
    assert_eq!(cases(&run_of), ["two_devices::hair hot"]);
}

#[test]
fn the_cache_state_is_the_users_choice() {
    let (hot, cold) = ("two_devices::beat hot", "two_devices::beat cold");
    let sweep = ["two_devices::sweep[n=1] hot", "two_devices::sweep[n=1] cold"];
    assert_eq!(measured(&["s::beat"]), [hot, cold]);
    assert_eq!(measured(&["s::beat", "--cache", "hot"]), [hot]);
    assert_eq!(measured(&["s::beat", "--cache", "cold"]), [cold]);
    assert_eq!(measured(&["sweep[n=1]"]), sweep[..1]);
    assert_eq!(measured(&["sweep[n=1]", "--cache", "cold"]), sweep[1..]);
    assert_eq!(measured(&["sweep[n=1]", "--cache", "both"]), sweep);
}

/// Ten thousand cases of a hundred benchmarks, in order, at 20 µs a case; a list whose time grows with the square takes seconds. What counts
/// is the best of ten times of the benchmark binary and its worker on a processor, which vary by a third on a shared machine.
#[test]
fn long_lists_take_no_time() {
    let list = || {
        let timed = "\"$@\" && times >&2";
        let many = ["-c", timed, "sh", env!("CARGO_BIN_EXE_many"), "--list", "--format", "terse"];
        let ended = run("sh", &many).with_code(0);
        (processor_time(&ended.stderr), ended.stdout)
    };
    let (least, listed) = (0..10).map(|_| list()).min().expect("there are ten");
    let modules = ('a'..='j').flat_map(|tens| ('k'..='t').map(move |ones| (tens, ones)));
    let names = modules.flat_map(|(tens, ones)| {
        (0..100).map(move |n| format!("many::{tens}::{ones}::advance[n={n}]: benchmark\n"))
    });
    assert_eq!(listed, names.collect::<String>());
    assert!(least < Duration::from_millis(200), "{least:?}");
}

/// The time of the children of a shell, from its second line of `times`: `0m0.05s 0m0.01s`, of their code and for it in the system.
fn processor_time(times: &str) -> Duration {
    let children = times.lines().nth(1).unwrap_or_else(|| panic!("{times}"));
    let seconds = |time: &str| {
        let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
        Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
    };
    let times = children.split_whitespace().map(|time| seconds(time).unwrap_or_else(|| panic!("{times}")));
    Duration::from_secs_f64(times.sum())
}
