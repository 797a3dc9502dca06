//! A kernel that changes its input, which `restore` puts back before each sample.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg};
use gpubench::gpu_bench;

gpubench::main!();

/// Sorts each 256 elements of x.
#[gpu_bench(
    args(n = [1 << 14, 1 << 18]),
    setup = inputs(n, stream),
    restore = [x],
    reads = 4 * n,
    writes = 4 * n,
    items = n, "elements",
    check = |_kernel, x, _n| {
        let x = x.stream().clone_dtoh(x)?;
        match x.chunks(256).position(|block| !block.is_sorted()) {
            Some(block) => Err(format!("block {block} is not sorted").into()),
            None => Ok(()),
        }
    },
)]
fn sort(kernel: &CudaFunction, x: &mut CudaSlice<f32>, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    let (n, phases) = (x.len(), 256_u32);
    let grid_dim = ((n / 256) as u32, 1, 1);
    let config = LaunchConfig { grid_dim, block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    let mut launch = stream.launch_builder(kernel);
    // SAFETY: the kernel takes these parameters, and touches n elements.
    unsafe { launch.arg(x).arg(&n).arg(&phases).launch(config) }?;
    Ok(())
}

fn inputs(n: usize, stream: &Arc<CudaStream>) -> Result<(CudaFunction, CudaSlice<f32>), DriverError> {
    let module = stream.context().load_module(include_str!("../kernels/sort.ptx").into())?;
    let descending: Vec<f32> = (0..n).rev().map(|x| x as f32).collect();
    Ok((module.load_function("sort_blocks")?, stream.clone_htod(&descending)?))
}
