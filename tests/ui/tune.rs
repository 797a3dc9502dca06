#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(consts(BLOCK = [128, 256]), args(n = [1]), tune(BLOK))]
fn a_typo<const BLOCK: usize>(n: usize, _stream: &host::Stream) {}

#[gpu_bench(args(n = [1], m = [2]), tune(n, n))]
fn twice(n: usize, m: usize, _stream: &host::Stream) {}

#[gpu_bench(args(zip(n = [1, 2], m = [2, 3])), tune(m))]
fn one_of_two(n: usize, m: usize, _stream: &host::Stream) {}

#[gpu_bench(args(n = [1]), tune)]
fn nothing(n: usize, _stream: &host::Stream) {}

#[gpu_bench(tune = "n")]
fn a_text(_stream: &host::Stream) {}

fn main() {}
