//! The driver's facts of a GPU. In: its number; out: [`Facts`], and the list of GPUs of this machine.

pub(crate) mod arithmetic;
pub(crate) mod datasheet;
pub(crate) mod links;
pub(crate) mod nvml;
pub(crate) mod peaks;

use cust::device::{Device as CudaDevice, DeviceAttribute};
use cust::sys;
use gpubench_driver::LoadError;

use crate::device::Available;
use crate::device::cuda::Cuda;
use crate::device::cuda::driver::{Cause, check, driver_error};
use crate::device::cuda::facts::peaks::{Attributes, peaks};
use crate::device::{DeviceError, DeviceType};
use gpubench_records::facts::{DRIVER_FOR_CUDA, Facts, Property, UUID, Value};
use gpubench_stats::units::{Bytes, Hertz};

/// The reason why this machine has no GPU, in a few words.
#[derive(Debug, thiserror::Error)]
enum NoGpu {
    #[error("{}", .0.short())]
    NoDriver(&'static LoadError),
    #[error("{0}")]
    Refused(Cause),
    #[error("the driver lists none")]
    None,
}

impl From<NoGpu> for DeviceError {
    fn from(error: NoGpu) -> Self {
        Self::new(error)
    }
}

/// Lists the GPUs of this machine.
///
/// # Errors
/// Returns the reason in a few words if there is none.
pub(in crate::device) fn list() -> Result<Vec<Available>, DeviceError> {
    gpubench_driver::load().map_err(NoGpu::NoDriver)?;
    let refused = |error| NoGpu::Refused(Cause::of(error));
    cust::init(cust::CudaFlags::empty()).map_err(refused)?;
    let count = CudaDevice::num_devices().map_err(refused)?;
    if count == 0 {
        return Err(NoGpu::None.into());
    }
    (0..count as usize).map(find).collect()
}

fn find(ordinal: usize) -> Result<Available, DeviceError> {
    let device = device(ordinal)?;
    Ok(Available {
        device: format!("{}:{ordinal}", Cuda::KIND),
        kind: Cuda::KIND,
        name: name(device)?,
        uuid: Some(uuid(device)?),
    })
}

/// Returns the facts of GPU `ordinal`.
pub(crate) fn facts(ordinal: usize) -> Result<Facts, DeviceError> {
    let device = device(ordinal)?;
    let attribute = |attribute| read(device, attribute);
    let (major, minor) = capability(device)?;
    let multiprocessors = attribute(DeviceAttribute::MultiprocessorCount)?;
    let clock = attribute(DeviceAttribute::ClockRate)? * 1000;
    let memory = memory(device)?;
    let memory_clock = attribute(DeviceAttribute::MemoryClockRate)? * 1000;
    let bus_width = attribute(DeviceAttribute::GlobalMemoryBusWidth)?;
    let l2 = Bytes(attribute(DeviceAttribute::L2CacheSize)?);
    let mut properties = vec![
        Property::new(UUID, Value::Text(uuid(device)?)),
        Property::new("compute capability", Value::Text(format!("{major}.{minor}"))),
        Property::new("multiprocessors", Value::Count(multiprocessors)),
        Property::new("clock", Value::Hertz(Hertz(clock))),
        Property::new("memory", Value::Bytes(Bytes(memory))),
        Property::new("memory clock", Value::Hertz(Hertz(memory_clock))),
        Property::new("bus", Value::Text(format!("{bus_width} bit"))),
        Property::new("L2 cache", Value::Bytes(l2)),
    ];
    let driver = gpubench_driver::load().map_err(|error| DeviceError::new(error.clone()))?;
    properties.push(Property::new(DRIVER_FOR_CUDA, Value::Text(driver.version.to_string())));
    let name = name(device)?;
    let attributes =
        Attributes { capability: (major, minor), multiprocessors, clock, memory_clock, bus_width };
    let peaks = peaks(&name, &attributes);
    Ok(Facts {
        device: format!("{}:{ordinal}", Cuda::KIND),
        name,
        fake: driver.fake,
        runs_program_code: false,
        properties,
        last_level_cache: Some(l2),
        peaks,
    })
}

/// Returns the device with this number.
pub(crate) fn device(ordinal: usize) -> Result<CudaDevice, DeviceError> {
    cust::init(cust::CudaFlags::empty()).map_err(|error| driver_error("the driver does not start", error))?;
    CudaDevice::get_device(ordinal as u32).map_err(|error| driver_error(&format!("GPU {ordinal}"), error))
}

/// Returns the compute capability, such as (9, 0).
pub(crate) fn capability(device: CudaDevice) -> Result<(u64, u64), DeviceError> {
    let major = read(device, DeviceAttribute::ComputeCapabilityMajor)?;
    Ok((major, read(device, DeviceAttribute::ComputeCapabilityMinor)?))
}

/// Returns the size of the memory in bytes.
pub(crate) fn memory(device: CudaDevice) -> Result<u64, DeviceError> {
    let memory = device.total_memory().map_err(|error| driver_error("the size of the memory", error))?;
    Ok(memory as u64)
}

/// Returns true if this GPU reaches the host's memory by PCIe. False if they share that memory, or if the GPU walks the
/// host's page tables, which takes a faster link (NVLink to a POWER9 or a Grace).
pub(crate) fn reaches_the_host_by_pcie(device: CudaDevice) -> Result<bool, DeviceError> {
    let shares = read(device, DeviceAttribute::Integrated)?;
    let mut walks = 0;
    // `cust` has no name for this attribute.
    let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES;
    // SAFETY: `walks` is a place for a number, and the device was given by the driver.
    check(unsafe { sys::cuDeviceGetAttribute(&raw mut walks, attribute, device.as_raw()) })?;
    Ok(shares == 0 && walks == 0)
}

/// Reads an attribute, none of which is negative.
pub(crate) fn read(device: CudaDevice, attribute: DeviceAttribute) -> Result<u64, DeviceError> {
    let value =
        device.get_attribute(attribute).map_err(|error| driver_error(&format!("{attribute:?}"), error))?;
    Ok(u64::try_from(value).unwrap_or(0))
}

fn name(device: CudaDevice) -> Result<String, DeviceError> {
    device.name().map_err(|error| driver_error("the device's name", error))
}

/// Returns the UUID in the form of the driver's own tools, `GPU-` and five groups of digits.
pub(crate) fn uuid(device: CudaDevice) -> Result<String, DeviceError> {
    let mut uuid = sys::CUuuid { bytes: [0; 16] };
    // SAFETY: `uuid` is a place for one, and the device was given by the driver.
    check(unsafe { sys::cuDeviceGetUuid_v2(&raw mut uuid, device.as_raw()) })?;
    let digits: String = uuid.bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
    let groups = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Ok(format!("GPU-{}", groups.join("-")))
}
