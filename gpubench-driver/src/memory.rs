//! The memory that kernels may write, according to this process's calls. In: the calls that allocate or free.
//! Out: the allocations, oldest first, and the name of the first call that made an unlisted kind, if any. A
//! call that failed for lack of memory gets the requested size as its detail.

#![expect(unsafe_code, reason = "reads the arguments of C functions")]

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::types::{CUdeviceptr, CUmodule, CUstream};

use crate::calls::{self, Enqueued};
use crate::kernel_info::is_capturing;
use crate::result::{last_symbol, set_detail};

/// One contiguous range of memory that kernels can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Its first address, as the device sees it.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// Its kind.
    pub kind: MemoryKind,
    /// The number of ranges before it in this process. No two have the same.
    pub number: u64,
}

/// The kind of memory, by the call that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Allocated on a device.
    Device,
    /// Managed: it moves to the processor that touches it.
    Managed,
    /// Pinned host memory. Devices reach it at the same address.
    Pinned,
    /// A variable of a module.
    Variable,
}

/// The known memory.
struct Allocations {
    /// The ranges by address, each with its module, or [`NO_MODULE`].
    there: BTreeMap<u64, (Memory, usize)>,
    made: u64,
    on_devices: DeviceBytes,
    unlisted: Option<&'static str>,
}

/// The bytes that are allocated on devices.
struct DeviceBytes {
    now: u64,
    /// Those at the last call of [`memory_growth`], and the most at once since.
    before: u64,
    peak: u64,
}

static KNOWN: Mutex<Allocations> = Mutex::new(Allocations {
    there: BTreeMap::new(),
    made: 0,
    on_devices: DeviceBytes { now: 0, before: 0, peak: 0 },
    unlisted: None,
});

/// The key of memory that belongs to no module.
const NO_MODULE: usize = 0;

