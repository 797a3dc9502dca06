//! Functions that take no stream: their last parameter is taken for it.
#![allow(unused_variables)]

use gpubench::gpu_bench;

#[gpu_bench(setup = Ok((2.0, vec![1.0; 8])), flops = x.len())]
fn of_a_slice(a: f32, x: &[f32], y: &[f32]) {}

#[gpu_bench(setup = Ok(vec![1.0; 8]))]
fn of_a_number(x: &[f32], a: f32) {}

fn main() {}
