//! Launches for a GPU whose memory stalls: some wait for it and some do not, and some have two times of their own. The kernel
//! `lasts` takes as many nanoseconds as it is told, and what it takes the fake to read the bytes that it is given.

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

/// The two times of a kernel that has two, in nanoseconds.
const TIMES: [u64; 2] = [12_000, 13_400];

struct Kernel {
    module: Module,
    buffer: DeviceBuffer<u8>,
    launches: u64,
}

impl Kernel {
    fn new(bytes: usize) -> CudaResult<Self> {
        Ok(Self { module: Module::from_ptx(PTX, &[])?, buffer: DeviceBuffer::zeroed(bytes)?, launches: 0 })
    }

    fn lasts(&self, ns: u64, stream: &Stream) -> CudaResult<()> {
        let (module, buffer) = (&self.module, &self.buffer);
        // SAFETY: the kernel takes these parameters, and reads what the buffer has.
        unsafe {
            launch!(module.lasts<<<1, 32, 0, stream>>>(ns, buffer.as_device_ptr(), buffer.len() as u64))
        }
    }

    /// Launches with one of two times, by chance.
    fn either(&mut self, stream: &Stream) -> CudaResult<()> {
        self.launches += 1;
        let which = (self.launches.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62) as usize;
        self.lasts(TIMES[which % 2], stream)
    }
}

/// Reads that take 3, 12, 60, 97 and 240 µs from memory, and do nothing else.
#[gpu_bench(args(bytes = [14 << 20, 53 << 20, 263 << 20, 425 << 20, 1 << 30]), setup = |bytes| Kernel::new(bytes), cold)]
fn reads(kernel: &Kernel, stream: &Stream) -> CudaResult<()> {
    kernel.lasts(0, stream)
}

/// Takes 12 µs and reads from the L2, where its data are: hot it waits for no memory.
#[gpu_bench(setup = Kernel::new(4 << 20))]
fn cached(kernel: &Kernel, stream: &Stream) -> CudaResult<()> {
    kernel.lasts(12_000, stream)
}

/// Has two times and does not wait for memory.
#[gpu_bench(setup = Kernel::new(4 << 20))]
fn two_times(kernel: &mut Kernel, stream: &Stream) -> CudaResult<()> {
    kernel.either(stream)
}

/// Has two times, and waits for memory too.
#[gpu_bench(setup = Kernel::new(53 << 20), cold)]
fn two_times_of_memory(kernel: &mut Kernel, stream: &Stream) -> CudaResult<()> {
    kernel.either(stream)
}

gpubench::main!();
