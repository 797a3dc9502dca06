//! The benchmarks of this crate. `cargo bench --bench NAME` measures them, `cargo test --benches` launches each once.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg};
use gpubench::gpu_bench;

gpubench::main!(LIBRARY);

/// y ← 2·x + y
#[gpu_bench(
    args(n = [1 << 16, 1 << 20, 1 << 26]),   // the sizes to measure
    setup = inputs(n, stream),               // makes the other parameters, untimed
    reads = 4 * (x.len() + y.len()),         // bytes of one launch
    writes = 4 * y.len(),
    flops = 2 * n,
    cold,                                    // measures with an empty L2 too
    check = check,                           // looks at the outputs of one launch
)]
fn saxpy(
    kernel: &CudaFunction,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
    stream: &Arc<CudaStream>,
) -> Result<(), DriverError> {
    let n = x.len();
    let blocks = n.div_ceil(256) as u32;
    let config = LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    let mut launch = stream.launch_builder(kernel);
    // SAFETY: the kernel takes these parameters, and touches the first n elements, which both have.
    unsafe { launch.arg(&2.0_f32).arg(x).arg(y).arg(&n).launch(config) }?;
    Ok(())
}

type Inputs = (CudaFunction, CudaSlice<f32>, CudaSlice<f32>);

fn inputs(n: usize, stream: &Arc<CudaStream>) -> Result<Inputs, DriverError> {
    let module = stream.context().load_module(include_str!("saxpy.ptx").into())?;
    Ok((module.load_function("saxpy")?, stream.clone_htod(&vec![1.0; n])?, stream.clone_htod(&vec![3.0; n])?))
}

fn check(_: &CudaFunction, _: &CudaSlice<f32>, y: &CudaSlice<f32>, _n: usize) -> Result<(), String> {
    let y = y.stream().clone_dtoh(y).map_err(|error| error.to_string())?;
    match y.iter().position(|y| *y != 5.0) {
        Some(i) => Err(format!("element {i} is {} and not 5", y[i])),
        None => Ok(()),
    }
}
