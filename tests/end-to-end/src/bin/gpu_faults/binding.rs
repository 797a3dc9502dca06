//! Launches by each CUDA binding.

use std::fmt::Display;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaModule, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use cust::error::CudaResult;
use cust::event::{Event, EventFlags};
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use gpubench::LaunchStream;

/// Blocks, threads of each, and bytes of shared memory of each.
pub(crate) type Shape = (u32, u32, u32);

/// A CUDA binding, as far as these launches use it.
pub(crate) trait Binding: 'static {
    type Stream: LaunchStream;
    type Module;
    /// Words of 32 bits on the device.
    type Words;
    type Error: Display;

    /// Loads PTX.
    fn load(ptx: &str, stream: &Self::Stream) -> Result<Self::Module, Self::Error>;
    /// Launches a kernel that takes nothing, or the address of words.
    fn launch(
        module: &Self::Module,
        kernel: &str,
        shape: Shape,
        words: Option<&mut Self::Words>,
        stream: &Self::Stream,
    ) -> Result<(), Self::Error>;
    /// Allocates words that hold anything.
    fn allocate(words: usize, stream: &Self::Stream) -> Result<Self::Words, Self::Error>;
    /// Copies words to the host by the NULL stream, and waits.
    fn read(words: &Self::Words, to: &mut [u32]) -> Result<(), Self::Error>;
    /// Makes another stream, which does not wait for the NULL stream.
    fn another(stream: &Self::Stream) -> Result<Self::Stream, Self::Error>;
    /// Makes `later` wait for the work on `earlier`.
    fn wait(later: &Self::Stream, earlier: &Self::Stream) -> Result<(), Self::Error>;
    /// Waits for a stream.
    fn synchronize(stream: &Self::Stream) -> Result<(), Self::Error>;
}

/// `cust`
pub(crate) struct Cust;

impl Binding for Cust {
    type Stream = Stream;
    type Module = Module;
    type Words = DeviceBuffer<u32>;
    type Error = cust::error::CudaError;

    fn load(ptx: &str, _: &Stream) -> CudaResult<Module> {
        Module::from_ptx(ptx, &[])
    }

    fn launch(
        module: &Module,
        kernel: &str,
        (blocks, threads, shared): Shape,
        words: Option<&mut DeviceBuffer<u32>>,
        stream: &Stream,
    ) -> CudaResult<()> {
        let kernel = module.get_function(kernel)?;
        // SAFETY: the kernel takes what it is given. What it does with that is what the case is for.
        unsafe {
            match words {
                None => launch!(kernel<<<blocks, threads, shared, stream>>>()),
                Some(words) => launch!(kernel<<<blocks, threads, shared, stream>>>(words.as_device_ptr())),
            }
        }
    }

    fn allocate(words: usize, _: &Stream) -> CudaResult<DeviceBuffer<u32>> {
        // SAFETY: nobody reads what is not initialised.
        unsafe { DeviceBuffer::uninitialized(words) }
    }

    fn read(words: &DeviceBuffer<u32>, to: &mut [u32]) -> CudaResult<()> {
        words.copy_to(to)
    }

    fn another(_: &Stream) -> CudaResult<Stream> {
        Stream::new(StreamFlags::NON_BLOCKING, None)
    }

    fn wait(later: &Stream, earlier: &Stream) -> CudaResult<()> {
        let event = Event::new(EventFlags::DISABLE_TIMING)?;
        event.record(earlier)?;
        later.wait_event(event, StreamWaitEventFlags::DEFAULT)
    }

    fn synchronize(stream: &Stream) -> CudaResult<()> {
        stream.synchronize()
    }
}

/// `cudarc`
pub(crate) struct Cudarc;

impl Binding for Cudarc {
    type Stream = Arc<CudaStream>;
    type Module = Arc<CudaModule>;
    type Words = CudaSlice<u32>;
    type Error = DriverError;

    fn load(ptx: &str, stream: &Self::Stream) -> Result<Self::Module, DriverError> {
        stream.context().load_module(Ptx::from_src(ptx))
    }

    fn launch(
        module: &Self::Module,
        kernel: &str,
        (blocks, threads, shared): Shape,
        words: Option<&mut CudaSlice<u32>>,
        stream: &Self::Stream,
    ) -> Result<(), DriverError> {
        let kernel = module.load_function(kernel)?;
        let mut launch = stream.launch_builder(&kernel);
        if let Some(words) = words {
            launch.arg(words);
        }
        let shape =
            LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: shared };
        // SAFETY: as for `Cust`.
        unsafe { launch.launch(shape) }.map(drop)
    }

    fn allocate(words: usize, stream: &Self::Stream) -> Result<CudaSlice<u32>, DriverError> {
        // SAFETY: as for `Cust`.
        unsafe { stream.alloc(words) }
    }

    fn read(words: &CudaSlice<u32>, to: &mut [u32]) -> Result<(), DriverError> {
        let context: &Arc<CudaContext> = words.context();
        context.default_stream().memcpy_dtoh(words, to)?;
        context.default_stream().synchronize()
    }

    fn another(stream: &Self::Stream) -> Result<Self::Stream, DriverError> {
        stream.context().new_stream()
    }

    fn wait(later: &Self::Stream, earlier: &Self::Stream) -> Result<(), DriverError> {
        later.join(earlier)
    }

    fn synchronize(stream: &Self::Stream) -> Result<(), DriverError> {
        stream.synchronize()
    }
}
