//! Suites as tasks of a scheduler, without one: its variables in the environment, several GPUs, a folder of
//! runs that all share.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use end_to_end::running::{Ended, run_with, without_checksums};
use gpubench_records::record::Run;
use gpubench_records::{ShareMode, Task};
use gpubench_report::loading::load;
use protocol::fake::library;
use tempfile::TempDir;

const KERNELS: &str = env!("CARGO_BIN_EXE_kernels");
/// Four benchmarks, 7 cases on each GPU.
const SMALL: [&str; 4] = ["--quick", "cuda::copy,cuda::saxpy,cuda::sum,cuda::empty", "--arg", "n=4096"];
const CASES: usize = 7;

/// A job of Slurm on hosts with two GPUs each, with one folder for its runs.
struct Job(TempDir);

/// A task: its node, its number from 0 of how many, the GPUs that it is given, and further variables.
struct Started<'a> {
    node: &'a str,
    task: [&'a str; 2],
    gpus: &'a str,
    more: &'a [(&'a str, &'a str)],
}

impl Job {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn runs(&self) -> &Path {
        self.0.path()
    }

    fn start(&self, arguments: &[&str], started: &Started<'_>) -> Ended {
        let folder = self.runs().to_str().expect("UTF-8");
        let locks = tempfile::tempdir().expect("a folder");
        let environment = [
            ("GPUBENCH_LIBCUDA", library().to_str().expect("UTF-8")),
            ("GPUBENCH_FAKE_GPUS", "2"),
            ("GPUBENCH_FAKE_HOST", started.node),
            ("GPUBENCH_RUNS_DIR", folder),
            ("TMPDIR", locks.path().to_str().expect("UTF-8")),
            ("SLURM_JOB_ID", "4711"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_PROCID", started.task[0]),
            ("SLURM_STEP_NUM_TASKS", started.task[1]),
            ("SLURMD_NODENAME", started.node),
            ("CUDA_VISIBLE_DEVICES", started.gpus),
        ];
        run_with(KERNELS, &[&SMALL[..], arguments].concat(), &[&environment[..], started.more].concat())
    }

    /// All runs in the folder, by their names.
    fn stored(&self) -> BTreeMap<String, Run> {
        let entries = fs::read_dir(self.runs()).expect("a folder");
        let run = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().expect("UTF-8");
            (name, load(&entry.path().join("records.jsonl")).expect("a run").run)
        };
        entries.map(|entry| run(entry.expect("it can be read"))).collect()
    }

    /// The number of records of each case on each GPU.
    fn counts(&self) -> BTreeMap<(String, String), usize> {
        let mut counts = BTreeMap::new();
        for run in self.stored().values() {
            for record in &run.records {
                *counts.entry((record.case.to_string(), uuid(run, &record.device))).or_default() += 1;
            }
        }
        counts
    }
}

fn uuid(run: &Run, device: &str) -> String {
    let info = run.devices.iter().find(|info| info.device == device).expect("a device");
    info.text("UUID").expect("a GPU has one").to_owned()
}

fn task(run: &Run) -> &Task {
    run.environment.task.as_ref().expect("it is a task")
}

/// By default every task measures everything, on all GPUs that it was given and on no other.
#[test]
fn each_task_measures_everything_on_its_gpus() {
    let job = Job::new();
    for (node, number, gpus) in [("n1", "0", "0"), ("n1", "1", "1"), ("n2", "2", "1,0")] {
        let started = Started { node, task: [number, "3"], gpus, more: &[] };
        _ = job.start(&[], &started).with_code(0);
    }
    let counts = job.counts();
    assert_eq!(counts.len(), 4 * CASES, "{counts:?}");
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    let runs = job.stored();
    assert_eq!(runs.len(), 3);
    for (name, run) in &runs {
        let Task { share, number, of, job, node, scheduler, .. } = task(run);
        assert_eq!((*share, *of, job.as_deref()), (ShareMode::Replicate, 3, Some("4711")));
        assert_eq!(scheduler.as_deref(), Some("slurm"));
        let expected = if *number == 3 { "n2" } else { "n1" };
        assert_eq!(node.as_deref(), Some(expected));
        let host = run.environment.host.as_deref().expect("a host").replace('-', "_");
        assert!(name.contains(&format!("Z-{host}-4711.{number}-")), "{name}");
    }
}

