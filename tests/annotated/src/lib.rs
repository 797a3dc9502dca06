//! A library with an annotated function.

#![forbid(unsafe_code)]

use gpubench::{gpu_bench, host};

fn inputs_of_the_benchmark(n: usize) -> Result<Vec<f32>, String> {
    Ok(vec![1.0; n])
}

/// Doubles each value.
#[gpu_bench(
    args(n = [1 << 12]),
    setup = inputs_of_the_benchmark,
    reads = 4 * x.len(),
    writes = 4 * x.len(),
    flops = n,
    cold,
    check = |x, _n| assert!(x.iter().all(|x| *x == 2.0), "a check of the benchmark"),
)]
pub fn double(x: &mut [f32], stream: &host::Stream) {
    stream.run(|| double_values(x));
}

/// Doubles each value, for applications.
pub fn double_values(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x *= 2.0);
}
