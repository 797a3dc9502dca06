#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(args(n = [4usize]), setup = |n| Ok(vec![0f32; n]), check = verify)]
fn fill(y: &mut [f32], _stream: &host::Stream) {}

#[gpu_bench(args(n = [4usize]), setup = |n| Ok(vec![0f32; n]), check = of_one)]
fn too_many(y: &mut [f32], _stream: &host::Stream) {}

fn verify(_y: &[f64], _n: usize) {}

fn of_one(_y: &[f32]) {}

fn main() {}
