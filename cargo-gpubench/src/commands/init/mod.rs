//! `init`: adds a first benchmark to a package: a dependency and a bench target in its `Cargo.toml`, and a file with an annotated function
//! that runs without a GPU. No file is overwritten.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::{Args, ValueEnum};
use gpubench_records::Exit;
use toml_edit::{Array, InlineTable, value};

use crate::manifest::{Manifest, shown};
use crate::output::{CommandError, PrintOptions, at};

/// The crate that benchmarks depend on.
pub(super) const GPUBENCH: &str = "gpubench";
/// The first benchmark. Its `main!` names the package's library.
const BENCHMARK: &str = include_str!("benchmark.rs");

/// The package that gets a benchmark.
#[derive(Args)]
pub(super) struct InitArgs {
    /// The folder of the package
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// The name of the bench target
    #[arg(long, value_name = "NAME", default_value = "kernels")]
    bench: String,
    /// Depend on the checkout of gpubench in this folder, instead of on a published version
    #[arg(long, value_name = "FOLDER")]
    path: Option<PathBuf>,
    /// Accept streams of this CUDA binding; a build with cust needs a CUDA toolkit, or CUDA_LIBRARY_PATH=/usr
    #[arg(long)]
    binding: Option<Binding>,
}

/// A CUDA binding.
#[derive(Clone, Copy, ValueEnum)]
enum Binding {
    /// Streams of the crate cust
    Cust,
    /// Streams of the crate cudarc
    Cudarc,
}

pub(super) fn init(args: &InitArgs, options: PrintOptions) -> Result<Exit, CommandError> {
    let InitArgs { folder, bench, path, binding } = args;
    check_name(bench)?;
    let mut manifest = Manifest::read(folder)?;
    manifest.package()?;
    let file = shown(folder.join("benches").join(format!("{bench}.rs")));
    let library = manifest.library();
    let mut changes = Vec::new();
    if !manifest.depends_on(GPUBENCH) {
        let dependency = dependency(path.as_deref(), *binding)?;
        manifest.table("dev-dependencies")?.insert(GPUBENCH, value(dependency));
        changes.push("gpubench under [dev-dependencies]".to_owned());
    }
    manifest.add_bench(bench)?;
    changes.push(format!("a bench target `{bench}`"));
    if library.is_some() && manifest.leave_library_out_of_benches()? {
        let change =
            "`bench = false` for the library, whose harness does not know a benchmark binary's flags";
        changes.push(change.to_owned());
    }
    let text = BENCHMARK.replace("NAME", bench).replace("LIBRARY", library.as_deref().unwrap_or_default());
    create(&file, &text)?;
    if let Err(error) = manifest.write() {
        // Neither or both. A file that cannot be removed is named by the next `init`.
        drop(fs::remove_file(&file));
        return Err(error);
    }
    options.print_paragraph(&format!(
        "{}: {}\n{}: a first benchmark, on this machine's CPU\n\n\
         cargo bench --bench {bench} -- --quick   # measures it roughly; without --quick, as long as it takes\n\
         cargo gpubench run                       # measures all benchmark binaries of a workspace\n\n\
         To annotate functions of the library itself, add gpubench to [dependencies] too, without the feature `runtime`. Its \
         features `cust` and `cudarc` take launch functions with streams of these, for GPUs.\n",
        manifest.path.display(),
        changes.join(", "),
        file.display(),
    ))?;
    Ok(Exit::Done)
}

fn check_name(name: &str) -> Result<(), CommandError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if name.chars().all(is_plain) && name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return Ok(());
    }
    let message = "a name begins with a letter and has only letters, digits, `-` and `_`";
    Err(CommandError::usage(format!("--bench {name}: {message}")))
}

/// Returns the dependency on gpubench: of this program's version, or of a checkout.
fn dependency(checkout: Option<&Path>, binding: Option<Binding>) -> Result<InlineTable, CommandError> {
    let mut dependency = InlineTable::new();
    if let Some(checkout) = checkout {
        let folder = checkout.canonicalize().ok().filter(|folder| {
            Manifest::read(folder).is_ok_and(|manifest| manifest.package().is_ok_and(|name| name == GPUBENCH))
        });
        let folder = folder.ok_or_else(|| {
            let message = "is no checkout of gpubench, whose Cargo.toml has `name = \"gpubench\"`";
            CommandError::usage(format!("--path {} {message}", checkout.display()))
        })?;
        dependency.insert("path", folder.display().to_string().into());
    } else {
        let minor = env!("CARGO_PKG_VERSION").rsplit_once('.').map_or("", |(minor, _)| minor);
        dependency.insert("version", minor.into());
    }
    let binding = binding.map(|binding| match binding {
        Binding::Cust => "cust",
        Binding::Cudarc => "cudarc",
    });
    dependency.insert("features", Array::from_iter(binding.into_iter().chain(["runtime"])).into());
    Ok(dependency)
}

fn create(file: &Path, text: &str) -> Result<(), CommandError> {
    let created = fs::create_dir_all(file.parent().unwrap_or(file)).and_then(|()| File::create_new(file));
    created.and_then(|mut created| created.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            CommandError::usage(format!("{} already exists: give another name by --bench", file.display()))
        }
        _ => CommandError::failed(at(file, error)),
    })
}
