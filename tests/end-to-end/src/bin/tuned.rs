//! A suite whose benchmarks have variants of known times, on a device whose clock is known. `NOISE` spreads the times of launches,
//! in another way for each `SEED`.

use std::cell::Cell;
use std::{env, process};

use end_to_end::clockwork::Clockwork;
use gpubench::gpu_bench;

gpubench::main!();

/// 320 µs.
const EACH: u64 = 320_000;

thread_local! {
    /// The launches so far, with the seed of their noise.
    static STATE: Cell<u64> = Cell::new(variable("SEED") << 32);
}

fn variable(name: &str) -> u64 {
    env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or_default()
}

/// A number that looks random, up to `most`.
fn noise(most: u64) -> u64 {
    let number = STATE.replace(STATE.get() + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (number ^ (number >> 31)) % (most + 1)
}

/// Lets this time pass, and up to `NOISE` thousandths of it more.
fn spend(stream: &Clockwork, nanoseconds: u64) {
    stream.advance(nanoseconds + noise(nanoseconds * variable("NOISE") / 1000));
}

/// The best is another one for each problem; the second is within half a percent of it in both.
#[gpu_bench(
    consts(BLOCK = [128, 256]),
    args(n = [1, 4], unroll = [1, 2, 4]),
    tune(BLOCK, unroll),
    skip_if = BLOCK * unroll == 1024, "needs more registers than there are",
    reads = 64 * n
)]
fn kernel<const BLOCK: u64>(n: u64, unroll: u64, stream: &Clockwork) {
    let thousandths = match (n, BLOCK, unroll) {
        (1, 128, 1) | (4, 256, 2) => 1000,
        (_, 128, 2) => 1002,
        (1, 256, 1) | (4, 128, 1) => 1040,
        _ => 1700,
    };
    spend(stream, n * EACH * thousandths / 1000);
}

/// Only the first and the last work.
#[gpu_bench(args(v = 0..5), tune(v), setup = Ok::<_, String>(()), check = right(v))]
fn broken(v: u64, stream: &Clockwork) -> Result<(), String> {
    match v {
        1 => return Err("too many resources requested for launch".to_owned()),
        2 => process::abort(),
        _ => spend(stream, EACH * (100 - v) / 100),
    }
    Ok(())
}

fn right(v: u64) -> Result<(), String> {
    if v == 3 { Err("the sum is 3".to_owned()) } else { Ok(()) }
}

#[gpu_bench(args(v = 0..6), tune(v))]
fn equal(stream: &Clockwork) {
    spend(stream, EACH);
}

/// One percent better than the others.
#[gpu_bench(args(v = 0..6), tune(v))]
fn better(v: u64, stream: &Clockwork) {
    spend(stream, if v == 4 { EACH } else { EACH * 101 / 100 });
}

/// Three of them are within half a percent of the best.
#[gpu_bench(args(v = 0..5000), tune(v), ignore)]
fn many(v: u64, stream: &Clockwork) {
    spend(stream, EACH / 10 * (1000 + 2 * (v * 7919 % 5000)) / 1000);
}

/// Each launch takes 64 µJ.
#[gpu_bench]
fn frugal(stream: &Clockwork) {
    spend(stream, EACH);
    stream.draw(64_000);
}

#[gpu_bench(args(n = [1]))]
fn without_variants(n: u64, stream: &Clockwork) {
    spend(stream, n * EACH);
}
