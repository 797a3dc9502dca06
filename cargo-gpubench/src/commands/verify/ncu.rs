//! Nsight Compute as a program. In: the cases, and the metrics; out: what it printed, and the failures of cases.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, DirBuilder, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use gpubench_records::id::PlannedCase;
use gpubench_records::method::Cache;
use gpubench_runtime::__private::profiled::{FLAG, ProfiledCases};
use gpubench_runtime::__private::system::Family;

use super::counted;

/// The name of the program.
const NAME: &str = "ncu";
/// The time between two looks at it.
const GLANCE: Duration = Duration::from_millis(20);
/// The pipes of a multiprocessor whose instructions are counted.
const PIPES: [&str; 9] = ["adu", "alu", "cbu", "fma", "fp16", "fp64", "lsu", "uniform", "xu"];

/// The program's path.
pub(super) struct Ncu(PathBuf);

/// What came of running it.
pub(super) struct NcuRun {
    /// Its standard output, then its standard error.
    pub(super) printed: String,
    /// The errors of cases, by their numbers.
    pub(super) failures: BTreeMap<usize, String>,
    ending: Ending,
}

/// How Nsight Compute came to its end.
enum Ending {
    /// By itself.
    Exited(ExitStatus),
    /// At the limit of its cases.
    Late,
    /// Because the user wants to stop.
    Stopped,
}

impl NcuRun {
    /// Returns how it ended, in words.
    pub(super) fn ended(&self) -> String {
        match self.ending {
            Ending::Late => "ncu took longer than the limits of its cases, and was ended".to_owned(),
            Ending::Stopped => "the run was interrupted".to_owned(),
            Ending::Exited(status) => format!("ncu profiled nothing, and ended with {status}"),
        }
    }
}

/// The metrics that are always there.
pub(super) fn usual_metrics() -> Vec<String> {
    use counted::{ACTIVE, DRAM_READ, DRAM_WRITTEN, DURATION, L1_HIT, L2_HIT, REGISTERS};
    [DURATION, L1_HIT, L2_HIT, DRAM_READ, DRAM_WRITTEN, ACTIVE, REGISTERS].map(str::to_owned).to_vec()
}

/// These and the others.
pub(super) fn all_metrics() -> Vec<String> {
    use counted::{CLOCK, CYCLES, FLOPS, L2_SECTORS_READ, L2_SECTORS_WRITTEN, LOCAL, PIPE, STALL, executed};
    let [before, behind] = STALL;
    let stalls = format!("regex:^{before}[a-z_]+{}$", behind.replace('.', r"\."));
    let more =
        [CYCLES, CLOCK, L2_SECTORS_READ, L2_SECTORS_WRITTEN, LOCAL[0], LOCAL[1], &stalls].map(str::to_owned);
    let pipes = PIPES.map(|pipe| format!("{}{pipe}{}", PIPE[0], PIPE[1]));
    let flops = FLOPS.iter().flat_map(|(_, instructions)| instructions.map(executed));
    usual_metrics().into_iter().chain(more).chain(pipes).chain(flops).collect()
}

impl Ncu {
    /// Finds it in the PATH, in a CUDA toolkit, or where its own installer puts it.
    pub(super) fn find() -> Result<Self, String> {
        let path = env::var_os("PATH").unwrap_or_default();
        let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(env::var_os).map(PathBuf::from);
        let usual = versions("/usr/local", "cuda");
        let toolkits = toolkits.chain(usual).map(|root| root.join("bin"));
        let places =
            env::split_paths(&path).chain(toolkits).chain(versions("/opt/nvidia/nsight-compute", ""));
        let found = places.map(|folder| folder.join(NAME)).find(|program| program.is_file());
        found.map(Self).ok_or_else(|| {
            "ncu (Nsight Compute) is not in the PATH, in a CUDA toolkit or in /opt/nvidia/nsight-compute: install it".to_owned()
        })
    }

