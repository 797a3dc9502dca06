#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(setup, cold = 1, ignore(maybe))]
fn values(_stream: &host::Stream) {}

#[gpu_bench(args = [1, 2])]
fn arguments(_stream: &host::Stream) {}

#[gpu_bench(flops = , "cold", check = a b, args(1, n))]
fn punctuation(_stream: &host::Stream) {}

#[gpu_bench(types = [f32], consts(N = 0..3), args(zip(n = [1])))]
fn sweeps(_stream: &host::Stream) {}

#[gpu_bench(skip_if = 1 > 2, cold, tags = "nightly", link = "up")]
fn texts(_stream: &host::Stream) {}

#[gpu_bench(group = 3, name = copy, timeout = "1 min", stream = 2, crate = 3)]
fn names(_stream: &host::Stream) {}

fn main() {}
