//! `docs/schema/run-2.json`, the JSON Schema of a stored run. In: the types that write runs; out: the committed file is theirs
//! (`GPUBENCH_WRITE_SCHEMA=1` writes it), and every recorded run fits it, with no key that it does not name.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use gpubench_records::record::Run;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schema/run-2.json");

fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Run>().to_value();
    let fields = schema.as_object_mut().expect("a schema of an object");
    fields.insert("$id".to_owned(), "gpubench/2".into());
    fields.insert("title".to_owned(), "A run of gpubench, format gpubench/2".into());
    schema
}

#[test]
fn the_schema_is_that_of_the_types() {
    let schema = serde_json::to_string_pretty(&schema()).expect("JSON") + "\n";
    if env::var_os("GPUBENCH_WRITE_SCHEMA").is_some() {
        fs::write(SCHEMA, &schema).expect("it can be written");
    }
    let committed = fs::read_to_string(SCHEMA).unwrap_or_default();
    assert!(
        committed == schema,
        "docs/schema/run-2.json is not current: GPUBENCH_WRITE_SCHEMA=1 cargo test -p gpubench-records --features schema --test schema"
    );
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
    let missing = check(&|run| drop(run.remove("planned")));
    assert_eq!(missing, Err("`planned` is missing".to_owned()));
    let unknown = check(&|run| drop(run.insert("plans".to_owned(), 3.into())));
    assert_eq!(unknown, Err("`plans` is no key".to_owned()));
    let other = check(&|run| drop(run.insert("wall".to_owned(), "long".into())));
    assert_eq!(other, Err("wall: \"long\" is no \"number\"".to_owned()));
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

/// Checks documents against the keywords that the schema uses, and refuses every other keyword.
struct Checker<'a> {
    root: &'a Value,
}

/// Keywords that say nothing of a document's validity.
const REMARKS: [&str; 8] = ["$schema", "$id", "$defs", "title", "description", "default", "format", "$ref"];

impl Checker<'_> {
    fn check(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let keywords = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Object(keywords) => keywords,
            _ => return Err(format!("`{schema}` is no schema")),
        };
        if let Some(path) = keywords.get("$ref").and_then(Value::as_str) {
            let schema =
                self.root.pointer(path.trim_start_matches('#')).ok_or_else(|| format!("no {path}"))?;
            self.check(schema, value)?;
        }
        for (keyword, wanted) in keywords.iter().filter(|(keyword, _)| !REMARKS.contains(&&***keyword)) {
            let holds = match &**keyword {
                "type" => is_of_type(wanted, value),
                "const" => wanted == value,
                "enum" => wanted.as_array().is_some_and(|allowed| allowed.contains(value)),
                "minimum" => value.as_f64().zip(wanted.as_f64()).is_none_or(|(value, least)| value >= least),
                "maximum" => value.as_f64().zip(wanted.as_f64()).is_none_or(|(value, most)| value <= most),
                "minItems" => {
                    length(value).zip(wanted.as_u64()).is_none_or(|(length, least)| length >= least)
                }
                "maxItems" => length(value).zip(wanted.as_u64()).is_none_or(|(length, most)| length <= most),
                "required" => {
                    missing(wanted, value).map_or(Ok(true), |name| Err(format!("`{name}` is missing")))?
                }
                "oneOf" => self.fitting(wanted, value) == 1,
                "anyOf" => self.fitting(wanted, value) > 0,
                "items" => {
                    for (place, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(wanted, item).map_err(|error| format!("{place}: {error}"))?;
                    }
                    true
                }
                "properties" => self.properties(wanted, value)?,
                "additionalProperties" => true,
                other => return Err(format!("the keyword `{other}` is not known")),
            };
            if !holds {
                return Err(format!("{value} is no {wanted}"));
            }
        }
        Ok(())
    }

    fn fitting(&self, schemas: &Value, value: &Value) -> usize {
        let schemas = schemas.as_array().into_iter().flatten();
        schemas.filter(|schema| self.check(schema, value).is_ok()).count()
    }

    fn properties(&self, known: &Value, value: &Value) -> Result<bool, String> {
        for (name, value) in value.as_object().into_iter().flatten() {
            let schema = known.get(name).ok_or_else(|| format!("`{name}` is no key"))?;
            self.check(schema, value).map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(true)
    }
}

fn length(value: &Value) -> Option<u64> {
    value.as_array().map(|items| items.len() as u64)
}

fn missing<'a>(names: &'a Value, value: &Value) -> Option<&'a str> {
    let value = value.as_object()?;
    names.as_array()?.iter().filter_map(Value::as_str).find(|name| !value.contains_key(*name))
}

fn is_of_type(wanted: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    };
    wanted.as_array().map_or_else(|| is(wanted), |names| names.iter().any(is))
}
