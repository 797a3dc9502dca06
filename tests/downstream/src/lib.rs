//! Somebody else's kernels, in the edition before the current one and without unsafe code: one for this machine's CPU,
//! and a function that needs CUDA.

#![forbid(unsafe_code)]
#![deny(warnings, missing_docs)]

use std::hint::black_box;

use gpubench::{gpu_bench, host};

/// y ← y + x
#[gpu_bench(
    args(n = [1 << 10, 1 << 12]),
    setup = inputs,
    reads = 4 * (x.len() + y.len()),
    writes = 4 * y.len(),
    flops = y.len(),
    cold,
)]
pub fn accumulate(x: &[f32], y: &mut [f32], stream: &host::Stream) -> Result<(), String> {
    if x.len() != y.len() {
        return Err(format!("{} elements cannot be added to {}", x.len(), y.len()));
    }
    stream.run(|| y.iter_mut().zip(x).for_each(|(y, x)| *y += x));
    Ok(())
}

fn inputs(n: usize) -> Result<(Vec<f32>, Vec<f32>), String> {
    Ok((vec![1.0; n], vec![0.0; n]))
}

/// How many GPUs there are, or why that cannot be told.
#[must_use]
pub fn gpus() -> String {
    let count = cust::init(cust::CudaFlags::empty()).and_then(|()| cust::device::Device::num_devices());
    match count {
        Ok(count) => format!("{count} GPUs"),
        Err(error) => format!("no GPU: {error}"),
    }
}

/// How long it takes to be told that.
#[gpu_bench]
pub fn ask_cuda(stream: &host::Stream) {
    black_box(stream.run(gpus));
}
