//! Launches that declare what they move, or something else, and launches that last as long as they are told: on a GPU by its own clock,
//! on the fake by its model. The kernel `lasts` waits, then reads the bytes that it is given.

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
.visible .entry lasts(.param .u64 nanoseconds, .param .u64 start, .param .u64 bytes)
{
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<12>;
    ld.param.u64 %rd1, [nanoseconds];
    ld.param.u64 %rd2, [start];
    ld.param.u64 %rd3, [bytes];
    setp.eq.u64 %p1, %rd1, 0;
    @%p1 bra READS;
    mov.u64 %rd4, %globaltimer;
WAITS:
    mov.u64 %rd5, %globaltimer;
    sub.u64 %rd6, %rd5, %rd4;
    setp.lt.u64 %p1, %rd6, %rd1;
    @%p1 bra WAITS;
READS:
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd7, %r4, 16;
    mov.u32 %r5, %nctaid.x;
    mul.lo.u32 %r6, %r5, %r2;
    mul.wide.u32 %rd8, %r6, 16;
    mov.u32 %r7, 0;
NEXT:
    setp.ge.u64 %p2, %rd7, %rd3;
    @%p2 bra DONE;
    add.u64 %rd9, %rd2, %rd7;
    ld.global.v4.u32 {%r8, %r9, %r10, %r11}, [%rd9];
    or.b32 %r7, %r7, %r8;
    or.b32 %r7, %r7, %r9;
    or.b32 %r7, %r7, %r10;
    or.b32 %r7, %r7, %r11;
    add.u64 %rd7, %rd7, %rd8;
    bra NEXT;
DONE:
    setp.eq.u32 %p3, %r7, 0;
    @%p3 bra ENDS;
    st.global.u32 [%rd2], %r7;
ENDS:
    ret;
}";

/// As many blocks as fill a large GPU.
const BLOCKS: u32 = 1056;
const THREADS: u32 = 256;

/// What a launch reads, and the memory that it is given, which is more.
const READS: usize = 64 << 20;
const GIVEN: usize = 128 << 20;

struct Kernel {
    module: Module,
    buffer: DeviceBuffer<u8>,
}

impl Kernel {
    fn new() -> CudaResult<Self> {
        Ok(Self { module: Module::from_ptx(PTX, &[])?, buffer: DeviceBuffer::zeroed(GIVEN)? })
    }

    /// Waits so many nanoseconds, then reads so many bytes behind these.
    fn reads(&self, ns: u64, (skips, bytes): (usize, usize), stream: &Stream) -> CudaResult<()> {
        let (module, start) = (&self.module, self.buffer.as_device_ptr().as_raw() + skips as u64);
        // SAFETY: the kernel takes these parameters, and reads what the buffer has: zeros, so that it writes nothing.
        unsafe { launch!(module.lasts<<<BLOCKS, THREADS, 0, stream>>>(ns, start, bytes as u64)) }
    }

    fn waits(&self, ns: u64, stream: &Stream) -> CudaResult<()> {
        let (module, start) = (&self.module, self.buffer.as_device_ptr());
        // SAFETY: the kernel takes these parameters, and reads nothing.
        unsafe { launch!(module.lasts<<<1, 32, 0, stream>>>(ns, start, 0_u64)) }
    }
}

/// Declares what it reads.
#[gpu_bench(setup = Kernel::new(), reads = READS)]
fn right(kernel: &Kernel, stream: &Stream) -> CudaResult<()> {
    kernel.reads(0, (0, READS), stream)
}

/// Waits so long by the GPU's own clock.
#[gpu_bench(args(ns = [500, 1000, 2000, 5000, 10_000, 100_000]), setup = |_ns| Kernel::new())]
fn waits(kernel: &Kernel, ns: u64, stream: &Stream) -> CudaResult<()> {
    kernel.waits(ns, stream)
}

/// Ends the process in its inputs.
#[gpu_bench(setup = ends(), cold, ignore)]
fn has_no_inputs(_kernel: &Kernel, _stream: &Stream) {}

fn ends() -> CudaResult<Kernel> {
    std::process::abort()
}

/// Declares twice as much, and is slow enough for that.
#[gpu_bench(setup = Kernel::new(), reads = 2 * READS, cold)]
fn twice(kernel: &Kernel, stream: &Stream) -> CudaResult<()> {
    kernel.reads(40_000, (0, READS), stream)
}

/// Declares half of it.
#[gpu_bench(setup = Kernel::new(), reads = READS / 2, cold)]
fn half(kernel: &Kernel, stream: &Stream) -> CudaResult<()> {
    kernel.reads(0, (0, READS), stream)
}

/// Reads in two kernels.
#[gpu_bench(setup = Kernel::new(), reads = READS, cold)]
fn in_two(kernel: &Kernel, stream: &Stream) -> CudaResult<()> {
    kernel.reads(0, (0, READS / 2), stream)?;
    kernel.reads(0, (READS / 2, READS / 2), stream)
}

gpubench::main!();
