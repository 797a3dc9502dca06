//! A package's `Cargo.toml`. Changes keep its comments and its order.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use gpubench_records::files::replace;
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, TableLike, value};

use crate::output::{CommandError, Result, at, bail};

/// The tables of a manifest that name dependencies.
const DEPENDENCIES: [&str; 2] = ["dependencies", "dev-dependencies"];

/// Returns a path without `./` at its beginning.
pub(crate) fn shown(path: PathBuf) -> PathBuf {
    path.strip_prefix(".").map(Path::to_owned).unwrap_or(path)
}

/// Returns the nearest folder with a `Cargo.toml`: the current one, or one above it.
pub(crate) fn package_folder() -> Option<PathBuf> {
    let here = env::current_dir().ok()?;
    here.ancestors().find(|folder| folder.join("Cargo.toml").is_file()).map(Path::to_owned)
}

/// A manifest that is being changed.
pub(crate) struct Manifest {
    pub path: PathBuf,
    document: DocumentMut,
    /// True if its lines end by CR and LF, which the parser does not keep.
    has_crlf: bool,
}

impl Manifest {
    /// Reads the manifest in `folder`.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let path = shown(folder.join("Cargo.toml"));
        let text = fs::read_to_string(&path).map_err(|error| {
            CommandError::usage(match error.kind() {
                io::ErrorKind::NotFound => format!(
                    "{} has no Cargo.toml: make a package with `cargo new --lib NAME`, or name its folder: `cargo gpubench init FOLDER`",
                    folder.display()
                ),
                _ => at(&path, error),
            })
        })?;
        let document = text.parse::<DocumentMut>().map_err(|error| CommandError::usage(at(&path, error)))?;
        Ok(Self { path, document, has_crlf: text.contains("\r\n") })
    }

    /// Returns the name of its package.
    pub(crate) fn package(&self) -> Result<&str> {
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

    /// Returns the name by which code imports the package's library; `None` if Rust code cannot link one.
    pub(crate) fn library(&self) -> Option<String> {
        let key = |name: &str| self.document.get("lib").and_then(|library| library.get(name));
        let is_there = key("path").is_some() || self.path.parent()?.join("src/lib.rs").is_file();
        let is_true = |name: &str| key(name).and_then(Item::as_bool) == Some(true);
        let is_macro = is_true("proc-macro") || is_true("proc_macro");
        let links = key("crate-type")
            .and_then(Item::as_array)
            .is_none_or(|kinds| kinds.iter().any(|kind| matches!(kind.as_str(), Some("lib" | "rlib"))));
        let name = key("name").and_then(Item::as_str).or_else(|| self.package().ok())?;
        (is_there && links && !is_macro).then(|| name.replace('-', "_"))
    }

    /// Returns true if the package depends on the crate of this name, also for tests alone.
    pub(crate) fn depends_on(&self, name: &str) -> bool {
        DEPENDENCIES.iter().filter_map(|table| self.document.get(table)?.as_table_like()).any(|table| {
            table.iter().any(|(key, dependency)| {
                dependency.get("package").and_then(Item::as_str).unwrap_or(key) == name
            })
        })
    }

    /// Adds features to a dependency of benchmarks and tests. Returns those that it did not have; `None` if it is no such dependency, or has no
    /// table of its own.
    pub(crate) fn add_features(&mut self, name: &str, wanted: &[&str]) -> Option<Vec<String>> {
        let dependency = self.document.get_mut("dev-dependencies")?.get_mut(name)?.as_table_like_mut()?;
        let features = dependency.entry("features").or_insert_with(|| value(Array::new())).as_array_mut()?;
        let has = |feature: &str| features.iter().any(|has| has.as_str() == Some(feature));
        let missing: Vec<_> =
            wanted.iter().filter(|feature| !has(feature)).map(ToString::to_string).collect();
        features.extend(missing.iter());
        Some(missing)
    }

    /// Adds a bench target with a `main` of its own.
    pub(crate) fn add_bench(&mut self, name: &str) -> Result<()> {
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

    /// Leaves the library's own harness out of `cargo bench`, unless the manifest has a setting for it. Returns true if it did.
    pub(crate) fn leave_library_out_of_benches(&mut self) -> Result<bool> {
        let library = self.table("lib")?;
        let is_unset = !library.contains_key("bench");
        if is_unset {
            library.insert("bench", value(false));
        }
        Ok(is_unset)
    }

    /// Returns true if cargo reads the profiles of this manifest: the package is in no other folder's workspace.
    fn is_root(&self) -> bool {
        let folder = self.path.canonicalize().unwrap_or_default();
        self.document.contains_key("workspace")
            || !folder.ancestors().skip(2).any(|folder| {
                fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("[workspace"))
            })
    }

    /// Builds benchmarks without optimisation of the crates that measure nothing, unless the manifest has a profile for them. Returns true if it does.
    pub(crate) fn leave_unoptimized(&mut self) -> bool {
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

    /// Writes the manifest in place of the earlier one.
    pub(crate) fn write(&self) -> Result<()> {
        let mut text = self.document.to_string();
        if self.has_crlf {
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        replace(&self.path, &|out| out.write_all(text.as_bytes())).map_err(CommandError::at(&self.path))
    }

    /// Returns the table `key`, which it adds if needed.
    pub(crate) fn table(&mut self, key: &str) -> Result<&mut dyn TableLike> {
        let not_a_table = self.not_a_table(key);
        let table = self.document.entry(key).or_insert_with(toml_edit::table);
        table.as_table_like_mut().ok_or(not_a_table)
    }

    fn not_a_table(&self, key: &str) -> CommandError {
        CommandError::usage(format!("{}: `{key}` is not a table, as cargo expects", self.path.display()))
    }
}
