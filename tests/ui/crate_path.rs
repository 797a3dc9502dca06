#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(crate = nowhere::gpubench)]
fn from_nowhere(_stream: &host::Stream) {}

fn main() {}
