//! A sum whose input the L2 is asked to keep: behind a flush it would still be there.

#![expect(unsafe_code, reason = "asks the L2 to keep lines")]

use cust::error::{CudaError, CudaResult};
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use cust::sys::{self, CUaccessPolicyWindow, CUaccessProperty, CUlimit, CUresult, CUstreamAttrID};
use gpubench::gpu_bench;
use gpubench_kernels::cuda::{Reduction, sum};

/// Of 16 MiB, so many bytes are kept, in as much of the L2 as is set aside for them.
#[gpu_bench(
    args(keep = [0, 16 << 20]),
    setup = inputs(keep, stream),
    reads = 4 * x.len(),
    cold,
)]
fn persists(
    reduction: &mut Reduction,
    x: &DeviceBuffer<f32>,
    total: &mut DeviceBuffer<f64>,
    stream: &Stream,
) -> CudaResult<()> {
    sum(reduction, x, total, stream)
}

fn inputs(keep: usize, stream: &Stream) -> CudaResult<(Reduction, DeviceBuffer<f32>, DeviceBuffer<f64>)> {
    let x = DeviceBuffer::zeroed(4 << 20)?;
    // SAFETY: sets a limit of the current context.
    done(unsafe { sys::cuCtxSetLimit(CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE, keep) })?;
    if keep > 0 {
        let window = CUaccessPolicyWindow {
            base_ptr: std::ptr::with_exposed_provenance_mut(x.as_device_ptr().as_raw() as usize),
            num_bytes: keep,
            hitRatio: 1.0,
            hitProp: CUaccessProperty::CU_ACCESS_PROPERTY_PERSISTING,
            missProp: CUaccessProperty::CU_ACCESS_PROPERTY_STREAMING,
        };
        let value = sys::CUstreamAttrValue { accessPolicyWindow: window };
        let window = CUstreamAttrID::CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW;
        // SAFETY: the value is of the attribute's kind.
        done(unsafe { sys::cuStreamSetAttribute(stream.as_inner(), window, &raw const value) })?;
    }
    Ok((Reduction::load()?, x, DeviceBuffer::zeroed(1)?))
}

fn done(result: CUresult) -> CudaResult<()> {
    if result == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(CudaError::InvalidValue) }
}

gpubench::main!();
