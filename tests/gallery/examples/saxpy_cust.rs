//! A CUDA kernel that cust launches.

use cust::{error::CudaResult, prelude::*};
use gpubench::gpu_bench;

gpubench::main!();

/// y ← 2·x + y
#[gpu_bench(
    args(n = [1 << 16, 1 << 20]),
    setup = inputs,
    reads = 4 * (x.len() + y.len()),
    writes = 4 * y.len(),
    flops = 2 * n,
    cold,
    check = |_module, _x, y, _n| {
        let y = y.as_host_vec()?;
        match y.iter().position(|y| *y != 5.0) {
            Some(i) => Err(format!("element {i} is {}", y[i]).into()),
            None => Ok(()),
        }
    },
)]
fn saxpy(
    module: &Module,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    let (n, blocks) = (x.len(), x.len().div_ceil(256) as u32);
    let (x, y) = (x.as_device_ptr(), y.as_device_ptr());
    // SAFETY: the kernel takes these parameters, and touches n elements.
    unsafe { launch!(module.saxpy<<<blocks, 256, 0, stream>>>(2.0_f32, x, y, n)) }
}

fn inputs(n: usize) -> CudaResult<(Module, DeviceBuffer<f32>, DeviceBuffer<f32>)> {
    let module = Module::from_ptx(include_str!("../kernels/saxpy.ptx"), &[])?;
    Ok((module, DeviceBuffer::from_slice(&vec![1.0; n])?, DeviceBuffer::from_slice(&vec![3.0; n])?))
}
