//! Runs a suite as a user would.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use assert_cmd::Command;
use gpubench_records::record::{Record, Run};
use rustix::process::{Pid, Signal, kill_process};

/// Longer than any test should take; a suite that hangs is a failure, not a wait.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long a process that was killed may take to end, beside other busy programs.
const ENDING: Duration = Duration::from_secs(5);

/// Asserts that these processes end. Whoever killed them does not wait for those that another process started. One that lives on is
/// killed here.
///
/// # Panics
/// If one lives on.
#[track_caller]
pub fn are_gone(processes: &[String]) {
    let begin = Instant::now();
    while processes.iter().any(|process| is_alive(process)) && begin.elapsed() < ENDING {
        thread::sleep(Duration::from_millis(10));
    }
    let left: Vec<&String> = processes.iter().filter(|process| is_alive(process)).collect();
    for process in &left {
        let process = process.parse().ok().and_then(Pid::from_raw).expect("a number");
        kill_process(process, Signal::KILL).expect("it is ours to end");
    }
    assert!(left.is_empty(), "processes {left:?} live on");
}

/// Returns true if there is a process of this number.
fn is_alive(process: &str) -> bool {
    // One that has ended and that nobody has waited for is not.
    let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    state
        .rsplit(')')
        .next()
        .and_then(|after| after.split_whitespace().next())
        .is_some_and(|state| state != "Z")
}

/// The end of a suite.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; nothing if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// `program` in an environment that says nothing to gpubench and is no scheduler's, on a machine whose GPU is out of sight.
#[must_use]
pub fn command(program: &str) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    for (name, _) in env::vars_os() {
        let known = name.to_string_lossy();
        let begins = ["GPUBENCH_", "SLURM_", "CUDA_"].iter().any(|begin| known.starts_with(begin));
        let others =
            ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "RUST_BACKTRACE", "NVIDIA_TF32_OVERRIDE"];
        if begins || others.contains(&&*known) {
            command.env_remove(name);
        }
    }
    // Nor are its sensors in sight, and above all not its clocks; nor are tests to fill the folder where a user's runs are kept.
    command.env("GPUBENCH_LIBCUDA", "no-libcuda-here").env("GPUBENCH_LIBNVML", "no-libnvml-here");
    // Nor does it matter what was measured on this machine before: nothing can be stored below a file.
    command.env("GPUBENCH_CACHE_DIR", "/dev/null/no-cache-here");
    command.env("GPUBENCH_RUNS_DIR", "none");
    command
}

/// Copies `program` to `place`, by a process that has closed it when it is started: had this one written it, a child that
/// another test starts meanwhile might still hold it, and it would be busy.
///
/// # Panics
/// If it cannot be copied.
#[track_caller]
pub fn copy(program: &str, place: &Path) {
    let copied = std::process::Command::new("cp").arg(program).arg(place).status().expect("there is cp");
    assert!(copied.success(), "{program} cannot be copied");
}

/// The files in a folder, by name.
///
/// # Panics
/// If it cannot be read.
#[must_use]
#[track_caller]
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// The lines of a run as builds before 2026-11-22 wrote them, without checksums: for tests that change what they say.
#[must_use]
pub fn without_checksums(lines: &str) -> String {
    let bare = |line: &str| match line.rsplit_once(",\"crc32\":\"") {
        Some((body, _)) => format!("{body}}}}}\n"),
        None => format!("{line}\n"),
    };
    lines.lines().map(bare).collect()
}

/// Runs `program` with `arguments` to its end.
#[must_use]
pub fn run(program: &str, arguments: &[&str]) -> Ended {
    run_with(program, arguments, &[])
}

/// Runs `program` with `arguments` and these variables in its environment.
#[must_use]
pub fn run_with(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
    let mut command = command(program);
    command.args(arguments).envs(environment.iter().copied()).stdin(Stdio::null());
    let output = Command::from_std(command).timeout(PATIENCE).output().expect("the suite starts");
    output.into()
}

/// A `gpubench.toml` of a test.
pub struct SettingsFile {
    path: String,
    _folder: tempfile::TempDir,
}

