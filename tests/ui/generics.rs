#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(setup = Ok([0; 2]))]
fn not_chosen<'a, T: Copy, const N: usize>(_x: &'a [T; N], _stream: &host::Stream) {}

#[gpu_bench(types(T = [f32]), consts(BLOCK = [128]))]
fn without_parameters(_stream: &host::Stream) {}

#[gpu_bench(types(Tt = [f32], N = [u8]), consts(T = [1]))]
fn misnamed<T, const N: usize>(_stream: &host::Stream) {}

#[gpu_bench(types(T = []), consts(N = []))]
fn no_choices<T, const N: usize>(_stream: &host::Stream) {}

#[gpu_bench(types(T = [f32]), args(N = [1, 2]))]
fn an_argument<T, const N: usize>(_stream: &host::Stream) {}

#[gpu_bench]
fn any_stream(stream: &impl gpubench::LaunchStream) {}

fn main() {}
