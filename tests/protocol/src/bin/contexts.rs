//! Benchmarks that leave the context of another GPU current, each in another of its steps, beside one that does not.

#![expect(unsafe_code, reason = "sets memory on a stream that it is given")]

use cust::context::{Context, CurrentContext};
use cust::device::Device;
use cust::error::CudaResult;
use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::gpu_bench;

type Buffer = DeviceBuffer<u8>;

/// Has the context of the GPU after the one that measures be current, and stay so.
fn go_astray() -> CudaResult<()> {
    let next = (CurrentContext::get_device()?.as_raw() as u32 + 1) % Device::num_devices()?;
    // `Context::new` makes it current; the driver keeps it for as long as nobody releases it.
    std::mem::forget(Context::new(Device::get_device(next)?)?);
    Ok(())
}

fn buffer() -> CudaResult<Buffer> {
    DeviceBuffer::zeroed(1 << 20)
}

fn clear(buffer: &mut Buffer, stream: &Stream) -> CudaResult<()> {
    // SAFETY: it lives as long as the case, whose stream this is.
    unsafe { buffer.set_8_async(1, stream) }
}

#[gpu_bench(setup = buffer, cold)]
fn behaves(buffer: &mut Buffer, stream: &Stream) -> CudaResult<()> {
    clear(buffer, stream)
}

#[gpu_bench(setup = { let buffer = buffer()?; go_astray()?; Ok(buffer) })]
fn strays_in_setup(buffer: &mut Buffer, stream: &Stream) -> CudaResult<()> {
    clear(buffer, stream)
}

#[gpu_bench(setup = buffer)]
fn strays_in_launch(buffer: &mut Buffer, stream: &Stream) -> CudaResult<()> {
    clear(buffer, stream)?;
    go_astray()
}

/// Only once it is sampled.
#[gpu_bench(setup = Ok((0, buffer()?)))]
fn strays_later(launches: &mut u32, buffer: &mut Buffer, stream: &Stream) -> CudaResult<()> {
    *launches += 1;
    clear(buffer, stream)?;
    if *launches > 2 { go_astray() } else { Ok(()) }
}

/// Enqueues its work with the other context current.
#[gpu_bench(setup = buffer)]
fn launches_astray(buffer: &mut Buffer, stream: &Stream) -> CudaResult<()> {
    go_astray()?;
    clear(buffer, stream)
}

#[gpu_bench(setup = buffer, reset = |_buffer, _stream| go_astray())]
fn strays_in_reset(buffer: &mut Buffer, stream: &Stream) -> CudaResult<()> {
    clear(buffer, stream)
}

#[gpu_bench(setup = buffer, check = |_buffer| go_astray())]
fn strays_in_check(buffer: &mut Buffer, stream: &Stream) -> CudaResult<()> {
    clear(buffer, stream)
}

#[gpu_bench(setup = buffer, writes = { go_astray().expect("there are two"); buffer.len() })]
fn strays_in_counts(buffer: &mut Buffer, stream: &Stream) -> CudaResult<()> {
    clear(buffer, stream)
}

/// Inputs whose end makes the other context current.
struct Straying(Buffer);

impl Drop for Straying {
    fn drop(&mut self) {
        go_astray().expect("there are two");
    }
}

#[gpu_bench(setup = buffer().map(Straying))]
fn strays_in_drop(inputs: &mut Straying, stream: &Stream) -> CudaResult<()> {
    clear(&mut inputs.0, stream)
}

/// A launch that looks at the other GPU and comes back does no harm.
#[gpu_bench(setup = buffer)]
fn comes_back(buffer: &mut Buffer, stream: &Stream) -> CudaResult<()> {
    let own = CurrentContext::get_device()?;
    go_astray()?;
    std::mem::forget(Context::new(own)?);
    clear(buffer, stream)
}

/// The last, whatever the others have done.
#[gpu_bench(setup = buffer)]
fn behaves_at_the_end(buffer: &mut Buffer, stream: &Stream) -> CudaResult<()> {
    clear(buffer, stream)
}

gpubench::main!();
