#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(setup = plain)]
fn path(x: &Vec<f32>, _stream: &host::Stream) {}

#[gpu_bench(args(n = [4usize]), setup = |n| vec![0f32; n])]
fn closure(x: &Vec<f32>, _stream: &host::Stream) {}

#[gpu_bench(args(n = [4]), setup = |n| (2.0, vec![0f32; n], vec![0f32; n]), reads = 4 * x.len(), check = |_a, x, y, n| ())]
fn tuple(a: f32, x: &[f32], y: &mut [f32], _stream: &host::Stream) {}

#[gpu_bench(args(n = [4]), setup = |n| { let x = made(n)?; if n > 2 { Ok((x, made(n)?)) } else { (x, made(n)?) } })]
fn with_a_question_mark(x: &[f32], y: &mut [f32], _stream: &host::Stream) {}

fn plain() -> Vec<f32> {
    Vec::new()
}

fn made(n: usize) -> Result<Vec<f32>, String> {
    Ok(vec![0.0; n])
}

fn main() {}
