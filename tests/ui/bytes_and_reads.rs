#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(reads = 8, bytes = 16)]
fn copies(_stream: &host::Stream) {}

fn main() {}
