//! A suite as a bench target is, which measures only if cargo's `--bench` is among its arguments: what `gpubench::main!` writes
//! there, by hand, since cargo hands tests no path of a bench target.

use std::process::ExitCode;

use end_to_end::clockwork::Clockwork;
use gpubench::gpu_bench;

fn main() -> ExitCode {
    let package = gpubench::__private::package(Some("kernels"), Some("1.2.3"), None);
    gpubench::__private::main(gpubench::__private::build(package, module_path!()), true)
}

#[gpu_bench(args(n = [1, 2]), check = if n > 0 { Ok(()) } else { Err("n is 0") })]
fn ticks(n: u64, stream: &Clockwork) {
    stream.advance(3_200 * n);
}

/// Its values have commas, as names of types have.
#[gpu_bench(args(pair = ["a,b", "c, d"]))]
fn words(pair: &str, stream: &Clockwork) {
    stream.advance(3_200 * pair.len() as u64);
}

#[gpu_bench(skip_if = true, "takes too long")]
fn slow(stream: &Clockwork) {
    stream.advance(3_200);
}

#[gpu_bench(ignore)]
fn nightly(stream: &Clockwork) {
    stream.advance(3_200);
}

#[gpu_bench(ignore, check = Err::<(), _>("x is 2"))]
fn wrong(stream: &Clockwork) {
    stream.advance(3_200);
}
