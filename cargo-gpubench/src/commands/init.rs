//! `init`: adds a first benchmark to a package: a dependency and a bench target in its `Cargo.toml`, and a file
//! with an annotated function for the CPU or, with `--binding`, for a GPU. No file is overwritten.

use std::fs::File;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use clap::Args;
use gpubench_records::Exit;
use toml_edit::{Array, InlineTable, value};

use crate::manifest::{Manifest, without_current_folder};
use crate::output::{CommandError, PrintOptions, Result, bail, path_message};

/// The name of the crate that packages with benchmarks depend on.
pub(super) const GPUBENCH_CRATE: &str = "gpubench";
/// The template of a first benchmark for the CPU. In all templates, `NAME` is the bench target, and `LIBRARY`
/// the library of the package.
const HOST_TEMPLATE: &str = include_str!("../../templates/host.rs");
/// The template of a first benchmark for a GPU that uses the crate cudarc.
const CUDARC_TEMPLATE: &str = include_str!("../../templates/cudarc.rs");
/// The template of a first benchmark for a GPU that uses the crate cust.
const CUST_TEMPLATE: &str = include_str!("../../templates/cust.rs");
/// The files of the kernel that the CUDA benchmarks launch: names and contents.
const KERNEL_FILES: [(&str, &str); 2] = [
    ("saxpy.cu", include_str!("../../templates/saxpy.cu")),
    ("saxpy.ptx", include_str!("../../templates/saxpy.ptx")),
];

/// The arguments of `cargo gpubench init`.
#[derive(Args)]
pub(super) struct InitArgs {
    /// The folder of the package
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// The name of the bench target
    #[arg(long, value_name = "NAME", default_value = "kernels")]
    bench: String,
    /// The folder with the sources of gpubench to depend on [default: those that this program was built from]
    #[arg(long, value_name = "FOLDER")]
    path: Option<PathBuf>,
    /// Write a benchmark of a CUDA kernel that uses this CUDA crate
    #[arg(long, value_parser = ["cudarc", "cust"])]
    binding: Option<String>,
}

/// Runs the command. After an error, `Cargo.toml` is as before, and the files that the command created are
/// removed.
pub(super) fn init(args: &InitArgs, options: PrintOptions) -> Result<Exit> {
    let InitArgs { folder, bench, path, binding } = args;
    check_bench_name(bench)?;
    let mut manifest = Manifest::read(folder)?;
    manifest.package_name()?;
    let benches = without_current_folder(folder.join("benches"));
    let file = benches.join(format!("{bench}.rs"));
    let library = manifest.library_name();
    let mut changes = Vec::new();
    let (template, device, binding) = match binding.as_deref() {
        None => (HOST_TEMPLATE, "this machine's CPU", None),
        Some("cudarc") => (CUDARC_TEMPLATE, "a GPU", Some(("cudarc", "0.19.10", Some("cuda-12080")))),
        Some(_) => (CUST_TEMPLATE, "a GPU", Some(("cust", "0.3.2", None))),
    };
    if manifest.depends_on(GPUBENCH_CRATE) {
        let wanted: Vec<&str> = binding.map(|(name, ..)| name).into_iter().chain(["runtime"]).collect();
        changes.push(match manifest.add_features(GPUBENCH_CRATE, &wanted) {
            Some(added) if added.is_empty() => "gpubench stays as it is".to_owned(),
            Some(added) => format!("gpubench with the features {}", added.join(", ")),
            None => format!("gpubench stays as it is (benchmarks need its features {})", wanted.join(", ")),
        });
    } else {
        let dependency = gpubench_dependency(folder, path.as_deref(), binding.map(|(name, ..)| name))?;
        manifest.table_mut("dev-dependencies")?.insert(GPUBENCH_CRATE, value(dependency));
        changes.push("gpubench under [dev-dependencies]".to_owned());
    }
    if let Some((name, version, feature)) = binding.filter(|(name, ..)| !manifest.depends_on(name)) {
        let mut dependency = InlineTable::from_iter([("version", version)]);
        if let Some(feature) = feature {
            dependency.insert("features", Array::from_iter([feature]).into());
        }
        manifest.table_mut("dev-dependencies")?.insert(name, value(dependency));
        changes.push(format!("{name} with it"));
    }
    manifest.add_bench_target(bench)?;
    changes.push(format!("a bench target `{bench}`"));
    if library.is_some() && manifest.leave_library_out_of_benches()? {
        changes.push(
            "`bench = false` for the library (its test harness rejects the flags of `cargo bench`)"
                .to_owned(),
        );
    }
    if manifest.add_bench_profile() {
        changes.push(
            "[profile.bench.package] (a faster build: the parts of gpubench that only print and store are not optimised)"
                .to_owned(),
        );
    }
    let text = template.replace("NAME", bench).replace("LIBRARY", library.as_deref().unwrap_or_default());
    let kernel = if binding.is_some() { &KERNEL_FILES[..] } else { &[] };
    let files = kernel.iter().map(|(name, text)| (benches.join(name), *text)).chain([(file.clone(), &*text)]);
    let mut created = Vec::new();
    let write = || {
        for (path, text) in files {
            // The kernel may be there of an earlier `init`.
            if path == file || fs::read_to_string(&path).ok().as_deref() != Some(text) {
                create_file(&path, text)?;
                created.push(path);
            }
        }
        manifest.save()
    };
    if let Err(error) = write() {
        // All or nothing. A file that cannot be removed is named by the next `init`.
        created.iter().for_each(|path| drop(fs::remove_file(path)));
        return Err(error);
    }
    let next = binding.map_or_else(String::new, |(name, ..)| {
        let kernel = benches.join("saxpy.{cu,ptx}");
        let where_no_toolkit_is = if name == "cust" {
            " (cust builds with CUDA_LIBRARY_PATH=/usr where no toolkit is)"
        } else {
            ""
        };
        format!("{}: the kernel and its PTX{where_no_toolkit_is}\n", kernel.display())
    });
    options.print_paragraph(&format!(
        "changed {}: {}\ncreated {}: a first benchmark, on {device}\n{next}\n\
         cargo bench --bench {bench} -- --quick   # measures it roughly; without --quick, precisely\n\
         cargo gpubench run                       # measures all benchmark binaries of a workspace\n\n\
         To annotate functions of the library itself, copy the line of gpubench from [dev-dependencies] to [dependencies] too, without its feature \"runtime\".\n",
        manifest.path.display(),
        changes.join(", "),
        file.display(),
    ))?;
    Ok(Exit::Done)
}

