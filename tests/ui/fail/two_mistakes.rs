#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(args(n = [1 << 10]), flop = 2 * n, bytes = 0)]
async fn three(x: &[f32], _stream: &host::Stream) {}

fn main() {}
