//! Launches of a kernel that the fake knows by its name, `lasts`: it takes as many nanoseconds as it is told, and what it
//! takes to read the bytes that it is given. So the truth of each case is known, and what it claims can be more.

#![expect(unsafe_code, reason = "launches a kernel")]

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use cust::error::{CudaError, CudaResult};
use cust::launch;
use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, LockedBuffer};
use cust::module::Module;
use cust::stream::Stream;
use gpubench::gpu_bench;

const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry lasts(.param .u64 nanoseconds, .param .u64 start, .param .u64 bytes) { ret; }
.visible .entry lasts_and_writes(.param .u64 nanoseconds, .param .u64 word) { ret; }
.visible .entry once(.param .u64 flag, .param .u32 a, .param .u64 y, .param .u64 n) { ret; }
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
    data_type = "bf16 tensor",
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

/// Longer than half of the `--timeout` that the tests give.
const SLOW_SETUP: Duration = Duration::from_millis(2_400);

/// Has a slow `setup`, and writes a word.
#[gpu_bench(
    setup = {
        thread::sleep(SLOW_SETUP);
        inputs(4096)
    },
    writes = 4,
    ignore,
)]
fn slow_setup(module: &Module, buffer: &mut DeviceBuffer<u8>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernel takes these parameters, and writes the first word.
    unsafe { launch!(module.lasts_and_writes<<<1, 32, 0, stream>>>(100_000_u64, buffer.as_device_ptr())) }
}

/// A launch that writes its output only if a flag on the device is not set, and another value if the host has launched it before.
struct Stale {
    module: Module,
    flag: DeviceBuffer<u32>,
    y: DeviceBuffer<u32>,
    launched: Cell<bool>,
}

impl Stale {
    fn new() -> CudaResult<Self> {
        Ok(Self {
            module: Module::from_ptx(PTX, &[])?,
            flag: DeviceBuffer::zeroed(1)?,
            y: DeviceBuffer::zeroed(4096)?,
            launched: Cell::new(false),
        })
    }

    fn launch(&self, stream: &Stream) -> CudaResult<()> {
        let a = if self.launched.replace(true) { 8_u32 } else { 7 };
        let Self { module, flag, y, .. } = self;
        // SAFETY: the kernel takes these parameters, and writes the flag and the whole buffer.
        unsafe {
            launch!(module.once<<<1, 32, 0, stream>>>(flag.as_device_ptr(), a, y.as_device_ptr(), y.len() as u64))
        }
    }

    fn check(&self) -> Result<(), String> {
        let mut y = vec![0; self.y.len()];
        self.y.copy_to(&mut y).map_err(|error| error.to_string())?;
        if y[0] == 7 { Ok(()) } else { Err(format!("y is {}, not 7", y[0])) }
    }
}

/// Has a slow `setup`, and outputs that are stale after the first launch.
#[gpu_bench(
    setup = {
        thread::sleep(SLOW_SETUP);
        Stale::new()
    },
    writes = 4 * stale.y.len(),
    check = |stale| stale.check(),
    ignore,
)]
fn stale_after_slow_setup(stale: &Stale, stream: &Stream) -> CudaResult<()> {
    stale.launch(stream)
}

/// Has a `setup` that fails when it is called again, and the same outputs.
#[gpu_bench(setup = only_once(), writes = 4 * stale.y.len(), check = |stale| stale.check(), ignore)]
fn stale_after_setup_fails(stale: &Stale, stream: &Stream) -> CudaResult<()> {
    stale.launch(stream)
}

fn only_once() -> CudaResult<Stale> {
    static CALLED: AtomicBool = AtomicBool::new(false);
    if CALLED.swap(true, Ordering::Relaxed) { Err(CudaError::InvalidValue) } else { Stale::new() }
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
