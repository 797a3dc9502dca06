//! Reads the properties of GPUs from the driver: the [`DeviceInfo`] of one GPU, and the list of all.

pub(crate) mod nvml;
pub(crate) mod peaks;

use std::ffi::CStr;

use gpubench_driver::sys::{self, CUdevice, CUdevice_attribute};

use self::peaks::{Attributes, peaks};
use super::Gpu;
use super::driver::{CallError, check, check_for};
use crate::device::{Available, DeviceError, StreamSource as _};
use gpubench_records::device_info::{DRIVER_FOR_CUDA, UUID};
use gpubench_records::{DeviceInfo, Value};
use gpubench_stats::{Bytes, Hertz};

/// The name of the device property with the compute capability.
pub(crate) const CAPABILITY: &str = "compute capability";

/// Lists the GPUs of this machine.
///
/// # Errors
/// Returns the reason if there is no GPU.
pub(in crate::devices) fn list() -> Result<Vec<Available>, DeviceError> {
    Ok((0..count()?).map(describe_gpu).collect())
}

/// Loads and initializes the driver, and returns the number of GPUs, at least 1. Returns the reason, in a few
/// words, if there is no GPU.
pub(super) fn count() -> Result<usize, DeviceError> {
    gpubench_driver::load().map_err(|error| DeviceError::new(error.short()))?;
    let driver_error = |error: CallError| DeviceError::new(error.cause.to_string());
    let mut count = 0;
    // SAFETY: there are no flags yet, and `count` is valid for writing a number.
    unsafe {
        check(sys::cuInit(0)).map_err(driver_error)?;
        check(sys::cuDeviceGetCount(&raw mut count)).map_err(driver_error)?;
    }
    if count == 0 {
        return Err(DeviceError::new("the driver lists none"));
    }
    Ok(count as usize)
}

/// Returns GPU `ordinal` with its name and UUID, or with the driver's error as its fault.
fn describe_gpu(ordinal: usize) -> Available {
    let found = Available::new(format!("{}:{ordinal}", Gpu::KIND), Gpu::KIND);
    let named = device(ordinal).and_then(|device| Ok((name(device)?, uuid(device)?)));
    match named {
        Ok((name, uuid)) => found.with_name(name).with_uuid(uuid),
        Err(fault) => found.with_fault(fault.to_string()),
    }
}

/// Returns the properties of GPU `ordinal` that the driver reports, and its peaks except those of links.
pub(crate) fn info(ordinal: usize) -> Result<DeviceInfo, DeviceError> {
    let device = device(ordinal)?;
    let attribute = |which| attribute(device, which);
    let (major, minor) = capability(device)?;
    let multiprocessors = attribute(sys::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let clock = attribute(sys::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)? * 1000;
    let memory = memory_size(device)?;
    let memory_clock = attribute(sys::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)? * 1000;
    let bus_width = attribute(sys::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?;
    let l2 = Bytes(attribute(sys::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?);
    let driver = gpubench_driver::load().map_err(|error| DeviceError::new(error.clone()))?;
    let attributes =
        Attributes { capability: (major, minor), multiprocessors, clock, memory_clock, bus_width };
    let mut info = DeviceInfo::new(format!("{}:{ordinal}", Gpu::KIND), name(device)?)
        .with_property(UUID, Value::Text(uuid(device)?))
        .with_property(CAPABILITY, Value::Text(format!("{major}.{minor}")))
        .with_property("multiprocessors", Value::Count(multiprocessors))
        .with_property("clock", Value::Hertz(Hertz(clock)))
        .with_property("memory", Value::Bytes(Bytes(memory)))
        .with_property("memory clock", Value::Hertz(Hertz(memory_clock)))
        .with_property("bus", Value::Text(format!("{bus_width} bit")))
        .with_property("L2 cache", Value::Bytes(l2))
        .with_property(DRIVER_FOR_CUDA, Value::Text(driver.version.to_string()))
        .with_last_level_cache(l2);
    info.fake = driver.fake;
    info.peaks = peaks(&info.name, &attributes);
    Ok(info)
}

/// Initializes the driver, and returns the device with this number.
pub(crate) fn device(ordinal: usize) -> Result<CUdevice, DeviceError> {
    let mut device = 0;
    // SAFETY: there are no flags yet, and `device` is valid for writing one.
    unsafe {
        check_for("the driver does not start", sys::cuInit(0))?;
        check_for("cannot be opened", sys::cuDeviceGet(&raw mut device, ordinal as i32))?;
    }
    Ok(device)
}

/// Returns the compute capability as its major and minor number, such as (9, 0).
pub(crate) fn capability(device: CUdevice) -> Result<(u64, u64), DeviceError> {
    let major = attribute(device, sys::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    Ok((major, attribute(device, sys::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?))
}

/// Returns the size of the device's memory in bytes.
pub(crate) fn memory_size(device: CUdevice) -> Result<u64, DeviceError> {
    let mut bytes = 0;
    // SAFETY: `bytes` is valid for writing a size, and the driver has listed the device.
    check_for("the size of the memory", unsafe { sys::cuDeviceTotalMem_v2(&raw mut bytes, device) })?;
    Ok(bytes as u64)
}

/// Returns true if this GPU reaches the host's memory by PCIe. Returns false for an integrated GPU, and for one that
/// walks the host's page tables, which takes a faster link (NVLink to a POWER9 or a Grace).
pub(crate) fn reaches_the_host_by_pcie(device: CUdevice) -> Result<bool, DeviceError> {
    let is_integrated = attribute(device, sys::CU_DEVICE_ATTRIBUTE_INTEGRATED)?;
    let walks_page_tables =
        attribute(device, sys::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES)?;
    Ok(is_integrated == 0 && walks_page_tables == 0)
}

/// Reads a numeric attribute of a device. Negative values, which no attribute has, become 0.
pub(crate) fn attribute(device: CUdevice, attribute: CUdevice_attribute) -> Result<u64, DeviceError> {
    let mut value = 0;
    // SAFETY: `value` is valid for writing a number, and the driver has listed the device.
    let result = unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, device) };
    check_for(&format!("attribute {attribute} of a GPU"), result)?;
    Ok(u64::try_from(value).unwrap_or(0))
}

/// Returns the name that the maker gave the device, such as `NVIDIA H200`.
fn name(device: CUdevice) -> Result<String, DeviceError> {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer has space for this many characters, and the driver has listed the device.
    let result = unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as i32, device) };
    check_for("the device's name", result)?;
    let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

/// Returns the UUID in the form of the driver's own tools, `GPU-` and five groups of digits.
pub(crate) fn uuid(device: CUdevice) -> Result<String, DeviceError> {
    let mut uuid = sys::CUuuid::default();
    // SAFETY: `uuid` is valid for writing one, and the device was given by the driver.
    check(unsafe { sys::cuDeviceGetUuid_v2(&raw mut uuid, device) })?;
    let digits: String = uuid.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let groups = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Ok(format!("GPU-{}", groups.join("-")))
}
