#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(flops = 0)]
fn no_work(_stream: &host::Stream) {}

#[gpu_bench(reads = -4, writes = 0.0)]
fn less_than_no_work(_stream: &host::Stream) {}

#[gpu_bench(max_time = 0, data_type = f64)]
fn no_time(_stream: &host::Stream) {}

#[gpu_bench(max_time = "3 s", data_type = "")]
fn text(_stream: &host::Stream) {}

#[gpu_bench(args(n = []))]
fn no_values(_stream: &host::Stream) {}

#[gpu_bench(items = -1, "keys", bytes = 0, timeout = -2.5)]
fn less_than_nothing(_stream: &host::Stream) {}

#[gpu_bench(name = "", group = "a[b]", tags = ["", "a,b"], skip_if = true, "")]
fn no_names(_stream: &host::Stream) {}

#[gpu_bench(link = d2hh, name = " spaced")]
fn no_link(_stream: &host::Stream) {}

#[gpu_bench(args(zip(n = [1, 2], m = [1, 2, 3], k = 0..9)))]
fn unequal(_stream: &host::Stream) {}

fn main() {}
