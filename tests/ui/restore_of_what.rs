#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(args(n = [4]), setup = |n| Ok((vec![0u8; n], vec![0u8; n], 1)), restore = [values, x, n, stream, by])]
fn unknown_and_not_changed(value: &mut [u8], x: &[u8], by: u8, n: usize, stream: &host::Stream) {}

#[gpu_bench(setup = Ok(vec![0u8; 4]), restore = [x], reset = x.fill(0))]
fn both(x: &mut [u8], stream: &host::Stream) {}

#[gpu_bench(setup = Ok(vec![0u8; 4]), restore = x)]
fn no_list(x: &mut [u8], stream: &host::Stream) {}

#[gpu_bench(setup = Ok(vec![0u8; 4]), restore = [x[0]])]
fn no_name(x: &mut [u8], stream: &host::Stream) {}

#[gpu_bench(setup = Ok(vec![1_u8]), restore = [])]
fn nothing(x: &mut Vec<u8>, stream: &host::Stream) {
    stream.run(|| x.push(1));
}

#[gpu_bench(setup = Ok(vec![1_u8]), restore = [x, x])]
fn twice(x: &mut Vec<u8>, stream: &host::Stream) {
    stream.run(|| x.push(1));
}

fn main() {}
