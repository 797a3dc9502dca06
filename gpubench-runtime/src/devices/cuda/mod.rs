//! An NVIDIA GPU as a device, in its primary context. Cases are sampled in captured graphs, or on their
//! stream if graphs cannot capture a launch. Unsafe code here only calls the driver.

#![expect(unsafe_code, reason = "calls the CUDA driver")]

mod clocks;
mod device_info;
mod driver;
#[cfg(feature = "doctor")]
pub(super) mod examine;
mod flush;
mod graph;
mod guarded;
mod kernels;
pub(crate) mod limits;
mod queue;
mod sampling;
#[cfg(feature = "verify")]
mod trace;
mod watch;

use std::{any::Any, ptr, rc::Rc};

use gpubench_core::cuda::StreamFunctions;
use gpubench_core::{CaseError, LaunchStream};
use gpubench_driver::sys::{self, CUstream};

use self::clocks::{ClockProbe, Dither, Stamps};
pub(super) use self::device_info::list;
use self::device_info::nvml::{Sensors, link_peaks};
pub(crate) use self::device_info::nvml::{lock_clocks, reset_clocks};
pub(crate) use self::device_info::peaks::DATA_TYPES;
use self::driver::{DeviceMemory, PrimaryContext, check_for, wait_for_context};
pub use self::graph::Replay;
use self::guarded::{Guarded, LaunchOp};
use self::{flush::Flusher, kernels::Kernels, queue::QueueState};
use self::{watch::memory::WriteDetector, watch::relaunch::LaunchBaseline};
use crate::device::{
    Calibration, Device, DeviceError, InputState, Monitor, SampleOptions, SamplerResult, Work,
};
use crate::method::{calibration::search_dram_stall, marginal::marginal_empty_launch};
pub use gpubench_core::cuda::{CudaStream, Gpu, RawStream};
use gpubench_records::{
    DeviceInfo, Failure, Flush, LaunchInfo, Multiprocessors, Observation, Property, Relaunch, Value,
};
use gpubench_stats::{Bytes, Nanoseconds, format};

/// The first compute capability whose L2 can drop lines without writing them back.
const DISCARD_CAPABILITY: (u64, u64) = (8, 0);

/// The driver result `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`: the PTX is newer than the driver. Its message gets
/// a hint.
const UNSUPPORTED_PTX_VERSION: u32 = 222;

/// An NVIDIA GPU as a device.
pub struct Cuda {
    /// The source of the streams of cases.
    gpu: Gpu,
    kernels: Rc<Kernels>,
    flusher: Rc<Flusher>,
    write_detector: WriteDetector,
    /// The operations of each checked launch of the open case, and of the case that it is compared with.
    checked: Vec<Rc<[LaunchOp]>>,
    /// The memory before and after the launch on fresh inputs, with which launches after the samples are
    /// compared.
    baseline: Option<LaunchBaseline>,
    /// The time of the checked launch of the open case, if it was measured.
    first_launch: Option<Nanoseconds>,
    multiprocessors: Multiprocessors,
    /// The stream of the open case; before the first case, the stream of the device itself.
    stream: CUstream,
    queue: QueueState,
    calibration: Calibration,
    /// The delays before samples if the timer is coarse, otherwise `None`.
    dither: Option<Dither>,
    /// A clock that can replace events: kernels that store the time of the GPU.
    stamps: Stamps,
    /// The measurement of the clock of the multiprocessors.
    clock: ClockProbe,
    /// The sensors, or the reason why they cannot be read.
    sensors: Result<Sensors, DeviceError>,
    /// The unused allocations that determine the addresses of the inputs; `None` until the open case sets an
    /// allocation seed.
    spacers: Option<Spacers>,
    /// The primary context of the GPU. It is never released: all resources that are dropped later need it,
    /// and so do objects that the user's code holds.
    context: PrimaryContext,
    /// The stream of the device itself, kept alive.
    _stream: RawStream,
}

