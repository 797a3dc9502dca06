//! Launch functions that go wrong on a GPU, each in its own way, and one that does not. Run on a machine that has one:
//! every row but the first must say what is wrong, and none may cost another its result.

#![expect(unsafe_code, reason = "launches kernels")]

use std::cell::Cell;

use cust::error::CudaResult;
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use gpubench::gpu_bench;

const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry stray() {
    .reg .u64 %a;
    mov.u64 %a, 16;
    st.global.u32 [%a], 1;
    ret;
}
.visible .entry misaligned(.param .u64 there) {
    .reg .u64 %a;
    ld.param.u64 %a, [there];
    add.u64 %a, %a, 1;
    st.global.u32 [%a], 1;
    ret;
}
.visible .entry traps() { trap; ret; }
.global .align 1 .b8 words[6] = {119, 111, 114, 100, 115, 0};
.extern .func __assertfail(
    .param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size
);
.visible .entry asserts() {
    .reg .b64 %w;
    mov.u64 %w, words;
    cvta.global.u64 %w, %w;
    {
        .param .b64 message; st.param.b64 [message], %w;
        .param .b64 file; st.param.b64 [file], %w;
        .param .b32 line; st.param.b32 [line], 1;
        .param .b64 function; st.param.b64 [function], %w;
        .param .b64 size; st.param.b64 [size], 1;
        call.uni __assertfail, (message, file, line, function, size);
    }
    ret;
}
.extern .func (.param .b32 printed) vprintf(.param .b64 format, .param .b64 arguments);
.visible .entry says() {
    .reg .b64 %w;
    mov.u64 %w, words;
    cvta.global.u64 %w, %w;
    {
        .param .b64 format; st.param.b64 [format], %w;
        .param .b64 arguments; st.param.b64 [arguments], 0;
        .param .b32 printed;
        call.uni (printed), vprintf, (format, arguments);
    }
    ret;
}
.visible .entry spins() {
    .reg .u64 %end;
    .reg .u64 %now;
    .reg .pred %on;
    mov.u64 %end, %globaltimer;
    add.u64 %end, %end, 20000000000;
again:
    mov.u64 %now, %globaltimer;
    setp.lt.u64 %on, %now, %end;
    @%on bra again;
    ret;
}";

/// Asks for an ISA that no driver knows.
const FROM_THE_FUTURE: &str =
    ".version 99.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }";

/// Is for an architecture that comes after the H200's.
const FOR_ANOTHER: &str =
    ".version 8.7\n.target sm_120\n.address_size 64\n.visible .entry nothing() { ret; }";

fn load() -> CudaResult<Module> {
    Module::from_ptx(PTX, &[])
}

#[gpu_bench(setup = load, cold)]
fn right(module: &Module, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernel takes nothing and touches nothing.
    unsafe { launch!(module.nothing<<<1, 32, 0, stream>>>()) }
}

fn gibibytes(gib: usize) -> CudaResult<(Module, DeviceBuffer<u8>)> {
    // SAFETY: nobody reads what is not initialised.
    Ok((load()?, unsafe { DeviceBuffer::uninitialized(gib << 30) }?))
}

#[gpu_bench(args(gib = [1 << 20]), setup = gibibytes)]
fn too_large(module: &Module, _buffer: &DeviceBuffer<u8>, stream: &Stream) -> CudaResult<()> {
    right(module, stream)
}

#[gpu_bench(setup = Module::from_ptx(FROM_THE_FUTURE, &[]))]
fn ptx_too_new(module: &Module, stream: &Stream) -> CudaResult<()> {
    right(module, stream)
}

#[gpu_bench(setup = Module::from_ptx(FOR_ANOTHER, &[]))]
fn ptx_for_another_gpu(module: &Module, stream: &Stream) -> CudaResult<()> {
    right(module, stream)
}

#[gpu_bench(setup = load)]
fn allocates_too_much(module: &Module, stream: &Stream) -> CudaResult<()> {
    gibibytes(1 << 20)?;
    right(module, stream)
}

#[gpu_bench(setup = load)]
fn no_such_kernel(module: &Module, stream: &Stream) -> CudaResult<()> {
    // SAFETY: as for `right`.
    unsafe { launch!(module.swap<<<1, 32, 0, stream>>>()) }
}

#[gpu_bench(setup = load)]
fn too_many_threads(module: &Module, stream: &Stream) -> CudaResult<()> {
    // SAFETY: as for `right`.
    unsafe { launch!(module.nothing<<<1, 4096, 0, stream>>>()) }
}

