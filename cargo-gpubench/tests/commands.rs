//! The output and the files of each command.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use gpubench_records::Counts;
use gpubench_records::files::Store;
use gpubench_records::record::{Package, Record, Run};
use gpubench_report::export::{FORMATS, HTML, JUNIT};
use gpubench_report::loading::load;
use gpubench_table::Page;
use gpubench_table::export::Format;
use insta::assert_snapshot;

use super::{CommandOutput, PROGRAM, TestProject, corpus, list, recorded, slowed};

/// The same however it is called: by cargo, or by its own name.
#[test]
fn a_report_has_the_table() {
    let project = TestProject::with_runs();
    let report = project.run(&["report", "2026-08-01T12-33-10Z", "--color", "always"]).code(0).stdout();
    assert_eq!(
        report,
        gpubench_table::render(&load(&corpus("gpu.jsonl")).expect("a run").run, Page::default())
    );
    let own_name = Command::new(PROGRAM)
        .args(["report", "2026-08-01T12-33-10Z", "--color", "always"])
        .args(["--home", &project.text("target/gpubench")])
        .output()
        .expect("it runs");
    assert_eq!(String::from_utf8(own_name.stdout).expect("UTF-8"), report);
}

#[test]
fn a_report_has_the_columns_that_the_user_chooses() {
    let project = TestProject::with_runs();
    let report =
        |more: &[&str]| project.run(&[&["report", "2026-08-01T12-33-10Z", "--columns"], more].concat());
    let table = report(&["mean,p99"]).code(0).stdout();
    let head = table.lines().find(|line| line.contains("p99")).expect("a head");
    assert!(head.ends_with(" mean        p99"), "{head}");
    let markdown = report(&["mean,p99", "--markdown", "-"]).code(0).stdout();
    assert!(markdown.contains("| case | cache | mean | p99 | verdict |"), "{markdown}");
    assert!(report(&["p42"]).code(2).stderr().contains("unknown column `p42`: choose from time, "));
}

/// A run is named by its folder, as the last, and by its file; one with invalid cases ends with 1.
#[test]
fn runs_have_several_names() {
    let project = TestProject::with_runs();
    let last = project.run(&["report", "last"]).code(1).stdout();
    assert!(last.contains("faults"), "{last}");
    for name in ["2026-08-02T12-33-10Z", "../target/gpubench/runs/2026-08-02T12-33-10Z"] {
        assert_eq!(project.run(&["report", name]).code(1).stdout(), last);
    }
    let file = "../target/gpubench/runs/2026-08-02T12-33-10Z/records.jsonl";
    assert_eq!(project.run(&["report", file]).code(1).stdout(), last);
    assert!(project.run(&["report", "main"]).code(0).stdout().contains("copy[n=67108864]"));
    let both = project.run(&["report", "main", "last"]).code(1).stdout();
    assert!(both.starts_with("main:\n") && both.contains("\nlast:\n") && both.ends_with(&last), "{both}");
}

/// A file of races is told by its format, whatever it is called.
#[test]
fn a_tuning_is_reported_as_text() {
    let project = TestProject::with_runs();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../gpubench-tune/tests/tuning.json");
    let text = project.run(&["report", file, "--width", "80"]).code(0).stdout();
    assert!(text.contains("tuned::kernel on clockwork, hot: BLOCK, unroll"), "{text}");
    assert!(text.contains("  BLOCK=128, unroll=1 "), "{text}");
    for arguments in
        [&["--explain"][..], &["--columns", "p50"], &["--skip", "kernel"], &["--csv", "-"], &["--html", "-"]]
    {
        let refused = project.run(&[&["report", file], arguments].concat()).code(2).stderr();
        let told =
            "is a tuning: --explain, --columns, files of results and flags that select results are for runs";
        assert!(refused.contains(told), "{refused}");
    }
    let json = fs::read_to_string(file).expect("it is there");
    let copy = |name: &str, json: &str| {
        fs::write(project.path(name), json).expect("it can be written");
        project.text(name)
    };
    let newer = copy("newer.json", &json.replace("gpubench-tuning/2", "gpubench-tuning/3"));
    let refused = project.run(&["report", &newer]).code(2).stderr();
    assert!(refused.contains("read it with the gpubench that wrote it"), "{refused}");
    let lost = copy("lost.json", &json.replace("\"standing\": \"best\"", "\"standing\": \"undecided\""));
    _ = project.run(&["report", &lost]).code(1);
    // It is not written over.
    let refused = project.run(&["report", &lost, "--html", &lost]).code(2).stderr();
    assert!(refused.contains("would be overwritten"), "{refused}");
}

