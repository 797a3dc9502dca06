//! A suite in which all goes wrong that can: in arguments, setup, launch, counts and check; by an error, a panic, an
//! abort, an exit or no end. `good` must be measured whatever becomes of the others.

use std::fmt::{self, Display};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{process, thread};

use end_to_end::clockwork::Clockwork;
use gpubench::{gpu_bench, host};
use gpubench_runtime::device::Cache;
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

/// As a setup that starts a daemon does: the child keeps what files it was given.
#[gpu_bench]
#[expect(clippy::print_stderr, reason = "the test ends the child that it reads of")]
fn leaves_a_child(_stream: &Clockwork) {
    let null = Stdio::null;
    let child = Command::new("sleep").arg("60").stdin(null()).stdout(null()).stderr(null()).spawn();
    eprintln!("left {}", child.expect("`sleep` is everywhere").id());
    process::abort();
}

/// For as long as any test goes on; a worker that is forgotten ends some day.
#[gpu_bench]
fn never_ends(_stream: &Clockwork) {
    thread::sleep(Duration::from_secs(60));
    process::abort();
}

#[gpu_bench]
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "what launches and kernels do for debugging")]
fn prints(stream: &Clockwork) {
    stream.advance(LAUNCH);
    if stream.sampled().is_none() {
        println!("printed to standard output");
        print!("{{\"record\":null}}\nand no line end");
        eprintln!("printed to standard error");
    }
}
