//! A reader's folder: the pasted files, and commands that run in it. The checkout beside the reader's package, `../gpubench`, is
//! this workspace.
//!
//! Commands build into the target folder of the workspace by the profile of `tests/downstream`, so that dependencies are
//! built once for all such crates.

use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use gpubench_records::record::Run;
use gpubench_records::verdict::{Reason, State};
use tempfile::TempDir;

use crate::page::workspace;

/// Dependencies are not optimised, as their optimisation takes longer than all tests.
const PROFILE: &str = include_str!("../../downstream/profile.env");
/// The package of all pages.
const NAME: &str = "my-kernels";
/// The name of a library that is not there.
const NO_LIBRARY: &str = "no-libcuda-here";

/// The device that commands measure.
#[derive(Clone, Copy)]
pub(crate) enum Measures {
    Cpu,
    FakeGpu,
}

/// A folder with a package.
pub(crate) struct Project {
    folder: TempDir,
    measures: Measures,
    environment: Vec<(String, String)>,
}

/// The output of a command.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    pub(crate) fn new(measures: Measures) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // The reader's own code is optimised, as it is by `cargo bench`.
        let config = format!("[profile.dev.package.{NAME}]\nopt-level = 3\n");
        let project = Self { folder, measures, environment: Vec::new() };
        fs::create_dir(project.folder.path().join(".cargo")).expect("it can be made");
        fs::write(project.folder.path().join(".cargo/config.toml"), config).expect("it can be written");
        project
    }

    /// Sets a variable for all commands.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Sets the width of lines that suites and `cargo gpubench` print.
    pub(crate) fn set_width(&mut self, columns: usize) {
        self.set("COLUMNS", &columns.to_string());
        self.set("GPUBENCH_WIDTH", &columns.to_string());
    }

    /// Returns the path of a file in the package.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(NAME).join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        let checkout = workspace().canonicalize().expect("it is there");
        let text = text.replace("\"../gpubench\"", &format!("{checkout:?}"));
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Gives the package the versions of the workspace, which are on this machine.
    pub(crate) fn lock(&self) {
        fs::copy(workspace().join("Cargo.lock"), self.path("Cargo.lock")).expect("a copy of the versions");
    }

    /// Runs a command in the package, or above it if there is none yet.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub(crate) fn run(&self, line: &str) -> Ended {
        self.run_and_store(line, None).succeeded(line)
    }

    /// Runs a command that measures, and returns the stored run too. The command may fail.
    ///
    /// # Panics
    /// If it stores none.
    #[track_caller]
    pub(crate) fn measure(&self, line: &str) -> (Ended, Run) {
        let file = self.folder.path().join("run.json");
        let ended = self.run_and_store(line, Some(&file));
        let stored = fs::read_to_string(&file).unwrap_or_else(|error| panic!("`{line}`: {error}\n{ended}"));
        fs::remove_file(file).expect("it is there");
        (ended, serde_json::from_str(&stored).expect("a run"))
    }

    #[track_caller]
    fn run_and_store(&self, line: &str, file: Option<&Path>) -> Ended {
        // Comments explain commands.
        let line = line.split('#').next().unwrap_or_default().trim();
        let mut words: Vec<&OsStr> = line.split_whitespace().map(OsStr::new).collect();
        // The optimised profiles would build all dependencies once more.
        if let Some(release) = words.iter().position(|word| *word == "--release") {
            words.splice(release..=release, ["--profile", "dev"].map(OsStr::new));
        } else if words[1] == "bench" {
            words.splice(2..2, ["--profile", "dev"].map(OsStr::new));
        } else if words.starts_with(&["cargo", "gpubench", "run"].map(OsStr::new)) {
            words.splice(3..3, ["--profile", "dev"].map(OsStr::new));
        }
        if let Some(file) = file {
            if !words.contains(&OsStr::new("--")) {
                words.push(OsStr::new("--"));
            }
            words.extend([OsStr::new("--json"), file.as_os_str()]);
        }

        let target = target();
        let mut command = Command::new(words[0]);
        for (name, _) in env::vars_os() {
            let shown = name.to_string_lossy();
            let ours = [
                "GPUBENCH_",
                "SLURM_",
                "CUDA_",
                "RUSTFLAGS",
                "CARGO_ENCODED_RUSTFLAGS",
                "NO_COLOR",
                "CLICOLOR",
            ];
            if ours.iter().any(|ours| shown.starts_with(ours)) {
                command.env_remove(name);
            }
        }
        let is_installed = target.join("debug/cargo-gpubench").exists();
        assert!(
            is_installed || !line.starts_with("cargo gpubench"),
            "`cargo build -p cargo-gpubench` builds it"
        );
        // Cargo finds `cargo gpubench` there.
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([target.join("debug")].into_iter().chain(env::split_paths(&path)));
        command.env("PATH", path.expect("its parts were joined before"));
        command.env("CARGO_TARGET_DIR", &target);
        command.envs(PROFILE.lines().filter_map(|line| line.split_once('=')));
        let library = match self.measures {
            Measures::Cpu => OsStr::new(NO_LIBRARY).to_owned(),
            Measures::FakeGpu => fake_driver().into_os_string(),
        };
        command.env("GPUBENCH_LIBCUDA", library).env("GPUBENCH_LIBNVML", "no-libnvml-here");
        command.env("GPUBENCH_RUNS_DIR", "none").env("GPUBENCH_CACHE_DIR", self.folder.path().join("cache"));
        // A run on the fake driver waits for no other test's.
        command.env("TMPDIR", self.folder.path());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let package = self.path("");
        command.current_dir(if package.exists() { &package } else { self.folder.path() });
        command.args(&words[1..]);
        let run = |command: &mut Command| {
            let output = command.output().unwrap_or_else(|error| panic!("`{line}`: {error}"));
            let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
            Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
        };
        let ended = run(command.env("CARGO_NET_OFFLINE", "true"));
        let needs_network = ended.code != Some(0) && ended.stderr.contains("offline");
        if needs_network { run(command.env_remove("CARGO_NET_OFFLINE")) } else { ended }
    }
}