impl Cuda {
    /// Opens GPU `ordinal`, in the numbering of the driver from 0. Measures the marginal time of an empty
    /// launch and the DRAM stall.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn open(ordinal: usize) -> Result<Self, DeviceError> {
        let device = device_info::device(ordinal)?;
        let context = PrimaryContext::retain(device)?;
        let mut gpu = Gpu::new(ordinal, context.0.cast(), STREAM_CALLS);
        let own = gpu.raw_stream().map_err(DeviceError::new)?;
        let stream: CUstream = own.stream().cast();
        let kernels = Rc::new(Kernels::load(device_info::capability(device)? >= DISCARD_CAPABILITY)?);
        let l2 = Bytes(device_info::attribute(device, sys::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?);
        let multiprocessors = watch::multiprocessors(device)?;
        let first = watch::memory::next_allocation_number();
        // Load the clock kernel here. Loading it with the first launch, after samples, would change the
        // addresses of later kernels. On an H200, sums of 64 KiB then read 0.15 µs more.
        let clock = ClockProbe::new()?;
        clock.enqueue(&kernels, stream)?;
        let stamps = Stamps::new(&kernels, stream)?;
        let flusher = Flusher::new(l2, multiprocessors.count, Rc::clone(&kernels))?;
        let write_detector = WriteDetector::new(device, multiprocessors.count, stream, first)?;
        let mut device = Self {
            gpu,
            kernels,
            flusher: Rc::new(flusher),
            write_detector,
            checked: Vec::new(),
            baseline: None,
            first_launch: None,
            multiprocessors,
            stream,
            queue: QueueState::new().map_err(DeviceError::new)?,
            calibration: Calibration::default(),
            dither: None,
            stamps,
            clock,
            sensors: Sensors::open(&device_info::uuid(device)?),
            spacers: None,
            context,
            _stream: own,
        };
        // Before any other stream has work.
        marginal_empty_launch(&mut device).map_err(DeviceError::new)?;
        let (resolution, clock) = search_dram_stall(&mut device).map_err(DeviceError::new)?;
        if let Some(dither) = Dither::load(resolution, clock)? {
            device.dither = Some(dither);
            // The delays of that measurement ended on ticks.
            device.calibration.marginal_empty_launch = None;
            marginal_empty_launch(&mut device).map_err(DeviceError::new)?;
        }
        Ok(device)
    }

    /// Returns the number of the GPU among those that the driver lists, from 0.
    pub fn ordinal(&self) -> usize {
        self.gpu.ordinal()
    }

    /// Creates a stream, and begins a case on it.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn stream<S: LaunchStream<Source = Gpu>>(&mut self) -> Result<S::Owned, DeviceError> {
        let stream = S::open(&mut self.gpu).map_err(DeviceError::new)?;
        self.begin_case();
        Ok(stream)
    }

    /// Returns the flush before cold samples if the user requests none: [`Flush::Discard`] if the GPU can
    /// drop lines of its L2, otherwise [`Flush::Read`].
    fn usual_flush(&self) -> Flush {
        if self.kernels.discard.is_some() { Flush::Discard } else { Flush::Read }
    }
}

/// The functions with which `gpubench_core` creates and destroys the streams of cases, and records a graph of
/// a library. The recording runs a function in which the library instantiates a graph, and returns a function
/// that launches this graph. It fails unless the library instantiates exactly one graph.
const STREAM_CALLS: StreamFunctions = StreamFunctions {
    create: || {
        let mut stream = ptr::null_mut();
        // SAFETY: `stream` is valid for writing a handle.
        let created = unsafe { sys::cuStreamCreate(&raw mut stream, sys::CU_STREAM_DEFAULT) };
        check_for("a stream", created).map_err(CaseError::new)?;
        Ok(stream.cast())
    },
    // SAFETY: `create` made the stream, and nothing uses it any more. Its work goes on, and after a sticky error there is nothing
    // left to destroy.
    destroy: |stream| _ = unsafe { sys::cuStreamDestroy_v2(stream.cast()) },
    record: |capture| {
        let (done, executables) = gpubench_driver::new_executables(capture);
        done?;
        let [executable] = executables[..] else {
            let count = executables.len();
            return Err(CaseError::new(format_args!(
                "the library made {count} graphs instead of one: have it capture a whole launch in one graph, without launching it"
            )));
        };
        Ok(Box::new(move |stream| {
            // SAFETY: the library keeps its executable, and the case its stream.
            let launched = unsafe { sys::cuGraphLaunch(executable, stream.cast()) };
            check_for("the recorded launch", launched).map_err(CaseError::new)
        }))
    },
};

impl Device for Cuda {
    fn stream_source(&mut self) -> Option<&mut dyn Any> {
        Some(&mut self.gpu)
    }

    fn begin_case(&mut self) {
        self.stream = self.gpu.stream().cast();
        self.spacers = None;
        self.checked.clear();
        self.baseline = None;
        self.first_launch = None;
    }

    fn info(&mut self) -> Result<DeviceInfo, DeviceError> {
        let mut info = device_info::info(self.ordinal())?;
        match &self.sensors {
            Ok(sensors) => {
                info.properties.extend(sensors.properties());
                let pcie = device_info::reaches_the_host_by_pcie(device_info::device(self.ordinal())?)?;
                info.add(link_peaks(*sensors, pcie));
            }
            Err(why) => info.properties.push(Property::new("sensors", Value::Text(format!("none ({why})")))),
        }
        Ok(info)
    }

    fn monitor(&mut self) -> Result<Box<dyn Monitor>, DeviceError> {
        self.sensors.clone().map(|sensors| Box::new(sensors) as Box<dyn Monitor>)
    }

    fn make_current(&mut self) -> Result<Option<String>, DeviceError> {
        Ok(self.context.restore()?)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.context.restore()?;
        Ok(wait_for_context()?)
    }

    fn memory_growth(&mut self) -> Option<Bytes> {
        let growth = Bytes(gpubench_driver::memory_growth());
        gpubench_driver::first_unlisted_call().is_none().then_some(growth)
    }

