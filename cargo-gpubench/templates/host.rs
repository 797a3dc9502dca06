//! The benchmarks of this crate. `cargo bench --bench NAME` measures them, `cargo test --benches` launches each once.

use gpubench::{gpu_bench, host};

gpubench::main!(LIBRARY);

/// y ← a·x + y. The type of its stream says where it runs: `host::Stream` is this machine's CPU, a stream of a CUDA binding
/// a GPU.
#[gpu_bench(
    args(n = [1 << 12, 1 << 20]),         // the sizes to measure
    setup = inputs,                       // makes the other parameters, untimed
    reads = 4 * (x.len() + y.len()),      // bytes of one launch
    writes = 4 * y.len(),
    flops = 2 * n,
    cold,                                 // with the inputs flushed from the caches too
    check = check,                        // looks at the outputs of one launch
)]
fn saxpy(a: f32, x: &[f32], y: &mut [f32], stream: &host::Stream) {
    stream.run(|| y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x));
}

fn inputs(n: usize) -> (f32, Vec<f32>, Vec<f32>) {
    (2.0, vec![1.0; n], vec![3.0; n])
}

fn check(_a: f32, _x: &[f32], y: &[f32], n: usize) -> Result<(), String> {
    match (0..n).find(|&i| y[i] != 5.0) {
        Some(i) => Err(format!("element {i} is {} and not 5", y[i])),
        None => Ok(()),
    }
}
