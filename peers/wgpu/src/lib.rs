//! What the programs here share.

pub mod kernel;
pub mod options;
pub mod stamps;
pub mod variants;

use std::error::Error;
use std::time::Duration;

use wgpu::{
    Backends, Buffer, BufferDescriptor, BufferUsages, Device, DeviceDescriptor, DeviceType, Features,
    Instance, InstanceDescriptor, MemoryHints, PollType, Queue,
};

/// An error of any kind.
pub type Failure = Box<dyn Error>;

/// The usages of the suite's arrays.
pub const OF_SUITE: BufferUsages =
    BufferUsages::STORAGE.union(BufferUsages::COPY_SRC).union(BufferUsages::COPY_DST);

/// A wait for longer fails.
const LONGEST: Duration = Duration::from_secs(20);

/// An open adapter.
pub struct Gpu {
    pub device: Device,
    pub queue: Queue,
    pub name: String,
}

impl Gpu {
    /// Opens the adapter that `--adapter` names, or the first, as the suite does: real GPUs before software, without
    /// validation layers.
    pub fn open() -> Result<Self, Failure> {
        let mut descriptor = InstanceDescriptor::new_without_display_handle();
        descriptor.backends = Backends::VULKAN;
        descriptor.flags = wgpu::InstanceFlags::empty();
        let mut adapters = pollster::block_on(Instance::new(descriptor).enumerate_adapters(Backends::VULKAN));
        adapters.sort_by_key(|adapter| adapter.get_info().device_type == DeviceType::Cpu);
        let number = options::number("adapter", 0)? as usize;
        let adapter = adapters.get(number).ok_or("no such adapter of Vulkan")?;
        let descriptor = DeviceDescriptor {
            required_features: Features::TIMESTAMP_QUERY | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS,
            required_limits: adapter.limits(),
            memory_hints: MemoryHints::Performance,
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))?;
        let info = adapter.get_info();
        Ok(Self { device, queue, name: format!("{}, driver {}", info.name, info.driver_info) })
    }

    pub fn buffer(&self, size: u64, usage: BufferUsages) -> Buffer {
        let descriptor = BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        self.device.create_buffer(&descriptor)
    }

    /// Waits until the queue is idle.
    pub fn wait(&self) -> Result<(), Failure> {
        self.device.poll(PollType::Wait { submission_index: None, timeout: Some(LONGEST) })?;
        Ok(())
    }
}

/// Returns the middle one of `times`, or a number that is none.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