impl SettingsFile {
    /// Writes a file with this text.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gpubench.toml");
        fs::write(&path, text).expect("it can be written");
        let path = path.to_str().expect("UTF-8").to_owned();
        Self { path, _folder: folder }
    }

    /// Writes a file that gives `device` a peak, such as `memory=1GB/s`.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn peak(device: &str, peak: &str) -> Self {
        let (quantity, value) = peak.split_once('=').expect("QUANTITY=VALUE");
        Self::new(&format!("[peaks.\"{device}\"]\n\"{quantity}\" = \"{value}\"\n"))
    }

    /// The variable that names it.
    #[must_use]
    pub fn variable(&self) -> (&'static str, &str) {
        ("GPUBENCH_CONFIG", &self.path)
    }
}

/// Runs `program` with `arguments`, and reads the run that it stored.
///
/// # Panics
/// If it stored none.
#[must_use]
#[track_caller]
pub fn measure(program: &str, arguments: &[&str]) -> (Ended, Run) {
    measure_with(program, arguments, &[])
}

/// The same with these variables in its environment.
///
/// # Panics
/// If it stored none.
#[must_use]
#[track_caller]
pub fn measure_with(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> (Ended, Run) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let arguments = [arguments, &["--json", file.to_str().expect("UTF-8")]].concat();
    let ended = run_with(program, &arguments, environment);
    let stored = fs::read_to_string(file).unwrap_or_else(|error| panic!("{error}: {ended}"));
    let run = serde_json::from_str(&stored).unwrap_or_else(|error| panic!("{error}: {ended}"));
    (ended, run)
}

/// Each case of `run` in the order it was measured, such as `suite::saxpy[n=8] cold`.
#[must_use]
pub fn cases(run: &Run) -> Vec<String> {
    run.records.iter().map(case).collect()
}

/// The record of the case of this name.
///
/// # Panics
/// If `run` has none.
#[must_use]
#[track_caller]
pub fn record<'a>(run: &'a Run, name: &str) -> &'a Record {
    let found = run.records.iter().find(|record| case(record) == name);
    found.unwrap_or_else(|| panic!("no `{name}` among {:?}", cases(run)))
}

fn case(record: &Record) -> String {
    format!("{} {}", record.case.name(), record.case.cache)
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("a suite writes UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit {:?}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

impl Ended {
    /// The same, if the exit code is `code`.
    ///
    /// # Panics
    /// If it is another one, with all that was written.
    #[track_caller]
    #[must_use]
    pub fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Asserts that nothing went to standard output, and something with `words` in it to standard error.
    ///
    /// # Panics
    /// If not.
    #[track_caller]
    pub fn says_only(&self, words: &str) {
        assert_eq!(self.stdout, "", "{self}");
        assert!(self.stderr.contains(words), "no `{words}` in {self}");
    }

    /// Asserts that the results have `words` in one of their lines, and that standard error is empty.
    ///
    /// # Panics
    /// If not.
    #[track_caller]
    pub fn shows(&self, words: &str) {
        assert!(self.stdout.lines().any(|line| line.contains(words)), "no line with `{words}` in {self}");
    }

    /// Asserts that the row of `case`, such as `module::name[n=1] hot`, has a reason against it that begins with `reason`,
    /// verdict first. The row has the number of that reason, whose words stand under the first row with it.
    ///
    /// # Panics
    /// If not.
    #[track_caller]
    pub fn shows_against(&self, case: &str, reason: &str) {
        let (name, cache) = case.rsplit_once(' ').expect("a name and its cache state");
        let short = name.rsplit_once("::").map_or(name, |(_, short)| short);
        let mut shown = String::new();
        for line in
            self.stdout.lines().filter(|line| ["  ", "? ", "! "].iter().any(|mark| line.starts_with(mark)))
        {
            let row = &line[2..];
            if !row.starts_with(' ') {
                row.split("  ").next().unwrap_or(row).clone_into(&mut shown);
            }
            if shown != short || line.starts_with("  ") || !row.contains(&format!(" {cache}  ")) {
                continue;
            }
            let numbers = row.rsplit_once(" [").map_or("", |(_, numbers)| numbers).trim_end_matches(']');
            let mut words = numbers.split("][").map(|number| format!("    [{number}] {reason}"));
            if words.any(|words| self.stdout.lines().any(|line| line.starts_with(&words))) {
                return;
            }
        }
        panic!("no `{reason}` against {case} in {self}");
    }
}
