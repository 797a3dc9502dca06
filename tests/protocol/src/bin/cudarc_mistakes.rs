//! Mistakes that are easily made with cudarc, and a launch that makes none.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError};
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

gpubench::main!();
