#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(setup = plain)]
fn path(x: &Vec<f32>, _stream: &host::Stream) {}

#[gpu_bench(args(n = [4usize]), setup = |n| vec![0f32; n])]
fn closure(x: &Vec<f32>, _stream: &host::Stream) {}

fn plain() -> Vec<f32> {
    Vec::new()
}

fn main() {}
