//! Launches of a kernel that the fake knows by its name, `lasts`: it takes as many nanoseconds as it is told, and what it
//! takes to read the bytes that it is given. So the truth of each case is known, and what it claims can be more.

#![expect(unsafe_code, reason = "launches a kernel")]

use cust::error::CudaResult;
use cust::launch;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, LockedBuffer};
use cust::module::Module;
use cust::stream::Stream;
use gpubench::gpu_bench;

const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry lasts(.param .u64 nanoseconds, .param .u64 start, .param .u64 bytes) { ret; }
.visible .entry lasts_and_writes(.param .u64 nanoseconds, .param .u64 word) { ret; }
.visible .entry copy(.param .u64 x, .param .u64 y, .param .u64 n) { ret; }";

fn inputs(bytes: usize) -> CudaResult<(Module, DeviceBuffer<u8>)> {
    Ok((Module::from_ptx(PTX, &[])?, DeviceBuffer::zeroed(bytes)?))
}

/// From 2 µs to 10 ms, cold, reading little and reading much.
#[gpu_bench(
    args(ns = [2_000_u64, 3_333, 10_007, 123_457, 1_000_003, 10_000_000], bytes = [4096, 1 << 20, 40 << 20]),
    setup = |_ns, bytes| inputs(bytes),
    cold,
)]
fn reads(module: &Module, buffer: &DeviceBuffer<u8>, ns: u64, stream: &Stream) -> CudaResult<()> {
    let bytes = buffer.len() as u64;
    // SAFETY: the kernel takes these parameters, and reads what the buffer has.
    unsafe { launch!(module.lasts<<<1, 32, 0, stream>>>(ns, buffer.as_device_ptr(), bytes)) }
}

/// The same launch again and again, for what noise does to it.
#[gpu_bench(args(run = 0..300), setup = |_run| inputs(4096))]
fn repeats(module: &Module, buffer: &DeviceBuffer<u8>, stream: &Stream) -> CudaResult<()> {
    reads(module, buffer, 100_000, stream)
}

/// Claims to read what takes 10 µs at the peak of an H200's memory: 4814.304 bytes a nanosecond.
#[gpu_bench(args(ns = [8_300_u64, 9_600, 9_800]), setup = |_ns| inputs(48_143_040), reads = buffer.len(), cold)]
fn claims_bytes(module: &Module, buffer: &DeviceBuffer<u8>, ns: u64, stream: &Stream) -> CudaResult<()> {
    lasts(module, buffer, ns, stream)
}

/// A read of 16 MiB that claims twice its bytes, in the time of one: 6.97 µs at the peak, and 3.49 what it reads.
#[gpu_bench(setup = inputs(16 << 20), bytes = 2 * buffer.len(), cold)]
fn claims_twice(module: &Module, buffer: &DeviceBuffer<u8>, stream: &Stream) -> CudaResult<()> {
    lasts(module, buffer, 4_840, stream)
}

/// Takes so long, whatever it reads.
fn lasts(module: &Module, buffer: &DeviceBuffer<u8>, ns: u64, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernel takes these parameters.
    unsafe { launch!(module.lasts<<<1, 32, 0, stream>>>(ns, buffer.as_device_ptr(), 0_u64)) }
}

/// Claims to compute what takes 12.5 µs at the peak of an H200 for this precision, 132 × 2048 × 2 × 1.98 GHz.
#[gpu_bench(
    args(ns = [8_300_u64, 8_600]),
    setup = |_ns| inputs(4096),
    flops = 13_381_632_000_u64,
    precision = "bf16 tensor",
)]
fn claims_flops(module: &Module, buffer: &DeviceBuffer<u8>, ns: u64, stream: &Stream) -> CudaResult<()> {
    reads(module, buffer, ns, stream)
}

/// A copy of 128 MiB by a kernel. Its time was once published as 2.56 µs, more than 500 times as fast as a copy by the
/// driver: the kernel never ran. Where it `runs` it takes its time.
#[gpu_bench(
    args(runs = [false, true]),
    setup = |_runs| Ok((Module::from_ptx(PTX, &[])?, filled(1.0)?, filled(0.0)?)),
    reads = 4 * x.len(),
    writes = 4 * y.len(),
)]
fn kernel_copy(
    module: &Module,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    runs: bool,
    stream: &Stream,
) -> CudaResult<()> {
    let (from, to, n) = (x.as_device_ptr(), y.as_device_ptr(), x.len() as u64);
    // SAFETY: the kernels take these parameters, and touch what the buffers have.
    unsafe {
        if runs {
            launch!(module.copy<<<528, 256, 0, stream>>>(from, to, n))
        } else {
            launch!(module.lasts<<<1, 32, 0, stream>>>(2_560_u64, from, 0_u64))
        }
    }
}

/// 128 MiB.
fn filled(value: f32) -> CudaResult<DeviceBuffer<f32>> {
    let mut buffer = DeviceBuffer::zeroed(32 << 20)?;
    buffer.set_32(value.to_bits())?;
    Ok(buffer)
}

/// Takes 10 ms to 5 s, and writes a word.
#[gpu_bench(
    args(ms = [10_u64, 300, 1_000, 5_000]),
    setup = |_ms| inputs(4096),
    writes = 4,
    cold,
    ignore,
)]
fn long(module: &Module, buffer: &mut DeviceBuffer<u8>, ms: u64, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernel takes these parameters, and writes the first word.
    unsafe { launch!(module.lasts_and_writes<<<1, 32, 0, stream>>>(ms * 1_000_000, buffer.as_device_ptr())) }
}

/// Copies from pinned memory of the host, and back.
#[gpu_bench(
    args(bytes = [256 << 10]),
    setup = |bytes| Ok((LockedBuffer::new(&7_u8, bytes)?, DeviceBuffer::zeroed(bytes)?)),
    reads = x.len(),
    writes = y.len(),
    link = h2d,
)]
fn up(x: &LockedBuffer<u8>, y: &mut DeviceBuffer<u8>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: both outlive the case, and nobody writes them meanwhile.
    unsafe { y.async_copy_from(x, stream) }
}

#[gpu_bench(
    args(bytes = [256 << 10]),
    setup = |bytes| Ok((DeviceBuffer::zeroed(bytes)?, LockedBuffer::new(&7_u8, bytes)?)),
    bytes = x.len(),
    link = d2h,
)]
fn down(x: &DeviceBuffer<u8>, y: &mut LockedBuffer<u8>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: as above.
    unsafe { x.async_copy_to(y, stream) }
}

/// Claims to copy what takes 10 µs over PCIe 5.0 with 16 lanes: 16 × 32 GT/s × 128/130 / 8.
#[gpu_bench(args(ns = [8_300_u64, 8_600]), setup = |_ns| inputs(4096), reads = 630_154, link = h2d)]
fn claims_up(module: &Module, buffer: &DeviceBuffer<u8>, ns: u64, stream: &Stream) -> CudaResult<()> {
    reads(module, buffer, ns, stream)
}

/// Claims to copy what takes 10 µs over 18 links of NVLink 4, 25 GB/s each.
#[gpu_bench(args(ns = [8_300_u64, 8_600]), setup = |_ns| inputs(4096), reads = 4_500_000, link = p2p)]
fn claims_peer(module: &Module, buffer: &DeviceBuffer<u8>, ns: u64, stream: &Stream) -> CudaResult<()> {
    reads(module, buffer, ns, stream)
}

gpubench::main!();
