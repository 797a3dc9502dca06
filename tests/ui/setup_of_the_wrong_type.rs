#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(args(n = [1 << 10]), setup = Inputs::of, flops = x.len(), check = same(x, y))]
fn element(x: &[f32], y: &mut [f64], _stream: &host::Stream) {}

#[gpu_bench(setup = Inputs::of(4))]
fn number(x: &[f32], _stream: &host::Stream) {}

#[gpu_bench(setup = |n| Ok(vec![1u8; n]), args(n = [1usize]))]
fn by_value(x: Vec<f32>, _stream: &host::Stream) {}

#[gpu_bench(args(n = ["four"]), setup = Inputs::of)]
fn argument(x: &[f32], y: &mut [f32], _stream: &host::Stream) {}

#[gpu_bench(args(n = [4]), setup = Inputs::of)]
fn too_few(a: f32, x: &[f32], y: &mut [f32], _stream: &host::Stream) {}

#[gpu_bench(args(n = [4]), setup = |n| Ok((2.0, vec![0f32; n])), reads = 4 * x.len())]
fn visibly_too_few(a: f32, x: &[f32], y: &mut [f32], _stream: &host::Stream) {}

#[gpu_bench(setup = Ok((1, 2)))]
fn visibly_too_many(_stream: &host::Stream) {}

#[gpu_bench(args(n = [4]), setup = |n| (2.0, vec![0f32; n]), reads = 4 * x.len())]
fn plain_and_too_few(a: f32, x: &[f32], y: &mut [f32], _stream: &host::Stream) {}

#[gpu_bench(args(n = [4]), setup = plain)]
fn plain_of_another_type(x: &[f32], _stream: &host::Stream) {}

#[gpu_bench(setup = Inputs::of(4))]
fn none(_stream: &host::Stream) {}

struct Inputs;

impl Inputs {
    fn of(n: usize) -> Result<(Vec<f32>, Vec<f32>), String> {
        Ok((vec![0.0; n], vec![0.0; n]))
    }
}

fn plain(n: usize) -> Vec<f64> {
    vec![0.0; n]
}

fn same(_: &[f32], _: &[f64]) {}

fn main() {}
