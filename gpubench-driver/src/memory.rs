//! The memory that kernels may write, according to the calls of this process that allocate or free. A call that
//! failed for lack of memory gets the requested size as its detail.

#![expect(unsafe_code, reason = "reads the arguments of C functions")]

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::types::{CUdeviceptr, CUmodule, CUstream};

use crate::calls::{self, DriverCall, Enqueued, is_capturing, lock};
use crate::result::{called_function, set_detail};

/// A contiguous range of memory that kernels can access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryRange {
    /// The first address, as the device sees it.
    pub address: u64,
    /// The length in bytes.
    pub bytes: u64,
    /// The kind of memory.
    pub kind: MemoryKind,
    /// The number of ranges that were allocated earlier in this process. It identifies the range.
    pub number: u64,
}

/// The kind of memory, by the call that allocated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Allocated on a device.
    Device,
    /// Managed memory, which moves to the processor that touches it.
    Managed,
    /// Pinned host memory. Devices reach it at the same address.
    Pinned,
    /// A variable of a module.
    Variable,
}

/// The memory that calls of this process allocated and did not free, and the first call that makes this list
/// incomplete. The forwarders fill it; [`memory`], [`memory_growth`] and [`first_unlisted_call`] read it.
struct Allocations {
    /// The ranges by address, each with the handle of the module that it is a variable of, or 0.
    ranges: BTreeMap<u64, (MemoryRange, usize)>,
    /// The number of the next range.
    next_number: u64,
    /// The bytes that are allocated on devices, managed memory included.
    device_bytes: u64,
    /// The device bytes at the last call of [`memory_growth`].
    device_bytes_before: u64,
    /// The most device bytes at once since the last call of [`memory_growth`].
    peak_device_bytes: u64,
    /// The C name of the first call that led, or may have led, to memory which is not in `ranges`.
    first_unlisted_call: Option<&'static str>,
}

/// The allocations of this process.
static ALLOCATIONS: Mutex<Allocations> = Mutex::new(Allocations {
    ranges: BTreeMap::new(),
    next_number: 0,
    device_bytes: 0,
    device_bytes_before: 0,
    peak_device_bytes: 0,
    first_unlisted_call: None,
});

/// Returns the memory that calls of this process allocated and did not free, on all devices, oldest first.
/// [`first_unlisted_call`] says whether some memory may be missing.
pub fn memory() -> Vec<MemoryRange> {
    let mut ranges: Vec<MemoryRange> =
        lock(&ALLOCATIONS).ranges.values().map(|(memory, _)| *memory).collect();
    ranges.sort_unstable_by_key(|memory| memory.number);
    ranges
}

/// Returns the most device memory that this process had allocated at once since the previous call of this
/// function, minus what was allocated at that call, in bytes. Managed memory counts. Memory that is allocated
/// or freed in the order of a stream counts, or no longer counts, from the call on.
pub fn memory_growth() -> u64 {
    let mut known = lock(&ALLOCATIONS);
    let growth = known.peak_device_bytes - known.device_bytes_before;
    known.device_bytes_before = known.device_bytes;
    known.peak_device_bytes = known.device_bytes;
    growth
}

/// Returns the C name of the first call, such as `cuArrayCreate_v2`, that may have made the list of
/// [`memory`] incomplete: its memory, or memory that follows from it, is not listed. `None` if the list is
/// complete.
pub fn first_unlisted_call() -> Option<&'static str> {
    lock(&ALLOCATIONS).first_unlisted_call
}

/// Adds a range of memory with the next number, in place of a listed range that begins at the same address.
/// `module` is the handle of the module that the range is a variable of, or 0.
fn add_range(address: u64, bytes: usize, kind: MemoryKind, module: usize) {
    let mut known = lock(&ALLOCATIONS);
    let memory = MemoryRange { address, bytes: bytes as u64, kind, number: known.next_number };
    known.next_number += 1;
    let replaced = known.ranges.insert(address, (memory, module));
    known.device_bytes -= replaced.map_or(0, |(memory, _)| device_bytes(&memory));
    known.device_bytes += device_bytes(&memory);
    known.peak_device_bytes = known.peak_device_bytes.max(known.device_bytes);
}

/// Returns the size of a range if it was allocated on a device or as managed memory; 0 for other memory.
fn device_bytes(memory: &MemoryRange) -> u64 {
    if matches!(memory.kind, MemoryKind::Device | MemoryKind::Managed) { memory.bytes } else { 0 }
}