/// By the number in the list, from standard input, and as part of a file with several.
#[test]
fn a_run_is_read_from_wherever_it_is() {
    let project = TestProject::with_runs();
    let table = |name: &str| project.run(&["report", name]).stdout();
    assert_eq!((table("1"), table("2")), (table("2026-08-02T12-33-10Z"), table("2026-08-01T12-33-10Z")));
    for file in [recorded(), corpus("gpu.jsonl")] {
        let input = fs::File::open(&file).expect("it is there");
        let piped = project.run_with(&["report", "-"], input).code(0).stdout();
        assert_eq!(piped, table(file.to_str().expect("UTF-8")));
    }
    let several = project.text("runs.json");
    fs::write(&several, list(&[slowed(1.0), slowed(1.03), slowed(1.02)])).expect("it can be written");
    let shown = project.run(&["report", &several]).code(0).stdout();
    let titles: Vec<&str> = shown.lines().filter(|line| line.starts_with("PROJECT")).collect();
    assert_eq!(titles, ["PROJECT/runs.json#1:", "PROJECT/runs.json#2:", "PROJECT/runs.json#3:"]);
    let second = project.write("second.json", &slowed(1.03));
    assert_eq!(table(&format!("{several}#2")), table(&second));
    assert!(shown.contains(&table(&second)));
    // One of them is written and compared; all of them are merged.
    let part = format!("{several}#2");
    let json = project.run(&["report", &part, "--json", "-"]).code(0).output.stdout;
    assert_eq!(json, fs::read(&second).expect("it is there"));
    _ = project.run(&["compare", "main", &part, "--fail-on-regression", "0.6%"]).code(3);
    // One process on each side does not tell 1 % from what processes differ by.
    let close = project.write("close.json", &slowed(1.01));
    let ended = project.run(&["compare", "main", &close, "--fail-on-regression", "0.6%"]).code(1);
    assert!(
        ended.stdout().contains("gate failed: 2 results slower by as much, and not beyond doubt: "),
        "{}",
        ended.stdout()
    );
    let merged = project.text("merged.json");
    _ = project.run(&["merge", &several, "-o", &merged]).code(0);
    let run = load(merged.as_ref()).expect("a run").run;
    assert!(run.records.iter().all(|record| record.other_processes.len() == 2));
}

/// Stores a run as a benchmark binary does.
fn store_finished(folder: &Path, mut run: Run) {
    let records = std::mem::take(&mut run.records);
    let mut store = Store::create(folder, &run, &[]).expect("it can be written");
    records.iter().try_for_each(|record| store.add(record)).expect("it can be written");
    store.end(&run, false).expect("it can be written");
}

/// Benchmark binaries store their runs in the folder of a variable, and `--home` is stronger.
#[test]
fn runs_are_found_where_benchmark_binaries_store_them() {
    let project = TestProject::with_runs();
    let elsewhere = project.in_home("elsewhere");
    for (second, factor) in [(0, 1.0), (1, 1.5)] {
        let mut run = slowed(factor);
        run.started = 1_785_760_390 + second;
        store_finished(&elsewhere, run);
    }
    let run = |folder: &str, words: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.arg("gpubench").args(words).current_dir(project.path("target")).env_clear();
        let output = command.env("GPUBENCH_RUNS_DIR", folder).output().expect("it runs");
        CommandOutput { output, project: project.path("") }
    };
    let last = |folder: &str, words: &[&str]| run(folder, &[&["report"], words].concat()).stdout();
    let elsewhere = elsewhere.to_str().expect("UTF-8");
    assert_eq!(last(elsewhere, &[]), last(elsewhere, &["2026-08-03T12-33-11Z"]));
    assert!(last(elsewhere, &[]).contains("copy[n=67108864]"));
    let compared = run(elsewhere, &["compare", "--fail-on-regression", "2%"]).stdout();
    assert!(compared.contains("against baseline `2026-08-03T12-33-10Z`"), "{compared}");
    let home = project.text("target/gpubench");
    let usual = last(elsewhere, &["--home", &home]);
    assert!(usual.contains("faults"), "{usual}");
    for none in ["none", ""] {
        assert_eq!(last(none, &["last"]), usual, "{none}");
    }
    let refused = run("", &["report", "--home", &format!("{home}/runs")]).code(2).stderr();
    let message =
        "error: --home PROJECT/target/gpubench/runs is a folder of runs: give the folder that contains it\n";
    assert_eq!(refused, message);
}

