//! A suite as a crate of GPU kernels has it: all that is there needs a GPU.

use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::gpu_bench;

fn buffer(n: usize) -> CudaResult<DeviceBuffer<u8>> {
    DeviceBuffer::zeroed(n)
}

#[gpu_bench(args(n = [1 << 10, 1 << 20]), setup = buffer, cold)]
#[expect(unsafe_code, reason = "nobody else has the buffer")]
fn clears(buffer: &mut DeviceBuffer<u8>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: it lives as long as the case, whose stream this is.
    unsafe { buffer.set_8_async(1, stream) }
}

#[gpu_bench(args(n = [1 << 10]), setup = buffer)]
fn clears_more(buffer: &mut DeviceBuffer<u8>, stream: &Stream) -> CudaResult<()> {
    clears(buffer, stream)
}

#[gpu_bench(args(n = [1 << 10]), setup = buffer, ignore)]
fn clears_at_night(buffer: &mut DeviceBuffer<u8>, stream: &Stream) -> CudaResult<()> {
    clears(buffer, stream)
}

gpubench::main!();
