#![allow(unused_variables)]

use gpubench::{gpu_bench, host};

#[gpu_bench(args(n = [1 << 10]), flop = 2 * n, bytes = 0)]
async fn three(x: &[f32], _stream: &host::Stream) {}

#[gpu_bench(typs(T = [f32]), consts(N = []), cold = 3, items = 0, skip_if = x.is_empty(), "why", link = up)]
unsafe fn eight<T, const M: usize>(x: &[T; M], stream: &mut host::Stream) {}

// The functions are there all the same: nothing here is reported twice as missing.
fn main() {
    let _ = (three, eight::<u8, 2>);
}
