#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench]
async fn future(_stream: &host::Stream) {}

#[gpu_bench]
unsafe fn unchecked(_stream: &host::Stream) {}

#[gpu_bench(unsafe, cold)]
fn checked(_stream: &host::Stream) {}

#[gpu_bench]
struct NotAFunction;

trait Launch {
    #[gpu_bench]
    fn declared(stream: &host::Stream);
}

fn main() {
    let _ = NotAFunction;
}
