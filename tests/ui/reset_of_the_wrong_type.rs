#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(setup = Ok(vec![0u8; 4]), reset = clear)]
fn fill(y: &mut [u8], _stream: &host::Stream) {}

#[gpu_bench(setup = Ok(vec![0u8; 4]), reset = y.len())]
fn no_outcome(y: &mut [u8], _stream: &host::Stream) {}

#[gpu_bench(setup = Ok(vec![0u8; 4]), reset = y.fill(0))]
fn read_only(y: &[u8], _stream: &host::Stream) {}

fn clear(_y: &mut [f32], _stream: &host::Stream) {}

fn main() {}
