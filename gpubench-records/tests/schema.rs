//! The JSON Schema of a stored run, `docs/schema/run-3.json`. It is that of the types (`GPUBENCH_WRITE_SCHEMA=1` writes it), and
//! every recorded run fits it, with no key that the schema does not name.

mod schema_checker;

use std::fs;
use std::path::{Path, PathBuf};

use gpubench_records::record::Run;
use serde_json::{Map, Value};

use schema_checker::{Checker, assert_current, schema_of};

fn schema() -> Value {
    schema_of::<Run>("gpubench/3", "A run")
}

#[test]
fn the_schema_is_that_of_the_types() {
    assert_current("run-3.json", &schema(), "gpubench-records");
}

#[test]
fn every_recorded_run_fits_the_schema() {
    let schema = schema();
    let files = recorded(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results"));
    assert!(files.len() > 3, "{files:?}");
    for file in files {
        let run = Run::parse(&fs::read(&file).expect("it is there")).expect("a run");
        let mut json = Vec::new();
        run.write(&mut json).expect("a vector takes everything");
        let json = serde_json::from_slice(&json).expect("JSON");
        let found = Checker { root: &schema }.check(&schema, &json);
        assert_eq!(found, Ok(()), "{}", file.display());
    }
}

#[test]
fn a_key_that_is_missing_unknown_or_of_another_type_is_found() {
    let schema = schema();
    let file = recorded(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results")).remove(0);
    let run = Run::parse(&fs::read(&file).expect("it is there")).expect("a run");
    let whole = serde_json::to_value(&run).expect("JSON");
    let check = |change: &dyn Fn(&mut Map<String, Value>)| {
        let mut run = whole.clone();
        change(run.as_object_mut().expect("a run"));
        Checker { root: &schema }.check(&schema, &run)
    };
    assert_eq!(check(&|_| {}), Ok(()));
    let missing = check(&|run| drop(run.remove("planned_cases")));
    assert_eq!(missing, Err("`planned_cases` is missing".to_owned()));
    let unknown = check(&|run| drop(run.insert("plans".to_owned(), 3.into())));
    assert_eq!(unknown, Err("`plans` is no key".to_owned()));
    let other = check(&|run| drop(run.insert("wall_time".to_owned(), "long".into())));
    assert_eq!(other, Err("wall_time: \"long\" is no \"number\"".to_owned()));
}

/// The recorded runs below `folder`: each JSON that has a text of the same name beside it.
fn recorded(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(recorded(&path));
        } else if path.extension().is_some_and(|extension| extension == "json")
            && path.with_extension("txt").exists()
        {
            found.push(path);
        }
    }
    found.sort();
    found
}