    /// Runs the benchmark binary of `binary` under it, which launches each case this many times.
    pub(super) fn run(
        &self,
        binary: &Command,
        cases: &[PlannedCase],
        (cache, launches): (Cache, usize),
        metrics: &[String],
        (limit, stop): (Duration, &dyn Fn() -> bool),
    ) -> Result<NcuRun, String> {
        let files = Files::make().map_err(|error| format!("no files for ncu: {error}"))?;
        let request = ProfiledCases { cases: cases.to_vec(), launches, failures: files.at("failures") };
        let ran = serde_json::to_vec(&request).map_err(io::Error::from).and_then(|json| {
            fs::write(files.at("cases"), json)?;
            wait(Family::start(&mut self.command(binary, &files, cache, metrics)?)?, limit, stop)
        });
        let ending = ran.map_err(|error| format!("ncu cannot be run: {error}"))?;
        let text = |name: &str| fs::read(files.at(name)).unwrap_or_default();
        let printed = String::from_utf8_lossy(&[text("out"), text("err")].concat()).into_owned();
        Ok(NcuRun { printed, failures: failures(&files.at("failures")), ending })
    }

    fn command(
        &self,
        binary: &Command,
        files: &Files,
        cache: Cache,
        metrics: &[String],
    ) -> io::Result<Command> {
        let mut command = Command::new(&self.0);
        let control = if cache == Cache::Cold { "all" } else { "none" };
        command
            .args(["--csv", "--page", "raw", "--print-units", "base", "--profile-from-start", "off"])
            .args(["--clock-control", "none", "--cache-control", control, "--metrics", &metrics.join(",")])
            .arg(binary.get_program())
            .arg(FLAG)
            .arg(files.at("cases"))
            .envs(binary.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(File::create(files.at("out"))?)
            .stderr(File::create(files.at("err"))?);
        if let Some(folder) = binary.get_current_dir() {
            command.current_dir(folder);
        }
        Ok(command)
    }
}

/// Reads the failures of cases, by their numbers.
fn failures(file: &Path) -> BTreeMap<usize, String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Folders in `root` whose names begin so, the last name first.
fn versions(root: &str, beginning: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let fitting = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning));
    let mut found: Vec<PathBuf> = fitting.map(|entry| entry.path()).collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}

/// Waits for a process, and ends it with everything that it started at its limit, or if the user wants to stop.
fn wait(mut ncu: Family, limit: Duration, stop: &dyn Fn() -> bool) -> io::Result<Ending> {
    let began = Instant::now();
    loop {
        if ncu.has_ended() {
            return ncu.wait().map(Ending::Exited);
        }
        let stopped = stop();
        if stopped || began.elapsed() > limit {
            ncu.kill();
            ncu.wait()?;
            return Ok(if stopped { Ending::Stopped } else { Ending::Late });
        }
        thread::sleep(GLANCE);
    }
}

/// A folder that is removed at the end. Nobody can guess its name, and nothing that has it already is taken for it: others may write to
/// the folder that it is in.
pub(super) struct Files(PathBuf);

impl Files {
    pub(super) fn make() -> io::Result<Self> {
        let random = RandomState::new().hash_one(0);
        let folder = env::temp_dir().join(format!("gpubench-ncu-{random:016x}"));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder)?;
        Ok(Self(folder))
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // What is left of a temporary folder is the system's to remove.
        _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn ended(script: &str, limit: Duration, stop: bool) -> String {
        let family = Family::start(Command::new("sh").args(["-c", script])).expect("every Unix has it");
        let ending = wait(family, limit, &|| stop).expect("it can be waited for");
        NcuRun { printed: String::new(), failures: BTreeMap::new(), ending }.ended()
    }

    #[test]
    fn it_ends_by_itself_at_the_limit_or_with_the_run() {
        let (long, began) = (Duration::from_secs(60), Instant::now());
        assert_eq!(ended("exit 3", long, false), "ncu profiled nothing, and ended with exit status: 3");
        let late = "ncu took longer than the limits of its cases, and was ended";
        assert_eq!(ended("sleep 50", Duration::from_millis(50), false), late);
        assert_eq!(ended("sleep 50", long, true), "the run was interrupted");
        assert!(began.elapsed() < Duration::from_secs(40), "nothing slept to its end");
    }

    #[test]
    fn its_files_are_its_own_and_go_with_it() {
        use std::os::unix::fs::PermissionsExt as _;

        let [one, other] = [(); 2].map(|()| Files::make().expect("the temporary folder takes more"));
        assert_ne!(one.0, other.0);
        let mode = fs::metadata(&one.0).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::write(one.at("out"), "1").expect("it can be written");
        let place = one.0.clone();
        drop(one);
        assert!(!place.exists() && other.0.exists());
    }
}
