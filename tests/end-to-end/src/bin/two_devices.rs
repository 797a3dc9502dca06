//! A suite on two devices: this machine's CPU and one whose clock is known, so that its numbers must come out exactly.

use end_to_end::clockwork::Clockwork;
use gpubench::{gpu_bench, host};
use gpubench_records::method::Cache;

gpubench::main!();

/// Hot 100 steps of the clock, cold 250.
#[gpu_bench(reads = 6_400, writes = 3_200, flops = 1_600, cold)]
fn beat(stream: &Clockwork) {
    stream.advance(if stream.sampled() == Some(Cache::Cold) { 8_000 } else { 3_200 });
}

/// Not a whole number of steps.
#[gpu_bench]
fn between_steps(stream: &Clockwork) {
    stream.advance(3_000);
}

/// Far less than a step.
#[gpu_bench(bytes = 1 << 10)]
fn hair(stream: &Clockwork) {
    stream.advance(1);
}

/// Every other launch takes twice as long: no number of samples tells which one the median is.
#[gpu_bench(setup = even, bytes = 6_400)]
fn tick_tock(odd: &mut bool, stream: &Clockwork) {
    stream.advance(if *odd { 6_400 } else { 3_200 });
    *odd = !*odd;
}

/// As [`tick_tock`], with a budget of its own.
#[gpu_bench(setup = even, max_time = 0.001)]
fn tick_tock_in_haste(odd: &mut bool, stream: &Clockwork) {
    tick_tock(odd, stream);
}

fn even() -> Result<bool, String> {
    Ok(false)
}

/// The first 200 ms take twice as long: a warm-up that is too short shows in the samples.
#[gpu_bench(setup = at_rest)]
fn wakes_up(elapsed: &mut u64, stream: &Clockwork) {
    let launch = if *elapsed < 200_000_000 { 6_400 } else { 3_200 };
    *elapsed += launch;
    stream.advance(launch);
}

fn at_rest() -> Result<u64, String> {
    Ok(0)
}

/// Sorts in place: work is there to do only after a reset, which takes longer than the launch and must not be timed.
#[gpu_bench(setup = Ok(true), reset = unsorted, cold)]
fn sorts(unsorted: &mut bool, stream: &Clockwork) {
    stream.advance(if *unsorted { 3_200 } else { 320 });
    *unsorted = false;
}

fn unsorted(unsorted: &mut bool, stream: &Clockwork) {
    stream.advance(64_000);
    *unsorted = true;
}

/// Until a reset there is nothing to launch on, to count or to check.
#[gpu_bench(setup = Ok([0; 3]), reset = refill, items = letters(x), "letters", check = assert_eq!(x, b"abc"))]
fn needs_its_reset(x: &mut [u8], stream: &Clockwork) {
    stream.advance(3_200);
    order(x);
}

#[gpu_bench(setup = Ok([0; 3]), reset = refill, items = letters(x), "letters", check = assert_eq!(x, b"abc"))]
fn needs_its_reset_on_the_host(x: &mut [u8], stream: &host::Stream) {
    stream.run(|| order(x));
}

fn refill<S>(x: &mut [u8], _stream: &S) {
    x.copy_from_slice(b"cab");
}

fn letters(x: &[u8]) -> usize {
    x.iter().filter(|x| x.is_ascii_alphabetic()).count()
}

fn order(x: &mut [u8]) {
    assert_eq!(letters(x), 3, "not reset");
    x.sort_unstable();
}

#[gpu_bench(args(n = [1, 2, 10]), bytes = 64 * n)]
fn sweep(n: usize, stream: &Clockwork) {
    stream.advance(3_200 * n as u64);
}

#[gpu_bench(args(n = [1, 2], unit = [Unit::Tick, Unit::Tock]))]
fn grid(n: usize, unit: Unit, stream: &Clockwork) {
    stream.advance(n as u64 * if unit == Unit::Tick { 3_200 } else { 6_400 });
}

/// Shown by its `Debug`, and not to be parsed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    Tick,
    Tock,
}

mod inner {
    use super::*;

    /// Called as the one above, in another module.
    #[gpu_bench(args(size = ["one", "three"]))]
    fn beat(size: &str, stream: &Clockwork) {
        stream.advance(640 * size.len() as u64);
    }
}

/// Its inputs are vectors in a vector, whose memory no type tells.
#[gpu_bench(setup = Ok::<_, String>(vec![vec![1_u32, 2], vec![3]]), cold)]
fn rows(x: &[Vec<u32>], stream: &host::Stream) -> Result<(), String> {
    let largest = stream.run(|| x.iter().flatten().max());
    if largest == Some(&3) { Ok(()) } else { Err(format!("the largest is {largest:?}")) }
}

#[gpu_bench(args(n = [1 << 10]), setup = |n| Ok::<_, String>(vec![1.0; n]), reads = 4 * x.len(), flops = n, cold)]
fn sum(x: &[f32], stream: &host::Stream) -> Result<(), String> {
    let sum: f32 = stream.run(|| x.iter().sum());
    if sum > 0.0 { Ok(()) } else { Err(format!("the sum is {sum}")) }
}
