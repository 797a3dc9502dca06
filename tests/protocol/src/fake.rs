//! The fake libcuda, and suites that run on it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{env, fs};

use end_to_end::running::{Ended, run_with};
use gpubench_records::record::Run;
use gpubench_records::verdict::{Reason, State};

use crate::log::{self, Line};

/// The library, which cargo builds beside the program of the tests.
///
/// # Panics
/// If it is not there.
#[must_use]
pub fn library() -> &'static Path {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let test = env::current_exe().expect("a test has a path");
        let library = test.with_file_name("libfake_cuda.so");
        assert!(library.exists(), "{} is not there: `cargo test -p protocol` builds it", library.display());
        library
    });
    &LIBRARY
}

/// The output, the run and the log of a suite that ran on the fake.
#[derive(Debug)]
pub struct Measured {
    /// Its exit code and its output.
    pub ended: Ended,
    /// The stored run.
    pub run: Run,
    /// The stored run as text.
    pub text: String,
    /// The log of the fake, process by process in order.
    pub log: Vec<Line>,
}

/// Runs `program` on the fake, of which `asked` asks something: each a name after `GPUBENCH_FAKE_`, and its value. A log is
/// kept where `LOG` is one of them, whatever its value; `ONCE` gets a folder likewise.
///
/// # Panics
/// If the suite stores no run.
#[must_use]
#[track_caller]
pub fn measure(program: &str, arguments: &[&str], asked: &[(&str, &str)]) -> Measured {
    stored_by(program, &[arguments, &["--json", STORED]].concat(), asked)
}

/// The argument that stands for the file of the run.
const STORED: &str = "STORED";

/// Runs `cargo gpubench verify` of a benchmark binary likewise: with flags of its own, and those of the binary.
///
/// # Panics
/// If it is not built, or stores no run.
#[must_use]
#[track_caller]
pub fn verify(program: &str, own: &[&str], flags: &[&str], asked: &[(&str, &str)]) -> Measured {
    let built = library().parent().expect("a folder").with_file_name("cargo-gpubench");
    assert!(built.exists(), "{} is not there: `cargo build -p cargo-gpubench` builds it", built.display());
    let before = ["gpubench", "verify", "--program", program, "--json", STORED];
    stored_by(built.to_str().expect("UTF-8"), &[&before, own, &["--"], flags].concat(), asked)
}

#[track_caller]
fn stored_by(program: &str, arguments: &[&str], asked: &[(&str, &str)]) -> Measured {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (stored, logged) = (at("run.json"), at("log"));
    let mut environment =
        vec![("GPUBENCH_LIBCUDA".to_owned(), library().to_str().expect("UTF-8").to_owned())];
    // Suites on the fake wait for nobody: each has a GPU of its own, as far as locks tell.
    environment.push(("TMPDIR".to_owned(), folder.path().to_str().expect("UTF-8").to_owned()));
    // Sensors are read by a thread of their own, at any time: only who asks for them has them.
    let sensors = ["CLOCKS", "HEAT", "SLOWED", "PROCESSES", "ENERGY", "LOCK", "UNLOCK", "PCIE", "NVLINKS"];
    if asked.iter().any(|(name, _)| sensors.contains(name)) {
        environment.push(("GPUBENCH_LIBNVML".to_owned(), library().to_str().expect("UTF-8").to_owned()));
    }
    for (name, value) in asked {
        let value =
            if ["LOG", "ONCE"].contains(name) { at(&name.to_lowercase()) } else { (*value).to_owned() };
        // Programs are looked for in the folders of this one.
        let is_own = ["PATH", "COLUMNS"].contains(name) || name.starts_with("GPUBENCH_");
        let variable = if is_own { (*name).to_owned() } else { format!("GPUBENCH_FAKE_{name}") };
        environment.push((variable, value));
    }
    let environment: Vec<_> = environment.iter().map(|(name, value)| (&**name, &**value)).collect();
    let arguments: Vec<&str> =
        arguments.iter().map(|word| if *word == STORED { &stored } else { *word }).collect();
    let ended = run_with(program, &arguments, &environment);
    let text = fs::read_to_string(stored).unwrap_or_else(|error| panic!("{error}: {ended}"));
    let run = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {ended}"));
    let log = fs::read_to_string(logged).map_or_else(|_| Vec::new(), |text| log::read(&text));
    Measured { ended, run, text, log }
}

/// The rows that failed: each case, and why.
///
/// # Panics
/// If one that has a measurement is invalid.
#[must_use]
#[track_caller]
pub fn failed(run: &Run) -> Vec<(String, String)> {
    let failed = run.records.iter().filter(|record| record.verdict.state == State::Invalid);
    let told = failed.map(|record| {
        let [reason @ Reason::Failed(_)] = &record.verdict.reasons[..] else {
            panic!("{:?}", record.verdict)
        };
        assert_eq!(record.measurement, None);
        (format!("{} {}", record.case.name(), record.case.cache), reason.to_string())
    });
    told.collect()
}
