//! Errors of the attribute: the compiler refuses each file in `ui` with the messages in its snapshot, which are of the
//! pinned compiler. `INSTA_UPDATE=always cargo test --test ui` writes them anew. Code that the attribute accepts is in
//! `tests/attribute`.
//!
//! The compiler is called with the library that this test is built with. `trybuild` would compile all that gpubench depends
//! on once more.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, panic};

use rayon::prelude::*;
use serde_json::Value;

#[test]
fn the_attribute_tells_what_is_wrong() {
    let gpubench = built_gpubench();
    let files = fs::read_dir("tests/ui")
        .expect("the folder of refused files")
        .map(|file| file.expect("a file").path());
    let files: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|extension| extension == "rs")).collect();
    assert!(!files.is_empty());

    let wrong: Vec<_> = files
        .into_par_iter()
        .filter(|file| {
            let told = refused(file, &gpubench);
            let name = file.file_stem().expect("a name").to_str().expect("UTF-8");
            // All of them are compared before the test ends.
            panic::catch_unwind(|| is_recorded(name, &told)).is_err()
        })
        .collect();
    assert!(wrong.is_empty(), "other messages than those of the snapshots: {wrong:?}");
}

/// Fails unless `told` is in the snapshot of this name.
fn is_recorded(name: &str, told: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("ui");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, told));
}

/// The file of the library, from the cargo that has built it for this test.
fn built_gpubench() -> PathBuf {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // No package is named: its dependencies would have fewer features, and be built once more.
    cargo.args(["test", "--no-run", "--test=ui", "--message-format=json"]);
    let built = cargo.output().expect("cargo starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let messages = String::from_utf8(built.stdout).expect("cargo writes UTF-8");
    let messages = messages.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut files = messages
        .filter(|message| message["target"]["name"] == "gpubench" && message["target"]["kind"][0] == "lib")
        .filter_map(|message| Some(message["filenames"][0].as_str()?.into()));
    files.next().expect("cargo names the library")
}

/// The messages of the compiler, which must refuse `file`.
fn refused(file: &Path, gpubench: &Path) -> String {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition=2024", "--emit=metadata", "--error-format=json", "--diagnostic-width=140"]);
    rustc.args(["-A", "dead_code"]).args(["--out-dir", env!("CARGO_TARGET_TMPDIR")]).arg(file);
    rustc.arg("--extern").arg(format!("gpubench={}", gpubench.display()));
    rustc.arg("-L").arg(format!("dependency={}", gpubench.parent().expect("a folder").display()));
    if file.ends_with("harness.rs") {
        // As cargo compiles a bench target with libtest's harness.
        rustc.arg("--test").env("CARGO_TARGET_TMPDIR", env!("CARGO_TARGET_TMPDIR"));
    }
    // By this the compiler knows that cargo calls it, and advises accordingly.
    rustc.env("CARGO_CRATE_NAME", "ui");
    let ended = rustc.output().expect("rustc starts");
    let told = String::from_utf8(ended.stderr).expect("rustc writes UTF-8");
    assert!(!ended.status.success(), "{} is accepted", file.display());

    let mut messages = Vec::new();
    for line in told.lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {told}"));
        let summary = message["level"] == "failure-note"
            || message["message"].as_str().is_some_and(|text| text.starts_with("aborting due to"));
        let text = lasting(message["rendered"].as_str().expect("text"), file);
        if !summary && !messages.contains(&text) {
            messages.push(text);
        }
    }
    messages.join("\n\n")
}

/// A message without what changes where nothing does that this test is about: where this checkout and the standard library
/// lie, and numbers of lines in other files than `file`.
fn lasting(message: &str, file: &Path) -> String {
    let root = format!("{}/", env!("CARGO_MANIFEST_DIR"));
    let (mut elsewhere, mut needed, mut width) = (false, 0, None);
    let mut lines = Vec::new();
    for line in message.replace(&root, "").lines() {
        let mut line = line.trim_end().to_owned();
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if let Some(place) = text.strip_prefix("--> ").or_else(|| text.strip_prefix("::: ")) {
            elsewhere = !Path::new(place.split(':').next().unwrap_or_default()).ends_with(file);
            width.get_or_insert(indent);
            if elsewhere {
                let place = place.split(':').next().unwrap_or_default();
                line = format!("{}{}", &line[..indent + 4], standard(place));
            }
        } else if let Some((number, _)) = line.split_once(" | ").or_else(|| line.split_once(" |")) {
            let digits = number.trim().len();
            if number.trim().bytes().all(|byte| byte.is_ascii_digit()) {
                if elsewhere {
                    line.replace_range(..number.len(), &" ".repeat(number.len()));
                } else {
                    needed = needed.max(digits);
                }
            }
        } else if !text.starts_with('.') {
            elsewhere = false;
        }
        lines.push(line);
    }
    // The margin has room for the longest number that was there.
    let spare = width.map_or(0, |width: usize| width.saturating_sub(needed));
    for line in &mut lines {
        if line.starts_with([' ', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
            let margin = line.find(' ').unwrap_or_default();
            let end = line.len().min(margin + spare);
            line.replace_range(margin..end, "");
        }
    }
    lines.join("\n").trim_end().to_owned()
}

/// `path`, with `$RUST` for where the standard library lies.
fn standard(path: &str) -> String {
    let inside = path.split_once("/rustlib/src/rust/library/").map(|(_, inside)| inside);
    let inside =
        inside.or_else(|| path.strip_prefix("/rustc/")?.split_once("/library/").map(|(_, inside)| inside));
    inside.map_or_else(|| path.to_owned(), |inside| format!("$RUST/{inside}"))
}
