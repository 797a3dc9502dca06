//! Variants of a launch that takes as many nanoseconds as it is told on the fake: equal ones, one that is better, and many.

#![expect(unsafe_code, reason = "launches a kernel")]

use cust::error::{CudaError, CudaResult};
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::Stream;
use gpubench::gpu_bench;

gpubench::main!();

const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry lasts(.param .u64 nanoseconds, .param .u64 start, .param .u64 bytes) { ret; }";

fn inputs() -> CudaResult<(Module, DeviceBuffer<u8>)> {
    Ok((Module::from_ptx(PTX, &[])?, DeviceBuffer::zeroed(4096)?))
}

fn lasts(module: &Module, buffer: &DeviceBuffer<u8>, ns: u64, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernel takes these parameters.
    unsafe { launch!(module.lasts<<<1, 32, 0, stream>>>(ns, buffer.as_device_ptr(), 0_u64)) }
}

#[gpu_bench(args(v = 0..6), tune(v), setup = inputs())]
fn equal(module: &Module, buffer: &DeviceBuffer<u8>, stream: &Stream) -> CudaResult<()> {
    lasts(module, buffer, 100_000, stream)
}

/// One percent better than the others, of which one needs more than there is.
#[gpu_bench(args(v = 0..7), tune(v), setup = inputs())]
fn better(module: &Module, buffer: &DeviceBuffer<u8>, v: u64, stream: &Stream) -> CudaResult<()> {
    match v {
        6 => Err(CudaError::LaunchOutOfResources),
        4 => lasts(module, buffer, 99_000, stream),
        _ => lasts(module, buffer, 100_000, stream),
    }
}

/// Up to eleven times the best, which is the first.
#[gpu_bench(args(v = 0..5000), tune(v), setup = inputs(), ignore)]
fn many(module: &Module, buffer: &DeviceBuffer<u8>, v: u64, stream: &Stream) -> CudaResult<()> {
    lasts(module, buffer, 10_000 + 20 * (v * 7919 % 5000), stream)
}