/// The cases are distributed; a task without any ends well and says so.
#[test]
fn a_split_has_each_case_once() {
    let job = Job::new();
    for number in ["0", "1", "2", "3", "4"] {
        let started = Started { node: "n1", task: [number, "5"], gpus: "0", more: &[] };
        let ended = job.start(&["--share", "split"], &started).with_code(0);
        if number == "4" {
            assert_eq!(
                ended.stderr,
                "warning: share 5/5: no result is left for this task (7 results in all)\n"
            );
            assert_eq!(ended.stdout, "");
        }
    }
    let counts = job.counts();
    assert_eq!((counts.len(), counts.values().sum::<usize>()), (CASES, CASES), "{counts:?}");
    let runs = job.stored();
    assert!(
        runs.values().all(|run| task(run).cases == Some(CASES) && run.records.len() == run.planned_cases)
    );
    // Hot and cold of a benchmark are in one share.
    for run in runs.values() {
        let names: Vec<String> = run.records.iter().map(|record| record.case.name()).collect();
        assert!(names.windows(2).all(|names| names[0] == names[1]), "{names:?}");
    }
}

/// A task that is killed and started again on another node, whose clock is hours behind, goes on from its own run. That of the
/// task beside it is left alone, and so is everything in the folder.
#[test]
fn a_task_that_is_started_again_resumes_its_own_run() {
    let job = Job::new();
    let start = |number, node, more: &[(&str, &str)]| {
        let started = Started { node, task: [number, "2"], gpus: "0", more };
        job.start(&["--share", "split", "--resume"], &started).with_code(0)
    };
    let begun = start("0", "n1", &[]);
    assert_eq!(begun.stderr, "", "the first time there is nothing to resume");
    assert!(!begun.stdout.contains("earlier run"), "{begun}");
    _ = start("1", "n1", &[]);
    // As if the first had been killed in its last case, at a time that is hours ahead of the other node's.
    let runs = job.stored();
    let (name, run) = runs.iter().find(|(_, run)| task(run).number == 1).expect("it was stored");
    let path = job.runs().join(name);
    let text = without_checksums(&fs::read_to_string(path.join("records.jsonl")).expect("it is there"));
    let lines: Vec<&str> = text.lines().collect();
    let kept = run.records.len() - 1;
    let rest = format!("{}\n{}", lines[..=kept].join("\n"), &lines[kept + 1][..40]);
    let started = format!("\"started\":{}", run.started);
    assert!(rest.contains(&started));
    let ahead = rest.replacen(&started, &format!("\"started\":{}", run.started + 4 * 3600), 1);
    fs::write(path.join("records.jsonl"), ahead).expect("it can be written");
    fs::rename(&path, job.runs().join(name.replacen("20", "21", 1))).expect("it can be renamed");
    let again = start("0", "n1", &[("SLURM_RESTART_COUNT", "1")]);
    assert!(again.stderr.contains("its last line is cut off: that case is measured again"), "{again}");
    again.shows(&format!("resumed: {kept} of {} results were measured by the run of ", run.planned_cases));
    assert_eq!(job.stored().len(), 3, "the interrupted run stays");
    // Each case is whole in the last run of its task; a third start measures nothing.
    let done = start("0", "n1", &[("SLURM_RESTART_COUNT", "2")]);
    done.shows(&format!("resumed: {0} of {0} results", run.planned_cases));
    let counts = job.counts();
    assert_eq!(counts.len(), CASES, "{counts:?}");
}

