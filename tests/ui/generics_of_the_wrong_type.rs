#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(types(T = [f32, String]))]
fn not_copy<T: Copy>(_stream: &host::Stream) {}

#[gpu_bench(consts(N = [128, "256"]))]
fn not_a_number<const N: usize>(_stream: &host::Stream) {}

#[gpu_bench(types(T = [f32, Missing]))]
fn not_there<T>(_stream: &host::Stream) {}

#[gpu_bench(types(S = [host::Stream, u8]))]
fn not_a_stream<S>(_stream: &S) {}

#[gpu_bench(types(T = [u8, f64]), setup = Ok([1u8; 4]))]
fn of_another_type<T>(_x: &[T; 4], _stream: &host::Stream) {}

fn main() {}