impl Ended {
    #[track_caller]
    fn succeeded(self, line: &str) -> Self {
        assert_eq!(self.code, Some(0), "`{line}`: {self}");
        self
    }

    /// # Panics
    /// If standard output lacks `words`.
    #[track_caller]
    pub(crate) fn shows(&self, words: &str) {
        assert!(self.stdout.contains(words), "no `{words}` in {self}");
    }
}

impl Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit {:?}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

/// Asserts that `run` has these results in this order, and that each is valid, or suspect for reasons that `allows` accepts.
#[track_caller]
pub(crate) fn are_valid(run: &Run, expected: &[&str], allows: impl Fn(&Reason) -> bool) {
    let names: Vec<String> =
        run.records.iter().map(|record| format!("{} {}", record.case.name(), record.case.cache)).collect();
    assert_eq!(names, expected);
    for (name, record) in names.iter().zip(&run.records) {
        let verdict = &record.verdict;
        let accepted = verdict.state == State::Valid
            || verdict.state == State::Suspect && verdict.reasons.iter().all(&allows);
        assert!(accepted, "{name}: {verdict:?}");
        let samples = record.measurement.as_ref().map_or(0, |measured| measured.samples.time.samples);
        assert!(samples > 0, "{name} was not measured");
    }
}

/// The target folder of the workspace.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is in the target folder").to_owned()
}

/// The fake driver, which cargo builds with this test.
fn fake_driver() -> PathBuf {
    let test = env::current_exe().expect("a test has a path");
    let library = test.with_file_name("libfake_cuda.so");
    assert!(library.exists(), "{} is not there: `cargo test -p pages` builds it", library.display());
    library
}
