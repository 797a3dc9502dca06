#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(setup = Ok(vec![0f32; 4]), reads = { y.push(1.0); 4 })]
fn changes_its_inputs(y: &mut Vec<f32>, _stream: &host::Stream) {}

#[gpu_bench(writes = "16", flops = 2 * len)]
fn no_numbers(_stream: &host::Stream) {}

fn main() {}