#[test]
fn runs_without_a_common_result_are_not_compared() {
    let project = TestProject::with_runs();
    let other = project.text("other.json");
    let mut run = slowed(1.0);
    run.records.iter_mut().for_each(|record| record.case.benchmark += "_of_another_name");
    run.write(&mut fs::File::create(&other).expect("it can be made")).expect("it can be written");
    for words in
        [&["compare", "main", &*other][..], &["compare", "main", &other, "--fail-on-regression", "5%"]]
    {
        let ended = project.run(words).code(4);
        let message = "error: main and PROJECT/other.json have no result in common\n";
        assert_eq!(ended.stderr(), message);
        assert!(ended.stdout().contains("copy_of_another_name"), "{}", ended.stdout());
    }
    _ = project.run(&["compare", "main", "main"]).code(0);
}

/// Those that the examples recorded. Larger ones are stored compressed.
#[test]
fn recorded_lists_of_runs_are_read() {
    let project = TestProject::new();
    for name in ["metrics", "throttle", "transfers"] {
        let file = recorded().with_file_name(format!("{name}-runs.json"));
        let file = file.to_str().expect("UTF-8");
        let json = fs::read(file).expect("it is there");
        let runs: Vec<serde_json::Value> = serde_json::from_slice(&json).expect("a list");
        let shown = project.run(&["report", file]);
        assert!(shown.stderr().is_empty(), "{}", shown.stderr());
        let tables = shown.stdout().matches(" valid, ").count();
        assert_eq!(tables, runs.len(), "{name}");
    }
}

#[test]
fn cases_are_selected_as_by_a_suite() {
    let project = TestProject::with_runs();
    let select = |flags: &[&str]| {
        let json = project.text("selected.json");
        let arguments = [&["report", "2026-08-01T12-33-10Z", "--json", &json], flags].concat();
        _ = project.run(&arguments).code(0);
        let run = load(json.as_ref()).expect("a run").run;
        run.records.iter().map(|record| record.case.to_string()).collect::<Vec<_>>()
    };
    let name = |short: &str| format!("gpubench_kernels::cuda::{short}");
    assert_eq!(select(&["--", "copy"]), [name("copy[n=4096] hot"), name("copy[n=4096] cold")]);
    assert_eq!(select(&["--cache", "cold", "--skip", "copy"]), [name("sum[n=4096] cold")]);
    assert_eq!(select(&["--exact", "--", &name("sum[n=4096]")]).len(), 2);
    assert_eq!(select(&["--device", "0"]).len(), 4);
    assert_eq!(select(&["--arg", "n=4096,1", "--", "copy,sum"]).len(), 4);
    assert_eq!(select(&["--arg", "n=4096", "--skip", "sum,x"]).len(), 2);
}

#[test]
fn a_case_is_explained() {
    let project = TestProject::with_runs();
    let shown = project
        .run(&["report", "2026-08-01T12-33-10Z", "--explain", "--color", "always", "--", "copy"])
        .code(0)
        .stdout();
    let mut run = load(&corpus("gpu.jsonl")).expect("a run").run;
    run.records.retain(|record| record.case.benchmark.contains("copy"));
    run.planned_cases = 2;
    assert_eq!(
        shown,
        format!(
            "{}{}",
            gpubench_table::render(&run, Page::default()),
            gpubench_table::explain(&run, Page::default())
        )
    );
}

