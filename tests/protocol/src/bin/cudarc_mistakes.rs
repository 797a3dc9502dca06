//! Mistakes that are easily made with cudarc, and a launch that makes none.

#![expect(unsafe_code, reason = "launches a kernel")]

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg as _,
};
use gpubench::gpu_bench;

/// Allocates by a context that tracks events, since it has another stream.
fn tracked() -> Result<(CudaSlice<u8>, Arc<CudaStream>), DriverError> {
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    Ok((stream.alloc_zeros(1 << 20)?, stream))
}

#[gpu_bench(setup = tracked)]
fn tracks_events(
    buffer: &mut CudaSlice<u8>,
    _other: &Arc<CudaStream>,
    stream: &Arc<CudaStream>,
) -> Result<(), DriverError> {
    stream.memset_zeros(buffer)
}

/// Allocates on the other GPU, whose context is then current.
#[gpu_bench(setup = Ok(CudaContext::new(1)?.default_stream().alloc_zeros(1 << 20)?))]
fn uses_the_other_gpu(buffer: &mut CudaSlice<u8>, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    stream.memset_zeros(buffer)
}

#[gpu_bench(setup = Ok(stream.alloc_zeros(1 << 20)?))]
fn right(buffer: &mut CudaSlice<u8>, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    stream.memset_zeros(buffer)
}

type Inputs = (CudaFunction, CudaSlice<f32>, CudaSlice<f32>);

fn inputs(argument: &str, stream: &Arc<CudaStream>) -> Result<Inputs, DriverError> {
    let (ptx, kernel) = match argument {
        "table" => (include_str!("../../../../gpubench-kernels/ptx/latency.ptx"), "chase"),
        _ => (include_str!("../../../../cargo-gpubench/templates/saxpy.ptx"), "saxpy"),
    };
    let kernel = stream.context().load_module(ptx.into())?.load_function(kernel)?;
    Ok((kernel, stream.alloc_zeros(1024)?, stream.alloc_zeros(1024)?))
}

#[gpu_bench(args(argument = ["pointer", "count", "address", "table", "none"]), setup = inputs(argument, stream))]
fn wrong(
    kernel: &CudaFunction,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
    argument: &str,
    stream: &Arc<CudaStream>,
) -> Result<(), DriverError> {
    let (null, lost, n, most) = (0_usize, usize::MAX, y.len(), usize::MAX);
    let mut launch = stream.launch_builder(kernel);
    match argument {
        "pointer" => launch.arg(&2.0_f32).arg(&null).arg(y).arg(&n),
        "count" => launch.arg(&2.0_f32).arg(x).arg(y).arg(&most),
        "address" => launch.arg(&2.0_f32).arg(&lost).arg(y).arg(&n),
        "table" => launch.arg(&null).arg(y).arg(&n),
        _ => &mut launch,
    };
    // SAFETY: none. The fake driver has to find the mistake.
    unsafe { launch.launch(LaunchConfig::for_num_elems(1024)) }?;
    Ok(())
}

gpubench::main!();
