//! `init`: a package gets its first benchmark. In: the package's folder; out: a dependency and a bench target in its `Cargo.toml`,
//! and a file with an annotated function that runs without a GPU. Nothing that is there is written over.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use gpubench_records::exit::Exit;
use gpubench_table::paragraph;
use toml_edit::{Array, InlineTable};

use crate::args::{Binding, InitArgs};
use crate::error::{CommandError, InitError};
use crate::manifest::Manifest;
use crate::output::{self, PrintOptions};

/// The crate that benchmarks depend on.
pub(crate) const GPUBENCH: &str = "gpubench";
/// The first benchmark. Its `main!` names the package's library.
const BENCHMARK: &str = include_str!("benchmark.rs");

pub(super) fn init(args: &InitArgs, print_options: PrintOptions) -> Result<Exit, CommandError> {
    let done = add_benchmark(args)?;
    output::print(&paragraph(&done, print_options.page()), print_options)?;
    Ok(Exit::Done)
}

/// Adds the benchmark, and returns the words about it.
fn add_benchmark(args: &InitArgs) -> Result<String, InitError> {
    let InitArgs { folder, bench, path, binding } = args;
    check_name(bench)?;
    let mut manifest = Manifest::read(folder)?;
    manifest.package()?;
    let file = folder.join("benches").join(format!("{bench}.rs"));
    if manifest.has_bench(bench) {
        return Err(InitError::Exists { name: bench.clone(), place: shown(&folder.join("Cargo.toml")) });
    }
    let is_there = !manifest.depends_on(GPUBENCH);
    let library = manifest.library();
    let mut changes = Vec::new();
    if is_there {
        manifest.add_dev_dependency(GPUBENCH, dependency(path.as_deref(), *binding)?)?;
        changes.push("gpubench under [dev-dependencies]".to_owned());
    }
    manifest.add_bench(bench)?;
    changes.push(format!("a bench target `{bench}`"));
    if library.is_some() && manifest.leave_library_out_of_benches()? {
        changes
            .push("`bench = false` for the library, whose harness does not know a suite's flags".to_owned());
    }
    let text = BENCHMARK.replace("NAME", bench).replace("LIBRARY", library.as_deref().unwrap_or_default());
    create(&file, &text, bench)?;
    if let Err(error) = manifest.write() {
        // Neither or both. A file that cannot be removed is named by the next `init`.
        drop(fs::remove_file(&file));
        return Err(error.into());
    }
    Ok(format!(
        "{}: {}\n{}: a first benchmark, on this machine's CPU\n\n\
         cargo bench --bench {bench} -- --quick   # measures it roughly; without --quick, as long as it takes\n\
         cargo gpubench run                       # measures all suites of a workspace\n\n\
         To annotate functions of the library itself, move the line of gpubench to [dependencies]. Its features `cust` and \
         `cudarc` take launch functions with streams of these, for GPUs.\n",
        shown(&folder.join("Cargo.toml")),
        changes.join(", "),
        shown(&file),
    ))
}

/// A path without the current folder, which goes without saying.
fn shown(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

fn check_name(name: &str) -> Result<(), InitError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let is_name = name.chars().all(is_plain) && name.starts_with(|first: char| first.is_ascii_alphabetic());
    if is_name { Ok(()) } else { Err(InitError::Name(name.to_owned())) }
}

/// Returns the dependency on gpubench: of this program's version, or of a checkout.
fn dependency(checkout: Option<&Path>, binding: Option<Binding>) -> Result<InlineTable, InitError> {
    let mut dependency = InlineTable::new();
    match checkout {
        Some(checkout) => {
            let no_checkout = || InitError::NoCheckout(checkout.to_owned());
            let folder = checkout.canonicalize().map_err(|_| no_checkout())?;
            let manifest = Manifest::read(&folder).map_err(|_| no_checkout())?;
            if !manifest.package().is_ok_and(|name| name == GPUBENCH) {
                return Err(no_checkout());
            }
            dependency.insert("path", folder.display().to_string().into());
        }
        None => {
            let minor = env!("CARGO_PKG_VERSION").rsplit_once('.').map_or("", |(minor, _)| minor);
            dependency.insert("version", minor.into());
        }
    }
    match binding {
        // The default feature.
        Some(Binding::Cust) => {}
        Some(Binding::Cudarc) => {
            dependency.insert("default-features", false.into());
            dependency.insert("features", Array::from_iter(["cudarc"]).into());
        }
        None => {
            dependency.insert("default-features", false.into());
        }
    }
    Ok(dependency)
}

fn create(file: &Path, text: &str, bench: &str) -> Result<(), InitError> {
    let not_written = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => InitError::Exists { name: bench.to_owned(), place: shown(file) },
        _ => InitError::NotWritten { path: file.to_owned(), error },
    };
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(not_written)?;
    }
    let mut created = File::create_new(file).map_err(not_written)?;
    created.write_all(text.as_bytes()).map_err(not_written)
}