/// As `report` does, of the cases that are shown.
#[test]
fn a_failed_case_is_shown_and_ends_with_1() {
    let project = TestProject::with_runs();
    let failed = project.run(&["report", "last", "--", "::fails_when_cold"]).code(1).stdout();
    assert!(failed.contains("failed"), "{failed}");
    _ = project.run(&["report", "last", "--", "::good"]).code(0);
}

/// Whatever shows or writes it.
#[test]
fn a_run_without_records_is_told_by_all() {
    let project = TestProject::with_runs();
    let mut run = slowed(1.0);
    run.records.clear();
    let empty = project.write("empty.json", &run);
    let none = "no records: 2 results planned, 0 skipped";
    for command in [&["report", &*empty][..], &["compare", "main", &empty], &["compare", &empty, &empty]] {
        let ended = project.run(command).code(4);
        assert!(ended.stdout().contains(none) && ended.stderr().is_empty(), "{}", ended.stdout());
    }
    for (format, _) in FORMATS {
        let flag = format!("--{}", format.name);
        let ended = project.run(&["report", &empty, &flag, "-"]).code(4);
        assert_eq!(ended.stderr(), format!("warning: {none}\n"), "{}", format.name);
        let says = [Format::MARKDOWN, HTML, JUNIT].iter().any(|it| it.name == format.name);
        assert_eq!(ended.stdout().contains(none), says, "{}", format.name);
    }
    run.planned_cases = 0;
    let empty = project.write("nothing.json", &run);
    assert!(
        project
            .run(&["report", &empty])
            .code(4)
            .stdout()
            .contains("\nno records: 0 results planned, 0 skipped, in ")
    );
}

/// Packages share a target folder. Without arguments a command takes the runs of the package that the folder is in.
#[test]
fn without_arguments_the_last_runs_of_the_package_are_taken() {
    let project = TestProject::new();
    let store = |second: u32, package: &str, factor: f64| {
        let mut run = slowed(factor);
        run.started = 1_785_587_590 + u64::from(second);
        run.program.suite = format!("{package}/kernels");
        run.program.package = Some(Package { name: package.to_owned(), ..Package::default() });
        store_finished(&project.in_home("runs").join("..").join("runs"), run);
    };
    store(0, "ours", 1.0);
    store(1, "ours", 1.5);
    store(2, "theirs", 1.0);
    let newest = project.run(&["report", "last"]).code(0).stdout();
    assert_eq!(project.run(&["report"]).code(0).stdout(), newest, "a folder without a package");
    fs::write(
        project.path("Cargo.toml"),
        "[package]
name = \"ours\"
",
    )
    .expect("it can be written");
    let ours = project.run(&["report", "2"]).code(0).stdout();
    assert!(ours != newest && project.run(&["report"]).code(0).stdout() == ours);
    let csv = project.run(&["report", "--csv", "-", "--cache", "hot", "--", "copy"]).code(0).stdout();
    assert_eq!(csv.lines().count(), 2, "{csv}");
    let compared = project.run(&["compare", "--fail-on-regression", "5%"]).code(3).stdout();
    assert!(compared.contains("against baseline `2026-08-01T12-33-10Z`"), "{compared}");
    _ = project.run(&["compare", "1", "--fail-on-regression", "5%"]).code(3);
    fs::write(
        project.path("Cargo.toml"),
        "[package]
name = \"theirs\"
",
    )
    .expect("it can be written");
    let none = project.run(&["compare"]).code(4).stderr();
    assert!(none.contains("no earlier complete run of `theirs/kernels`"), "{none}");
    fs::write(
        project.path("Cargo.toml"),
        "[package]
name = \"others\"
",
    )
    .expect("it can be written");
    let none = project.run(&["report"]).code(4).stderr();
    assert!(none.contains("no run of the package `others` in"), "{none}");
}

