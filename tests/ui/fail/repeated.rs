#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(cold, setup = f::<u8, 2>, flops = 1, r#cold, setup = f::<u8, 2>)]
fn options(_: u8, _stream: &host::Stream) {}

#[gpu_bench(args(n = [1], m = [2], n = [3]))]
fn arguments(_stream: &host::Stream) {}

fn main() {}
