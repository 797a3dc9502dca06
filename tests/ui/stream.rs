#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench]
fn none() {}

#[gpu_bench]
fn exclusive(_stream: &mut host::Stream) {}

#[gpu_bench(stream = steam)]
fn misnamed(stream: &host::Stream) {}

#[gpu_bench(args(n = [1]))]
fn not_last(queue: &host::Stream, n: usize) {}

#[gpu_bench(args(stream = [1]))]
fn swept(stream: &host::Stream) {}

#[gpu_bench(args(n = [1]))]
fn exclusive_argument(n: &mut usize, _stream: &host::Stream) {}

fn main() {}
