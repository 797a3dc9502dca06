//! The JSON Schema of a tuning, `docs/schema/tuning-2.json`. It is that of the types (`GPUBENCH_WRITE_SCHEMA=1` writes it), and a
//! tuning with all its fields fits it, with no key that the schema does not name.

#[path = "../../gpubench-records/tests/schema_checker/mod.rs"]
mod schema_checker;

use std::fs;
use std::path::Path;

use gpubench_tune::Tuning;
use serde_json::Value;

use schema_checker::{Checker, assert_current, schema_of};

fn schema() -> Value {
    schema_of::<Tuning>("gpubench-tuning/2", "A tuning")
}

#[test]
fn the_schema_is_that_of_the_types() {
    assert_current("tuning-2.json", &schema(), "gpubench-tune");
}

/// `tuning.json` is what `--save-tuning` wrote of `tuned kernel broken` (tests/end-to-end), with other names for the machine.
#[test]
fn a_tuning_fits_its_schema() {
    let schema = schema();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tuning.json");
    let tuning = Tuning::parse(&fs::read(&file).expect("it is there")).expect("a tuning");
    let mut json = Vec::new();
    tuning.write(&mut json).expect("a vector takes everything");
    let json: Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(Checker { root: &schema }.check(&schema, &json), Ok(()));
    let mut other = json.clone();
    other["benchmarks"][0]["problems"][0]["variants"][0]["standing"] = "first".into();
    assert!(Checker { root: &schema }.check(&schema, &other).is_err());
    let missing = json.as_object().cloned().map(|mut json| {
        json.remove("method");
        Value::Object(json)
    });
    let found = Checker { root: &schema }.check(&schema, &missing.expect("an object"));
    assert_eq!(found, Err("`method` is missing".to_owned()));
}