    fn observe(&mut self, work: &mut dyn Work) -> Result<LaunchInfo, Failure> {
        watch::observe(&mut Guarded::new(work, self.context), self)
    }

    fn writes(&mut self, work: &mut dyn Work, enough: Bytes) -> Result<Option<Bytes>, Failure> {
        watch::writes_on_inverted_inputs(&mut Guarded::new(work, self.context), self, enough)
    }

    fn observe_again(&mut self, work: &mut dyn Work) -> Result<Vec<Observation>, Failure> {
        watch::observe_again(&mut Guarded::new(work, self.context), self)
    }

    fn time_cold_launch(
        &mut self,
        work: &mut dyn Work,
        inputs: InputState,
    ) -> Result<Option<Nanoseconds>, Failure> {
        watch::relaunch::time_cold_launch(&mut Guarded::new(work, self.context), self, inputs)
    }

    fn restore_inputs(&mut self) -> Result<bool, Failure> {
        Ok(watch::relaunch::restore_inputs(self)?)
    }

    fn relaunch(&mut self, work: &mut dyn Work) -> Result<Option<Relaunch>, Failure> {
        watch::relaunch::relaunch(&mut Guarded::new(work, self.context), self)
    }

    #[cfg(feature = "verify")]
    fn traced(
        &mut self,
        work: &mut dyn Work,
        wanted: &crate::device::TraceOptions,
    ) -> Result<Option<gpubench_records::CuptiTimes>, Failure> {
        trace::trace_case(self, work, wanted).map(Some)
    }

    fn profile(&mut self, work: &mut dyn Work, number: usize, launches: usize) -> Result<(), Failure> {
        guarded::profile(self, work, number, launches)
    }

    fn remark(&mut self) -> Option<String> {
        let call = gpubench_driver::take_failure()?;
        let out_of_memory = call.code == sys::CUDA_ERROR_OUT_OF_MEMORY;
        let Some((free, total)) = out_of_memory.then(watch::memory::free_and_total_memory).flatten() else {
            let hint = match call.code {
                sys::CUDA_ERROR_INVALID_VALUE if call.to_string().starts_with("cuLaunchKernel") => {
                    " (do the arguments match the kernel's parameters, and are the grid, the block and the shared memory within the GPU's limits?)"
                }
                UNSUPPORTED_PTX_VERSION => " (write older PTX, or update the driver)",
                _ => "",
            };
            return Some(format!("{call}{hint}"));
        };
        Some(format!("{call}; {} of {} are free", format::bytes(free), format::bytes(total)))
    }

    fn sampler<'a>(&'a mut self, work: &'a mut dyn Work, wanted: &SampleOptions) -> SamplerResult<'a> {
        sampling::sampler(self, work, wanted)
    }

    fn pair_sampler<'a>(
        &'a mut self,
        works: [&'a mut dyn Work; 2],
        wanted: &SampleOptions,
    ) -> SamplerResult<'a> {
        sampling::pair_sampler(self, works, wanted)
    }

    fn set_allocation_seed(&mut self, allocation_seed: u64) {
        // If this fails, the next call fails too.
        _ = self.context.restore();
        // The second round of a pair has the addresses of the first.
        if self.spacers.as_ref().is_none_or(|spacers| spacers.allocation_seed != allocation_seed) {
            // Free the old ones first, so that the new ones can use their memory.
            self.spacers = None;
            self.spacers = Some(Spacers::new(allocation_seed));
        }
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // Resources are released in the primary context; if that context is lost, nothing is released.
        _ = self.context.restore();
    }
}

/// The sizes of the two spacers. Each entry has the number of possible sizes of a spacer, and their
/// granularity in bytes. The driver allocates large buffers in whole pages of 2 MiB, and small ones in parts
/// of a page, so each kind of buffer has a spacer of its own. On an H200 a copy of 1 MiB took 0.6 to 1.1 %
/// less time if its inputs were allocated first; the effect depends on these sizes.
const SPACER_SIZES: [(u64, u64); 2] = [(32, 2 << 20), (2048, 512)];

/// Unused allocations, one for each entry of [`SPACER_SIZES`]. While they exist, they shift the addresses of
/// later allocations, such as inputs, by amounts that depend on the allocation seed.
struct Spacers {
    allocation_seed: u64,
    _memory: Vec<DeviceMemory>,
}

impl Spacers {
    /// Allocates spacers whose sizes depend on `allocation_seed`. Ignores failed allocations.
    fn new(allocation_seed: u64) -> Self {
        let (mut rest, mut memory) = (allocation_seed, Vec::new());
        for (sizes, step) in SPACER_SIZES {
            // Without memory for a spacer, the inputs keep their addresses.
            memory.extend(DeviceMemory::new("a spacer", ((1 + rest % sizes) * step) as usize));
            rest /= sizes;
        }
        _ = gpubench_driver::take_failure();
        Self { allocation_seed, _memory: memory }
    }
}
