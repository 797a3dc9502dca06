//! Flushes of the last-level cache: a sweep that reads twice its size, or a clear that writes as much. wgpu
//! does not know the size.

use gpubench_records::Flush;
use gpubench_runtime::device::DeviceError;
use gpubench_stats::{Bytes, format};
use wgpu::{AdapterInfo, Buffer, BufferUsages, DeviceType};

use crate::device::Wgpu;
use crate::encoder::{Encoder, Kernel, buffer};

/// The default flush: a read, which leaves no cache line to be written back.
pub(crate) const DEFAULT_FLUSH: Flush = Flush::Read;
/// The environment variable with the size of the last-level cache, in MiB. Without it, a size is assumed.
const CACHE_SIZE_VARIABLE: &str = "GPUBENCH_WGPU_CACHE_MIB";
/// The number of bytes that a workgroup of [`MEMORY_SHADERS`] reads, fills or copies.
pub(crate) const BYTES_PER_WORKGROUP: u64 = 256 * 4 * 16;

/// The source of the kernels `read_all`, `fill_all` and `copy_all`.
pub(crate) const MEMORY_SHADERS: &str = include_str!("memory.wgsl");
/// The maximum size of the memory by which a flush is verified, if the size of the cache is assumed: it must
/// fit into the real cache.
const MAX_PROBE_SIZE: Bytes = Bytes(4 << 20);

/// The size of the last-level cache, given by the user or assumed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CacheSize {
    pub size: Bytes,
    /// True if the user did not give the size.
    pub is_assumed: bool,
}

impl CacheSize {
    /// Returns the size from `GPUBENCH_WGPU_CACHE_MIB`, or else a size that is larger than the cache of most
    /// adapters of this type. Returns an error if the variable is not a positive whole number.
    pub(crate) fn for_adapter(info: &AdapterInfo) -> Result<Self, DeviceError> {
        match std::env::var(CACHE_SIZE_VARIABLE) {
            Ok(given) => Self::from_mib(&given),
            Err(_) => Ok(Self { size: Bytes(assumed_mib(info.device_type) << 20), is_assumed: true }),
        }
    }

    /// Parses a size in MiB, as the user gives it. Returns an error unless it is a positive whole number.
    fn from_mib(mib: &str) -> Result<Self, DeviceError> {
        let size = mib.trim().parse::<u32>().ok().filter(|mib| *mib > 0);
        let refused = || {
            DeviceError::new(format!("{CACHE_SIZE_VARIABLE}={mib}: the size of the cache is a number of MiB"))
        };
        Ok(Self { size: Bytes(u64::from(size.ok_or_else(refused)?) << 20), is_assumed: false })
    }
}

/// Returns the assumed size of the cache in MiB. The largest known caches have 256 MiB (AMD), 126 (NVIDIA)
/// and, in processors, 96.
fn assumed_mib(kind: DeviceType) -> u64 {
    match kind {
        DeviceType::DiscreteGpu | DeviceType::VirtualGpu | DeviceType::Other => 256,
        DeviceType::IntegratedGpu => 96,
        // A sweep of more takes a processor longer than most launches.
        DeviceType::Cpu => 32,
    }
}

/// A buffer, with kernels that read and fill it.
#[derive(Clone)]
pub(crate) struct SweepBuffer {
    pub buffer: Buffer,
    /// The size of the buffer in bytes, a multiple of [`BYTES_PER_WORKGROUP`].
    pub size: u64,
    read: Kernel,
    fill: Kernel,
}

impl SweepBuffer {
    /// Creates a buffer of `size`, or of the largest size that can be bound, rounded down to a multiple of
    /// [`BYTES_PER_WORKGROUP`]. Encodes a launch that fills it: wgpu's zeros may be stored compressed.
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

    /// Encodes a launch that reads the whole buffer.
    pub(crate) fn read(&self, encoder: &Encoder) {
        self.read.launch(encoder, self.size / BYTES_PER_WORKGROUP);
    }

    /// Encodes a launch that fills the whole buffer.
    pub(crate) fn fill(&self, encoder: &Encoder) {
        self.fill.launch(encoder, self.size / BYTES_PER_WORKGROUP);
    }

    /// Encodes a flush of a cache of the size `cache`. `Write` clears as many bytes as the cache has, or the
    /// whole buffer if it is smaller; `Read` and `Discard` read the whole buffer. Encodes nothing for `None`
    /// and `Lines`.
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

/// Creates the buffer by whose reads a flush is verified: `quarters` quarters of the cache's size. A single
/// quarter is at most [`MAX_PROBE_SIZE`] if the size of the cache is assumed. Also encodes a launch that
/// fills the buffer.
pub(crate) fn region_to_read(device: &Wgpu, quarters: usize) -> SweepBuffer {
    let size = Bytes(device.cache.size.0 / 4 * quarters as u64);
    let is_small = quarters == 1 && device.cache.is_assumed;
    SweepBuffer::new(&device.encoder, if is_small && size > MAX_PROBE_SIZE { MAX_PROBE_SIZE } else { size })
}

/// Returns a sentence if the sweep may be too small to flush the cache: it is less than twice the cache's
/// size, or that size is assumed. `None` if there is no doubt.
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
