//! Recorded runs under `docs/results` print as they did: each `NAME.json` with a `NAME.txt` beside it is read, rendered and
//! held against that text. In: the files as they are committed; out: a difference, if there is one.

use std::fs;
use std::path::{Path, PathBuf};

use gpubench_runtime::record::{Run, SCHEMA};
use gpubench_runtime::report::render;

#[test]
fn recorded_runs_print_as_they_did() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results");
    let pairs = recorded(&root);
    assert!(!pairs.is_empty(), "there are recorded runs");
    for (json, text) in pairs {
        let name = json.display();
        let run: Run = serde_json::from_slice(&fs::read(&json).expect("it is there"))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(run.schema, SCHEMA, "{name}");
        let rendered = anstream::adapter::strip_str(&render(&run)).to_string();
        assert_eq!(rendered, fs::read_to_string(&text).expect("it is there"), "{name}");
        for record in &run.records {
            let Some(measured) = &record.measurement else { continue };
            assert_eq!(measured.samples.len(), measured.time.samples, "{name}: {}", record.name());
        }
    }
}

/// Every JSON below `folder` that has a text of the same name beside it.
fn recorded(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(recorded(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let text = path.with_extension("txt");
            if text.exists() {
                found.push((path, text));
            }
        }
    }
    found
}
