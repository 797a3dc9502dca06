//! Somebody else's kernels, in the edition before the current one and without unsafe code: functions that need CUDA, which
//! are annotated where the feature `bench` is on, and some for this machine's CPU that are there for nothing else.

#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unused_qualifications)]

use cust::error::CudaResult;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::Stream;

#[cfg(feature = "bench")]
pub mod host;

/// Copies `x` to `y`.
#[cfg_attr(
    feature = "bench",
    gpubench::gpu_bench(
        args(n = pow2(10..=11)),
        setup = |n| Ok((DeviceBuffer::from_slice(&vec![1_u8; n])?, DeviceBuffer::from_slice(&vec![0; n])?)),
        bytes = 2 * x.len(),
        link = d2d,
    )
)]
pub fn copy(x: &DeviceBuffer<u8>, y: &mut DeviceBuffer<u8>, _stream: &Stream) -> CudaResult<()> {
    y.copy_from(x)
}

/// The number of GPUs, or the reason that it is unknown.
#[must_use]
pub fn gpus() -> String {
    let count = cust::init(cust::CudaFlags::empty()).and_then(|()| cust::device::Device::num_devices());
    match count {
        Ok(count) => format!("{count} GPUs"),
        Err(error) => format!("no GPU: {error}"),
    }
}
