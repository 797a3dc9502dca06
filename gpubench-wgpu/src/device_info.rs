//! DeviceInfo of an adapter: its name, its driver, and the limits that launches meet.

use gpubench_records::device_info::{DRIVER, DeviceInfo, Value};
use gpubench_stats::units::Bytes;
use wgpu::DeviceType;

use crate::adapter;
use crate::device::Wgpu;

/// Returns the facts of `device`, without its peaks.
pub(crate) fn of(device: &Wgpu) -> DeviceInfo {
    let (adapter_info, gpu) = (&device.info, device.encoder.device());
    let limits = gpu.limits();
    let text = |text: &str| Value::Text(text.to_owned());
    let kind = match adapter_info.device_type {
        DeviceType::DiscreteGpu => "discrete GPU",
        DeviceType::IntegratedGpu => "integrated GPU",
        DeviceType::VirtualGpu => "virtual GPU",
        DeviceType::Cpu => "software: the CPU does the work, and its times are no GPU's",
        DeviceType::Other => "of unknown kind",
    };
    let period = device.encoder.queue().get_timestamp_period();
    let subgroup = match (adapter_info.subgroup_min_size, adapter_info.subgroup_max_size) {
        (least, most) if least == most => least.to_string(),
        (least, most) => format!("{least} to {most}"),
    };
    let driver = [&*adapter_info.driver, &*adapter_info.driver_info].map(str::trim).join(" ");
    let mut info = DeviceInfo::new(&*device.name, adapter::name(adapter_info))
        .with_property("adapter", text(kind))
        .with_property("backend", text(&adapter_info.backend.to_string()))
        .with_property(DRIVER, text(driver.trim()))
        .with_property("subgroup size", Value::Text(subgroup))
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
    if device.cache.is_assumed {
        info = info.with_property("last-level cache (assumed)", Value::Bytes(device.cache.size));
    } else {
        info = info.with_last_level_cache(device.cache.size);
    }
    info
}
