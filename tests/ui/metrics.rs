#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(metric("fill", "%") = 50, metric("rows", "rows") = 1, metric("fill", "") = 0.5)]
fn twice(_stream: &host::Stream) {}

#[gpu_bench(metric("", "rows") = 1, metric("rows") = 1, metric = 3, metric("rows", "rows"))]
fn without_parts(_stream: &host::Stream) {}

#[gpu_bench(metric("why", "") = "because")]
fn no_number(_stream: &host::Stream) {}

fn main() {}
