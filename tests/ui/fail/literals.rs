#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(flops = 0)]
fn no_work(_stream: &host::Stream) {}

#[gpu_bench(reads = -4, writes = 0.0)]
fn less_than_no_work(_stream: &host::Stream) {}

#[gpu_bench(max_time = 0, precision = f64)]
fn no_time(_stream: &host::Stream) {}

#[gpu_bench(max_time = "3 s", precision = "")]
fn text(_stream: &host::Stream) {}

#[gpu_bench(args(n = []))]
fn no_values(_stream: &host::Stream) {}

fn main() {}
