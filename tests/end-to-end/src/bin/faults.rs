//! A suite in which all goes wrong that can: in arguments, setup, launch, reset, counts and check; by an error, a panic, an
//! abort, an exit, a crash or no end. `good` must be measured whatever becomes of the others.

use std::cell::Cell;
use std::fmt::{self, Display};
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, process, ptr, thread};

use end_to_end::clockwork::Clockwork;
use gpubench::{gpu_bench, host};
use gpubench_records::method::Cache;
use rayon::prelude::*;

gpubench::main!();

const LAUNCH: u64 = 3_200;

#[gpu_bench(bytes = 6_400)]
fn good(stream: &Clockwork) {
    stream.advance(LAUNCH);
}

#[gpu_bench(args(n = no_list()))]
fn list_panics(n: usize, stream: &Clockwork) {
    stream.advance(LAUNCH * n as u64);
}

fn no_list() -> Vec<usize> {
    panic!("the list is lost")
}

#[gpu_bench(setup = no_inputs, cold)]
fn setup_fails(_x: u8, stream: &Clockwork) {
    stream.advance(LAUNCH);
}

fn no_inputs() -> Result<u8, &'static str> {
    Err("the inputs are lost")
}

#[gpu_bench(setup = broken_inputs)]
fn setup_panics(_x: u8, stream: &Clockwork) {
    stream.advance(LAUNCH);
}

fn broken_inputs() -> Result<u8, &'static str> {
    panic!("the inputs are broken")
}

#[gpu_bench(setup = empty, reads = 4 * x.len())]
fn counts_nothing(x: &[f32], stream: &Clockwork) {
    stream.advance(LAUNCH + x.len() as u64);
}

fn empty() -> Result<Vec<f32>, String> {
    Ok(Vec::new())
}

#[gpu_bench(setup = zero, check = |x| if x == 1 { Ok(()) } else { Err(format!("x is {x}, not 1")) })]
fn check_fails(_x: u8, stream: &Clockwork) {
    stream.advance(LAUNCH);
}

fn zero() -> Result<u8, String> {
    Ok(0)
}

#[gpu_bench]
fn launch_fails(stream: &Clockwork) -> Result<(), OutOfWork> {
    stream.advance(LAUNCH);
    Err(OutOfWork)
}

/// An error that can be displayed and nothing else.
struct OutOfWork;

impl Display for OutOfWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("out of work")
    }
}

#[gpu_bench]
fn launch_panics(stream: &Clockwork) {
    stream.advance(LAUNCH);
    panic!("the launch is off");
}

#[gpu_bench]
fn panics_in_the_pool(stream: &host::Stream) {
    stream
        .run(|| (0..64).into_par_iter().with_max_len(1).for_each(|i| assert!(i != 63, "thread {i} is off")));
}

#[gpu_bench(reset = lost_reset)]
fn reset_panics(stream: &Clockwork) {
    stream.advance(LAUNCH);
}

fn lost_reset(_: &Clockwork) {
    panic!("the reset is lost")
}

#[gpu_bench(check = lost_check)]
fn check_panics(stream: &Clockwork) {
    stream.advance(LAUNCH);
}

fn lost_check() {
    panic!("the check is lost")
}

#[gpu_bench(setup = empty, reads = x[0].to_bits())]
fn count_panics(x: &[f32], stream: &Clockwork) {
    stream.advance(LAUNCH + x.len() as u64);
}

/// Goes wrong after a while: in the warm-up hot, after some samples cold.
#[gpu_bench(setup = Ok::<_, String>(Countdown::default()), cold)]
fn fails_later(countdown: &Countdown, stream: &Clockwork) -> Result<(), &'static str> {
    stream.advance(LAUNCH);
    countdown.launch(stream.sampled())
}

#[derive(Default)]
struct Countdown(Cell<[usize; 2]>);

impl Countdown {
    fn launch(&self, sampled: Option<Cache>) -> Result<(), &'static str> {
        let [hot, cold] = self.0.get();
        match sampled {
            None => return Ok(()),
            Some(Cache::Hot) => self.0.set([hot + 1, cold]),
            Some(Cache::Cold) => self.0.set([hot, cold + 1]),
        }
        // The groups of the warm-up have 1, 8, 64 and 128 launches. Those of the samples have 128 and 64.
        if hot == 100 || cold == 350 { Err("worn out") } else { Ok(()) }
    }
}

#[gpu_bench(cold)]
fn fails_when_cold(stream: &Clockwork) -> Result<(), &'static str> {
    stream.advance(LAUNCH);
    if stream.sampled() == Some(Cache::Cold) { Err("too cold to start") } else { Ok(()) }
}

#[gpu_bench(cold)]
fn aborts_when_hot(stream: &Clockwork) {
    stream.advance(LAUNCH);
    if stream.sampled() == Some(Cache::Hot) {
        process::abort();
    }
}

#[gpu_bench]
fn aborts(_stream: &Clockwork) {
    process::abort();
}

#[gpu_bench]
#[expect(clippy::exit, reason = "what libraries do that should not")]
fn exits(_stream: &Clockwork) {
    process::exit(0);
}

