//! Sorts in place, whose inputs `restore` puts back, by cust and by cudarc. The fake's `sort_blocks` is faster on what is sorted.

#![expect(unsafe_code, reason = "launches kernels")]

use std::{error::Error, sync::Arc};

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::{launch, module::Module, stream::Stream};
use gpubench::gpu_bench;

const PTX: &str = include_str!("../../../end-to-end/src/bin/gpu_caught/kernels.ptx");

const N: u32 = 4096;

/// Blocks of 256, each in falling order.
fn falling() -> Vec<f32> {
    (0..N).map(|index| (255 - index % 256) as f32).collect()
}

/// Fails unless each block is in rising order.
fn is_sorted(x: &[f32]) -> Result<(), Box<dyn Error + Send + Sync>> {
    let sorted = x.iter().enumerate().all(|(index, x)| *x == (index % 256) as f32);
    if sorted { Ok(()) } else { Err("it is not sorted".into()) }
}

fn cust_inputs() -> CudaResult<(Module, DeviceBuffer<f32>)> {
    Ok((Module::from_ptx(PTX, &[])?, DeviceBuffer::from_slice(&falling())?))
}

#[gpu_bench(name = "cust", setup = cust_inputs, restore = [x], reads = 4 * N, writes = 4 * N, cold,
    check = |_module, x| is_sorted(&x.as_host_vec()?))]
#[gpu_bench(name = "not_restored", setup = cust_inputs, reads = 4 * N, writes = 4 * N)]
fn sort(module: &Module, x: &mut DeviceBuffer<f32>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernel takes these three, and the buffer has as many elements.
    unsafe {
        launch!(module.sort_blocks<<<N / 256, 256, 0, stream>>>(x.as_device_ptr(), u64::from(N), 256_u32))
    }
}

type Inputs = (Arc<CudaStream>, CudaFunction, CudaSlice<f32>);

/// Inputs that cudarc allocates on a stream of their own.
fn cudarc_inputs(stream: &CudaStream) -> Result<Inputs, DriverError> {
    let other = stream.context().new_stream()?;
    let kernel = stream.context().load_module(Ptx::from_src(PTX))?.load_function("sort_blocks")?;
    let x = other.clone_htod(&falling())?;
    Ok((other, kernel, x))
}

#[gpu_bench(setup = cudarc_inputs(stream), restore = [x], reads = 4 * N, writes = 4 * N,
    check = |other, _kernel, x| is_sorted(&other.clone_dtoh(x)?))]
fn by_cudarc(
    _other: &Arc<CudaStream>,
    kernel: &CudaFunction,
    x: &mut CudaSlice<f32>,
    stream: &Arc<CudaStream>,
) -> Result<(), DriverError> {
    let (n, phases) = (u64::from(N), 256_u32);
    let mut launch = stream.launch_builder(kernel);
    launch.arg(x).arg(&n).arg(&phases);
    // SAFETY: the kernel takes these three, and the slice has as many elements.
    unsafe {
        launch.launch(LaunchConfig { grid_dim: (N / 256, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 })
    }?;
    Ok(())
}

gpubench::main!();
