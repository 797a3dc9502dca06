//! The surroundings of a suite that is killed: its folder of runs on a disk of its own, the clock that it
//! reads, and what is asked of it.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use end_to_end::running::{Ended, cases, command};
use gpubench_records::record::Run;
use protocol::fake::library;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tempfile::TempDir;

const SUITE: &str = env!("CARGO_BIN_EXE_lasting");
/// A benchmark with a case each, and one with two.
const ASKED: [&str; 12] = [
    "repeats",
    "reads",
    "--arg",
    "run=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19",
    "--arg",
    "ns=2000,3333,10007,20011,40009",
    "--arg",
    "bytes=4096,1048576",
    "--samples",
    "100",
    "--warmup",
    "1ms",
];

/// The places where systems have the library that changes clocks.
const CLOCKS: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
];

/// A run that nobody disturbed.
pub(super) struct Planned {
    pub(super) cases: Vec<String>,
    pub(super) took: Duration,
}

/// A folder for runs on a disk of its own if that is permitted, and a clock.
pub(super) struct Place {
    folder: TempDir,
    pub(super) runs: PathBuf,
    /// True if the folder for runs is a disk of its own.
    is_disk: bool,
}

impl Place {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = folder.path().join("runs");
        fs::create_dir(&runs).expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=16m", "tmpfs"]).arg(&runs).stderr(Stdio::null());
        let is_disk = mount.status().is_ok_and(|status| status.success());
        let place = Self { folder, runs, is_disk };
        place.set_clock(0);
        place
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The suite with what is asked of it.
    fn suite(&self) -> Command {
        let clock = CLOCKS.iter().find(|library| Path::new(library).exists());
        let clock = clock.expect("libfaketime is needed (Debian: apt install libfaketime)");
        // Who writes more than it may is told so rather than ended.
        let mut suite = command("sh");
        suite.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh", SUITE]).args(ASKED).stdin(Stdio::null());
        suite.env("GPUBENCH_LIBCUDA", library()).env("GPUBENCH_RUNS_DIR", &self.runs);
        suite.env("TMPDIR", self.folder.path());
        suite.env("LD_PRELOAD", clock).env("FAKETIME_TIMESTAMP_FILE", self.file("clock"));
        // The clock that counts from the start of the machine never jumps.
        suite.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("FAKETIME_NO_CACHE", "1");
        suite.env("FAKETIME_DISABLE_SHM", "1").env("NO_FAKE_STAT", "1");
        suite
    }

    /// Starts the suite.
    pub(super) fn start(&self, resumes: bool) -> Child {
        let mut suite = self.suite();
        suite.args(resumes.then_some("--resume"));
        let said = File::create(self.file("said")).expect("it can be written");
        suite.stdout(Stdio::null()).stderr(said).spawn().expect("the suite starts")
    }

    /// The words of the suite that ran last.
    pub(super) fn said(&self) -> String {
        fs::read_to_string(self.file("said")).expect("UTF-8")
    }

    /// Runs the suite to its end, with nothing done to it.
    #[track_caller]
    pub(super) fn undisturbed(&self) -> Planned {
        let begin = Instant::now();
        let run = self.reported(self.suite());
        Planned { cases: cases(&run), took: begin.elapsed() }
    }

    /// The report of the run that was measured here, of which nothing is left to measure.
    #[track_caller]
    pub(super) fn resumed(&self) -> Run {
        let before = fs::read_dir(&self.runs).expect("a folder").count();
        let mut suite = self.suite();
        suite.arg("--resume");
        let run = self.reported(suite);
        assert_eq!(fs::read_dir(&self.runs).expect("a folder").count(), before, "nothing is measured");
        run
    }

    #[track_caller]
    fn reported(&self, mut suite: Command) -> Run {
        let json = self.file("run.json");
        suite.arg("--json").arg(&json).stdout(Stdio::piped()).stderr(Stdio::piped());
        let suite = suite.spawn().expect("the suite starts");
        let process = suite.id();
        let ended: Ended = suite.wait_with_output().expect("it was started").into();
        forget(process);
        _ = ended.with_code(0);
        Run::parse(&fs::read(json).expect("it was written")).expect("a run")
    }

    /// Sets the clock to so many seconds from the true time, for suites that run too.
    pub(super) fn set_clock(&self, seconds: i64) {
        fs::write(self.file("clock.new"), format!("{seconds:+}")).expect("it can be written");
        fs::rename(self.file("clock.new"), self.file("clock")).expect("it can be replaced");
    }

    /// Fills the disk but for so many bytes.
    pub(super) fn fill_disk(&self, suite: &Child, left: u64) {
        if !self.is_disk {
            return self.limit_files(suite, left);
        }
        let disk = rustix::fs::statvfs(&self.runs).expect("it is there");
        let free = disk.f_bavail * disk.f_frsize;
        // Where the suite has written more meanwhile, the disk is full before.
        _ = fs::write(self.ballast(), vec![0; free.saturating_sub(left) as usize]);
    }

    /// Gives the files of a suite so many bytes at most.
    pub(super) fn limit_files(&self, suite: &Child, most: u64) {
        let limit = Rlimit { current: Some(most), maximum: None };
        _ = prlimit(Some(Pid::from_child(suite)), Resource::Fsize, limit);
    }

    fn ballast(&self) -> PathBuf {
        self.runs.join("ballast")
    }

    /// Takes away what fills the disk.
    pub(super) fn empty_disk(&self) {
        match fs::remove_file(self.ballast()) {
            Err(error) if error.kind() != ErrorKind::NotFound => panic!("the disk stays full: {error}"),
            _ => {}
        }
    }

    /// Asserts that no process of these suites is left.
    #[track_caller]
    pub(super) fn assert_nobody_is_left(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !self.processes().is_empty() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(self.processes(), [""; 0], "live on");
    }

    /// The processes that have our folder in their environment.
    fn processes(&self) -> Vec<String> {
        let folder = self.folder.path().to_str().expect("UTF-8");
        let processes = fs::read_dir("/proc").expect("Linux has it").flatten();
        let ours = processes.filter(|process| {
            fs::read(process.path().join("environ"))
                .is_ok_and(|environment| String::from_utf8_lossy(&environment).contains(folder))
        });
        ours.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
    }
}

/// Removes the memory that libfaketime shares between a process that was killed and its children.
pub(super) fn forget(process: u32) {
    for name in ["faketime_shm", "sem.faketime_sem"] {
        _ = fs::remove_file(format!("/dev/shm/{name}_{process}"));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.is_disk {
            // Lazily: a failed test may have left a process there.
            _ = Command::new("umount").arg("--lazy").arg(&self.runs).status();
        }
    }
}
