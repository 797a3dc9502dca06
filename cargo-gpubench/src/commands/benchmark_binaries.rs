//! The benchmark binaries of a workspace: the bench targets of packages that depend on gpubench, how cargo builds them, and how they are
//! started. The command `run` runs all of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, ffi::OsString, io, thread};

use clap::Args;
use gpubench_records::Exit;
use gpubench_report::export::FORMATS;
use gpubench_table::{export::Format, paragraph};
use serde::Deserialize;

use super::{combined_exit, init::GPUBENCH_CRATE, signals};
use crate::manifest::package_folder;
use crate::output::{self, CommandError, PrintOptions, Result, bail};

/// The arguments of `cargo gpubench run`.
#[derive(Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    build: BuildArgs,
    /// Filters and flags of each benchmark binary; flags of this command go before them
    #[arg(value_name = "FILTER|FLAG", trailing_var_arg = true, allow_hyphen_values = true)]
    flags: Vec<String>,
}

/// Runs the command `run`.
pub(super) fn run(args: &RunArgs, options: PrintOptions) -> Result<Exit> {
    signals::listen()?;
    let cargo = Cargo::default();
    let workspace = cargo.metadata(&args.build)?;
    let targets = workspace.bench_targets(&args.build)?;
    let format =
        FORMATS.into_iter().map(|(format, _)| format).find(|format| is_flag_given(&args.flags, format.name));
    refuse_shared_file(format, targets.len())?;
    let built = cargo.build(&targets, &args.build)?;
    let ends = run_binaries(&built, &args.flags)?;
    let exit = combined_exit(ends.iter().map(|(_, exit)| *exit));
    if ends.len() > 1 {
        output::print(&format!("\n{}", paragraph(&exit_summary(&ends, exit), options.page())), options)?;
    }
    Ok(exit)
}

/// Returns true if `flags` has the flag `name`, as `--name VALUE` or `--name=VALUE`.
fn is_flag_given(flags: &[String], name: &str) -> bool {
    flags.iter().filter_map(|flag| flag.strip_prefix("--")?.split('=').next()).any(|flag| flag == name)
}

/// Runs the benchmark binaries one after another, until a signal arrives. Returns the name and the exit code
/// of each that ran.
fn run_binaries(built: &BuiltBinaries, flags: &[String]) -> Result<Vec<(String, Exit)>> {
    let mut ends = Vec::new();
    let count = built.binaries.len();
    for (number, suite) in (1..).zip(&built.binaries) {
        if count > 1 {
            output::note(&format!("benchmark binary {number} of {count}: {}", suite.display_name()));
        }
        let exit = signals::exit_of_child(
            signals::run_child(&mut built.command(suite, flags), Exit::Failed)?.status,
        );
        ends.push((suite.display_name(), exit));
        if matches!(exit, Exit::Interrupted(_)) {
            break;
        }
    }
    Ok(ends)
}

/// Returns a line with the number of benchmark binaries and their combined exit code `all`, and below it a
/// line with the exit code of each.
fn exit_summary(ends: &[(String, Exit)], all: Exit) -> String {
    let width = ends.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let lines: String = ends.iter().map(|(name, exit)| format!("{name:width$}  {exit}\n")).collect();
    format!("{} benchmark binaries, {all}\n{lines}", ends.len())
}

/// The benchmark binaries to build, and how.
#[derive(Clone, Args)]
pub(super) struct BuildArgs {
    /// Run only the benchmark binaries of this package; may be given several times
    #[arg(long, short, value_name = "NAME", help_heading = "Benchmark binaries")]
    package: Vec<String>,
    /// Run only this bench target; may be given several times
    #[arg(long, value_name = "NAME", help_heading = "Benchmark binaries")]
    bench: Vec<String>,
    /// Build with these features, in addition to those that a bench target requires
    #[arg(long, short = 'F', value_name = "FEATURES", help_heading = "Build")]
    features: Vec<String>,
    /// Build with this profile, instead of `bench`
    #[arg(long, value_name = "NAME", help_heading = "Build")]
    profile: Option<String>,
    /// Fail if Cargo.lock is missing or out of date
    #[arg(long, help_heading = "Build")]
    locked: bool,
    /// Build without network access
    #[arg(long, help_heading = "Build")]
    offline: bool,
}

