#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(args(n = [1], m = [2]), setup = |n| Ok(vec![0f32; n]))]
fn setup(_x: &[f32], _stream: &host::Stream) {}

#[gpu_bench(args(n = [1]), setup = |n, stream| Ok(vec![0f32; n]))]
fn setup_with_the_stream(x: &[f32], queue: &host::Stream) {}

#[gpu_bench(args(n = [1]), setup = |n| Ok(vec![0f32; n]), check = |x| assert!(x.is_empty()))]
fn check(_x: &[f32], _stream: &host::Stream) {}

#[gpu_bench(args(n = [1]), setup = |n| Ok(vec![0f32; n]), reset = |x, n, stream| ())]
fn reset(_x: &[f32], _stream: &host::Stream) {}

#[gpu_bench(check = |n, m| ())]
fn nothing(_stream: &host::Stream) {}

#[gpu_bench(args(n = [1]), check = |out, n| ())]
fn no_output(n: usize, _stream: &host::Stream) -> std::io::Result<()> {
    Ok(())
}

#[gpu_bench(args(n = [1]), check = |out, n| ())]
fn no_return_type(n: usize, _stream: &host::Stream) {}

fn main() {}