/// Checks that `name` begins with an ASCII letter and has only ASCII letters, digits, `-` and `_`.
fn check_bench_name(name: &str) -> Result<()> {
    if name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
    {
        return Ok(());
    }
    bail!(Usage, "--bench {name}: a name begins with a letter and has only letters, digits, `-` and `_`")
}

/// Returns the TOML value of the dependency of the package in `folder` on gpubench, with the feature `runtime`,
/// and the feature `binding` if one is given. The value has the path of `checkout`. Without a `checkout`, it has
/// the path of the sources that this program was built from, or this program's version if those are gone.
///
/// # Errors
/// Returns an error if `checkout` is no checkout of gpubench.
fn gpubench_dependency(folder: &Path, checkout: Option<&Path>, binding: Option<&str>) -> Result<InlineTable> {
    let mut dependency = InlineTable::new();
    let is_checkout = |folder: &PathBuf| {
        Manifest::read(folder)
            .is_ok_and(|manifest| manifest.package_name().is_ok_and(|name| name == GPUBENCH_CRATE))
    };
    let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let found = checkout.unwrap_or(&built_from).canonicalize().ok().filter(is_checkout);
    match (found, checkout) {
        (Some(checkout), _) => {
            dependency.insert("path", relative_path(folder, checkout).display().to_string().into())
        }
        (None, None) => dependency.insert("version", env!("CARGO_PKG_VERSION").into()),
        (None, Some(folder)) => {
            bail!(
                Usage,
                "--path {} is no checkout of gpubench, whose Cargo.toml has `name = \"gpubench\"`",
                folder.display()
            );
        }
    };
    dependency.insert("features", Array::from_iter(binding.into_iter().chain(["runtime"])).into());
    Ok(dependency)
}

/// Returns the path from `folder` to the absolute path `to`; `to` itself if they have no root in common.
fn relative_path(folder: &Path, to: PathBuf) -> PathBuf {
    let from = folder.canonicalize().unwrap_or_default();
    let common = from.components().zip(to.components()).take_while(|(from, to)| from == to).count();
    if common == 0 {
        return to;
    }
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}

/// Creates a file and its folder. A file that exists is an error.
fn create_file(file: &Path, text: &str) -> Result<()> {
    let created = fs::create_dir_all(file.parent().unwrap_or(file)).and_then(|()| File::create_new(file));
    created.and_then(|mut created| created.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CommandError::usage(format!(
            "{} already exists: move it, or give another name by --bench",
            file.display()
        )),
        _ => CommandError::failed(path_message(file, error)),
    })
}
