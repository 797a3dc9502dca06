//! One process of a suite, from its start to its end.

use std::fmt::{self, Display};
use std::fs;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use end_to_end::running::Ended;
use gpubench_runtime::worker::FLAG;
use rand::RngExt;
use rand::rngs::StdRng;
use rustix::process::{Pid, Signal, kill_process};

use super::place::{self, Place};

/// Something that is done to a suite.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    KillSuite,
    KillWorker,
    /// Sets the clock to so many seconds from the true time.
    SetClock(i64),
    /// Leaves so many bytes on the disk.
    FillDisk(u64),
    /// Gives files so many bytes at most.
    LimitFiles(u64),
}

/// What is done to a suite, each at its time from the start.
#[derive(Debug)]
pub(super) struct Life(Vec<(Duration, Act)>);

/// The numbers of what was done.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) runs: usize,
    pub(super) records: usize,
    lives: u64,
    suites: u64,
    workers: u64,
    jumps: u64,
    full: u64,
    /// Those that said so.
    told_full: u64,
    /// Those whose device did not open, because its worker was killed.
    unopened: u64,
}

impl Tally {
    pub(super) fn kills(&self) -> u64 {
        self.suites + self.workers
    }
}

impl Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { runs, records, lives, suites, workers, jumps, full, told_full, unopened } = self;
        write!(
            f,
            "{} kills (suite {suites}, worker {workers}), {jumps} jumps of the clock and {full} full disks in {lives} \
             processes, of which {told_full} said that the disk was full and {unopened} that the device did not open: {runs} \
             runs with {records} records, each once and unchanged",
            self.kills()
        )
    }
}

const HOUR: i64 = 3600;

impl Life {
    /// A plan for a suite that takes this time if nobody disturbs it. A worker is killed at most once: a case that costs two
    /// is told as one that fails.
    pub(super) fn random(random: &mut StdRng, took: Duration) -> Self {
        let moment = |random: &mut StdRng| took.mul_f64(random.random_range(0.0..0.6));
        let first = moment(random);
        let mut acts = match random.random_range(0..10) {
            0..5 => vec![(first, Act::KillSuite)],
            5..7 => vec![(first, Act::KillWorker)],
            7..9 => {
                let soon = first + Duration::from_micros(random.random_range(0..5000));
                vec![(first, Act::KillWorker), (soon, Act::KillSuite)]
            }
            _ => vec![(first, Act::KillWorker), (first + moment(random), Act::KillSuite)],
        };
        if random.random_range(0..3) == 0 {
            let far = [1, 60, HOUR, 24 * HOUR, 10 * 365 * 24 * HOUR][random.random_range(0..5)];
            acts.push((moment(random), Act::SetClock(random.random_range(-far..=far))));
        }
        if random.random_range(0..5) == 0 {
            let left = random.random_range(0..100_000);
            let full = if random.random() { Act::FillDisk(left) } else { Act::LimitFiles(left) };
            acts.push((moment(random), full));
        }
        acts.sort_by_key(|(at, _)| *at);
        Self(acts)
    }

    /// Starts a suite, and does all of this to it. Returns its end.
    pub(super) fn live(&self, place: &Place, resumes: bool, tally: &mut Tally) -> Ended {
        let mut suite = place.start(resumes);
        let begin = Instant::now();
        for (at, act) in &self.0 {
            if !is_alive_at(&mut suite, begin + *at) {
                break;
            }
            match act {
                Act::KillSuite => {
                    suite.kill().expect("it is ours");
                    tally.suites += 1;
                }
                Act::KillWorker => tally.workers += kill_workers(&suite),
                Act::SetClock(seconds) => {
                    place.set_clock(*seconds);
                    tally.jumps += 1;
                }
                Act::FillDisk(left) => {
                    place.fill_disk(&suite, *left);
                    tally.full += 1;
                }
                Act::LimitFiles(most) => {
                    place.limit_files(&suite, *most);
                    tally.full += 1;
                }
            }
        }
        tally.lives += 1;
        assert!(!is_alive_at(&mut suite, begin + PATIENCE), "{self:?}: it hangs: {}", place.said());
        let code = suite.wait().expect("it was started").code();
        place::forget(suite.id());
        Ended { code, stdout: String::new(), stderr: place.said() }
    }

    /// Asserts that what was done to it explains its end.
    #[track_caller]
    pub(super) fn assert_end(&self, ended: &Ended, tally: &mut Tally, told: &str) {
        let was = |wanted: fn(&Act) -> bool| self.0.iter().any(|(_, act)| wanted(act));
        let is_explained = match ended.code {
            Some(0) => true,
            None => was(|act| *act == Act::KillSuite),
            Some(1) => {
                was(|act| matches!(act, Act::FillDisk(_) | Act::LimitFiles(_)))
                    && ["not kept", "no longer kept"].iter().any(|words| ended.stderr.contains(words))
            }
            Some(5) => was(|act| *act == Act::KillWorker) && ended.stderr.contains("SIGKILL"),
            Some(_) => false,
        };
        assert!(is_explained, "{told}");
        tally.told_full += u64::from(ended.code == Some(1));
        tally.unopened += u64::from(ended.code == Some(5));
    }
}

/// Longer than any suite takes here.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until `moment`. Returns false if the process has ended before.
fn is_alive_at(suite: &mut Child, moment: Instant) -> bool {
    loop {
        if suite.try_wait().expect("it is ours").is_some() {
            return false;
        }
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(Duration::from_millis(1)));
    }
}

/// Kills the workers that `suite` has now. Returns their number.
fn kill_workers(suite: &Child) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{}/task", suite.id())).into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<String> =
        children.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
    let is_worker = |child: &&String| {
        fs::read(format!("/proc/{child}/cmdline"))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|argument| argument == FLAG.as_bytes()))
    };
    let workers = children.iter().filter(is_worker).filter_map(|child| Pid::from_raw(child.parse().ok()?));
    workers.filter(|worker| kill_process(*worker, Signal::KILL).is_ok()).count() as u64
}