/// Removes the range that begins at `address`, if there is one and `code` is 0.
fn remove_range(code: u32, address: u64) {
    if code == 0 {
        let mut known = lock(&ALLOCATIONS);
        if let Some((memory, _)) = known.ranges.remove(&address) {
            known.device_bytes -= device_bytes(&memory);
        }
    }
}

/// Adds the range whose address the driver stored at `out`. If `code` is not 0, only sets the requested size
/// as the detail of the failed call.
///
/// # Safety
/// If `code` is 0, the driver has written an address, or a pointer, to `out`.
unsafe fn add_range_at<Pointer>(code: u32, out: *const Pointer, bytes: usize, kind: MemoryKind) {
    const { assert!(size_of::<Pointer>() == size_of::<u64>(), "an address is as long as a pointer") };
    if code != 0 {
        return set_requested_size_detail(bytes);
    }
    // SAFETY: the caller's contract.
    add_range(unsafe { out.cast::<u64>().read() }, bytes, kind, 0);
}

/// Sets the detail of the failed call to the requested size, such as `48.0 GiB asked for`.
fn set_requested_size_detail(bytes: usize) {
    set_detail(Some(match bytes >> 20 {
        0 => format!("{bytes} bytes asked for"),
        mebibytes @ 1..1024 => format!("{mebibytes} MiB asked for"),
        mebibytes => format!("{:.1} GiB asked for", mebibytes as f64 / 1024.0),
    }));
}

/// Adds a new allocation, whose address the driver stored at `out`, and reports the call to the watch. If
/// `code` is not 0, only sets the requested size as the detail of the failed call.
///
/// # Safety
/// A call that stores the address of new memory of this kind at `out` has returned `code`.
pub(crate) unsafe fn add_allocation_at<Pointer>(
    code: u32,
    out: *const Pointer,
    bytes: usize,
    kind: MemoryKind,
) {
    // SAFETY: the same contract.
    unsafe { add_range_at(code, out, bytes, kind) };
    calls::add_if_successful(code, DriverCall::Allocated);
}

/// Adds the allocation of `cuMemAllocPitch_v2`: `rows` rows, each as long as the pitch that the driver stored
/// at `pitch`.
///
/// # Safety
/// The arguments are the first ones of `cuMemAllocPitch_v2`, which has returned `code`.
pub(crate) unsafe fn add_pitched_allocation(
    code: u32,
    out: *mut CUdeviceptr,
    pitch: *mut usize,
    width: usize,
    rows: usize,
) {
    // SAFETY: a successful call has written the pitch.
    let pitch = if code == 0 { unsafe { *pitch } } else { width };
    // SAFETY: the same contract.
    unsafe { add_allocation_at(code, out, pitch.saturating_mul(rows), MemoryKind::Device) };
}

/// Adds an allocation in the order of a stream, and reports the call to the watch. While the stream is
/// captured, adds no range: the memory exists only when the graph runs. If `code` is not 0, sets the
/// requested size as the detail of the failed call.
///
/// # Safety
/// `cuMemAllocAsync`, or a function like it, has returned `code` for these arguments.
pub(crate) unsafe fn add_async_allocation(code: u32, out: *mut CUdeviceptr, bytes: usize, stream: CUstream) {
    // While the stream is captured, the memory at that address exists only when the graph runs.
    if code != 0 || !is_capturing(calls::stream_used(stream)) {
        // SAFETY: the same contract.
        unsafe { add_range_at(code, out, bytes, MemoryKind::Device) };
    }
    calls::add_enqueued(code, stream, Enqueued::Allocation);
}

/// Adds a variable of a module, whose address and size `cuModuleGetGlobal_v2` stored at `out` and `bytes`.
/// Does nothing if the call failed, or if one of the two pointers is null.
///
/// # Safety
/// The arguments are those of `cuModuleGetGlobal_v2`, which has returned `code`.
pub(crate) unsafe fn add_variable(code: u32, out: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule) {
    // A caller may ask for only one of the two, and then gets only that one.
    if code == 0 && !out.is_null() && !bytes.is_null() {
        // SAFETY: a successful call has written both.
        let (address, bytes) = unsafe { (*out, *bytes) };
        add_range(address, bytes, MemoryKind::Variable, module as usize);
    }
}

/// Removes an allocation, and reports the call to the watch. Does nothing if `code` is not 0.
pub(crate) fn remove_allocation(code: u32, address: CUdeviceptr) {
    remove_range(code, address);
    calls::add_if_successful(code, DriverCall::Allocated);
}

