//! Launches for a GPU with a coarse timer, from below its resolution to 200 µs. The kernel `lasts` takes as many nanoseconds as
//! it is given, and the time that the fake driver needs to read the bytes.

#![expect(unsafe_code, reason = "launches a kernel")]

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

fn inputs() -> CudaResult<(Module, DeviceBuffer<u8>)> {
    Ok((Module::from_ptx(PTX, &[])?, DeviceBuffer::zeroed(4096)?))
}

/// The times lie at different places between the ticks of a timer of 0.5 or 1 µs.
#[gpu_bench(args(ns = [300_u64, 700, 2_300, 5_100, 21_700, 203_400]), setup = |_ns| inputs(), cold)]
fn lasts(module: &Module, buffer: &DeviceBuffer<u8>, ns: u64, stream: &Stream) -> CudaResult<()> {
    let bytes = buffer.len() as u64;
    // SAFETY: the kernel takes these parameters, and reads what the buffer has.
    unsafe { launch!(module.lasts<<<1, 32, 0, stream>>>(ns, buffer.as_device_ptr(), bytes)) }
}

/// The same launches again, and launches that take 5 % longer.
#[gpu_bench(args(ns = [203_400_u64]), setup = |_ns| inputs())]
fn again(module: &Module, buffer: &DeviceBuffer<u8>, ns: u64, stream: &Stream) -> CudaResult<()> {
    lasts(module, buffer, ns, stream)
}

#[gpu_bench(args(ns = [203_400_u64]), setup = |_ns| inputs())]
fn longer(module: &Module, buffer: &DeviceBuffer<u8>, ns: u64, stream: &Stream) -> CudaResult<()> {
    lasts(module, buffer, ns + ns / 20, stream)
}

gpubench::main!();