#[gpu_bench(setup = load)]
fn too_much_shared_memory(module: &Module, stream: &Stream) -> CudaResult<()> {
    // SAFETY: as for `right`.
    unsafe { launch!(module.nothing<<<1, 32, 256 << 10, stream>>>()) }
}

#[gpu_bench(setup = Ok((load()?, Stream::new(StreamFlags::DEFAULT, None)?)))]
fn on_another_stream(module: &Module, other: &Stream, _stream: &Stream) -> CudaResult<()> {
    right(module, other)
}

#[gpu_bench(setup = load)]
fn enqueues_nothing(_module: &Module, _stream: &Stream) {}

#[gpu_bench(setup = load, check = Err("the result is not what it should be"))]
fn wrong_result(module: &Module, stream: &Stream) -> CudaResult<()> {
    right(module, stream)
}

/// Not a fault: it cannot be captured, and is timed on the stream, with the reason.
#[gpu_bench(setup = load, cold)]
fn synchronises(module: &Module, stream: &Stream) -> CudaResult<()> {
    right(module, stream)?;
    stream.synchronize()
}

/// Not a fault either.
#[gpu_bench(setup = Ok((load()?, DeviceBuffer::from_slice(&[1_u32; 1024])?)))]
fn copies_on_the_null_stream(module: &Module, buffer: &DeviceBuffer<u32>, stream: &Stream) -> CudaResult<()> {
    right(module, stream)?;
    buffer.copy_to(&mut [0; 1024])
}

/// Spoils its process's context; what comes after needs a new one.
#[gpu_bench(setup = load, cold)]
fn writes_astray(module: &Module, stream: &Stream) -> CudaResult<()> {
    // SAFETY: none. The kernel writes to an address that is nobody's, which is what this is for.
    unsafe { launch!(module.stray<<<1, 1, 0, stream>>>()) }
}

/// Goes wrong only after it was found right once.
#[gpu_bench(setup = Ok((load()?, Cell::new(0))), cold)]
fn writes_astray_later(module: &Module, launches: &Cell<u32>, stream: &Stream) -> CudaResult<()> {
    launches.set(launches.get() + 1);
    if launches.get() > 3 { writes_astray(module, stream) } else { right(module, stream) }
}

#[gpu_bench(setup = Ok((load()?, DeviceBuffer::from_slice(&[0_u32; 4])?, Dropped)))]
fn writes_between(
    module: &Module,
    buffer: &DeviceBuffer<u32>,
    _dropped: &Dropped,
    stream: &Stream,
) -> CudaResult<()> {
    // SAFETY: none. The kernel writes a word to an address that is none of a word's.
    unsafe { launch!(module.misaligned<<<1, 1, 0, stream>>>(buffer.as_device_ptr())) }
}

/// Nothing is to be dropped once its context is lost.
struct Dropped;

impl Drop for Dropped {
    #[expect(clippy::print_stderr, reason = "whoever looks for these words must find none")]
    fn drop(&mut self) {
        eprintln!("dropped after its context was lost");
    }
}

#[gpu_bench(setup = load)]
fn traps(module: &Module, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernel takes nothing and touches nothing.
    unsafe { launch!(module.traps<<<1, 1, 0, stream>>>()) }
}

/// The words before the trap must not be lost with the context.
#[gpu_bench(setup = load)]
fn says_and_asserts(module: &Module, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernels take nothing, and touch what is the driver's.
    unsafe {
        launch!(module.says<<<1, 1, 0, stream>>>())?;
        launch!(module.asserts<<<1, 1, 0, stream>>>())
    }
}

/// Panics while it is captured.
#[gpu_bench(setup = Ok((load()?, Cell::new(0))), cold)]
fn panics_later(module: &Module, launches: &Cell<u32>, stream: &Stream) -> CudaResult<()> {
    launches.set(launches.get() + 1);
    assert!(launches.get() != 3, "three launches are too many");
    right(module, stream)
}

/// Ends by itself after 20 s, which is later than anybody waits for it.
#[gpu_bench(setup = load, timeout = 1.0)]
fn never_ends(module: &Module, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernel takes nothing and touches nothing.
    unsafe { launch!(module.spins<<<1, 1, 0, stream>>>()) }
}

#[gpu_bench(setup = load)]
fn right_after_all_that(module: &Module, stream: &Stream) -> CudaResult<()> {
    right(module, stream)
}

gpubench::main!();
