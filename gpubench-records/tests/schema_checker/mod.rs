//! Makes JSON Schemas of types, compares them with the files in `docs/schema`, and checks documents against them.

use std::env;
use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schema");

/// The schema of a document of this format.
pub(crate) fn schema_of<Document: JsonSchema>(format: &str, title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Document>().to_value();
    let fields = schema.as_object_mut().expect("a schema of an object");
    fields.insert("$id".to_owned(), format.into());
    fields.insert("title".to_owned(), format!("{title} of gpubench, format {format}").into());
    schema
}

/// Asserts that a file of `docs/schema` is this schema; with `GPUBENCH_WRITE_SCHEMA=1` writes it.
pub(crate) fn assert_current(file: &str, schema: &Value, package: &str) {
    let path = Path::new(FOLDER).join(file);
    let schema = serde_json::to_string_pretty(schema).expect("JSON") + "\n";
    if env::var_os("GPUBENCH_WRITE_SCHEMA").is_some() {
        fs::write(&path, &schema).expect("it can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == schema,
        "docs/schema/{file} is not current: GPUBENCH_WRITE_SCHEMA=1 cargo test -p {package} --features schema --test schema"
    );
}

/// Checks documents against the keywords that the schema uses, and refuses every other keyword.
pub(crate) struct Checker<'a> {
    pub(crate) root: &'a Value,
}

/// Keywords that say nothing of a document's validity.
const REMARKS: [&str; 8] = ["$schema", "$id", "$defs", "title", "description", "default", "format", "$ref"];

impl Checker<'_> {
    pub(crate) fn check(&self, schema: &Value, value: &Value) -> Result<(), String> {
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
