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
}";

/// Asks for an ISA that no driver knows.
const FROM_THE_FUTURE: &str =
    ".version 99.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }";

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

#[gpu_bench(setup = load)]
fn right_after_all_that(module: &Module, stream: &Stream) -> CudaResult<()> {
    right(module, stream)
}

gpubench::main!();
