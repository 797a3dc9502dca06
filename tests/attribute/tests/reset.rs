//! The ways to write `reset`: a function, a closure, an expression. Each undoes what a launch did.

use gpubench::gpu_bench;
use gpubench::host::Stream;

use crate::support::Benchmarks;

#[gpu_bench(setup = ones, reset = refill, check = assert_eq!(x, [2, 2]))]
fn function(x: &mut [u8], stream: &Stream) {
    stream.run(|| x.iter_mut().for_each(|x| *x += 1));
}

fn ones() -> Result<Vec<u8>, String> {
    Ok(vec![1; 2])
}

fn refill(x: &mut [u8], stream: &Stream) -> Result<(), String> {
    stream.run(|| x.fill(1));
    Ok(())
}

#[gpu_bench(args(n = [2]), setup = |n| Ok((vec![1u8; n], 1)), reset = |x, one, stream| stream.run(|| x.fill(one)),
    check = |x, _one, n| assert_eq!(x, vec![2; n]))]
fn closure(x: &mut [u8], one: u8, stream: &Stream) {
    function(x, stream);
    let _ = one;
}

#[gpu_bench(args(n = [2]), setup = Ok(vec![1u8; n]), reset = if x.len() == n { refill(x, stream) } else { Err("grew".into()) },
    check = assert_eq!(*x, [2, 2]))]
fn expression(x: &mut Vec<u8>, stream: &Stream) {
    function(x, stream);
}

/// The benchmarks of this module.
const OURS: Benchmarks = Benchmarks::of(module_path!());

#[test]
fn a_reset_undoes_one_launch() {
    // The check looks after a launch, a reset and another launch: it sees one launch's work.
    for name in ["function", "closure", "expression"] {
        assert!(OURS.run(name).checked, "{name}");
    }
}
