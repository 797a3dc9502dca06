#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench]
fn number(_stream: &host::Stream) -> Option<Vec<f32>> {
    None
}

#[gpu_bench(setup = vec![1.0])]
fn sum(x: &[f32], _stream: &host::Stream) -> f32 {
    x.iter().sum()
}

struct Opaque;

#[gpu_bench]
fn error(_stream: &host::Stream) -> Result<(), Opaque> {
    Ok(())
}

#[gpu_bench]
fn unnamed(_stream: &host::Stream) -> impl Copy {
    1
}

#[gpu_bench(check = 1 < 2)]
fn check(_stream: &host::Stream) {}

fn main() {}
