//! A suite whose lists of arguments and conditions end, hang or change the process that evaluates them. `good` must be measured
//! whatever becomes of the others.

use std::time::Duration;
use std::{env, process, thread};

use end_to_end::clockwork::Clockwork;
use gpubench::gpu_bench;

gpubench::main!();

const LAUNCH: u64 = 3_200;

#[gpu_bench]
fn good(stream: &Clockwork) {
    stream.advance(LAUNCH);
}

#[gpu_bench(args(n = exits()))]
fn list_exits(n: u64, stream: &Clockwork) {
    stream.advance(LAUNCH * n);
}

#[expect(clippy::exit, reason = "what libraries do that should not")]
fn exits() -> [u64; 1] {
    process::exit(0)
}

#[gpu_bench(args(n = aborts()))]
fn list_aborts(n: u64, stream: &Clockwork) {
    stream.advance(LAUNCH * n);
}

fn aborts() -> [u64; 1] {
    process::abort()
}

/// As long as any test goes on.
#[gpu_bench(args(n = hangs()))]
fn list_hangs(n: u64, stream: &Clockwork) {
    stream.advance(LAUNCH * n);
}

fn hangs() -> [u64; 1] {
    thread::sleep(Duration::from_secs(60));
    process::abort()
}

/// Relative paths of the command line are those of the folder where the suite was started.
#[gpu_bench(args(n = in_another_folder()))]
fn list_changes_folder(n: u64, stream: &Clockwork) {
    stream.advance(LAUNCH * n);
}

fn in_another_folder() -> [u64; 1] {
    env::set_current_dir("/").expect("it is there");
    [1]
}

#[gpu_bench(args(n = [1, 2]), skip_if = n == 2 && condition(), "never")]
fn condition_aborts(n: u64, stream: &Clockwork) {
    stream.advance(LAUNCH * n);
}

fn condition() -> bool {
    process::abort()
}
