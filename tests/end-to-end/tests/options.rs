//! The attribute's options in a run: the cases, their names and selection, and the words of their rows.

use std::collections::HashSet;

use end_to_end::running::{cases, measure, measure_with, record, run};
use gpubench_records::Link;
use gpubench_records::record::Run;
use gpubench_records::verdict::State;

const SUITE: &str = env!("CARGO_BIN_EXE_options");
const FORMS: &str = env!("CARGO_BIN_EXE_forms");
const CLOCKWORK: [&str; 3] = ["--quick", "--device", "clockwork"];

#[track_caller]
fn options(arguments: &[&str]) -> Run {
    let (ended, run) = measure(SUITE, &[&CLOCKWORK[..], arguments].concat());
    _ = ended.with_code(0);
    run
}

#[track_caller]
fn listed(arguments: &[&str]) -> Vec<String> {
    let ended = run(SUITE, &[&["--list", "--format", "terse"], arguments].concat()).with_code(0);
    ended.stdout.lines().map(|line| line.replace("options::", "").replace(": benchmark", "")).collect()
}

/// The median of a case in steps of the clock.
#[track_caller]
fn steps(run: &Run, case: &str) -> f64 {
    let record = record(run, &format!("options::{case} hot"));
    record.measurement.as_ref().unwrap_or_else(|| panic!("{:?}", record.verdict)).median().0 / 32.0
}

