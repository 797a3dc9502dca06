//! Each error: what is wrong, where, and what to do. Nothing is printed on standard output, and no file is touched.

use std::fs;
use std::os::unix::fs::symlink;

use gpubench_records::method::Path;
use gpubench_records::record::{Measurement, Run};

use super::{TestProject, corpus, list, recorded, slowed};

/// Ends with this code, and says so on standard error alone.
#[track_caller]
fn refused(project: &TestProject, arguments: &[&str], code: i32) -> String {
    let ended = project.run(arguments).code(code);
    assert_eq!(ended.stdout(), "");
    ended.stderr()
}

#[test]
fn files_that_are_no_runs_are_refused() {
    let project = TestProject::with_runs();
    let whole = fs::read_to_string(recorded()).expect("it is there");
    let schema = |version: &str| {
        let known = whole.split('"').find(|text| text.starts_with("gpubench/")).expect("a schema");
        whole.replace(&format!("\"{known}\""), &format!("\"{version}\""))
    };
    let lines = fs::read_to_string(corpus("gpu.jsonl")).expect("it is there");
    let mut told = String::new();
    for (name, contents) in [
        ("empty.json", String::new()),
        ("truncated.json", whole[..3000].to_owned()),
        ("foreign.json", "{\n  \"benchmarks\": [1, 2]\n}\n".to_owned()),
        ("list.json", "[\n1]".to_owned()),
        ("nothing.json", "[]".to_owned()),
        (
            "second.json",
            format!(
                "[{},\n {}]\n",
                whole.trim_end(),
                whole.trim_end().replacen("gpubench/3", "gpubench/99", 1)
            ),
        ),
        ("foreign-list.json", format!("[{},\n\n {{\"a\": 1}}]\n", whole.trim_end())),
        ("negative.json", whole.replacen("\"median\":", "\"median\":-", 1)),
        ("infinite.json", whole.replacen("\"median\":", "\"median\":1e999", 1)),
        ("no.json", "name,time\ncopy,1\n".to_owned()),
        ("newer.json", schema("gpubench/99")),
        ("newer.jsonl", lines.replacen("\"gpubench/3\"", "\"gpubench/99\"", 1)),
        ("truncated.jsonl", lines[..100].to_owned()),
    ] {
        let file = project.text(name);
        fs::write(&file, contents).expect("it can be written");
        told += &refused(&project, &["report", &file], 2);
    }
    insta::assert_snapshot!("files", told);
}

/// Of a run in progress everything is read that is whole.
#[test]
fn a_line_that_is_cut_off_is_told() {
    let project = TestProject::with_runs();
    let lines = fs::read_to_string(corpus("gpu.jsonl")).expect("it is there");
    let file = project.text("cut.jsonl");
    let end = lines.trim_end().len();
    fs::write(&file, &lines[..end - 200]).expect("it can be written");
    let ended = project.run(&["report", &file]).code(0);
    assert!(ended.stdout().contains("copy[n=4096]"), "{}", ended.stdout());
    assert_eq!(
        ended.stderr(),
        "warning: PROJECT/cut.jsonl: its last line is cut off: the case in it is left out\n"
    );
}

/// A name that the user gives is wrong usage, and `last` matches nothing.
#[test]
fn names_of_nothing_are_refused() {
    let project = TestProject::with_runs();
    let empty = TestProject::new();
    let home = empty.text("none");
    let mut told = refused(&project, &["report", "mian"], 2);
    told += &refused(&project, &["report", "last", "--", "nothing"], 4);
    told += &refused(&project, &["report", "last", "--device", "7", "--", "copy"], 4);
    told += &refused(&project, &["report", "2", "--arg", "n=1"], 4);
    told += &refused(&project, &["report", "2", "--arg", "m=1"], 2);
    told += &refused(&project, &["compare", "2", "main", "--arg", "n="], 2);
    told += &refused(&project, &["report", "3"], 2);
    told += &refused(&project, &["report", "0"], 2);
    told += &refused(&project, &["report", "no/such/run.json"], 2);
    told += &refused(&project, &["report", "../target/gpubench/runs"], 2);
    told += &empty.run(&["report", "last", "--home", &home]).code(4).stderr();
    told += &empty.run(&["report", "main", "--home", &home]).code(2).stderr();
    for words in [&["report"][..], &["compare"], &["history"], &["merge", "last", "-o", "x"]] {
        _ = empty.run(&[words, &["--home", &home]].concat()).code(4);
    }
    for words in [&["report", "1"][..], &["compare", "x"], &["history", "x"], &["merge", "x", "-o", "x"]] {
        _ = empty.run(&[words, &["--home", &home]].concat()).code(2);
    }
    insta::assert_snapshot!("names", told);
}

