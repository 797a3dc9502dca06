//! Warns of targets whose harness refuses the flags of `cargo bench -- FLAGS`.
//!
//! `cargo bench` gives the flags to every target of the package. A library or a binary without `bench = false` has the harness of
//! `#[bench]`, which knows no flag of gpubench, and cargo then runs nothing else.

use std::{fs, path::Path};

use serde::Deserialize;

/// The part of a `Cargo.toml` that is needed.
#[derive(Deserialize)]
struct Manifest {
    lib: Option<Target>,
    bin: Option<Vec<Target>>,
}

#[derive(Default, Deserialize)]
struct Target {
    bench: Option<bool>,
    harness: Option<bool>,
}

impl Target {
    fn refuses_flags(&self) -> bool {
        self.bench != Some(false) && self.harness != Some(false)
    }
}

/// Returns a warning if another target of the package in `folder` would refuse flags.
pub(super) fn warning(folder: &Path) -> Option<String> {
    let manifest: Manifest = toml::from_str(&fs::read_to_string(folder.join("Cargo.toml")).ok()?).ok()?;
    let found = |file: &str| folder.join(file).is_file().then(Target::default);
    let library = manifest.lib.or_else(|| found("src/lib.rs"));
    let binaries = manifest.bin.unwrap_or_else(|| found("src/main.rs").into_iter().collect());
    let (target, section) = if library.is_some_and(|library| library.refuses_flags()) {
        ("the library", "[lib]")
    } else if binaries.iter().any(Target::refuses_flags) {
        ("a binary", "[[bin]]")
    } else {
        return None;
    };
    Some(format!(
        "`cargo bench -- --quick` would give its flags to {target} first, whose harness refuses them: add `bench = false` below \
         {section} in Cargo.toml, or name this target by --bench"
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
