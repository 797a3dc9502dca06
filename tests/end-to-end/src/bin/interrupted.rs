//! A suite that a signal ends: one launch waits for it, another sends it to the suite itself.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, io, process, thread};

use end_to_end::clockwork::Clockwork;
use gpubench::{gpu_bench, host};
use gpubench_runtime::worker;
use rustix::process::{Signal, getpid, getppid, kill_process};

gpubench::main!();

#[gpu_bench]
fn first(stream: &Clockwork) {
    stream.advance(3_200);
}

mod other {
    use super::*;

    /// Its module comes in between.
    #[gpu_bench]
    fn amid(stream: &Clockwork) {
        stream.advance(3_200);
    }
}

#[gpu_bench]
fn behind(stream: &Clockwork) {
    stream.advance(3_200);
}

/// A second device.
#[gpu_bench]
fn on_the_host(_stream: &host::Stream) {}

/// Starts a child, tells where they run, and waits for longer than any test does.
#[gpu_bench]
fn waits(_stream: &Clockwork) {
    wait();
}

/// The same in each process after the first, which leaves its number next to the folder of runs.
#[gpu_bench]
fn stops_in_the_second_process(stream: &Clockwork) -> io::Result<()> {
    stream.advance(3_200);
    let first = Path::new(&env::var_os("GPUBENCH_RUNS_DIR").expect("a folder")).with_file_name("first");
    if !first.exists() {
        fs::write(&first, process::id().to_string())?;
    }
    if fs::read_to_string(first)? != process::id().to_string() {
        wait();
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the test waits for this line")]
fn wait() {
    let null = Stdio::null;
    let child = Command::new("sleep").arg("60").stdin(null()).stdout(null()).stderr(null()).spawn();
    eprintln!("waiting in {} with {}", getpid(), child.expect("`sleep` is everywhere").id());
    thread::sleep(Duration::from_secs(60));
    process::abort();
}

/// Asks the process that the user started to end, as `kill` would, and does not wait.
#[gpu_bench]
fn tells_the_suite_to_end(stream: &Clockwork) -> rustix::io::Result<()> {
    stream.advance(3_200);
    if stream.sampled().is_some() {
        return Ok(());
    }
    tell_the_suite(Signal::TERM)
}

/// Tells it that its terminal is gone.
#[gpu_bench]
fn hangs_up(stream: &Clockwork) -> rustix::io::Result<()> {
    stream.advance(3_200);
    if stream.sampled().is_some() { Ok(()) } else { tell_the_suite(Signal::HUP) }
}

fn tell_the_suite(signal: Signal) -> rustix::io::Result<()> {
    let in_worker = env::args().any(|argument| argument == worker::FLAG);
    let suite = if in_worker { getppid() } else { Some(getpid()) };
    suite.map_or(Ok(()), |suite| kill_process(suite, signal))
}

#[gpu_bench(args(n = 1..=200))]
fn then(n: u64, stream: &Clockwork) {
    stream.advance(3_200 * n);
}
