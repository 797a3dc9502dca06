//! Flushes of the last-level cache: a sweep that reads twice its size, or a clear that writes as much. wgpu does not know the size.

use gpubench_records::Flush;
use gpubench_runtime::device::DeviceError;
use gpubench_stats::{Bytes, format};
use wgpu::{AdapterInfo, Buffer, BufferUsages, DeviceType};

use super::Wgpu;
use crate::encoder::{Encoder, buffer};
use crate::kernel::Kernel;

/// The usual flush: reads leave no line to be written back.
pub(crate) const DEFAULT_FLUSH: Flush = Flush::Read;
/// The variable by which a user gives the size of the last-level cache, in MiB.
const CACHE_SIZE_VARIABLE: &str = "GPUBENCH_WGPU_CACHE_MIB";
/// The bytes that a workgroup of [`MEMORY_SHADERS`] moves.
pub(crate) const BYTES_PER_WORKGROUP: u64 = 256 * 4 * 16;

/// Kernels that read, fill and copy.
pub(crate) const MEMORY_SHADERS: &str = include_str!("memory.wgsl");
/// The most memory of which it is seen that it is gone, if the cache's size is assumed: it must fit into the cache that is there.
const MAX_PROBE_SIZE: Bytes = Bytes(4 << 20);

/// The size of the last-level cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CacheSize {
    pub(crate) size: Bytes,
    /// True if nobody gave it.
    pub(crate) is_assumed: bool,
}

impl CacheSize {
    /// Returns the size that the user gives, or more than most adapters of this kind have.
    pub(crate) fn for_adapter(info: &AdapterInfo) -> Result<Self, DeviceError> {
        match std::env::var(CACHE_SIZE_VARIABLE) {
            Ok(given) => Self::from_mib(&given),
            Err(_) => Ok(Self { size: Bytes(assumed_mib(info.device_type) << 20), is_assumed: true }),
        }
    }

    fn from_mib(mib: &str) -> Result<Self, DeviceError> {
        let size = mib.trim().parse::<u32>().ok().filter(|mib| *mib > 0);
        let refused = || {
            DeviceError::new(format!("{CACHE_SIZE_VARIABLE}={mib}: the size of the cache is a number of MiB"))
        };
        Ok(Self { size: Bytes(u64::from(size.ok_or_else(refused)?) << 20), is_assumed: false })
    }
}

/// Returns the MiB of a cache that is assumed: the largest known ones are 256 (AMD), 126 (NVIDIA) and, in processors, 96.
fn assumed_mib(kind: DeviceType) -> u64 {
    match kind {
        DeviceType::DiscreteGpu | DeviceType::VirtualGpu | DeviceType::Other => 256,
        DeviceType::IntegratedGpu => 96,
        // A sweep of more takes a processor longer than most launches.
        DeviceType::Cpu => 32,
    }
}

/// A buffer with kernels that read it and fill it.
#[derive(Clone)]
pub(crate) struct Region {
    pub(crate) buffer: Buffer,
    pub(crate) size: u64,
    read: Kernel,
    fill: Kernel,
}

impl Region {
    /// Makes a buffer of `size`, or of the largest that can be bound, and fills it: wgpu's zeros may be stored compressed.
    pub(crate) fn new(encoder: &Encoder, size: Bytes) -> Self {
        let limits = encoder.device().limits();
        let largest = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        let size = size.0.min(largest) / BYTES_PER_WORKGROUP * BYTES_PER_WORKGROUP;
        let make = |size| buffer(encoder.device(), size, BufferUsages::STORAGE | BufferUsages::COPY_DST);
        let (buffer, result) = (make(size), make(16));
        let read = Kernel::new(encoder, (MEMORY_SHADERS, "read_all"), &[], &[&result, &buffer]);
        let fill = Kernel::new(encoder, (MEMORY_SHADERS, "fill_all"), &[], &[&buffer]);
        let region = Self { buffer, size, read, fill };
        region.fill(encoder);
        region
    }

    pub(crate) fn read(&self, encoder: &Encoder) {
        self.read.launch(encoder, self.size / BYTES_PER_WORKGROUP);
    }

    pub(crate) fn fill(&self, encoder: &Encoder) {
        self.fill.launch(encoder, self.size / BYTES_PER_WORKGROUP);
    }

    /// Encodes a flush of a cache of this size, half of the region's.
    pub(crate) fn flush(&self, flush: Flush, cache: Bytes, encoder: &Encoder) {
        match flush {
            // Lines are refused where a flush is chosen.
            Flush::None | Flush::Lines => {}
            Flush::Write => {
                let size = cache.0.min(self.size);
                encoder.commands(|commands| commands.clear_buffer(&self.buffer, 0, Some(size)));
            }
            Flush::Read | Flush::Discard => self.read(encoder),
        }
    }
}

/// Makes the memory of which this many quarters of the cache's size are read.
pub(crate) fn region_to_read(device: &Wgpu, quarters: usize) -> Region {
    let size = Bytes(device.cache.size.0 / 4 * quarters as u64);
    let is_small = quarters == 1 && device.cache.is_assumed;
    Region::new(&device.encoder, if is_small && size > MAX_PROBE_SIZE { MAX_PROBE_SIZE } else { size })
}

/// Returns the doubt about the size of the sweep, in words.
pub(crate) fn doubt_about_size(device: &mut Wgpu) -> Option<String> {
    let swept = device.sweep(DEFAULT_FLUSH).map_or(Bytes::ZERO, |sweep| Bytes(sweep.size));
    let size = device.cache.size;
    if swept.0 < 2 * size.0 {
        let (swept, size) = (format::bytes(swept), format::bytes(size));
        return Some(format!(
            "a sweep goes over {swept}, the largest binding, less than twice the cache of {size}"
        ));
    }
    device.cache.is_assumed.then(|| {
        let size = format::bytes(size);
        format!("wgpu does not know the last-level cache: {size} are assumed, {CACHE_SIZE_VARIABLE} gives its size")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_size_is_a_number_of_mebibytes() {
        let given = CacheSize::from_mib(" 6 ").expect("a number");
        assert_eq!(given, CacheSize { size: Bytes(6 << 20), is_assumed: false });
        for refused in ["0", "6MB", "-1", ""] {
            let error = CacheSize::from_mib(refused).expect_err("no number");
            assert!(error.to_string().contains("is a number of MiB"), "{error}");
        }
    }
}
