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

#[gpu_bench(setup = Ok(2.0))]
fn takes_none(a: f32, y: &mut [f32]) {}

#[gpu_bench(stream = queue)]
fn exclusive_and_named(queue: &mut host::Stream) {}

fn main() {}
