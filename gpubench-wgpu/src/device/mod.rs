//! An adapter as a device of gpubench, with the results that were measured on it so far.

use std::{any::Any, collections::HashMap, ops::Range, time::Instant};

use gpubench_core::{StreamSource, inventory};
use gpubench_records::{DeviceInfo, Failure, Flush, LaunchInfo, Stage, Value, device_info::DRIVER};
use gpubench_runtime::device::{
    Available, Calibration, Device, DeviceError, DeviceKind, DeviceType, Inputs, SampleOptions, Sampler, Work,
};
use gpubench_runtime::method::{self, AnyWork, time_once};
use gpubench_stats::{Bytes, Nanoseconds};
use wgpu::{AdapterInfo, DeviceDescriptor, Features, MemoryHints};

use self::empty::EmptyKernels;
use self::flush::{CacheSize, Region};
use self::queue::RecordedBatch;
use self::timestamps::LaunchTimestamps;
use crate::encoder::Encoder;

mod adapter;
mod empty;
mod flush;
mod peaks;
mod queue;
#[cfg(test)]
mod tests;
mod timestamps;

/// The name of this kind of device on the command line and in records: `wgpu`.
const KIND: &str = Encoder::KIND;

/// A GPU that wgpu drives, by Vulkan, Metal or DX12.
pub struct Wgpu {
    name: String,
    pub(crate) info: AdapterInfo,
    pub(crate) encoder: Encoder,
    pub(crate) timestamps: LaunchTimestamps,
    pub(crate) empty: EmptyKernels,
    pub(crate) cache: CacheSize,
    /// The region that a flush reads or clears, once a cold sample needed it.
    pub(crate) sweep: Option<Region>,
    pub(crate) calibration: Calibration,
    /// The recorded batches that were not submitted yet, by their numbers. `recorded_so_far` counts all
    /// batches.
    pub(crate) recorded: HashMap<usize, RecordedBatch>,
    pub(crate) recorded_so_far: usize,
    pub(crate) is_recording: bool,
    /// The slots of the last submitted batch.
    pub(crate) submitted: Range<usize>,
    /// The ticks of the device's clock when the first group of the series began.
    pub(crate) origin: Option<u64>,
}

impl DeviceType for Wgpu {
    /// Opens an adapter with all features but those that are unsafe to use, or that slow down memory.
    fn open(ordinal: usize) -> Result<Self, DeviceError> {
        let adapter = adapter::with_ordinal(ordinal)?;
        let info = adapter.get_info();
        let features =
            adapter.features() - Features::all_experimental_mask() - Features::MAPPABLE_PRIMARY_BUFFERS;
        if let Some(why) = adapter::timestamp_refusal(features, &adapter::name(&info)) {
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
        let empty = EmptyKernels::new(&encoder);
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
    pub(crate) fn sweep(&mut self, flush: Flush) -> Option<Region> {
        let make = || Region::new(&self.encoder, Bytes(2 * self.cache.size.0));
        (flush != Flush::None).then(|| self.sweep.get_or_insert_with(make).clone())
    }

    /// Returns the properties of the adapter, without measured peaks.
    fn facts(&self) -> DeviceInfo {
        let (adapter_info, gpu) = (&self.info, self.encoder.device());
        let limits = gpu.limits();
        let text = |text: &str| Value::Text(text.to_owned());
        let period = self.encoder.queue().get_timestamp_period();
        let driver = [&*adapter_info.driver, &*adapter_info.driver_info].map(str::trim).join(" ");
        let mut info = DeviceInfo::new(&*self.name, adapter::name(adapter_info))
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
    let adapters = adapter::all();
    if adapters.is_empty() {
        return Err(DeviceError::new(adapter::NO_ADAPTER));
    }
    let found = |(ordinal, adapter): (usize, &wgpu::Adapter)| {
        let name = adapter::name(&adapter.get_info());
        let fault = adapter::timestamp_refusal(adapter.features(), &name);
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
        let mut info = self.facts();
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

    fn launch_cold(&mut self, work: &mut dyn Work, _: Inputs) -> Result<Option<Nanoseconds>, Failure> {
        time_once(self, work, flush::DEFAULT_FLUSH).map(Some)
    }

    fn remark(&mut self) -> Option<String> {
        self.encoder.untaken_error()
    }

    fn sampler<'a>(
        &'a mut self,
        work: &'a mut dyn Work,
        wanted: &SampleOptions,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        let chosen = queue::choose(self, wanted)?;
        method::sampler(self, AnyWork::Borrowed(work), wanted, chosen)
    }

    fn pair_sampler<'a>(
        &'a mut self,
        works: [&'a mut dyn Work; 2],
        wanted: &SampleOptions,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        let chosen = queue::choose(self, wanted)?;
        let partner = chosen.method.clone();
        Ok(method::pair_sampler(self, works.map(AnyWork::Borrowed), wanted, chosen, partner))
    }
}
