//! Runs in the files of a folder.

use std::fs;

use gpubench_records::NameFilter;
use gpubench_report::history::History;
use gpubench_report::history::add_to_history;

use super::{RULES, run_of, template};

#[test]
fn runs_are_kept_in_files_and_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let template = template();
    let run = run_of(&template, 7, 1, 1e5);
    let (first, first_was_there) = add_to_history(folder, &run, None).expect("it can be added");
    assert!(first.starts_with(folder.join(format!("{:040x}", 7))) && !first_was_there);
    let again = add_to_history(folder, &run, None).expect("it is there");
    assert_eq!(again, (first.clone(), true));
    // Another task of the same second.
    let (other, _) = add_to_history(folder, &run_of(&template, 7, 1, 2e5), None).expect("it can be added");
    assert_ne!(other, first);
    let (named, _) = add_to_history(folder, &run, Some("0123456789")).expect("it can be added");
    assert!(named.starts_with(folder.join("0123456789")));
    let mut unknown = run_of(&template, 8, 2, 1e5);
    unknown.program.package = None;
    add_to_history(folder, &unknown, None).expect("it can be added");
    let contents = fs::read(&first).expect("a file");
    assert!(contents.len() < 1500, "{} bytes for one case", contents.len());

    let read = || History::read(folder, &[]).expect("a folder");
    let report = read().report(RULES);
    assert_eq!((report.runs, report.faults.len(), report.cases[0].series[0].points.len()), (4, 0, 4));
    assert_eq!(
        History::read(folder, &[NameFilter::Text("no such case".to_owned())])
            .expect("a folder")
            .report(RULES)
            .cases
            .len(),
        0
    );

    // A byte that was changed, a file that was cut, and one of another kind are told, and the others are read.
    let text = String::from_utf8(contents.clone()).expect("JSON");
    fs::write(&first, text.replace("100000", "100001")).expect("it can be written");
    fs::write(&other, &contents[..contents.len() / 2]).expect("it can be written");
    fs::write(folder.join("0123456789/foreign.json"), "{\"schema\": \"gpubench/3\"}")
        .expect("it can be written");
    let report = read().report(RULES);
    assert_eq!((report.runs, report.faults.len()), (2, 3), "{:?}", report.faults);
    let told = report.faults.join("\n");
    for words in ["its checksum is another", "cut off", "its format is `gpubench/3`"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let mut empty = run;
    empty.records.clear();
    assert_eq!(
        add_to_history(folder, &empty, None).expect_err("nothing to keep").to_string(),
        "no case of the run has a number that could be kept"
    );
}
