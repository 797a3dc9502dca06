//! A launch that takes as many nanoseconds as `PLANTED_NS` says: one commit after another of a history whose truth is known.

#![expect(unsafe_code, reason = "launches a kernel")]

use std::env;

use cust::error::CudaResult;
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::Stream;
use gpubench::gpu_bench;

const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry lasts(.param .u64 nanoseconds, .param .u64 start, .param .u64 bytes) { ret; }";

fn inputs() -> CudaResult<(Module, DeviceBuffer<u8>, u64)> {
    let told = env::var("PLANTED_NS").ok().and_then(|told| told.parse().ok());
    Ok((Module::from_ptx(PTX, &[])?, DeviceBuffer::zeroed(4096)?, told.unwrap_or(50_000)))
}

#[gpu_bench(setup = inputs())]
fn kernel(module: &Module, buffer: &DeviceBuffer<u8>, ns: &u64, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernel takes these parameters, and reads nothing.
    unsafe { launch!(module.lasts<<<1, 32, 0, stream>>>(*ns, buffer.as_device_ptr(), 0_u64)) }
}

gpubench::main!();
