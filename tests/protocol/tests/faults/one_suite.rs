//! One GPU, one suite: who comes second waits, or does not where the user does not want to.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use end_to_end::here;
use end_to_end::reliability::{quoted, row};
use end_to_end::running::{Ended, SettingsFile, command};
use protocol::fake::library;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Locks are looked for in a folder of the test's own.
fn suite(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut suite = command(super::KERNELS);
    suite.env("GPUBENCH_LIBCUDA", library()).env("TMPDIR", folder.path()).stdin(Stdio::null());
    suite.args(["--quick", "--cache", "hot", "--arg", "n=4096"]).args(arguments);
    suite
}

/// A suite that has the GPU, and does not give it back by itself.
fn holder(folder: &TempDir) -> Child {
    let mut suite = suite(folder, &["cuda::fill"]);
    let holder = suite.env("GPUBENCH_FAKE_KERNEL", "fill:never-ends").stdout(Stdio::null()).spawn();
    let holder = holder.expect("the suite starts");
    wait_for_lock(folder);
    holder
}

/// Waits until a suite has signed the file of its lock.
#[track_caller]
fn wait_for_lock(folder: &TempDir) {
    let deadline = Instant::now() + Duration::from_secs(20);
    let signed = || {
        let files = fs::read_dir(folder.path()).expect("it is there").flatten();
        files.filter_map(|file| fs::read_to_string(file.path()).ok()).any(|text| text.contains("process "))
    };
    while !signed() {
        assert!(Instant::now() < deadline, "nobody has locked anything");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a suite that waits, and returns once it says for whom.
#[track_caller]
fn waiting(folder: &TempDir, process: u32) -> Child {
    let mut suite = suite(folder, &["cuda::copy"]);
    let mut waiting = suite.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the suite starts");
    let mut stderr = BufReader::new(waiting.stderr.take().expect("a pipe"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("UTF-8");
    let says = format!(
        "warning: device `cuda:0` is being measured by process {process} (`protocol/kernels`, since "
    );
    assert!(
        line.starts_with(&says) && line.contains("): waiting (`no-wait = true` in gpubench.toml refuses)"),
        "{line}"
    );
    waiting.stderr = Some(stderr.into_inner());
    waiting
}

#[track_caller]
fn ended(child: Child) -> Ended {
    child.wait_with_output().expect("it was started").into()
}

#[test]
fn one_gpu_is_measured_by_one_suite() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut holder = holder(&folder);
    let refused: Ended = {
        let no_wait = SettingsFile::new("no-wait = true");
        let (name, file) = no_wait.variable();
        suite(&folder, &["cuda::copy"]).env(name, file).output()
    }
    .expect("it starts")
    .into();
    let refused = refused.with_code(5);
    refused.says_only(&format!(
        "device `cuda:0` is being measured by process {} (`protocol/kernels`, since ",
        holder.id()
    ));

    let interrupted = waiting(&folder, holder.id());
    kill_process(Pid::from_child(&interrupted), Signal::INT).expect("it runs");
    let interrupted = ended(interrupted).with_code(130);
    assert_eq!((interrupted.stdout.as_str(), interrupted.stderr.as_str()), ("", "error: interrupted\n"));

    let patient = waiting(&folder, holder.id());
    holder.kill().expect("it runs");
    holder.wait().expect("it was started");
    ended(patient).with_code(0).shows("1 result: 1 valid, 0 suspect, 0 invalid");

    row(
        here!(),
        "another suite on the same GPU",
        "waits for it, and says for which process",
        "measured once the GPU is free",
    );
    let says = "error: device `cuda:0` is being measured by process …";
    row(
        here!(),
        "another suite on the same GPU, `no-wait`",
        &format!("no run: exit 5, {}", quoted(says)),
        "–",
    );
    row(here!(), "that suite killed", "the GPU is free: the lock goes with its process", "measured at once");
}