#[test]
fn no_run_is_written_over() {
    let project = TestProject::with_runs();
    let run = project.write("run.json", &slowed(1.0));
    let other = project.write("other.json", &slowed(1.0));
    let before = fs::read(&run).expect("it is there");
    let spelt_otherwise = run.replace("run.json", "./run.json");
    let mut told = refused(&project, &["report", &run, "--csv", &spelt_otherwise], 2);
    told += &refused(&project, &["report", &run, "--bmf", &run], 2);
    told += &refused(&project, &["merge", &run, &other, "-o", &run], 2);
    told += &refused(&project, &["compare", &other, &run, "--json", &run], 2);
    told += &refused(&project, &["report", &run, "--csv", "x", "--bmf", "./x"], 2);
    // Before anything is done, as by a suite.
    told += &refused(&project, &["report", &run, "--csv", "no/such/folder.csv"], 2);
    symlink("new.csv", project.path("src/link")).expect("it can be made");
    told += &refused(&project, &["report", &run, "--csv", "new.csv", "--bmf", "link"], 2);
    symlink(&run, project.path("src/run")).expect("it can be made");
    told += &refused(&project, &["report", &run, "--csv", "run"], 2);
    insta::assert_snapshot!("places", told);
    assert!(fs::read(&run).expect("it is there") == before);
    let stored = project.text("target/gpubench/runs/2026-08-02T12-33-10Z/records.jsonl");
    _ = refused(&project, &["report", "last", "--json", &stored], 2);
    // What fails while it is written is another matter, as by a suite too.
    let full = project.run(&["report", &run, "--csv", "/dev/full"]).code(1);
    assert!(full.stderr().starts_with("error: /dev/full: No space left on device"), "{}", full.stderr());
}

/// Of one case only what repeats its measurement is merged.
#[test]
fn what_is_no_repetition_is_not_merged() {
    let project = TestProject::with_runs();
    let one = project.write("one.json", &slowed(1.0));
    let mut told = String::new();
    for (name, change) in [
        ("same", (|_| ()) as fn(&mut Run)),
        ("bytes", |run| measured(run).for_each(|it| it.counts.reads = Some(7))),
        ("flops", |run| measured(run).for_each(|it| it.counts.flops = Some(7))),
        ("path", |run| measured(run).for_each(|it| it.samples.method.path = Path::Stream)),
        ("suite", |run| run.program.suite = "another".to_owned()),
        ("build", |run| run.program.fingerprint = Some("1".to_owned())),
        ("commit", |run| (run.program.fingerprint, run.program.commit) = (None, Some("1234567".to_owned()))),
    ] {
        let mut run = slowed(if name == "same" { 1.0 } else { 1.01 });
        change(&mut run);
        let other = project.write(&format!("{name}.json"), &run);
        told += &refused(&project, &["merge", &one, &other, "-o", "-"], 2);
    }
    // Part of a merged run is in it already.
    let (two, merged) = (project.write("two.json", &slowed(1.01)), project.text("merged.json"));
    _ = project.run(&["merge", &one, &two, "-o", &merged]).code(0);
    told += &refused(&project, &["merge", &merged, &two, "-o", "-"], 2);
    insta::assert_snapshot!("repetitions", told);
    // Other cases of another build are merged, which is told now and later.
    let mut run = slowed(1.01);
    run.program.fingerprint = Some("1".to_owned());
    run.records.iter_mut().for_each(|record| record.case.benchmark += "2");
    let other = project.write("other.json", &run);
    let together = project.text("together.json");
    let warned = project.run(&["merge", &one, &other, "-o", &together]).code(0).stderr();
    let remark = "merged: another build measured the cases of PROJECT/target/gpubench/other.json than those of \
                  PROJECT/target/gpubench/one.json";
    assert_eq!(warned, format!("warning: {remark}\nwrote PROJECT/together.json\n"));
    assert!(project.run(&["report", &together]).code(0).stdout().starts_with(remark));
}

fn measured(run: &mut Run) -> impl Iterator<Item = &mut Measurement> {
    run.records.iter_mut().filter_map(|record| record.measurement.as_mut())
}

#[test]
fn what_cannot_be_done_is_refused() {
    let project = TestProject::with_runs();
    let (one, mut other) = (slowed(1.0), slowed(1.0));
    other.devices[0].name = "another GPU".to_owned();
    let names = [project.write("one.json", &one), project.write("other.json", &other)];
    let mut told = refused(&project, &["merge", &names[0], &names[1], "-o", "-"], 2);
    told += &refused(&project, &["report", "last", "main", "--csv", "-"], 2);
    told += &refused(&project, &["compare", "main", "last", "--fail-on-regression", "much"], 2);
    told += &refused(&project, &["compare", "main", "last", "--equivalence-margin", "0"], 2);
    told += &refused(&project, &["merge", "last", "-o", "-"], 2);
    told += &refused(&project, &["merge", "-o", "-"], 2);
    let several = project.text("runs.json");
    fs::write(&several, list(&[slowed(1.0), slowed(1.01)])).expect("it can be written");
    for command in [&["compare", "main", &*several][..], &["report", &several, "--csv", "-"]] {
        told += &refused(&project, command, 2);
    }
    told += &refused(&project, &["report", &format!("{several}#3")], 2);
    let verified = refused(&project, &["verify", "--program", "/bin/true"], 2);
    assert!(verified.contains("true: not a benchmark binary: give one that cargo built"), "{verified}");
    told += &refused(&project, &["ab", "main", "--pairs", "99"], 2);
    told += &refused(&project, &["report", "--equivalence-margin", "-1"], 2);
    for command in [
        &["list"][..],
        &["histroy"],
        &["frobnicate"],
        &["report", "--cold"],
        &["report", "--quick"],
        &["ab", "main", "--runs", "3"],
        &["compare", "--fail-on-regression", "-5"],
    ] {
        told += &refused(&project, command, 2);
    }
    for width in ["0", "39", "wide"] {
        told += &refused(&project, &["report", "--width", width], 2);
    }
    insta::assert_snapshot!("usage", told);
}
