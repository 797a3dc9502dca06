#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(cold, setup = f::<u8, 2>, flops = 1, r#cold, setup = f::<u8, 2>)]
fn options(_: u8, _stream: &host::Stream) {}

#[gpu_bench(args(n = [1], m = [2], n = [3]))]
fn arguments(_stream: &host::Stream) {}

#[gpu_bench(args(n = [1], zip(m = [2], n = [3])), skip_if = false, "a", skip_if = true, "b", cold)]
fn pairs(_stream: &host::Stream) {}

#[gpu_bench(types(T = [u8, f32, u8], T = [u16]), consts(N = [1, 1]), unsafe, unsafe)]
unsafe fn choices<T, const N: usize>(_stream: &host::Stream) {}

fn main() {}
