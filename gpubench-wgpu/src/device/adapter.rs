//! Adapters of this machine, in the order of wgpu: real GPUs before software.

use gpubench_runtime::device::DeviceError;
use wgpu::{Adapter, AdapterInfo, Backends, DeviceType, Features, Instance, InstanceDescriptor};

/// The features that an adapter needs so that launches on it can be timed.
const TIMESTAMP_FEATURES: Features =
    Features::TIMESTAMP_QUERY.union(Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);

/// Returns all adapters of Vulkan, Metal and DX12, real GPUs before software adapters.
pub(crate) fn all() -> Vec<Adapter> {
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

/// Returns the adapter with this number, from 0, in the order of [`all`].
///
/// # Errors
/// Returns an error if there are no more than `ordinal` adapters.
pub(crate) fn with_ordinal(ordinal: usize) -> Result<Adapter, DeviceError> {
    let mut adapters = all();
    match adapters.len() {
        0 => Err(DeviceError::new(NO_ADAPTER)),
        number if ordinal < number => Ok(adapters.swap_remove(ordinal)),
        number => Err(DeviceError::new(format!(
            "there is no adapter {ordinal}: wgpu lists {number}, counted from 0"
        ))),
    }
}

/// The error message if there is no adapter.
pub(crate) const NO_ADAPTER: &str = "wgpu finds no adapter by Vulkan, Metal or DX12";

/// Returns true if the adapter is a program on the CPU, and not a GPU.
pub(crate) fn is_software(info: &AdapterInfo) -> bool {
    info.device_type == DeviceType::Cpu
}

/// Returns the name of an adapter, after `software adapter, no GPU: ` for software.
pub(crate) fn name(info: &AdapterInfo) -> String {
    let software = if is_software(info) { "software adapter, no GPU: " } else { "" };
    format!("{software}{}", info.name)
}

/// Returns a phrase with the reason that launches on an adapter with these features cannot be timed; `None`
/// if they can. `name` is the adapter's name.
pub(crate) fn timestamp_refusal(features: Features, name: &str) -> Option<String> {
    (!features.contains(TIMESTAMP_FEATURES)).then(|| {
        format!("{name} has no timestamps between commands (TIMESTAMP_QUERY_INSIDE_ENCODERS), by which launches are timed")
    })
}
