#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(args(n = [1, 2]), seutp = |n| Ok(vec![0f32; n]))]
fn a_typo(_stream: &host::Stream) {}

#[gpu_bench(warm)]
fn of_another_tool(_stream: &host::Stream) {}

#[gpu_bench(undo = clear::<f32, 4>, cold)]
fn of_a_later_version(_stream: &host::Stream) {}

#[gpu_bench(types(T = [u8]), const(N = [1]), skipif = N > 1, "one", tag = ["a"], item = 3)]
fn several<T, const N: usize>(_stream: &host::Stream) {}

fn main() {}
