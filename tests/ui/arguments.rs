#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[derive(Debug)]
struct Silent;

#[derive(Clone)]
struct Mute;

#[gpu_bench(args(n = 4))]
fn one_number(_stream: &host::Stream) {}

#[gpu_bench(args(n = 1 << 16, m = (2 * 3 + 1), k = -1))]
fn numbers(n: usize, m: usize, _stream: &host::Stream) {}

#[gpu_bench(args(n = [Silent]))]
fn not_clone(_stream: &host::Stream) {}

#[gpu_bench(args(n = [Mute]))]
fn not_shown(_stream: &host::Stream) {}

#[gpu_bench(args(n = [1.5]))]
fn of_another_type(n: usize, _stream: &host::Stream) {}

fn main() {}
