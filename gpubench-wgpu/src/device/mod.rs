//! An adapter as a device of gpubench, with the results that were measured on it so far. Adapters are listed in the
//! order of wgpu: real GPUs before software.

mod flush;
mod peaks;
mod queue;
mod timestamps;

use std::any::Any;
use std::collections::HashMap;
use std::ops::Range;
use std::time::Instant;

use gpubench_core::{StreamSource, inventory};
use gpubench_records::device_info::DRIVER;
use gpubench_records::{DeviceInfo, Failure, Flush, LaunchInfo, Stage, Value};
use gpubench_runtime::device::{
    Available, Calibration, Device, DeviceError, DeviceKind, DeviceType, InputState, SampleOptions,
    SamplerResult, Work,
};
use gpubench_runtime::method::{self, AnyWork, time_once};
use gpubench_stats::{Bytes, Nanoseconds};
use wgpu::{
    Adapter, AdapterInfo, Backends, DeviceDescriptor, Features, Instance, InstanceDescriptor, MemoryHints,
};

use crate::device::flush::{CacheSize, SweepBuffer};
use crate::device::queue::{EmptyShaders, RecordedBatch};
use crate::device::timestamps::LaunchTimestamps;
use crate::encoder::Encoder;

/// The name of this kind of device on the command line and in records: `wgpu`.
const KIND: &str = Encoder::KIND;

/// A GPU that wgpu drives, by Vulkan, Metal or DX12.
pub struct Wgpu {
    name: String,
    info: AdapterInfo,
    encoder: Encoder,
    timestamps: LaunchTimestamps,
    empty: EmptyShaders,
    cache: CacheSize,
    /// The region that a flush reads or clears; `None` until a flush needs it.
    sweep: Option<SweepBuffer>,
    calibration: Calibration,
    /// The recorded batches that were not submitted yet, by their numbers. `recorded_so_far` counts all
    /// batches.
    recorded: HashMap<usize, RecordedBatch>,
    recorded_so_far: usize,
    is_recording: bool,
    /// The slots of the last submitted batch.
    submitted: Range<usize>,
    /// The ticks of the device's clock when the first group of the series began.
    origin: Option<u64>,
}

impl DeviceType for Wgpu {
    /// Opens an adapter with all features but those that are unsafe to use, or that slow down memory.
    fn open(ordinal: usize) -> Result<Self, DeviceError> {
        let adapter = adapter_with_ordinal(ordinal)?;
        let info = adapter.get_info();
        let features =
            adapter.features() - Features::all_experimental_mask() - Features::MAPPABLE_PRIMARY_BUFFERS;
        if let Some(why) = timestamp_refusal(features, &adapter_name(&info)) {
            return Err(DeviceError::new(why));
        }
        let descriptor = DeviceDescriptor {
            // All that pipelines of users may need.
            required_features: features,
            required_limits: adapter.limits(),
            memory_hints: MemoryHints::Performance,
            ..DeviceDescriptor::default()
        };
        let (device, queue) =
            pollster::block_on(adapter.request_device(&descriptor)).map_err(DeviceError::new)?;
        let encoder = Encoder::new(device, queue);
        let empty = EmptyShaders::new(&encoder);
        encoder.finish().map_err(DeviceError::new)?;
        Ok(Self {
            name: format!("{KIND}:{ordinal}"),
            cache: CacheSize::for_adapter(&info)?,
            info,
            timestamps: LaunchTimestamps::new(encoder.device()),
            encoder,
            empty,
            sweep: None,
            calibration: Calibration::default(),
            recorded: HashMap::new(),
            recorded_so_far: 0,
            is_recording: false,
            submitted: 0..0,
            origin: None,
        })
    }
}

impl Wgpu {
    /// Returns the region that `flush` reads or clears, twice as large as the cache; `None` for no flush. The
    /// first call creates the region.
    fn sweep(&mut self, flush: Flush) -> Option<SweepBuffer> {
        let make = || SweepBuffer::new(&self.encoder, Bytes(2 * self.cache.size.0));
        (flush != Flush::None).then(|| self.sweep.get_or_insert_with(make).clone())
    }