/// On another GPU of the same model a task measures again: what it measured before is that GPU's. One that was complete is done.
#[test]
fn a_task_that_comes_back_on_another_gpu_measures_there() {
    let job = Job::new();
    let start = |node, restarts| {
        let more = [("SLURM_RESTART_COUNT", restarts)];
        let started = Started { node, task: ["0", "1"], gpus: "0", more: &more };
        job.start(&["--resume"], &started).with_code(0)
    };
    _ = start("n1", "0");
    start("n2", "1").shows("resumed: 7 of 7 results");
    assert_eq!(job.stored().len(), 1);
    let name = job.stored().into_keys().next().expect("a run");
    let file = job.runs().join(name).join("records.jsonl");
    let text = fs::read_to_string(&file).expect("it is there");
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&file, lines[..=4].join("\n") + "\n").expect("it can be written");
    let again = start("n2", "1");
    let words = "`cuda:0` is another device now (its UUID is another): 4 cases measured again";
    assert!(again.stderr.contains(words), "{again}");
    let counts = job.counts();
    assert!(counts.len() == CASES + 4 && counts.values().all(|count| *count == 1), "{counts:?}");
}

/// A GPU that was allocated and is gone ends the task with 5; the CPU is no stand-in for it.
#[test]
fn a_gpu_that_is_gone_is_an_error_of_its_task_alone() {
    let job = Job::new();
    for (gpus, more, words) in [
        ("0", &[("GPUBENCH_FAKE_FAULT", "cuInit=999")][..], "; no CUDA device (cuInit returned 999"),
        ("7", &[], "error: CUDA_VISIBLE_DEVICES=7: there is no such GPU"),
    ] {
        let started = Started { node: "n1", task: ["0", "2"], gpus, more };
        let ended = job.start(&["--share", "split"], &started).with_code(5);
        assert!(ended.stderr.contains(words), "{ended}");
    }
    assert!(job.stored().is_empty(), "nothing was measured");
    // One of two GPUs is lost on the way: the cases of the other are all there.
    let more = [("GPUBENCH_FAKE_FAULT", "cuLaunchKernel#9=719!@1")];
    let started = Started { node: "n1", task: ["0", "1"], gpus: "0,1", more: &more };
    _ = job.start(&[], &started).with_code(1);
    let runs = job.stored();
    let records = &runs.values().next().expect("a run").records;
    let whole = |device: &str| {
        records.iter().filter(|record| record.device == device && record.measurement.is_some()).count()
    };
    assert_eq!(records.len(), 2 * CASES);
    assert!(whole("cuda:0") == CASES && whole("cuda:1") < CASES);
}

/// Two tasks were given the same GPU: the second measures it after the first, and both are kept.
#[test]
fn one_gpu_may_have_two_runs() {
    let job = Job::new();
    for number in ["0", "1"] {
        let started = Started { node: "n1", task: [number, "2"], gpus: "0", more: &[] };
        _ = job.start(&[], &started).with_code(0);
    }
    let counts = job.counts();
    assert!(counts.len() == CASES && counts.values().all(|count| *count == 2), "{counts:?}");
}

#[test]
fn a_wrong_share_says_what_to_give() {
    let job = Job::new();
    let started = Started { node: "n1", task: ["0", "2"], gpus: "0", more: &[] };
    for share in ["0/8", "9/8", "half"] {
        let words =
            format!("invalid value '{share}' for '--share <SHARE>': give PART/PARTS, such as 1/2 or 2/2");
        for ended in [
            job.start(&["--share", share], &started),
            job.start(&[], &Started { more: &[("GPUBENCH_SHARE", share)], ..started }),
        ] {
            ended.with_code(2).says_only(&words);
        }
    }
    let ended = job.start(&["--measure-peaks", "--share", "1/2"], &started).with_code(2);
    ended.says_only("error: --measure-peaks and --share: each GPU has peaks of its own");
    let tested = |share| {
        let ended = job.start(&["--test", "--share", share], &started).with_code(0);
        ended.stdout.matches(" ... ok").count()
    };
    assert_eq!((tested("1/2"), tested("2/2"), tested("none")), (2, 2, 4));
    let ended = run_with(KERNELS, &["--share", "split"], &[]).with_code(2);
    ended.says_only("error: --share `split`: no scheduler, such as Slurm, says which task this is");
    assert!(job.stored().is_empty());
}
