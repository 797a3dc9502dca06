//! Warns of targets whose harness refuses the flags of `cargo bench -- FLAGS`.
//!
//! `cargo bench` gives the flags to every target of the package. A library or a binary without `bench = false` has the harness of
//! `#[bench]`, which knows no flag of gpubench, and cargo then runs nothing else.

use std::{fs, path::Path};

use toml::de::{DeTable, DeValue as Value};

/// Returns true if the harness of a target in a manifest refuses flags.
fn refuses_flags(target: &Value) -> bool {
    let is_off = |key| target.get(key).and_then(|value| value.get_ref().as_bool()) == Some(false);
    !is_off("bench") && !is_off("harness")
}

/// Returns a warning if another target of the package in `folder` would refuse flags.
pub(super) fn warning(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let manifest = DeTable::parse(&text).ok()?.into_inner();
    let is_there = |file: &str| folder.join(file).is_file();
    let library = manifest.get("lib").map(|library| refuses_flags(library.get_ref()));
    let library = library.unwrap_or_else(|| is_there("src/lib.rs"));
    let binaries = manifest.get("bin").and_then(|all| all.get_ref().as_array());
    let binary = match binaries {
        Some(all) => all.iter().any(|binary| refuses_flags(binary.get_ref())),
        None => is_there("src/main.rs"),
    };
    let (target, section) = match (library, binary) {
        (true, _) => ("the library", "[lib]"),
        (false, true) => ("a binary", "[[bin]]"),
        (false, false) => return None,
    };
    Some(format!(
        "in this package, flags need the name of the bench target: `cargo bench --bench NAME -- FLAGS`. Without it cargo also gives the flags to \
         the test harness of {target}, which refuses them. Add `bench = false` below {section} in Cargo.toml to do without the name"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_would_refuse_flags_are_named() {
        let named = |manifest: &str, files: &[&str]| {
            let folder = tempfile::tempdir().expect("a folder");
            fs::create_dir(folder.path().join("src")).expect("it is empty");
            fs::write(folder.path().join("Cargo.toml"), manifest).expect("it can be written");
            files.iter().for_each(|file| fs::write(folder.path().join(file), "").expect("it can be written"));
            let warning = warning(folder.path())?;
            ["[lib]", "[[bin]]"].into_iter().find(|section| warning.contains(section))
        };
        let bench = "[[bench]]\nname = \"kernels\"\nharness = false\n";
        let without = format!("[lib]\nbench = false\n{bench}");
        assert_eq!(named(bench, &[]), None);
        assert_eq!(named(bench, &["src/lib.rs"]), Some("[lib]"));
        assert_eq!(named(&without, &["src/lib.rs"]), None);
        assert_eq!(named(&without, &["src/lib.rs", "src/main.rs"]), Some("[[bin]]"));
        let binaries = "[lib]\nharness = false\n[[bin]]\nname = \"a\"\nbench = false\n";
        assert_eq!(named(binaries, &["src/lib.rs", "src/main.rs"]), None);
        assert_eq!(named(&format!("{binaries}[[bin]]\nname = \"b\"\n"), &[]), Some("[[bin]]"));
    }
}
