//! A suite of launches that differ by known amounts, on a device whose clock is known: some by what they do, some by where
//! their inputs lie, and some by what the environment says, so that one run of the program is not as another.

use std::cell::Cell;
use std::env;
use std::fs::File;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use end_to_end::clockwork::Clockwork;
use gpubench::{gpu_bench, host};

gpubench::main!();

/// 32 µs for each.
const EACH: u64 = 32_000;

#[gpu_bench(args(n = [1, 10]), reads = 6_400 * n, cold)]
fn plain(n: u64, stream: &Clockwork) {
    stream.advance(n * EACH);
}

/// 2 % more.
#[gpu_bench(args(n = [1, 10]), reads = 6_400 * n, cold)]
fn longer(n: u64, stream: &Clockwork) {
    stream.advance(n * EACH * 102 / 100);
}

/// In two ways.
#[gpu_bench(consts(BLOCK = [128, 256]), args(n = [1, 10]))]
fn blocks<const BLOCK: u64>(n: u64, stream: &Clockwork) {
    stream.advance(n * EACH * if BLOCK == 256 { 95 } else { 100 } / 100);
}

/// With an argument of its own.
#[gpu_bench(args(n = [1, 10], m = [1, 2]))]
fn wider(n: u64, m: u64, stream: &Clockwork) {
    stream.advance(n * m * EACH);
}

/// With metrics of its own: one that is equal for all, one that is not, and a rate.
#[gpu_bench(args(n = [1, 10]), metric("kept", "") = 4, metric("steps", "") = 8 + n, metric("rows", "krows/s") = 1)]
fn counted(n: u64, stream: &Clockwork) {
    stream.advance(n * EACH);
}

mod other {
    use super::*;

    /// Of the same name as another, and too short for half a percent of it to be told from nothing.
    #[gpu_bench(args(n = [1, 10]))]
    fn plain(n: u64, stream: &Clockwork) {
        stream.advance(n * EACH / 10);
    }
}

thread_local! {
    /// The number of inputs that are alive.
    static ALIVE: Cell<u64> = const { Cell::new(0) };
}

/// Inputs, and how many there were before them.
struct Place(u64);

impl Place {
    fn take() -> Result<Self, String> {
        Ok(Self(ALIVE.replace(ALIVE.get() + 1)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get() - 1);
    }
}

/// 5 % more where its inputs are the first that are made: where buffers lie is part of a time.
#[gpu_bench(setup = Place::take())]
fn placed(place: &Place, stream: &Clockwork) {
    stream.advance(if place.0 == 0 { EACH * 105 / 100 } else { EACH });
}

/// Fails where no other inputs are there beside its own.
#[gpu_bench(setup = Place::take())]
fn beside(_place: &Place, stream: &Clockwork) -> Result<(), String> {
    stream.advance(EACH);
    if ALIVE.get() == 2 { Ok(()) } else { Err(format!("{} inputs are there", ALIVE.get())) }
}

#[gpu_bench(setup = Err::<u8, _>("no room"))]
fn without_inputs(_input: &u8, stream: &Clockwork) {
    stream.advance(EACH);
}

/// Every other launch takes twice as long.
#[gpu_bench(setup = Ok::<_, String>(false))]
fn tick_tock(odd: &mut bool, stream: &Clockwork) {
    stream.advance(if *odd { 2 * EACH } else { EACH });
    *odd = !*odd;
}

/// Its outputs are right once in a process.
#[gpu_bench(check = first_check())]
fn right_once(stream: &Clockwork) {
    stream.advance(EACH);
}

fn first_check() -> Result<(), &'static str> {
    static CHECKED: AtomicBool = AtomicBool::new(false);
    if CHECKED.swap(true, Ordering::Relaxed) { Err("wrong") } else { Ok(()) }
}

/// The percentage in a variable of the environment; 100 if it is not set.
fn percent(name: &str) -> u64 {
    env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(100)
}

/// The number of this process among those that look into this folder, from 0; each is a percent more.
fn number_of_process() -> u64 {
    static NUMBER: OnceLock<u64> = OnceLock::new();
    *NUMBER.get_or_init(|| {
        let Ok(folder) = env::var("SUITE_PROCESSES") else { return 0 };
        let taken = |number: &u64| File::create_new(format!("{folder}/{number}")).is_ok();
        (0..100).find(taken).expect("there are fewer processes")
    })
}

/// The percentage of bytes, `each` process one more.
fn bytes() -> u64 {
    match env::var("SUITE_BYTES") {
        Ok(bytes) if bytes == "each" => 100 + number_of_process(),
        _ => percent("SUITE_BYTES"),
    }
}

/// As long, and as many bytes, as the environment says.
#[gpu_bench(args(n = [1, 10]), reads = 64 * n * bytes(), cold)]
fn told(n: u64, stream: &Clockwork) -> Result<(), String> {
    let process = number_of_process();
    if env::var("SUITE_FAILS").is_ok_and(|fails| fails.split(',').any(|fails| fails == process.to_string())) {
        return Err(format!("process {process} fails"));
    }
    let more = if process == 0 { percent("SUITE_FIRST") - 100 } else { process };
    stream.advance(n * EACH * (percent("SUITE_TIME") + more) / 100);
    Ok(())
}

#[gpu_bench(setup = Ok::<_, String>(vec![1.0_f32; 1 << 16]), cold)]
fn on_host(x: &[f32], _stream: &host::Stream) -> Result<(), String> {
    let sum: f32 = x.iter().sum();
    if sum > 0.0 { Ok(()) } else { Err(format!("the sum is {sum}")) }
}
