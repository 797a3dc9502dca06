//! A call that takes a driver's stream handle: a copy to the GPU over PCIe.

use cust::memory::{DeviceBuffer, LockedBuffer};
use cust::{error::CudaResult, sys};
use gpubench::{cuda::RawStream, gpu_bench};

gpubench::main!();

/// Copies page-locked memory to the GPU.
#[gpu_bench(
    args(n = [1 << 20, 1 << 24]),
    setup = inputs,
    bytes = 4 * n,
    link = h2d,
    check = |_from, to, _n| assert!(to.as_host_vec().unwrap().iter().all(|x| *x == 1.0)),
)]
fn upload(from: &LockedBuffer<f32>, to: &mut DeviceBuffer<f32>, stream: &RawStream) -> Result<(), String> {
    let bytes = size_of_val(&from[..]);
    let to = to.as_device_ptr().as_raw();
    // SAFETY: both have this number of bytes, and outlive the launch.
    match unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), bytes, stream.stream().cast()) } {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        error => Err(format!("{error:?}")),
    }
}

fn inputs(n: usize) -> CudaResult<(LockedBuffer<f32>, DeviceBuffer<f32>)> {
    Ok((LockedBuffer::new(&1.0, n)?, DeviceBuffer::zeroed(n)?))
}