/// The variable with the folders in which the system's loader finds shared libraries.
const LIBRARY_PATH_VARIABLE: &str =
    if cfg!(target_os = "macos") { "DYLD_FALLBACK_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };
/// Environment variables of rustup: the toolchain that it selected, and the way in which it was selected
/// (since rustup 1.29).
const TOOLCHAIN_VARIABLES: [&str; 2] = ["RUSTUP_TOOLCHAIN", "RUSTUP_TOOLCHAIN_SOURCE"];
/// The time limit for a program's answer to `--version`. A program with another test harness may ignore the
/// flag and measure.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// The manifest, the folder and the target folder with which cargo is started for a workspace.
#[derive(Default)]
pub(super) struct Cargo {
    /// The `Cargo.toml` that cargo reads; `None` if cargo searches it from its folder.
    pub manifest: Option<PathBuf>,
    /// The folder in which cargo starts and finds its settings; `None` for the current one.
    pub folder: Option<PathBuf>,
    /// The target folder; `None` for the default.
    pub target: Option<PathBuf>,
}

/// The output of `cargo metadata` without dependencies: the packages of a workspace.
#[derive(Deserialize)]
pub(super) struct CargoMetadata {
    packages: Vec<MetadataPackage>,
    #[serde(default)]
    pub workspace_root: PathBuf,
    #[serde(default)]
    pub target_directory: PathBuf,
}

/// A package in the output of `cargo metadata`.
#[derive(Deserialize)]
pub(super) struct MetadataPackage {
    name: String,
    version: String,
    manifest_path: PathBuf,
    #[serde(default)]
    dependencies: Vec<MetadataDependency>,
    #[serde(default)]
    targets: Vec<MetadataTarget>,
}

/// A dependency in the output of `cargo metadata`. `path` is the folder of a path dependency.
#[derive(Deserialize)]
struct MetadataDependency {
    name: String,
    #[serde(default)]
    path: Option<PathBuf>,
}

/// A target of a package, such as a library or a bench target, in the output of cargo.
#[derive(Deserialize)]
struct MetadataTarget {
    name: String,
    kind: Vec<String>,
    #[serde(default, rename = "required-features")]
    required_features: Vec<String>,
}

/// A bench target of a package that depends on gpubench.
#[derive(Clone, PartialEq)]
pub(super) struct BenchTarget {
    package: String,
    version: String,
    manifest: PathBuf,
    name: String,
    /// The features without which cargo does not build the target.
    required_features: Vec<String>,
}

/// A benchmark binary that cargo has built from a bench target.
pub(super) struct BuiltBinary {
    pub target: BenchTarget,
    program: PathBuf,
}

/// The benchmark binaries that cargo has built, with the value of an environment variable that they need to
/// start.
pub(super) struct BuiltBinaries {
    pub binaries: Vec<BuiltBinary>,
    /// The value of [`LIBRARY_PATH_VARIABLE`] with which `cargo bench` starts them.
    library_path: OsString,
}

/// A JSON message that cargo prints during a build: about an artifact, or about the end of a build script.
/// Fields that the message lacks are `None` or empty.
#[derive(Deserialize)]
struct BuildMessage {
    manifest_path: Option<PathBuf>,
    target: Option<MetadataTarget>,
    executable: Option<PathBuf>,
    #[serde(default)]
    linked_paths: Vec<String>,
}

impl Cargo {
    /// Runs `cargo metadata`, and returns the packages of the workspace, without their dependencies. A manifest
    /// that cargo rejects is a failure like that of a build; only a missing one is a usage error.
    pub(super) fn metadata(&self, args: &BuildArgs) -> Result<CargoMetadata> {
        let answer =
            signals::run_tool(&mut self.command(&["metadata", "--no-deps", "--format-version", "1"], args))?;
        if !answer.status.success() {
            let message = "`cargo metadata` failed with the message above";
            match package_folder() {
                Some(_) => bail!(Failed, "{message}"),
                None => bail!(Usage, "{message}: run this command in the folder of a package"),
            }
        }
        serde_json::from_slice(&answer.stdout)
            .map_err(|error| CommandError::usage(format!("the answer of `cargo metadata`: {error}")))
    }

    /// Builds bench targets. Programs that are no benchmark binaries of gpubench are left out with a warning.
    /// Returns an error if the build fails, if a signal arrives, or if no binary is left.
    pub(super) fn build(&self, targets: &[BenchTarget], args: &BuildArgs) -> Result<BuiltBinaries> {
        let mut command =
            self.command(&["bench", "--no-run", "--message-format=json-render-diagnostics"], args);
        if let Some(target) = &self.target {
            command.arg("--target-dir").arg(target);
        }
        for BenchTarget { package, name, required_features, .. } in targets {
            command.args(["--package", package, "--bench", name]);
            for feature in required_features {
                command.args(["--features", &format!("{package}/{feature}")]);
            }
        }
        command.args(args.features.iter().flat_map(|features| ["--features", features]));
        command.args(args.profile.iter().flat_map(|profile| ["--profile", profile]));
        let report = signals::run_tool(&mut command)?;
        if !report.status.success() {
            bail!(Failed, "the build failed: cargo's message is above");
        }
        let mut built = BuiltBinaries::parse(&String::from_utf8_lossy(&report.stdout), targets);
        built.remove_others();
        match signals::received_signal() {
            // A signal ends a benchmark binary before it prints its version.
            Some(exit) => Err(signals::interrupted_error(exit)),
            None if built.binaries.is_empty() => {
                bail!(Nothing, "no benchmark binary is left to run: see the warnings above");
            }
            None => Ok(built),
        }
    }

    /// Returns a command of cargo with these arguments, in the folder and with the manifest of `self`. Adds
    /// `--locked` and `--offline` if the user gives them.
    fn command(&self, words: &[&str], args: &BuildArgs) -> Command {
        let chosen_by = env::var(TOOLCHAIN_VARIABLES[1]).unwrap_or_default();
        let is_by_folder = ["default", "path-override", "toolchain-file"].contains(&&*chosen_by);
        let mut command = if self.folder.is_some() && is_by_folder {
            // Rustup's cargo chooses again, such as by the `rust-toolchain.toml` of that folder.
            let mut cargo = Command::new("cargo");
            TOOLCHAIN_VARIABLES.iter().for_each(|variable| _ = cargo.env_remove(variable));
            cargo
        } else {
            // The cargo of which this program is a subcommand. The user may have chosen it, as in `cargo +nightly gpubench`.
            Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        };
        command.args(words).args(args.locked.then_some("--locked")).args(args.offline.then_some("--offline"));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        if let Some(manifest) = &self.manifest {
            command.arg("--manifest-path").arg(manifest);
        }
        command
    }
}

/// Returns an error if there are several benchmark binaries and a `format`, since all would write to the same
/// file. The caller gives no format that can hold several runs.
pub(super) fn refuse_shared_file(format: Option<Format>, binaries: usize) -> Result<()> {
    match format {
        Some(Format { name, .. }) if binaries > 1 => bail!(
            Usage,
            "--{name} holds one benchmark binary, and there are {binaries}: choose one by --bench. `cargo gpubench report` writes each \
             stored run, and `ab` writes all as --markdown"
        ),
        _ => Ok(()),
    }
}

impl CargoMetadata {
    /// Returns the folders of all path dependencies, as absolute paths. Folders that are missing are left
    /// out.
    pub(super) fn path_dependencies(&self) -> impl Iterator<Item = PathBuf> {
        let paths =
            self.packages.iter().flat_map(|package| &package.dependencies).filter_map(|it| it.path.as_ref());
        paths.filter_map(|path| path.canonicalize().ok())
    }

    /// Returns the bench targets of packages that depend on gpubench, ordered by package and name: those that
    /// `wanted` names, or all. Returns an error for an unknown name, or if no target is left.
    pub(super) fn bench_targets(&self, wanted: &BuildArgs) -> Result<Vec<BenchTarget>> {
        let BuildArgs { package: packages, bench: benches, .. } = wanted;
        if let Some(unknown) = packages.iter().find(|name| self.packages.iter().all(|it| it.name != **name)) {
            bail!(Usage, "--package {unknown}: the workspace has no package of this name");
        }
        let wanted = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        let of_gpubench = self.packages.iter().filter(|package| {
            wanted(packages, &package.name)
                && package.dependencies.iter().any(|other| other.name == GPUBENCH_CRATE)
        });
        let mut targets: Vec<BenchTarget> = of_gpubench.flat_map(MetadataPackage::bench_targets).collect();
        let known: Vec<&str> = targets.iter().map(|target| &*target.name).collect();
        if let Some(unknown) = benches.iter().find(|name| !known.contains(&&***name)) {
            let known = if known.is_empty() { "there is none".to_owned() } else { known.join(", ") };
            bail!(
                Usage,
                "--bench {unknown}: not a bench target of a package that depends on gpubench; these are: {known}"
            );
        }
        targets.retain(|target| wanted(benches, &target.name));
        targets.sort_by(|a, b| (&a.package, &a.name).cmp(&(&b.package, &b.name)));
        if targets.is_empty() {
            bail!(
                Nothing,
                "no package here has a bench target and depends on gpubench: `cargo gpubench init` adds both to a package"
            );
        }
        Ok(targets)
    }
}

impl MetadataPackage {
    /// Returns the bench targets of the package.
    fn bench_targets(&self) -> impl Iterator<Item = BenchTarget> {
        self.targets.iter().filter(|target| target.is_bench()).map(|target| BenchTarget {
            package: self.name.clone(),
            version: self.version.clone(),
            manifest: self.manifest_path.clone(),
            name: target.name.clone(),
            required_features: target.required_features.clone(),
        })
    }
}

impl MetadataTarget {
    /// Returns true for a bench target.
    fn is_bench(&self) -> bool {
        self.kind.iter().any(|kind| kind == "bench")
    }
}

impl BenchTarget {
    /// Returns true if the package and the target have the same names as those of `other`, which may be of
    /// another revision.
    pub(super) fn has_names_of(&self, other: &Self) -> bool {
        (&self.package, &self.name) == (&other.package, &other.name)
    }
}

impl BuiltBinary {
    /// Returns the name for messages, such as `kernels: saxpy`.
    pub(super) fn display_name(&self) -> String {
        format!("{}: {}", self.target.package, self.target.name)
    }
}

/// Runs a program with `--version`, and returns true if it is a benchmark binary of gpubench. A program that
/// takes longer than [`VERSION_TIMEOUT`] is killed, and does not count as one.
pub(super) fn is_benchmark_binary(command: &mut Command) -> bool {
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let begin = Instant::now();
    while begin.elapsed() < VERSION_TIMEOUT {
        if matches!(child.try_wait(), Ok(Some(_)) | Err(_)) {
            let printed = child.stdout.take().and_then(|out| io::read_to_string(out).ok());
            return printed.is_some_and(|printed| printed.contains("(gpubench "));
        }
        thread::sleep(Duration::from_millis(5));
    }
    // If it cannot be killed, it ends by itself.
    drop(child.kill().and_then(|()| child.wait()));
    false
}

impl BuiltBinaries {
    /// Finds the programs that cargo built from `targets` in `report`, the text that cargo printed. Skips
    /// lines that are no messages of cargo, since build scripts may print some.
    fn parse(report: &str, targets: &[BenchTarget]) -> Self {
        let (mut binaries, mut folders) = (Vec::new(), Vec::new());
        for message in report.lines().filter_map(|line| serde_json::from_str::<BuildMessage>(line).ok()) {
            // `native=FOLDER`, or the folder alone.
            let folder =
                |path: &String| PathBuf::from(path.split_once('=').map_or(&**path, |(_, path)| path));
            folders.extend(message.linked_paths.iter().map(folder));
            if let (Some(artifact), Some(program)) = (message.target, message.executable)
                && artifact.is_bench()
            {
                let is_this = |target: &&BenchTarget| {
                    message.manifest_path.as_ref() == Some(&target.manifest) && target.name == artifact.name
                };
                let target = targets.iter().find(is_this).cloned();
                binaries.extend(target.map(|target| BuiltBinary { target, program }));
            }
        }
        binaries.sort_by_key(|built| targets.iter().position(|target| *target == built.target));
        folders.extend(binaries.first().and_then(|suite| Some(suite.program.parent()?.to_owned())));
        folders.extend(env::var_os(LIBRARY_PATH_VARIABLE).iter().flat_map(env::split_paths));
        Self { binaries, library_path: env::join_paths(folders).unwrap_or_default() }
    }

    /// Removes programs that are no benchmark binaries of gpubench, with a warning for each.
    fn remove_others(&mut self) {
        self.binaries.retain(|suite| {
            let mut program = Command::new(&suite.program);
            let is_of_gpubench = is_benchmark_binary(program.env(LIBRARY_PATH_VARIABLE, &self.library_path));
            if !is_of_gpubench {
                output::warn(&format!(
                    "{} is left out: it is not a benchmark binary of gpubench. If it has `gpubench::main!`, add `harness = false` to \
                     its [[bench]] in Cargo.toml",
                    suite.display_name()
                ));
            }
            is_of_gpubench
        });
    }

    /// Returns the command that starts a benchmark binary as `cargo bench` does: in the folder of its package,
    /// with `--bench` last.
    pub(super) fn command(&self, suite: &BuiltBinary, flags: &[String]) -> Command {
        let BenchTarget { package, version, manifest, .. } = &suite.target;
        let folder = manifest.parent().unwrap_or(Path::new("."));
        let mut command = Command::new(&suite.program);
        command.args(flags).arg("--bench").current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
        command.env("CARGO_PKG_NAME", package).env("CARGO_PKG_VERSION", version);
        command.env(LIBRARY_PATH_VARIABLE, &self.library_path);
        command
    }
}