fn with<T>(look: impl FnOnce(&mut Allocations) -> T) -> T {
    look(&mut KNOWN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Returns the memory that calls of this process have allocated and not freed, on any device, oldest first.
#[must_use]
pub fn memory() -> Vec<Memory> {
    let mut there: Vec<Memory> = with(|known| known.there.values().map(|(memory, _)| *memory).collect());
    there.sort_unstable_by_key(|memory| memory.number);
    there
}

/// Returns the most bytes that calls of this process had allocated on devices at once since this was called before, beyond those
/// allocated then. Managed memory counts. Memory that is allocated or freed in the order of a stream counts from the call.
#[must_use]
pub fn memory_growth() -> u64 {
    with(|known| {
        let bytes = &mut known.on_devices;
        let growth = bytes.peak - bytes.before;
        (bytes.before, bytes.peak) = (bytes.now, bytes.now);
        growth
    })
}

/// Returns the first call, if any, that made memory which [`memory`] does not list, such as
/// `cuArrayCreate_v2`, or that may lead to such memory.
#[must_use]
pub fn unlisted() -> Option<&'static str> {
    with(|known| known.unlisted)
}

fn made(address: u64, bytes: usize, kind: MemoryKind, module: usize) {
    with(|known| {
        let memory = Memory { address, bytes: bytes as u64, kind, number: known.made };
        known.made += 1;
        let replaced = known.there.insert(address, (memory, module));
        let bytes = &mut known.on_devices;
        bytes.now -= replaced.map_or(0, |(memory, _)| on_device(&memory));
        bytes.now += on_device(&memory);
        bytes.peak = bytes.peak.max(bytes.now);
    });
}

/// Returns the bytes of an allocation on a device; 0 for other memory.
fn on_device(memory: &Memory) -> u64 {
    if matches!(memory.kind, MemoryKind::Device | MemoryKind::Managed) { memory.bytes } else { 0 }
}

/// Removes the memory that begins at `address`.
fn gone(code: u32, address: u64) {
    if code == 0 {
        with(|known| {
            if let Some((memory, _)) = known.there.remove(&address) {
                known.on_devices.now -= on_device(&memory);
            }
        });
    }
}

/// Adds the memory whose address is stored at `place`, if the call succeeded.
///
/// # Safety
/// If `code` is 0, the driver has written an address, or a pointer, to `place`.
unsafe fn made_at<Pointer>(code: u32, place: *const Pointer, bytes: usize, kind: MemoryKind) {
    const { assert!(size_of::<Pointer>() == size_of::<u64>(), "an address is as long as a pointer") };
    if code != 0 {
        return asked_for(bytes);
    }
    // SAFETY: the caller's contract.
    made(unsafe { place.cast::<u64>().read() }, bytes, kind, NO_MODULE);
}

fn asked_for(bytes: usize) {
    set_detail(Some(match bytes >> 20 {
        0 => format!("{bytes} bytes asked for"),
        mebibytes @ 1..1024 => format!("{mebibytes} MiB asked for"),
        mebibytes => format!("{:.1} GiB asked for", mebibytes as f64 / 1024.0),
    }));
}

/// # Safety
/// A call that stores the address of new memory of this kind at `place` has returned `code`.
pub(crate) unsafe fn allocated<Pointer>(code: u32, place: *const Pointer, bytes: usize, kind: MemoryKind) {
    // SAFETY: the same contract.
    unsafe { made_at(code, place, bytes, kind) };
    calls::allocated(code);
}

/// # Safety
/// The arguments are the first of `cuMemAllocPitch_v2`, which has returned `code`.
pub(crate) unsafe fn allocated_rows(
    code: u32,
    place: *mut CUdeviceptr,
    pitch: *mut usize,
    width: usize,
    rows: usize,
) {
    // SAFETY: a successful call has written the pitch.
    let pitch = if code == 0 { unsafe { *pitch } } else { width };
    // SAFETY: the same contract.
    unsafe { allocated(code, place, pitch.saturating_mul(rows), MemoryKind::Device) };
}

/// # Safety
/// `cuMemAllocAsync` or the like has returned `code` for these arguments.
pub(crate) unsafe fn allocated_async(code: u32, place: *mut CUdeviceptr, bytes: usize, stream: CUstream) {
    // While the stream is captured, the memory at that address exists only when the graph runs.
    if code != 0 || !is_capturing(calls::stream_used(stream)) {
        // SAFETY: the same contract.
        unsafe { made_at(code, place, bytes, MemoryKind::Device) };
    }
    calls::enqueued(code, stream, Enqueued::Allocation);
}

/// # Safety
/// The arguments are those of `cuModuleGetGlobal_v2`, which has returned `code`.
pub(crate) unsafe fn variable_found(code: u32, place: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule) {
    // A caller may ask for only one of the two, and then gets only that one.
    if code == 0 && !place.is_null() && !bytes.is_null() {
        // SAFETY: a successful call has written both.
        let (address, bytes) = unsafe { (*place, *bytes) };
        made(address, bytes, MemoryKind::Variable, module as usize);
    }
}

/// Removes an allocation. Safe, but called like the others.
pub(crate) unsafe fn freed(code: u32, address: CUdeviceptr) {
    gone(code, address);
    calls::allocated(code);
}

/// Removes a device allocation that is freed in the order of a stream. Safe, but called like the others.
pub(crate) unsafe fn freed_in_order(code: u32, address: CUdeviceptr, stream: CUstream) {
    gone(code, address);
    calls::enqueued(code, stream, Enqueued::Allocation);
}

/// Removes the variables of an unloaded module.
pub(crate) fn module_gone(module: CUmodule) {
    with(|known| known.there.retain(|_, (_, of)| *of == NO_MODULE || *of != module as usize));
}

/// Notes that some unlisted memory was made, or may be from now on. Safe, but called like the others.
pub(crate) unsafe fn made_unlisted(code: u32) {
    if code == 0 {
        with(|known| known.unlisted = known.unlisted.or_else(last_symbol));
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
        let _alone = calls::alone();
        let (mut first, second, mut pitch) = (0x1000_u64, 0x2000_u64, 512_usize);
        let pinned = std::ptr::without_provenance_mut::<c_void>(0x3000);
        // SAFETY: each call succeeded, and its results stand in these places.
        unsafe {
            allocated(0, &raw const second, 64, MemoryKind::Device);
            allocated_rows(0, &raw mut first, &raw mut pitch, 400, 3);
            allocated(0, &raw const pinned, 8, MemoryKind::Pinned);
            // This call failed.
            allocated(2, &raw const first, 1 << 40, MemoryKind::Device);
        }
        let rows = (0x1000, 1536, MemoryKind::Device);
        let (other, host) = ((0x2000, 64, MemoryKind::Device), (0x3000, 8, MemoryKind::Pinned));
        assert_eq!(listed(0x1000..0x4000), [other, rows, host], "oldest first");
        // SAFETY: these are safe.
        unsafe {
            freed(0, 0x2000);
            freed(400, 0x1000);
            freed(0, pinned as u64);
        }
        assert_eq!(listed(0x1000..0x4000), [rows]);
    }

    #[test]
    fn the_growth_of_device_memory_is_that_of_the_most_at_once() {
        let _alone = calls::alone();
        let [kept, first, second] = [0x11_000_u64, 0x12_000, 0x13_000];
        let pinned = 0x14_000_u64;
        // SAFETY: each call succeeded, and its result stands in this place.
        let allocate = |place: &u64, bytes, kind| unsafe { allocated(0, &raw const *place, bytes, kind) };
        allocate(&kept, 1000, MemoryKind::Device);
        _ = memory_growth();
        allocate(&first, 64, MemoryKind::Device);
        allocate(&second, 32, MemoryKind::Managed);
        allocate(&pinned, 512, MemoryKind::Pinned);
        // SAFETY: this is safe.
        unsafe { freed(0, first) };
        allocate(&first, 16, MemoryKind::Device);
        assert_eq!(memory_growth(), 96);
        assert_eq!(memory_growth(), 0, "48 bytes are there already");
        // SAFETY: this is safe.
        [kept, first, second, pinned].into_iter().for_each(|address| unsafe { freed(0, address) });
        assert_eq!(memory_growth(), 0);
    }

    #[test]
    fn variables_go_with_their_module() {
        let _alone = calls::alone();
        let (mut place, mut bytes) = (0x9000_u64, 4_usize);
        let (module, other) =
            (std::ptr::without_provenance_mut(0x70), std::ptr::without_provenance_mut(0x80));
        // SAFETY: the call succeeded and its results stand there, or one of them was not requested.
        unsafe {
            variable_found(0, &raw mut place, &raw mut bytes, module);
            variable_found(0, std::ptr::null_mut(), &raw mut bytes, module);
        }
        module_gone(other);
        assert_eq!(listed(0x9000..0xa000), [(0x9000, 4, MemoryKind::Variable)]);
        module_gone(module);
        assert_eq!(listed(0x9000..0xa000), []);
    }
}
