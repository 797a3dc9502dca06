//! Reads and changes a package's `Cargo.toml`. Changes keep its comments and its order.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use gpubench_records::files::replace;
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, TableLike, value};

use crate::output::{CommandError, Result, bail, path_message};

/// The tables of a manifest that list dependencies.
const DEPENDENCY_TABLES: [&str; 2] = ["dependencies", "dev-dependencies"];

/// Returns a path without `./` at its beginning, for messages.
pub(crate) fn without_current_folder(path: PathBuf) -> PathBuf {
    path.strip_prefix(".").map(Path::to_owned).unwrap_or(path)
}

/// Returns the nearest folder with a `Cargo.toml`: the current folder or a parent; `None` if there is none.
pub(crate) fn package_folder() -> Option<PathBuf> {
    let here = env::current_dir().ok()?;
    here.ancestors().find(|folder| folder.join("Cargo.toml").is_file()).map(Path::to_owned)
}

/// A `Cargo.toml` with the changes so far, which [`Self::save`] writes.
pub(crate) struct Manifest {
    pub path: PathBuf,
    document: DocumentMut,
    /// True if its lines end with CR and LF, which the parser replaces.
    has_crlf: bool,
}

impl Manifest {
    /// Reads the manifest in `folder`. A missing or malformed one is a usage error.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let path = without_current_folder(folder.join("Cargo.toml"));
        let text = fs::read_to_string(&path).map_err(|error| {
            CommandError::usage(match error.kind() {
                io::ErrorKind::NotFound => format!(
                    "{} has no Cargo.toml: make a package with `cargo new --lib NAME`, or name its folder: `cargo gpubench init FOLDER`",
                    folder.display()
                ),
                _ => path_message(&path, error),
            })
        })?;
        let document =
            text.parse::<DocumentMut>().map_err(|error| CommandError::usage(path_message(&path, error)))?;
        Ok(Self { path, document, has_crlf: text.contains("\r\n") })
    }

    /// Returns the name of the package. A workspace without a package is an error.
    pub(crate) fn package_name(&self) -> Result<&str> {
        let package = self.document.get("package").and_then(|package| package.get("name")?.as_str());
        let Some(package) = package else {
            bail!(
                Usage,
                "{} is a workspace without a package of its own: give the folder of one of its packages",
                self.path.display()
            );
        };
        Ok(package)
    }

    /// Returns the name by which Rust code imports the package's library; `None` if it has no library that code
    /// can link.
    pub(crate) fn library_name(&self) -> Option<String> {
        let key = |name: &str| self.document.get("lib").and_then(|library| library.get(name));
        let is_there = key("path").is_some() || self.path.parent()?.join("src/lib.rs").is_file();
        let is_true = |name: &str| key(name).and_then(Item::as_bool) == Some(true);
        let is_macro = is_true("proc-macro") || is_true("proc_macro");
        let links = key("crate-type")
            .and_then(Item::as_array)
            .is_none_or(|kinds| kinds.iter().any(|kind| matches!(kind.as_str(), Some("lib" | "rlib"))));
        let name = key("name").and_then(Item::as_str).or_else(|| self.package_name().ok())?;
        (is_there && links && !is_macro).then(|| name.replace('-', "_"))
    }

    /// Returns true if `dependencies` or `dev-dependencies` has the crate `name`, under any name.
    pub(crate) fn depends_on(&self, name: &str) -> bool {
        DEPENDENCY_TABLES.iter().filter_map(|table| self.document.get(table)?.as_table_like()).any(|table| {
            table.iter().any(|(key, dependency)| {
                dependency.get("package").and_then(Item::as_str).unwrap_or(key) == name
            })
        })
    }

    /// Adds features to the dev-dependency `name`, and returns those that it did not have. Returns `None` if
    /// there is no such dev-dependency, or if it is only a version.
    pub(crate) fn add_features(&mut self, name: &str, wanted: &[&str]) -> Option<Vec<String>> {
        let dependency = self.document.get_mut("dev-dependencies")?.get_mut(name)?.as_table_like_mut()?;
        let features = dependency.entry("features").or_insert_with(|| value(Array::new())).as_array_mut()?;
        let has = |feature: &str| features.iter().any(|has| has.as_str() == Some(feature));
        let missing: Vec<_> =
            wanted.iter().filter(|feature| !has(feature)).map(ToString::to_string).collect();
        features.extend(missing.iter());
        Some(missing)
    }

    /// Adds a bench target with `harness = false`. An existing target of the same name is an error.
    pub(crate) fn add_bench_target(&mut self, name: &str) -> Result<()> {
        let (not_a_table, path) = (self.not_a_table("bench"), self.path.display());
        let benches = self.document.entry("bench").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        let benches = benches.as_array_of_tables_mut().ok_or(not_a_table)?;
        if benches.iter().any(|table| table.get("name").and_then(Item::as_str) == Some(name)) {
            bail!(Usage, "{path} already has a bench target `{name}`: give another name by --bench");
        }
        let mut bench = Table::new();
        bench.insert("name", value(name));
        bench.insert("harness", value(false));
        benches.push(bench);
        Ok(())
    }

    /// Adds `bench = false` to `[lib]`, unless `bench` has a value there. Returns true if it was added.
    pub(crate) fn leave_library_out_of_benches(&mut self) -> Result<bool> {
        let library = self.table_mut("lib")?;
        let is_unset = !library.contains_key("bench");
        if is_unset {
            library.insert("bench", value(false));
        }
        Ok(is_unset)
    }

    /// Returns true if cargo reads the profiles of this manifest: it has a workspace, or no parent folder has
    /// one.
    fn is_root(&self) -> bool {
        let folder = self.path.canonicalize().unwrap_or_default();
        self.document.contains_key("workspace")
            || !folder.ancestors().skip(2).any(|folder| {
                fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace"))
            })
    }

    /// Adds a bench profile that does not optimise the crates of gpubench that measure nothing. Does nothing
    /// if the manifest has profiles, or if cargo would ignore them. Returns true if the profile was added.
    pub(crate) fn add_bench_profile(&mut self) -> bool {
        if self.document.contains_key("profile") || !self.is_root() {
            return false;
        }
        let mut packages = Table::new();
        for name in ["gpubench-records", "gpubench-runner", "gpubench-table"] {
            let mut options = Table::from_iter([("opt-level", 0)]);
            options.set_dotted(true);
            packages.insert(name, Item::Table(options));
        }
        packages
            .decor_mut()
            .set_prefix("\n# These measure nothing: benchmarks build faster without their optimisation.\n");
        let above = |name: &str, below: Table| {
            let mut table = Table::new();
            table.set_implicit(true);
            table.insert(name, Item::Table(below));
            table
        };
        self.document.insert("profile", Item::Table(above("bench", above("package", packages))));
        true
    }

    /// Replaces the file by the manifest with its changes. Line ends stay as they were.
    pub(crate) fn save(&self) -> Result<()> {
        let mut text = self.document.to_string();
        if self.has_crlf {
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        replace(&self.path, &|out| out.write_all(text.as_bytes())).map_err(CommandError::at(&self.path))
    }

    /// Returns the table `key`, which is added if it is missing. A value that is no table is an error.
    pub(crate) fn table_mut(&mut self, key: &str) -> Result<&mut dyn TableLike> {
        let not_a_table = self.not_a_table(key);
        let table = self.document.entry(key).or_insert_with(toml_edit::table);
        table.as_table_like_mut().ok_or(not_a_table)
    }

    /// Returns the error about a `key` with a value that is not a table.
    fn not_a_table(&self, key: &str) -> CommandError {
        CommandError::usage(format!("{}: `{key}` is not a table, as cargo expects", self.path.display()))
    }
}
