#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench]
async fn future(_stream: &host::Stream) {}

#[gpu_bench]
unsafe fn unchecked(_stream: &host::Stream) {}

#[gpu_bench(setup = Ok([0; 2]))]
fn generic<'a, T: Copy, const N: usize>(_x: &'a [T; N], _stream: &host::Stream) {}

#[gpu_bench]
struct NotAFunction;

trait Launch {
    #[gpu_bench]
    fn declared(stream: &host::Stream);
}

fn main() {
    let _ = NotAFunction;
}