/// A planted change of 10 % is a regression, or an improvement, beyond doubt; a run is the same as itself.
#[test]
fn a_change_is_found_and_nothing_else() {
    let project = TestProject::with_runs();
    let changed = project.write("changed.json", &slowed(1.1));
    let gate = ["--fail-on-regression", "5%"];
    let found = project.run(&[&["compare", "main", &changed], &gate[..]].concat()).code(3).stdout();
    assert!(
        found.contains("against baseline `main`") && found.contains("2 regressions of 5.00 %"),
        "{found}"
    );
    assert_eq!(found.matches("  slower\n").count(), 2, "{found}");
    let found = project.run(&[&["compare", &changed, "main"], &gate[..]].concat()).code(0).stdout();
    assert!(found.contains("  faster\n") && !found.contains("  slower\n"), "{found}");
    let found = project.run(&[&["compare", "main", "main"], &gate[..]].concat()).code(0).stdout();
    assert!(found.contains("undecided: two runs can differ by ") && !found.contains("  slower\n"), "{found}");
    // Within the band nothing matters.
    let found = project.run(&["compare", "main", &changed, "--equivalence-margin", "50%"]).code(0).stdout();
    assert!(found.contains("same"), "{found}");
}

/// Each way in which a run may have nothing, or not all, to hold against the baseline.
#[test]
fn a_gate_passes_only_what_was_compared() {
    let project = TestProject::with_runs();
    let store = |name: &str, change: fn(&mut Run)| {
        let mut run = slowed(1.0);
        change(&mut run);
        project.write(name, &run)
    };
    let mut told = String::new();
    for (what, code, change) in [
        ("empty", 4, (|run| run.records.clear()) as fn(&mut Run)),
        ("part", 1, |run| run.records.truncate(1)),
        ("others", 4, |run| run.records.iter_mut().for_each(|it| it.case.benchmark += "2")),
        ("other-work", 1, |run| counts(&mut run.records[0]).reads = Some(1)),
        ("other-work-only", 1, |run| run.records.iter_mut().for_each(|it| counts(it).reads = Some(1))),
        ("more", 0, |run| {
            let mut new = run.records[0].clone();
            new.case.benchmark += "2";
            run.records.push(new);
        }),
    ] {
        let later = store(&format!("{what}.json"), change);
        let arguments = ["compare", "main", &later];
        let ended = project.run(&[&arguments[..], &["--fail-on-regression", "5%"]].concat()).code(code);
        let printed = ended.stdout();
        let (_, end) = printed.split_once("regression").unwrap_or(("", &printed));
        let (end, _) = end.split_once("\n\n").unwrap_or((end, ""));
        told += &format!("{what}, {code}: regression{end}\n");
        // Without a gate nothing is judged.
        _ = project.run(&arguments).code(if code == 4 { 4 } else { 0 });
    }
    assert_snapshot!("gates", told);
    // Noise that nobody knows judges nothing.
    let noise = project.run(&["compare", "main", "main", "--fail-on-regression", "noise"]).code(1).stdout();
    assert!(noise.contains("gate failed: 2 results whose noise is unknown"), "{noise}");
}

#[test]
fn merged_runs_have_the_samples_of_all() {
    let project = TestProject::with_runs();
    let runs = [1.0, 1.01, 1.02, 1.03].map(slowed);
    let name = |number: usize| project.write(&format!("{number}.json"), &runs[number]);
    let names = [0, 1, 2, 3].map(name);
    let merged = project.text("merged.json");
    _ = project.run(&["merge", "main", &names[1], &names[2], "-o", &merged]).code(0);
    let run = load(merged.as_ref()).expect("a run").run;
    let processes: Vec<usize> = run.records.iter().map(|record| 1 + record.other_processes.len()).collect();
    assert_eq!(processes, [3, 3]);
    // Merged once more, nothing is lost.
    let again = project.text("again.json");
    _ = project.run(&["merge", &merged, &names[3], "--output", &again]).code(0);
    let run = load(again.as_ref()).expect("a run").run;
    assert!(run.records.iter().all(|record| record.other_processes.len() == 3));
    let samples = |run: &Run| -> usize {
        let measured = run.records.iter().flat_map(|it| it.measurement.iter().chain(&it.other_processes));
        measured.map(|it| it.samples.event_times.len()).sum()
    };
    assert_eq!(samples(&run), runs.iter().map(samples).sum::<usize>());
    assert!(project.run(&["report", &again]).code(0).stdout().contains("processes"));
}

