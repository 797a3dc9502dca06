//! A package's `Cargo.toml`, as its author wrote it. In: its folder; out: the same text with a dependency and a bench target more,
//! comments and order kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gpubench_records::files::replace;
use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

use crate::error::ManifestError;

/// The tables of a manifest that name dependencies.
const DEPENDENCIES: [&str; 2] = ["dependencies", "dev-dependencies"];

/// The byte order mark, with which some editors begin a file.
const MARK: char = '\u{feff}';

/// A manifest that is being changed.
#[derive(Debug)]
pub(crate) struct Manifest {
    path: PathBuf,
    document: DocumentMut,
    /// True if its lines end as on Windows, and if it begins with a byte order mark: the parser keeps neither.
    has_crlf: bool,
    has_mark: bool,
}

impl Manifest {
    /// Reads the manifest in `folder`.
    pub(crate) fn read(folder: &Path) -> Result<Self, ManifestError> {
        let path = folder.join("Cargo.toml");
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ManifestError::Missing(folder.to_owned()),
            _ => ManifestError::Unreadable { path: path.clone(), error },
        })?;
        let document = text.parse().map_err(|error| ManifestError::NotToml { path: path.clone(), error })?;
        let (has_crlf, has_mark) = (text.contains("\r\n"), text.starts_with(MARK));
        Ok(Self { path, document, has_crlf, has_mark })
    }

    /// Returns the name of its package.
    pub(crate) fn package(&self) -> Result<&str, ManifestError> {
        let package = self.document.get("package").and_then(|package| package.get("name")?.as_str());
        package.ok_or_else(|| ManifestError::NoPackage(self.path.clone()))
    }

    /// Returns the name by which code imports the package's library; `None` without one, or if it is none that Rust code links.
    pub(crate) fn library(&self) -> Option<String> {
        let folder = self.path.parent()?;
        let library = self.document.get("lib");
        let key = |name: &str| library.and_then(|library| library.get(name));
        let is_there = key("path").is_some() || folder.join("src/lib.rs").is_file();
        let is_macro = ["proc-macro", "proc_macro"].iter().any(|name| key(name).is_some());
        let kinds = key("crate-type").and_then(Item::as_array);
        let links =
            kinds.is_none_or(|kinds| kinds.iter().any(|kind| matches!(kind.as_str(), Some("lib" | "rlib"))));
        let name = key("name").and_then(Item::as_str).or_else(|| self.package().ok())?;
        (is_there && !is_macro && links).then(|| name.replace('-', "_"))
    }

    /// Returns true if the package depends on the crate of this name, for whatever.
    pub(crate) fn depends_on(&self, name: &str) -> bool {
        DEPENDENCIES.iter().filter_map(|table| self.document.get(table)?.as_table_like()).any(|table| {
            table.iter().any(|(key, dependency)| {
                dependency.get("package").and_then(Item::as_str).unwrap_or(key) == name
            })
        })
    }

    /// Returns true if it names a bench target `name`.
    pub(crate) fn has_bench(&self, name: &str) -> bool {
        let benches = self.document.get("bench").and_then(Item::as_array_of_tables);
        let is_named = |table: &Table| table.get("name").and_then(Item::as_str) == Some(name);
        benches.is_some_and(|benches| benches.iter().any(is_named))
    }

    /// Adds a dependency for tests, examples and benches.
    pub(crate) fn add_dev_dependency(
        &mut self,
        name: &str,
        dependency: InlineTable,
    ) -> Result<(), ManifestError> {
        let table = self.table("dev-dependencies")?;
        table.insert(name, Item::Value(Value::InlineTable(dependency)));
        Ok(())
    }

    /// Adds a bench target with a `main` of its own.
    pub(crate) fn add_bench(&mut self, name: &str) -> Result<(), ManifestError> {
        let not_a_table = ManifestError::NotATable { path: self.path.clone(), key: "bench" };
        let benches = self.document.entry("bench").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        let mut bench = Table::new();
        bench.insert("name", value(name));
        bench.insert("harness", value(false));
        benches.as_array_of_tables_mut().ok_or(not_a_table)?.push(bench);
        Ok(())
    }

    /// Takes the library's own harness out of `cargo bench`, unless the manifest says something of it. Returns true if it did.
    pub(crate) fn leave_library_out_of_benches(&mut self) -> Result<bool, ManifestError> {
        let library = self.table("lib")?;
        let is_silent = !library.contains_key("bench");
        if is_silent {
            library.insert("bench", value(false));
        }
        Ok(is_silent)
    }

    /// Makes the package a workspace of its own, wherever its folder lies.
    pub(crate) fn stand_alone(&mut self) -> Result<(), ManifestError> {
        self.table("workspace").map(drop)
    }

    /// Writes the manifest in place of the earlier one.
    pub(crate) fn write(&self) -> Result<(), ManifestError> {
        let mut text = self.document.to_string();
        if self.has_crlf {
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        if self.has_mark && !text.starts_with(MARK) {
            text.insert(0, MARK);
        }
        replace(&self.path, &|out| out.write_all(text.as_bytes()))
            .map_err(|error| ManifestError::NotWritten { path: self.path.clone(), error })
    }

    fn table(&mut self, key: &'static str) -> Result<&mut dyn TableLike, ManifestError> {
        let not_a_table = ManifestError::NotATable { path: self.path.clone(), key };
        let table = self.document.entry(key).or_insert_with(toml_edit::table);
        table.as_table_like_mut().ok_or(not_a_table)
    }
}