    /// Returns the properties of the adapter, without measured peaks.
    fn adapter_properties(&self) -> DeviceInfo {
        let (adapter_info, gpu) = (&self.info, self.encoder.device());
        let limits = gpu.limits();
        let text = |text: &str| Value::Text(text.to_owned());
        let period = self.encoder.queue().get_timestamp_period();
        let driver = [&*adapter_info.driver, &*adapter_info.driver_info].map(str::trim).join(" ");
        let mut info = DeviceInfo::new(&*self.name, adapter_name(adapter_info))
            .with_property("adapter", Value::Text(format!("{:?}", adapter_info.device_type)))
            .with_property("backend", text(&adapter_info.backend.to_string()))
            .with_property(DRIVER, text(driver.trim()))
            .with_property(
                "subgroup size",
                Value::Text(format!(
                    "{} to {}",
                    adapter_info.subgroup_min_size, adapter_info.subgroup_max_size
                )),
            )
            .with_property(
                "invocations in a workgroup",
                Value::Count(limits.max_compute_invocations_per_workgroup.into()),
            )
            .with_property(
                "memory of a workgroup",
                Value::Bytes(Bytes(limits.max_compute_workgroup_storage_size.into())),
            )
            .with_property("largest buffer", Value::Bytes(Bytes(limits.max_buffer_size)))
            .with_property("largest binding", Value::Bytes(Bytes(limits.max_storage_buffer_binding_size)))
            .with_property("timestamps", Value::Text(format!("between commands, in ticks of {period} ns")));
        if !adapter_info.device_pci_bus_id.is_empty() {
            info = info.with_property("PCI bus", text(&adapter_info.device_pci_bus_id));
        }
        if self.cache.is_assumed {
            info = info.with_property("last-level cache (assumed)", Value::Bytes(self.cache.size));
        } else {
            info = info.with_last_level_cache(self.cache.size);
        }
        info
    }
}

impl StreamSource for Wgpu {
    const KIND: &'static str = KIND;
}

inventory::submit! {
    DeviceKind::new::<Wgpu>().with_list("GPU that wgpu finds", list)
}

/// Returns the adapters of this machine, with the reason for each that cannot be used. Returns an error if
/// there is no adapter.
fn list() -> Result<Vec<Available>, DeviceError> {
    let adapters = all_adapters();
    if adapters.is_empty() {
        return Err(DeviceError::new(NO_ADAPTER));
    }
    let found = |(ordinal, adapter): (usize, &Adapter)| {
        let name = adapter_name(&adapter.get_info());
        let fault = timestamp_refusal(adapter.features(), &name);
        let found = Available::new(format!("{KIND}:{ordinal}"), KIND).with_name(name);
        fault.into_iter().fold(found, Available::with_fault)
    };
    Ok(adapters.iter().enumerate().map(found).collect())
}

impl Device for Wgpu {
    fn stream_source(&mut self) -> Option<&mut dyn Any> {
        Some(&mut self.encoder)
    }

    fn info(&mut self) -> Result<DeviceInfo, DeviceError> {
        let mut info = self.adapter_properties();
        info.add(peaks::measure(self).map_err(|failure| DeviceError::new(failure.message))?);
        Ok(info)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.encoder.finish().map_err(DeviceError::new)
    }

    fn observe(&mut self, work: &mut dyn Work) -> Result<LaunchInfo, Failure> {
        self.encoder.take_encoded();
        let begin = Instant::now();
        work.launch()?;
        // wgpu's errors come first: work that it refused may count as none.
        self.synchronize().map_err(|error| Failure::new(Stage::Launch, error))?;
        if self.encoder.take_encoded() == 0 {
            let message = "the launch encoded no work: it goes into the `Encoder`, and what is submitted to the queue is not timed";
            return Err(Failure::new(Stage::Launch, message));
        }
        Ok(LaunchInfo { first_launch_time: Some(begin.elapsed().into()), ..LaunchInfo::default() })
    }

    fn time_cold_launch(
        &mut self,
        work: &mut dyn Work,
        _: InputState,
    ) -> Result<Option<Nanoseconds>, Failure> {
        time_once(self, work, flush::DEFAULT_FLUSH).map(Some)
    }

    fn remark(&mut self) -> Option<String> {
        self.encoder.untaken_error()
    }

    fn sampler<'a>(&'a mut self, work: &'a mut dyn Work, wanted: &SampleOptions) -> SamplerResult<'a> {
        let chosen = queue::choose(self, wanted)?;
        method::sampler(self, AnyWork::Borrowed(work), wanted, chosen)
    }

    fn pair_sampler<'a>(
        &'a mut self,
        works: [&'a mut dyn Work; 2],
        wanted: &SampleOptions,
    ) -> SamplerResult<'a> {
        let chosen = queue::choose(self, wanted)?;
        let partner = chosen.method.clone();
        Ok(method::pair_sampler(self, works.map(AnyWork::Borrowed), wanted, chosen, partner))
    }
}

/// The features that an adapter needs so that launches on it can be timed. An adapter without them is listed
/// with a fault.
const TIMESTAMP_FEATURES: Features =
    Features::TIMESTAMP_QUERY.union(Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);

/// Returns all adapters of Vulkan, Metal and DX12, real GPUs before software adapters.
fn all_adapters() -> Vec<Adapter> {
    let mut descriptor = InstanceDescriptor::new_without_display_handle();
    // Each GPU once: a backend of OpenGL would list it again, and has no timestamps.
    descriptor.backends = Backends::VULKAN | Backends::METAL | Backends::DX12;
    // Validation layers and debug labels would slow down the host's part.
    descriptor.flags = wgpu::InstanceFlags::empty();
    let instance = Instance::new(descriptor);
    let mut adapters = pollster::block_on(instance.enumerate_adapters(Backends::all()));
    adapters.sort_by_key(|adapter| is_software(&adapter.get_info()));
    adapters
}