/// Removes an allocation that is freed in the order of a stream, and reports the call to the watch. If `code`
/// is not 0, only reports the failed call.
pub(crate) fn remove_async_allocation(code: u32, address: CUdeviceptr, stream: CUstream) {
    remove_range(code, address);
    calls::add_enqueued(code, stream, Enqueued::Allocation);
}

/// Removes the variables of a module that was unloaded. `module` is not null.
pub(crate) fn remove_module_variables(module: CUmodule) {
    lock(&ALLOCATIONS).ranges.retain(|_, (_, of)| *of != module as usize);
}

/// Stores the C name of the last call for [`first_unlisted_call`], if `code` is 0 and no name is stored yet.
pub(crate) fn keep_unlisted_call(code: u32) {
    if code == 0 {
        lock(&ALLOCATIONS).first_unlisted_call.get_or_insert_with(called_function);
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;

    use super::*;

    /// Returns the listed ranges at these addresses, which no other test uses.
    fn listed(addresses: std::ops::Range<u64>) -> Vec<(u64, u64, MemoryKind)> {
        let there = memory().into_iter().filter(|memory| addresses.contains(&memory.address));
        there.map(|memory| (memory.address, memory.bytes, memory.kind)).collect()
    }

    #[test]
    fn memory_is_listed_from_its_making_to_its_end() {
        let _alone = calls::serialize_tests();
        let (mut first, second, mut pitch) = (0x1000_u64, 0x2000_u64, 512_usize);
        let pinned = std::ptr::without_provenance_mut::<c_void>(0x3000);
        // SAFETY: each call succeeded, and its results stand in these places.
        unsafe {
            add_allocation_at(0, &raw const second, 64, MemoryKind::Device);
            add_pitched_allocation(0, &raw mut first, &raw mut pitch, 400, 3);
            add_allocation_at(0, &raw const pinned, 8, MemoryKind::Pinned);
            // This call failed.
            add_allocation_at(2, &raw const first, 1 << 40, MemoryKind::Device);
        }
        let rows = (0x1000, 1536, MemoryKind::Device);
        let (other, host) = ((0x2000, 64, MemoryKind::Device), (0x3000, 8, MemoryKind::Pinned));
        assert_eq!(listed(0x1000..0x4000), [other, rows, host], "oldest first");
        remove_allocation(0, 0x2000);
        remove_allocation(400, 0x1000);
        remove_allocation(0, pinned as u64);
        assert_eq!(listed(0x1000..0x4000), [rows]);
    }

    #[test]
    fn the_growth_of_device_memory_is_that_of_the_most_at_once() {
        let _alone = calls::serialize_tests();
        let [kept, first, second] = [0x11_000_u64, 0x12_000, 0x13_000];
        let pinned = 0x14_000_u64;
        // SAFETY: each call succeeded, and its result stands in this place.
        let allocate = |out: &u64, bytes, kind| unsafe { add_allocation_at(0, &raw const *out, bytes, kind) };
        allocate(&kept, 1000, MemoryKind::Device);
        _ = memory_growth();
        allocate(&first, 64, MemoryKind::Device);
        allocate(&second, 32, MemoryKind::Managed);
        allocate(&pinned, 512, MemoryKind::Pinned);
        remove_allocation(0, first);
        allocate(&first, 16, MemoryKind::Device);
        assert_eq!(memory_growth(), 96);
        assert_eq!(memory_growth(), 0, "48 bytes are there already");
        [kept, first, second, pinned].into_iter().for_each(|address| remove_allocation(0, address));
        assert_eq!(memory_growth(), 0);
    }

    #[test]
    fn variables_go_with_their_module() {
        let _alone = calls::serialize_tests();
        let (mut out, mut bytes) = (0x9000_u64, 4_usize);
        let (module, other) =
            (std::ptr::without_provenance_mut(0x70), std::ptr::without_provenance_mut(0x80));
        // SAFETY: the call succeeded and its results stand there, or one of them was not requested.
        unsafe {
            add_variable(0, &raw mut out, &raw mut bytes, module);
            add_variable(0, std::ptr::null_mut(), &raw mut bytes, module);
        }
        remove_module_variables(other);
        assert_eq!(listed(0x9000..0xa000), [(0x9000, 4, MemoryKind::Variable)]);
        remove_module_variables(module);
        assert_eq!(listed(0x9000..0xa000), []);
    }
}