#[test]
fn everything_is_listed_in_the_order_of_the_source() {
    insta::assert_snapshot!(run(SUITE, &["--list"]).with_code(0).stdout, @"
    options::generic[T=u8, BLOCK=1, n=1]: benchmark
    options::generic[T=u8, BLOCK=1, n=3]: benchmark
    options::generic[T=u8, BLOCK=2, n=1]: benchmark
    options::generic[T=u8, BLOCK=2, n=3]: benchmark
    options::generic[T=f32, BLOCK=1, n=1]: benchmark
    options::generic[T=f32, BLOCK=1, n=3]: benchmark
    options::generic[T=f32, BLOCK=2, n=1]: benchmark
    options::generic[T=f32, BLOCK=2, n=3]: benchmark
    options::on_both[S=Clockwork]: benchmark
    options::zipped[a=1, n=1, m=one]: benchmark
    options::zipped[a=1, n=2, m=two]: benchmark
    options::zipped[a=1, n=3, m=three]: benchmark
    options::zipped[a=2, n=1, m=one]: benchmark
    options::zipped[a=2, n=2, m=two]: benchmark
    options::zipped[a=2, n=3, m=three]: benchmark
    options::zipped_unevenly: benchmark
    options::nightly tests::ignored: benchmark (ignored)
    options::nightly tests::tagged: benchmark
    options::named::by another name: benchmark
    options::first of two[n=1]: benchmark
    options::second of two[n=2]: benchmark
    options::odd[n=1]: benchmark
    options::odd[n=2]: benchmark (skipped: only odd sizes)
    options::odd[n=3]: benchmark
    options::odd[n=4]: benchmark (skipped: only odd sizes)
    options::cannot_say[n=1]: benchmark
    options::cannot_say[n=0]: benchmark
    options::up: benchmark
    options::across: benchmark
    options::never_ends: benchmark
    options::squares[n=1000]: benchmark
    options::squares[n=100000]: benchmark
    options::counts_nothing[n=0]: benchmark
    options::counts_nothing[n=1]: benchmark
    options::own_metrics[n=0]: benchmark
    options::own_metrics[n=1000]: benchmark
    options::wrong: benchmark
    options::on_both[S=host::Stream]: benchmark

    38 benchmarks: 2 skipped, 1 ignored; the others give 36 results (hot and cold count as two)
    ");
}

#[test]
fn types_and_constants_are_cases() {
    let run = options(&["generic"]);
    assert_eq!(run.records.len(), 8);
    assert_eq!(steps(&run, "generic[T=u8, BLOCK=1, n=1]"), 100.0);
    assert_eq!(steps(&run, "generic[T=u8, BLOCK=2, n=3]"), 600.0);
    assert_eq!(steps(&run, "generic[T=f32, BLOCK=2, n=1]"), 800.0);
    assert_eq!(steps(&run, "generic[T=f32, BLOCK=1, n=3]"), 1200.0);
}

#[test]
fn types_and_constants_are_selected_among_those_that_are_listed() {
    assert_eq!(
        listed(&["generic", "--arg", "T=f32", "--arg", "n=5"]),
        ["generic[T=f32, BLOCK=1, n=5]", "generic[T=f32, BLOCK=2, n=5]"]
    );
    let run = options(&["generic", "--arg", "T=f32", "--arg", "BLOCK=2", "--arg", "n=5"]);
    assert_eq!((cases(&run).len(), steps(&run, "generic[T=f32, BLOCK=2, n=5]")), (1, 4000.0));
    for (given, words) in [
        ("T=f64", "--arg T: `f64` is none of `T` (it has u8, f32) (benchmark options::generic)"),
        ("BLOCK=3", "--arg BLOCK: `3` is none of `BLOCK` (it has 1, 2)"),
    ] {
        end_to_end::running::run(SUITE, &["generic", "--arg", given]).with_code(2).says_only(words);
    }
}

#[test]
fn one_function_runs_on_two_devices() {
    let (ended, run) = measure(SUITE, &["--quick", "on_both", "--device", "all"]);
    _ = ended.with_code(0);
    let found: HashSet<(String, &str)> =
        run.records.iter().map(|record| (record.case.name(), record.device.as_str())).collect();
    let expected = [("Clockwork", "clockwork"), ("host::Stream", "host")];
    let expected = expected.map(|(stream, device)| (format!("options::on_both[S={stream}]"), device));
    assert_eq!(found, HashSet::from(expected));
    assert_eq!(steps(&run, "on_both[S=Clockwork]"), 100.0);
    assert_eq!(listed(&["on_both", "--arg", "S=host::Stream"]), ["on_both[S=host::Stream]"]);
}

#[test]
fn zipped_arguments_go_together() {
    let zipped = |arguments: &[&str]| listed(&[&["zipped["], arguments].concat());
    assert_eq!(
        zipped(&[]),
        [
            "zipped[a=1, n=1, m=one]",
            "zipped[a=1, n=2, m=two]",
            "zipped[a=1, n=3, m=three]",
            "zipped[a=2, n=1, m=one]",
            "zipped[a=2, n=2, m=two]",
            "zipped[a=2, n=3, m=three]",
        ]
    );
    assert_eq!(
        zipped(&["--arg", "n=3,1", "--arg", "a=1"]),
        ["zipped[a=1, n=1, m=one]", "zipped[a=1, n=3, m=three]"]
    );
    // Values of their own come for all of them.
    let own = ["--arg", "n=7,8", "--arg", "m=seven,eight", "--arg", "a=1"];
    assert_eq!(zipped(&own), ["zipped[a=1, n=7, m=seven]", "zipped[a=1, n=8, m=eight]"]);
    let run = options(&[&["zipped["], &own[..]].concat());
    assert_eq!(steps(&run, "zipped[a=1, n=8, m=eight]"), 4000.0);

    let refused = |arguments: &[&str], words| {
        end_to_end::running::run(SUITE, &[&["zipped["], arguments].concat()).with_code(2).says_only(words);
    };
    refused(
        &["--arg", "n=7"],
        "--arg n: `7` is not listed: `n` goes together with `m`, which must be given too",
    );
    refused(&["--arg", "n=1,2", "--arg", "m=one"], "`n` has 2 values where `m` has 1");
}

#[test]
fn zipped_arguments_of_different_lengths_are_that_benchmarks_failure() {
    let (ended, run) = measure(SUITE, &[&CLOCKWORK[..], &["zipped_unevenly"]].concat());
    _ = ended.with_code(1);
    let record = record(&run, "options::zipped_unevenly hot");
    let told = record.verdict.reasons[0].to_string();
    assert_eq!(told, "args: `n` and `m` go together, and `n` has 3 values where `m` has 2");
}

#[test]
fn ignored_benchmarks_wait_until_they_are_asked_for() {
    let (ignored, tagged) = ("options::nightly tests::ignored", "options::nightly tests::tagged");
    let measured = |arguments: &[&str]| cases(&options(&[&["nightly"], arguments].concat()));
    let both = |name: &str| [format!("{name} hot"), format!("{name} cold")];
    let run_of_group = options(&["nightly"]);
    let of_group = record(&run_of_group, &format!("{tagged} hot"));
    let group = of_group.measurement.as_ref().and_then(|measured| measured.group.as_deref());
    assert_eq!(group, Some("nightly tests"), "the page draws its benchmarks together");
    assert_eq!(measured(&[]), both(tagged));
    assert_eq!(measured(&["--ignored"]), both(ignored));
    assert_eq!(measured(&["--include-ignored"]), [both(ignored), both(tagged)].concat());
    // As test runners expect: a list shows all, or the ignored ones alone.
    assert_eq!(listed(&["nightly"]).len(), 2);
    assert_eq!(listed(&["--ignored"]), ["nightly tests::ignored"]);
    run(SUITE, &["--exact", ignored])
        .with_code(4)
        .says_only("except 1 with `ignore`, which --include-ignored measures too");
}

#[test]
fn tags_select_benchmarks() {
    assert_eq!(listed(&["--tag", "nightly"]), ["nightly tests::ignored", "nightly tests::tagged"]);
    assert_eq!(listed(&["--tag", "long,no_such"]), ["nightly tests::ignored", "named::by another name"]);
    assert_eq!(listed(&["--tag", "long", "named"]), ["named::by another name"]);
    run(SUITE, &["--tag", "no_such"]).with_code(4).says_only("no benchmark matches the tag `no_such` on ");
}

#[test]
fn a_function_annotated_twice_is_two_benchmarks() {
    let run = options(&["of two"]);
    assert_eq!(steps(&run, "first of two[n=1]"), 100.0);
    assert_eq!(steps(&run, "second of two[n=2]"), 200.0);
}

#[test]
fn what_is_skipped_says_why_and_fails_nothing() {
    let (ended, run) = measure(SUITE, &[&CLOCKWORK[..], &["::odd", "--color", "never"]].concat());
    let ended = ended.with_code(0);
    assert_eq!(cases(&run), ["options::odd[n=1] hot", "options::odd[n=3] hot"]);
    let skipped: Vec<_> =
        run.skipped.iter().map(|skipped| (skipped.name(), skipped.reason.as_str())).collect();
    let even = |n| (format!("options::odd[n={n}]"), "only odd sizes");
    assert_eq!(skipped, [even(2), even(4)]);
    ended.shows("skipped by `skip_if`: options::odd[n=2], options::odd[n=4]: only odd sizes");
    ended.shows("2 results: 2 valid, 0 suspect, 0 invalid, 2 results skipped, in ");

    // Nothing else is asked for, and that is well.
    let (ended, run) = measure(SUITE, &[&CLOCKWORK[..], &["odd[n=2]"]].concat());
    ended.with_code(0).shows("skipped by `skip_if`: options::odd[n=2]: only odd sizes");
    assert_eq!((run.records.len(), run.planned_cases), (0, 0));
    // The condition is asked of values from the command line too.
    assert_eq!(options(&["::odd", "--arg", "n=6,7"]).skipped[0].name(), "options::odd[n=6]");
}

#[test]
fn a_condition_that_panics_costs_its_own_case() {
    let (ended, run) = measure(SUITE, &[&CLOCKWORK[..], &["cannot_say"]].concat());
    _ = ended.with_code(1);
    assert_eq!(record(&run, "options::cannot_say[n=1] hot").verdict.state, State::Valid);
    let told = record(&run, "options::cannot_say[n=0] hot").verdict.reasons[0].to_string();
    assert!(told.starts_with("args: panicked at ") && told.contains("divide by zero"), "{told}");
}

/// Whatever the function looks like, its row is that of its launches.
#[test]
fn functions_are_measured_as_they_are_found() {
    let (ended, run) = measure(FORMS, &CLOCKWORK);
    _ = ended.with_code(0);
    let rows: Vec<(String, f64)> = run
        .records
        .iter()
        .map(|record| {
            let measured = record.measurement.as_ref().expect("it was measured");
            (record.case.name().replace("forms::", ""), measured.median().0 / 32.0)
        })
        .collect();
    let expected = [
        ("of_any_arity", 110.0),
        ("whose_stream_is_first", 120.0),
        ("whose_stream_is_taken", 130.0),
        ("match[type=140]", 140.0),
        ("that_has_boxed_errors", 150.0),
        ("of_a_closure", 160.0),
        ("of_several_launches", 170.0),
        ("private::unseen_outside", 180.0),
        ("private::nested", 190.0),
        ("twenty[steps=200]", 200.0),
        ("twenty_one[steps=210]", 210.0),
        ("under_a_condition", 220.0),
    ];
    assert_eq!(rows, expected.map(|(name, steps)| (name.to_owned(), steps)));
}

/// 100 steps of 32 ns for each block.
#[test]
fn items_have_their_rate_and_their_name() {
    let (ended, run) = measure(SUITE, &[&CLOCKWORK[..], &["generic[T=u8, BLOCK=2, n=3"]].concat());
    let record = record(&run, "options::generic[T=u8, BLOCK=2, n=3] hot");
    let measured = record.measurement.as_ref().expect("it was measured");
    assert_eq!((measured.counts.items, measured.item.as_deref()), (Some(6), Some("blocks")));
    let rate = measured.metrics.items_per_second.expect("items are counted").0;
    assert!((rate * 3.2e-6 - 1.0).abs() < 1e-12, "{rate}");
    ended.shows(" 312    k blocks/s  ");
}

/// In each format, and in none as a number where it is not finite.
#[test]
fn own_metrics_are_shown_as_they_are_or_per_second() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (csv, markdown) = (path("run.csv"), path("run.md"));
    let formats = ["own_metrics", "--explain", "--csv", &csv, "--markdown", &markdown];
    let (ended, run) = measure_with(SUITE, &[&CLOCKWORK[..], &formats].concat(), &[("COLUMNS", "160")]);
    let ended = ended.with_code(1);

    let told = record(&run, "options::own_metrics[n=0] hot").verdict.reasons[0].to_string();
    assert_eq!(told, "counts: metric `fill, left` is inf: it must be finite");
    let of = record(&run, "options::own_metrics[n=1000] hot").measurement.as_ref().expect("it was measured");
    let metrics = of.user_metrics.iter().map(|it| (&*it.name, &*it.unit, (1e6 * it.value).round() / 1e6));
    let expected = [("rows", "krows/s", 312_500.0), ("fill, left", "", 0.003), ("last", "%", 7.0)];
    assert_eq!(metrics.collect::<Vec<_>>(), expected);

    let shown = |text: &str| {
        let is_told = |line: &&str| ["rows", "fill", "last"].iter().any(|name| line.contains(name));
        let lines = text.lines().filter(is_told).filter(|line| !line.contains("[n=0] | hot"));
        lines.map(str::trim).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(shown(&ended.stdout), @r"
    [1] invalid: counts: metric `fill, left` is inf: it must be finite
    time   ± % spread  rows              fill, left        last              samples
    own_metrics[n=1000]  hot    3.200 µs  1.00 ···█··· 312500    krows/s     0.003             7     %           512
    metric    rows 312500 krows/s = 1 krows / 3.200 µs
    metric    fill, left 0.003
    metric    last 7 %
    ");
    let read = |path: &str| std::fs::read_to_string(path).expect("it was written");
    insta::assert_snapshot!(shown(&read(&markdown)), @r"
    | case | cache | time | 95 % interval, ± % | rows | fill, left | last | samples | verdict |
    | options::own\_metrics\[n=1000\] | hot | 3.200 µs | 1.00 | 312500 krows/s | 0.003 | 7 % | 512 |  |
    - **invalid** options::own\_metrics\[n=0\] hot: counts: metric \`fill, left\` is inf: it must be finite
    ");
    let csv = read(&csv);
    let heads = csv.lines().next().expect("a line of heads");
    assert!(heads.ends_with(",metric.rows (krows/s),\"metric.fill, left\",metric.last (%),arg.n"), "{heads}");
    let row = csv.lines().last().expect("a row");
    assert!(row.ends_with(",312500,0.003,7,1000"), "{row}");
}

#[test]
fn bytes_over_a_link_are_not_held_against_the_memory() {
    let (ended, run) = measure(SUITE, &[&CLOCKWORK[..], &["s::up", "s::across"]].concat());
    let of = |case| record(&run, case).measurement.as_ref().expect("it was measured");
    let (up, across) = (of("options::up hot"), of("options::across hot"));
    assert_eq!((up.link, across.link), (Some(Link::H2d), Some(Link::D2d)));
    assert!(up.metrics.bandwidth.is_some() && up.metrics.bandwidth == across.metrics.bandwidth);
    assert_eq!((up.metrics.peak_fractions.len(), across.metrics.peak_fractions.len()), (0, 1));
    ended.with_code(0).shows("h2d link: 1 result, whose peak is not known");
}

#[test]
fn a_benchmark_has_its_own_time_limit_unless_the_user_gives_one() {
    let told = |arguments: &[&str]| {
        let (ended, run) = measure(SUITE, &[&CLOCKWORK[..], &["never_ends"], arguments].concat());
        _ = ended.with_code(1);
        record(&run, "options::never_ends hot").verdict.reasons[0].to_string()
    };
    assert!(told(&[]).contains("took longer than 0.2 s"));
    assert!(told(&["--timeout", "0.5"]).contains("took longer than 0.5 s"));
}

#[test]
fn a_count_does_not_overflow_and_is_at_least_one() {
    let (ended, run) = measure(SUITE, &[&CLOCKWORK[..], &["squares", "counts_nothing"]].concat());
    _ = ended.with_code(1);
    let squares = |n: u32| record(&run, &format!("options::squares[n={n}] hot"));
    let counts = |n| squares(n).measurement.as_ref().map(|measured| measured.counts.flops);
    // The second is more than its arguments' type holds.
    assert_eq!([counts(1_000), counts(100_000)], [Some(Some(1_000_000)), Some(Some(10_000_000_000))]);
    let told = record(&run, "options::counts_nothing[n=0] hot").verdict.reasons[0].to_string();
    assert!(told.contains("counts: `items` is 0: it must be at least 1"), "{told}");
    assert_eq!(record(&run, "options::counts_nothing[n=1] hot").verdict.state, State::Valid);
}
