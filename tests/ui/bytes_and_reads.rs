#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(reads = 8, bytes = 16)]
fn copies(_stream: &host::Stream) {}

#[gpu_bench(intermediates = 64)]
fn passes_on(_stream: &host::Stream) {}

fn main() {}
