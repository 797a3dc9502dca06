//! Launches that end in several ways, while clocks are locked.

use std::process::abort;
use std::thread::sleep;
use std::time::Duration;

use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::gpu_bench;

fn buffer() -> CudaResult<DeviceBuffer<u8>> {
    DeviceBuffer::zeroed(1 << 20)
}

#[gpu_bench(setup = buffer)]
#[expect(unsafe_code, reason = "nobody else has the buffer")]
fn clears(buffer: &mut DeviceBuffer<u8>, stream: &Stream) -> CudaResult<()> {
    // SAFETY: it lives as long as the case, whose stream this is.
    unsafe { buffer.set_8_async(1, stream) }
}

#[gpu_bench]
fn panics(_stream: &Stream) {
    panic!("on purpose");
}

#[gpu_bench]
fn crashes(_stream: &Stream) {
    abort();
}

/// Tells that it is there, and waits for longer than any test does.
#[gpu_bench]
#[expect(clippy::print_stderr, reason = "the test waits for this line")]
fn waits(_stream: &Stream) {
    eprintln!("waiting");
    sleep(Duration::from_secs(60));
    abort();
}

/// The last.
#[gpu_bench(setup = buffer)]
fn clears_at_the_end(buffer: &mut DeviceBuffer<u8>, stream: &Stream) -> CudaResult<()> {
    clears(buffer, stream)
}

gpubench::main!();
