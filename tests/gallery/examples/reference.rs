//! Outputs that are compared with a reference on the CPU.

use cust::{error::CudaResult, prelude::*};
use gpubench::gpu_bench;

gpubench::main!();

type Matrix = DeviceBuffer<f32>;

/// c ← a · b, of n × n elements.
#[gpu_bench(
    args(n = [256, 512]),
    setup = inputs,
    reads = 4 * (a.len() + b.len()),
    writes = 4 * c.len(),
    flops = 2 * n * n * n,
    check = compare,
)]
fn matmul(
    module: &Module,
    a: &Matrix,
    b: &Matrix,
    c: &mut Matrix,
    n: usize,
    stream: &Stream,
) -> CudaResult<()> {
    let blocks = n.div_ceil(32) as u32;
    let (a, b, c) = (a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr());
    // SAFETY: the kernel takes these parameters, and touches n² elements of each.
    unsafe { launch!(module.matmul_shared<<<(blocks, blocks), (32, 32), 0, stream>>>(a, b, c, n)) }
}

fn inputs(n: usize) -> CudaResult<(Module, Matrix, Matrix, Matrix)> {
    let module = Module::from_ptx(include_str!("../kernels/matmul.ptx"), &[])?;
    let matrix =
        |step: usize| (0..n * n).map(|i| (i * step % 1000) as f32 / 1000.0 - 0.5).collect::<Vec<_>>();
    let [a, b] = [matrix(7), matrix(11)];
    Ok((module, DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?, DeviceBuffer::zeroed(n * n)?))
}

/// Accepts an error of 1e-5 of the sum of the absolute terms.
fn compare(_: &Module, a: &Matrix, b: &Matrix, c: &Matrix, n: usize) -> Result<(), String> {
    let read = |matrix: &Matrix| matrix.as_host_vec().map_err(|error| error.to_string());
    let (a, b, c) = (read(a)?, read(b)?, read(c)?);
    for (i, c) in c.iter().enumerate() {
        let terms = (0..n).map(|k| f64::from(a[i / n * n + k]) * f64::from(b[k * n + i % n]));
        let (sum, scale) = terms.fold((0.0, 0.0), |(sum, scale), term| (sum + term, scale + term.abs()));
        let is_near = (f64::from(*c) - sum).abs() <= 1e-5 * scale;
        if !is_near {
            return Err(format!("row {}, column {}: {c}, not {sum}", i / n, i % n));
        }
    }
    Ok(())
}