/// Returns a file without the number of the process that wrote it, which CodSpeed's format has.
fn without_process(file: Vec<u8>) -> String {
    let text = String::from_utf8(file).expect("UTF-8");
    let Some((before, after)) = text.split_once("\"pid\":") else { return text };
    before.to_owned() + after.trim_start_matches(|letter: char| letter == ' ' || letter.is_ascii_digit())
}

/// Every format, on standard output and in a file, as the exporter writes it.
#[test]
fn runs_are_written_in_every_format() {
    let project = TestProject::with_runs();
    let run = load(&recorded()).expect("a run").run;
    for (format, _) in FORMATS {
        let mut expected = Vec::new();
        (format.write)(&run, &mut expected).expect("a vector takes everything");
        let (file, from) = (project.text(format.name), recorded());
        let (flag, from) = (format!("--{}", format.name), from.to_str().expect("UTF-8"));
        _ = project.run(&["report", from, &flag, &file]).code(0);
        let expected = without_process(expected);
        assert!(without_process(fs::read(&file).expect("it is there")) == expected, "{}", format.name);
        let reported = project.run(&["report", from, &flag, "-"]).code(0).output.stdout;
        assert!(
            without_process(reported) == expected,
            "standard output carries nothing else than {}",
            format.name
        );
    }
}

/// A terminal shows control characters by their codes; files and pipes have them as they are.
#[test]
fn no_name_moves_the_cursor() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let project = TestProject::new();
    let mut run = slowed(1.0);
    let name = "\u{1b}[31mred\u{7}\u{9b}, \"千\"";
    run.records.iter_mut().for_each(|record| name.clone_into(&mut record.case.benchmark));
    let run = project.write("run.json", &run);
    for arguments in [&["report", &run, "--csv", "-"][..], &["report", &run]] {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("it is ours");
        let theirs = ptsname(&ours, Vec::new()).expect("it has a name");
        let theirs =
            fs::OpenOptions::new().write(true).open(theirs.to_str().expect("UTF-8")).expect("it opens");
        let mut command = Command::new(PROGRAM);
        command.args(arguments).env_clear().env("NO_COLOR", "1").stdout(theirs);
        let mut child = command.spawn().expect("it runs");
        // Closes their end here.
        drop(command);
        let mut shown = Vec::new();
        // Where the other end is closed, Linux tells of an error instead of an end.
        _ = fs::File::from(ours).read_to_end(&mut shown);
        let shown = String::from_utf8(shown).expect("UTF-8");
        assert!(
            child.wait().expect("it ends").success() && shown.contains("\\u{1b}[31mred\\u{7}\\u{9b}"),
            "{shown}"
        );
        assert!(!shown.contains(|c: char| c.is_control() && !"\r\n".contains(c)), "{shown:?}");
    }
    let piped = project.run(&["report", &run, "--csv", "-"]).code(0).stdout();
    let file = project.text("run.csv");
    _ = project.run(&["report", &run, "--csv", &file]).code(0);
    for csv in [piped, fs::read_to_string(&file).expect("UTF-8")] {
        assert!(csv.contains("\u{1b}[31mred\u{7}\u{9b}, \"\"千\"\""), "{csv}");
    }
}

/// A reader that has seen enough is no error.
#[test]
fn a_closed_pipe_is_no_error() {
    for arguments in [["report", "--json", "-"], ["report", "--color", "never"]] {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .arg(recorded())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut first = [0];
        child.stdout.take().expect("a pipe").read_exact(&mut first).expect("it prints");
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!((ended.status.code(), ended.stderr), (Some(0), Vec::new()));
    }
}

fn counts(record: &mut Record) -> &mut Counts {
    &mut record.measurement.as_mut().expect("it was measured").counts
}

#[test]
fn completions_are_printed() {
    let project = TestProject::new();
    let script = project.run(&["--completions", "bash"]).code(0).stdout();
    assert!(script.contains("cargo-gpubench") && script.contains("--fail-on-regression"), "{script}");
    let nothing = project.run(&[]).code(2).stderr();
    assert!(nothing.contains("Usage: cargo gpubench"), "{nothing}");
    let no_command = project.run(&["--color", "never"]).code(2).stderr();
    assert!(no_command.contains("give a command"), "{no_command}");
}
