//! A suite of the attribute's options, mostly on a device whose clock is known: each benchmark advances it by what its
//! types, constants and arguments say.

use std::thread;
use std::time::Duration;

use end_to_end::clockwork::Clockwork;
use gpubench::{gpu_bench, group, host};

gpubench::main!();

/// A type that says how long its launches take.
trait Ticks {
    const TICKS: u64;
}

impl Ticks for u8 {
    const TICKS: u64 = 100;
}

impl Ticks for f32 {
    const TICKS: u64 = 400;
}

#[gpu_bench(types(T = [u8, f32]), consts(BLOCK = [1, 1 + 1]), args(n = [1, 3]), items = n * BLOCK, "blocks")]
fn generic<T: Ticks, const BLOCK: usize>(n: usize, stream: &Clockwork) {
    stream.advance(32 * T::TICKS * (BLOCK * n) as u64);
}

/// The method that streams of two devices share.
trait Advance {
    fn advance(&self);
}

impl Advance for Clockwork {
    fn advance(&self) {
        self.advance(3_200);
    }
}

impl Advance for host::Stream {
    fn advance(&self) {
        self.run(|| thread::sleep(Duration::from_micros(1)));
    }
}

/// One function on two devices.
#[gpu_bench(types(S = [Clockwork, host::Stream]))]
fn on_both<S: Advance>(stream: &S) {
    stream.advance();
}

#[gpu_bench(args(a = [1, 2], zip(n = [1, 2, 3], m = ["one", "two", "three"])))]
fn zipped(a: u64, n: u64, m: &str, stream: &Clockwork) {
    stream.advance(3_200 * a * n * m.len() as u64);
}

#[gpu_bench(args(lengths = [1], zip(n = 0..3, m = 0..2)))]
fn zipped_unevenly(stream: &Clockwork) {
    stream.advance(3_200);
}

group!(NIGHTLY = "nightly tests", cold, tags = ["nightly"], ignore);

#[gpu_bench(group = NIGHTLY, tags = ["long"])]
fn ignored(stream: &Clockwork) {
    stream.advance(3_200);
}

#[gpu_bench(group = NIGHTLY, ignore = false)]
fn tagged(stream: &Clockwork) {
    stream.advance(3_200);
}

#[gpu_bench(name = "by another name", group = "named", tags = ["long"])]
fn renamed(stream: &Clockwork) {
    stream.advance(3_200);
}

// Twice the same function, under two names.
#[gpu_bench(name = "first of two", args(n = [1]))]
#[gpu_bench(name = "second of two", args(n = [2]))]
fn annotated_twice(n: u64, stream: &Clockwork) {
    stream.advance(3_200 * n);
}

#[gpu_bench(args(n = [1, 2, 3, 4]), skip_if = n % 2 == 0, "only odd sizes", check = assert!(n % 2 == 1))]
fn odd(n: u64, stream: &Clockwork) {
    stream.advance(3_200 * n);
}

#[gpu_bench(args(n = [1, 0]), skip_if = 1 / n == 0, "never")]
fn cannot_say(n: u64, stream: &Clockwork) {
    stream.advance(3_200 * n);
}

#[gpu_bench(link = h2d, bytes = 6_400)]
fn up(stream: &Clockwork) {
    stream.advance(3_200);
}

#[gpu_bench(link = d2d, bytes = 6_400)]
fn across(stream: &Clockwork) {
    stream.advance(3_200);
}

#[gpu_bench(timeout = 0.2)]
fn never_ends(stream: &Clockwork) {
    stream.advance(3_200);
    thread::sleep(Duration::from_secs(600));
}

#[gpu_bench(args(n = [1_000u32, 100_000u32]), flops = n * n)]
fn squares(stream: &Clockwork) {
    stream.advance(3_200);
}

#[gpu_bench(args(n = [0u32, 1]), items = n)]
fn counts_nothing(stream: &Clockwork) {
    stream.advance(3_200);
}

#[gpu_bench(
    args(n = [0u32, 1_000]), setup = Ok(vec![7u8; 3]),
    metric("rows", "krows/s") = f64::from(n) * 1e-3, metric("fill, left", "") = _x.len() as f64 / f64::from(n), metric("last", "%") = _x[2],
)]
fn own_metrics(_x: &[u8], stream: &Clockwork) {
    stream.advance(3_200);
}

#[gpu_bench(setup = Ok(vec![0]), check = if x[0] == 1 { Ok(()) } else { Err(format!("x is {}", x[0])) })]
fn wrong(x: &mut [u8], stream: &Clockwork) {
    x[0] = 2;
    stream.advance(3_200);
}
