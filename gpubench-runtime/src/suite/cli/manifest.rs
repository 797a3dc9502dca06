//! Other targets of a bench target's package that `cargo bench -- FLAGS` hands the same flags. In: the package's folder. Out: a warning
//! that says what to add to `Cargo.toml`. Such a target has the harness of `#[bench]`, which refuses the flags of a suite, and cargo
//! then runs nothing else.

use std::fs;
use std::path::Path;

use toml::de::{DeTable, DeValue};

/// Returns a warning if another target of the package in `folder` would refuse a suite's flags.
pub(super) fn advice(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let document = DeTable::parse(&text).ok()?;
    let (target, section) = refusing(document.get_ref(), &|file| folder.join(file).is_file())?;
    Some(format!(
        "`cargo bench -- --quick` would hand its flags to the harness of {target} first, which refuses them: add `bench = false` below \
         {section} in Cargo.toml, or name this target by --bench"
    ))
}

/// Returns the first target with a harness of its own, and its section.
fn refusing(manifest: &DeTable<'_>, has_file: &dyn Fn(&str) -> bool) -> Option<(&'static str, &'static str)> {
    let section = |name| manifest.get(name).map(toml::Spanned::get_ref);
    let runs = |target: &DeValue<'_>| {
        let is_off = |key| target.get(key).and_then(|value| value.get_ref().as_bool()) == Some(false);
        !is_off("bench") && !is_off("harness")
    };
    let library = match section("lib") {
        Some(library) => runs(library),
        None => has_file("src/lib.rs"),
    };
    let binary = match section("bin").and_then(DeValue::as_array) {
        Some(binaries) => binaries.iter().any(|binary| runs(binary.get_ref())),
        None => has_file("src/main.rs"),
    };
    match (library, binary) {
        (true, _) => Some(("the library", "[lib]")),
        (false, true) => Some(("a binary", "[[bin]]")),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_would_refuse_flags_are_named() {
        let found = |manifest: &str, files: &[&str]| {
            let document = DeTable::parse(manifest).expect("TOML");
            refusing(document.get_ref(), &|file| files.contains(&file)).map(|(_, section)| section)
        };
        let bench = "[[bench]]\nname = \"kernels\"\nharness = false\n";
        assert_eq!(found(bench, &[]), None);
        assert_eq!(found(bench, &["src/lib.rs"]), Some("[lib]"));
        assert_eq!(found(&format!("[lib]\nbench = false\n{bench}"), &["src/lib.rs"]), None);
        assert_eq!(
            found(&format!("[lib]\nbench = false\n{bench}"), &["src/lib.rs", "src/main.rs"]),
            Some("[[bin]]")
        );
        let binaries = "[lib]\nharness = false\n[[bin]]\nname = \"a\"\nbench = false\n";
        assert_eq!(found(binaries, &["src/lib.rs", "src/main.rs"]), None);
        assert_eq!(found(&format!("{binaries}[[bin]]\nname = \"b\"\n"), &[]), Some("[[bin]]"));
    }
}
