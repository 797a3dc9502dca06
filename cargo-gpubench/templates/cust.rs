//! The benchmarks of this crate. `cargo bench --bench NAME` measures them, `cargo test --benches` launches each once.

use cust::{error::CudaResult, prelude::*};
use gpubench::gpu_bench;

gpubench::main!(LIBRARY);

/// y ← 2·x + y
#[gpu_bench(
    args(n = [1 << 16, 1 << 20, 1 << 26]),   // the sizes to measure
    setup = inputs,                          // makes the other parameters, untimed
    reads = 4 * (x.len() + y.len()),         // bytes of one launch
    writes = 4 * y.len(),
    flops = 2 * n,
    cold,                                    // measures with an empty L2 too
    check = check,                           // looks at the outputs of one launch
)]
fn saxpy(module: &Module, x: &DeviceBuffer<f32>, y: &mut DeviceBuffer<f32>, stream: &Stream) -> CudaResult<()> {
    let n = x.len();
    let blocks = n.div_ceil(256) as u32;
    let (x, y) = (x.as_device_ptr(), y.as_device_ptr());
    // SAFETY: the kernel takes these parameters, and touches the first n elements, which both have.
    unsafe { launch!(module.saxpy<<<blocks, 256, 0, stream>>>(2.0_f32, x, y, n)) }
}

fn inputs(n: usize) -> CudaResult<(Module, DeviceBuffer<f32>, DeviceBuffer<f32>)> {
    let module = Module::from_ptx(include_str!("saxpy.ptx"), &[])?;
    Ok((module, DeviceBuffer::from_slice(&vec![1.0; n])?, DeviceBuffer::from_slice(&vec![3.0; n])?))
}

fn check(_: &Module, _: &DeviceBuffer<f32>, y: &DeviceBuffer<f32>, _n: usize) -> Result<(), String> {
    let y = y.as_host_vec().map_err(|error| error.to_string())?;
    match y.iter().position(|y| *y != 5.0) {
        Some(i) => Err(format!("element {i} is {} and not 5", y[i])),
        None => Ok(()),
    }
}