/// As a launch in C that starts a process by `fork` and forgets to end it: both come back.
#[gpu_bench]
#[expect(unsafe_code, reason = "forks")]
#[expect(clippy::print_stderr, reason = "the test reads it")]
fn forks(stream: &Clockwork) {
    unsafe extern "C" {
        fn fork() -> i32;
    }
    static IS_COPY: AtomicBool = AtomicBool::new(false);
    if IS_COPY.load(Ordering::Relaxed) {
        eprintln!("launched by a copy");
    }
    stream.advance(LAUNCH);
    // SAFETY: none. The copy goes on as if it were the worker, which is what this is for.
    if black_box(unsafe { fork() }) == 0 {
        IS_COPY.store(true, Ordering::Relaxed);
    }
}

#[gpu_bench]
#[expect(unsafe_code, reason = "crashes")]
fn segfaults(_stream: &Clockwork) {
    // SAFETY: none. It reads where nothing is, as a launch function in C may, which is what this is for.
    black_box(unsafe { ptr::read_volatile(black_box(ptr::null::<u8>())) });
}

#[gpu_bench]
fn overflows_its_stack(_stream: &Clockwork) {
    black_box(deeper(black_box(0)));
}

#[expect(unconditional_recursion, reason = "that is what it is for")]
fn deeper(depth: u64) -> u64 {
    let ballast = black_box([depth; 128]);
    deeper(depth + 1) + ballast[7]
}

/// As a setup that starts a daemon does: the child keeps what files it was given.
#[gpu_bench]
#[expect(clippy::print_stderr, reason = "the test ends the child that it reads of")]
fn leaves_a_child(_stream: &Clockwork) {
    let null = Stdio::null;
    let child = Command::new("sleep").arg("60").stdin(null()).stdout(null()).stderr(null()).spawn();
    eprintln!("left {}", child.expect("`sleep` is everywhere").id());
    process::abort();
}

#[gpu_bench(setup = no_end())]
fn setup_never_ends(_x: u8, stream: &Clockwork) {
    stream.advance(LAUNCH);
}

fn no_end() -> Result<u8, String> {
    thread::sleep(Duration::from_secs(60));
    process::abort();
}

/// A launch function that ignores requests to end, as where a library handles the signal for its own ends.
#[gpu_bench]
fn never_ends_and_does_not_listen(stream: &Clockwork) {
    stream.advance(LAUNCH);
    if stream.sampled().is_none() {
        return;
    }
    let heard = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGTERM, heard).expect("it can be caught");
    thread::sleep(Duration::from_secs(60));
    process::abort();
}

/// For as long as any test goes on; a worker that is forgotten ends some day.
#[gpu_bench]
fn never_ends(_stream: &Clockwork) {
    thread::sleep(Duration::from_secs(60));
    process::abort();
}

/// A crash after the samples costs the verdict, and not the samples.
#[gpu_bench(setup = Ok::<_, String>(Bomb))]
fn aborts_when_dropped(_bomb: &Bomb, stream: &Clockwork) {
    stream.advance(LAUNCH);
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        process::abort();
    }
}

/// Everything of a benchmark's prints, children of it too.
#[gpu_bench(
    args(n = listed()),
    setup = Speaker::new,
    items = say(1_u64, "counts"), "things",
    skip_if = say(false, "condition"), "never",
    reset = Speaker::once,
    check = Speaker::last,
)]
fn prints(_speaker: &mut Speaker, stream: &Clockwork) {
    stream.advance(LAUNCH);
    if stream.sampled().is_none() {
        say((), "launch");
        let child = Command::new("echo").arg("printed by a child").status();
        assert!(child.expect("`echo` is everywhere").success());
    }
}

/// Arguments are listed whatever is selected; other tests want to hear nothing of these.
fn listed() -> [u64; 1] {
    if env::var_os("FAULTS_PRINT").is_some() { say([1], "args") } else { [1] }
}

/// Has said something of its resets.
struct Speaker(bool);

impl Speaker {
    fn new(_: u64) -> Result<Self, String> {
        say(Ok(Self(false)), "setup")
    }

    fn once(&mut self, _: &Clockwork) {
        if !self.0 {
            self.0 = true;
            say((), "reset");
        }
    }

    fn last(&self, _: u64) {
        say((), "check");
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        say((), "drop");
    }
}

/// Prints what could be taken for a reply, and a line that does not end.
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "what launches and kernels do for debugging")]
fn say<T>(value: T, place: &str) -> T {
    println!("printed to standard output by {place}");
    print!("{{\"record\":null}}\nand no line end after {place} ");
    eprintln!("printed to standard error by {place}");
    value
}

/// More than anybody has, each of them wrong.
#[gpu_bench(args(n = 0..10_000_u64), ignore)]
fn one_of_many_fails(n: u64, stream: &Clockwork) -> Result<(), String> {
    stream.advance(LAUNCH);
    if n.is_multiple_of(2) { Err(format!("{n} is even")) } else { panic!("{n} is odd") }
}
