//! A CUDA kernel that cudarc launches.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg};
use gpubench::gpu_bench;

gpubench::main!();

/// y ← 2·x + y
#[gpu_bench(
    args(n = [1 << 16, 1 << 20]),
    setup = inputs(n, stream),
    reads = 4 * (x.len() + y.len()),
    writes = 4 * y.len(),
    flops = 2 * n,
    cold,
    check = |_kernel, _x, y, _n| {
        let y = y.stream().clone_dtoh(y)?;
        match y.iter().position(|y| *y != 5.0) {
            Some(i) => Err(format!("element {i} is {}", y[i]).into()),
            None => Ok(()),
        }
    },
)]
fn saxpy(
    kernel: &CudaFunction,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
    stream: &Arc<CudaStream>,
) -> Result<(), DriverError> {
    let n = x.len();
    let config = LaunchConfig::for_num_elems(n as u32);
    let mut launch = stream.launch_builder(kernel);
    // SAFETY: the kernel takes these parameters, and touches n elements.
    unsafe { launch.arg(&2.0_f32).arg(x).arg(y).arg(&n).launch(config) }?;
    Ok(())
}

type Inputs = (CudaFunction, CudaSlice<f32>, CudaSlice<f32>);

fn inputs(n: usize, stream: &Arc<CudaStream>) -> Result<Inputs, DriverError> {
    let module = stream.context().load_module(include_str!("../kernels/saxpy.ptx").into())?;
    let (x, y) = (stream.clone_htod(&vec![1.0; n])?, stream.clone_htod(&vec![3.0; n])?);
    Ok((module.load_function("saxpy")?, x, y))
}
