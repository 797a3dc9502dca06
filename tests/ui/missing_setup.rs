#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(args(m = [1 << 10]))]
fn one(n: usize, _stream: &host::Stream) {}

#[gpu_bench]
fn several(a: f32, x: &[f32], _stream: &host::Stream) {}

fn main() {}
