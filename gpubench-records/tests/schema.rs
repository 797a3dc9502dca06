//! The JSON Schemas in `docs/schema`: of a stored run, and of a tuning. In: the types that write them; out: the committed files are
//! theirs (`GPUBENCH_WRITE_SCHEMA=1` writes them), and every recorded run and a tuning with all its fields fit, with no key that the
//! schema does not name.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use gpubench_records::record::Run;
use gpubench_records::tuning::Tuning;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schema");

/// The schema of a document of this format.
fn schema_of<Document: JsonSchema>(format: &str, title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Document>().to_value();
    let fields = schema.as_object_mut().expect("a schema of an object");
    fields.insert("$id".to_owned(), format.into());
    fields.insert("title".to_owned(), format!("{title} of gpubench, format {format}").into());
    schema
}

fn schema() -> Value {
    schema_of::<Run>("gpubench/2", "A run")
}

fn schema_of_tunings() -> Value {
    schema_of::<Tuning>("gpubench-tuning/1", "A tuning")
}

#[test]
fn the_schemas_are_those_of_the_types() {
    for (file, schema) in [("run-2.json", schema()), ("tuning-1.json", schema_of_tunings())] {
        let path = Path::new(FOLDER).join(file);
        let schema = serde_json::to_string_pretty(&schema).expect("JSON") + "\n";
        if env::var_os("GPUBENCH_WRITE_SCHEMA").is_some() {
            fs::write(&path, &schema).expect("it can be written");
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == schema,
            "docs/schema/{file} is not current: GPUBENCH_WRITE_SCHEMA=1 cargo test -p gpubench-records --features schema --test schema"
        );
    }
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

/// `tuning.json` is what `--save-tuning` wrote of `tuned kernel broken` (tests/end-to-end), with other names for the machine.
#[test]
fn a_tuning_fits_its_schema() {
    let schema = schema_of_tunings();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tuning.json");
    let tuning = Tuning::parse(&fs::read(&file).expect("it is there")).expect("a tuning");
    let mut json = Vec::new();
    tuning.write(&mut json).expect("a vector takes everything");
    let json: Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(Checker { root: &schema }.check(&schema, &json), Ok(()));
    let problems = json.pointer("/benchmarks/0/problems").and_then(Value::as_array).expect("a list");
    assert!(problems.iter().any(|problem| !problem["looks"].as_array().expect("a list").is_empty()));
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
