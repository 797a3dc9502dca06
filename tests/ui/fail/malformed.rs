#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(setup, cold = true)]
fn values(_stream: &host::Stream) {}

#[gpu_bench(args = [1, 2])]
fn arguments(_stream: &host::Stream) {}

#[gpu_bench(flops = , "cold", check = a b, args(1, n))]
fn punctuation(_stream: &host::Stream) {}

fn main() {}
