#![allow(unused_variables)]

use gpubench::gpu_bench;

struct Queue;

#[gpu_bench]
fn on_a_queue(_queue: &Queue) {}

#[gpu_bench]
fn on_a_queue_named_stream(stream: &Queue) {}

fn main() {}