/// Returns the adapter with this number, from 0, in the order of [`all_adapters`].
///
/// # Errors
/// Returns an error if there are no more than `ordinal` adapters.
fn adapter_with_ordinal(ordinal: usize) -> Result<Adapter, DeviceError> {
    let mut adapters = all_adapters();
    match adapters.len() {
        0 => Err(DeviceError::new(NO_ADAPTER)),
        number if ordinal < number => Ok(adapters.swap_remove(ordinal)),
        number => Err(DeviceError::new(format!(
            "there is no adapter {ordinal}: wgpu lists {number}, counted from 0"
        ))),
    }
}

/// The error message if there is no adapter.
const NO_ADAPTER: &str = "wgpu finds no adapter by Vulkan, Metal or DX12";

/// Returns true if the adapter is a program on the CPU, and not a GPU.
fn is_software(info: &AdapterInfo) -> bool {
    info.device_type == wgpu::DeviceType::Cpu
}

/// Returns the name of an adapter, after `software adapter, no GPU: ` for software.
fn adapter_name(info: &AdapterInfo) -> String {
    let software = if is_software(info) { "software adapter, no GPU: " } else { "" };
    format!("{software}{}", info.name)
}

/// Returns a phrase with the reason that launches on an adapter with these features cannot be timed; `None`
/// if they can. `name` is the adapter's name.
fn timestamp_refusal(features: Features, name: &str) -> Option<String> {
    (!features.contains(TIMESTAMP_FEATURES)).then(|| {
        format!("{name} has no timestamps between commands (TIMESTAMP_QUERY_INSIDE_ENCODERS), by which launches are timed")
    })
}

#[cfg(test)]
mod tests {
    use gpubench_records::{Cache, Failure};
    use gpubench_runtime::device::{Device, DeviceType, SampleOptions, Work};
    use gpubench_stats::Nanoseconds;
    use wgpu::{BufferUsages, Features};

    use super::*;
    use crate::encoder::{Encoder, buffer};

    /// A launch of this many passes, behind a clear if it has one.
    struct Passes {
        encoder: Encoder,
        passes: usize,
        clears: bool,
    }

    impl Work for Passes {
        fn launch(&mut self) -> Result<(), Failure> {
            if self.clears {
                let buffer = buffer(self.encoder.device(), 64, BufferUsages::COPY_DST);
                self.encoder.commands(|commands| commands.clear_buffer(&buffer, 0, None));
            }
            (0..self.passes).for_each(|_| self.encoder.pass(|_| {}));
            Ok(())
        }
    }

    /// Samples on the first adapter, and returns the event times.
    fn events(passes: usize, clears: bool) -> Result<Vec<Nanoseconds>, Failure> {
        let mut device = Wgpu::open(0).expect("an adapter with timestamps");
        let mut work = Passes { encoder: device.encoder.clone(), passes, clears };
        let mut sampler = device.sampler(&mut work, &SampleOptions::new(Cache::Hot))?;
        Ok(sampler.group(8)?.events)
    }

    #[test]
    fn an_adapter_without_timestamps_is_refused() {
        for features in [Features::empty(), Features::TIMESTAMP_QUERY] {
            let refused = timestamp_refusal(features, "an adapter").expect("it has no clock");
            assert!(refused.contains("has no timestamps between commands"), "{refused}");
        }
    }

    #[test]
    fn an_adapter_that_is_not_there_is_refused() {
        let refused = Wgpu::open(77).err().expect("there are not this many").to_string();
        assert!(refused.contains("there is no adapter 77"), "{refused}");
    }

    #[test]
    fn timestamps_between_commands_time_everything() {
        for (passes, clears) in [(1, false), (0, true), (2, true)] {
            let events = events(passes, clears).expect("all of it is timed");
            assert!(events.len() == 8 && events.iter().all(|event| event.0 > 0.0), "{events:?}");
        }
    }

    /// A launch that fails in the middle of a group leaves nothing behind for the next.
    #[test]
    fn a_failed_group_leaves_no_commands() {
        struct Once(Passes, usize);
        impl Work for Once {
            fn launch(&mut self) -> Result<(), Failure> {
                self.1 += 1;
                let failed = Failure::new(Stage::Launch, "the third fails");
                if self.1 == 3 { Err(failed) } else { self.0.launch() }
            }
        }
        let mut device = Wgpu::open(0).expect("an adapter with timestamps");
        let passes = Passes { encoder: device.encoder.clone(), passes: 1, clears: false };
        let mut work = Once(passes, 0);
        let mut sampler = device.sampler(&mut work, &SampleOptions::new(Cache::Hot)).expect("it has a clock");
        assert!(sampler.group(4).is_err());
        assert_eq!(sampler.group(4).expect("the others do not fail").events.len(), 4);
    }
}
