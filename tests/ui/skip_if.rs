#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(args(n = [4]), setup = |n| Ok(vec![0u8; n]), skip_if = x.len() > n, "before there is an `x`")]
fn inputs(x: &[u8], _stream: &host::Stream) {}

#[gpu_bench(skip_if = stream.run(|| false), "before there is a stream")]
fn of_the_stream(stream: &host::Stream) {}

#[gpu_bench(args(n = [4]), skip_if = n, "is a number")]
fn no_condition(_stream: &host::Stream) {}

fn main() {}
