//! The memory that a kernel may write, as far as this process's calls tell. In: the calls that made or freed some. Out:
//! what there is, oldest first; and the name of a call that made some of a kind that is not listed, if there was one. A call
//! that failed for want of memory gets the size that was asked for as its detail.

#![expect(unsafe_code, reason = "reads the arguments of C functions")]

use std::collections::BTreeMap;
use std::ffi::{c_uint, c_void};
use std::sync::{Mutex, PoisonError};

use cust_raw::{CUdeviceptr, CUmodule, CUstream};

use crate::capture::is_capturing;
use crate::result::{last_symbol, set_detail};

/// Memory that kernels can reach, in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Where it begins, for the device.
    pub address: u64,
    /// How long it is.
    pub bytes: u64,
    /// What it is.
    pub kind: MemoryKind,
    /// How many came before it in this process. No two have the same.
    pub number: u64,
}

/// What memory is, by how it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Allocated on a device.
    Device,
    /// Managed: it lies where it was touched last.
    Managed,
    /// Of the host, pinned; devices reach it at the same address.
    Pinned,
    /// A variable of a module.
    Variable,
}

/// All that is known.
struct Known {
    /// By address, each with the module that it belongs to, if it does.
    there: BTreeMap<u64, (Memory, usize)>,
    made: u64,
    unlisted: Option<&'static str>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { there: BTreeMap::new(), made: 0, unlisted: None });

/// Belongs to no module.
const NO_MODULE: usize = 0;

fn with<T>(look: impl FnOnce(&mut Known) -> T) -> T {
    look(&mut KNOWN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The memory that calls of this process have made and not freed, whatever its device, oldest first.
#[must_use]
pub fn memory() -> Vec<Memory> {
    let mut there: Vec<Memory> = with(|known| known.there.values().map(|(memory, _)| *memory).collect());
    there.sort_unstable_by_key(|memory| memory.number);
    there
}

/// The first call, if any, that made memory which [`memory`] does not list, such as `cuArrayCreate_v2`, or that may lead
/// to some.
#[must_use]
pub fn unlisted() -> Option<&'static str> {
    with(|known| known.unlisted)
}

fn made(address: u64, bytes: usize, kind: MemoryKind, module: usize) {
    with(|known| {
        let memory = Memory { address, bytes: bytes as u64, kind, number: known.made };
        known.made += 1;
        known.there.insert(address, (memory, module));
    });
}

/// The memory that begins there is no more.
fn gone(code: u32, address: u64) {
    if code == 0 {
        with(|known| known.there.remove(&address));
    }
}

/// The memory whose address stands at `place`, if the call went well.
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
/// The arguments are those of `cuMemAlloc_v2`, which has returned `code`.
pub(crate) unsafe fn allocated(code: u32, place: *mut CUdeviceptr, bytes: usize) {
    // SAFETY: the same contract.
    unsafe { made_at(code, place, bytes, MemoryKind::Device) };
}

/// # Safety
/// The arguments are those of `cuMemAllocPitch_v2`, which has returned `code`.
pub(crate) unsafe fn allocated_rows(
    code: u32,
    place: *mut CUdeviceptr,
    pitch: *mut usize,
    width: usize,
    rows: usize,
    _: c_uint,
) {
    // SAFETY: a call that went well has written the pitch.
    let pitch = if code == 0 { unsafe { *pitch } } else { width };
    // SAFETY: the same contract.
    unsafe { made_at(code, place, pitch.saturating_mul(rows), MemoryKind::Device) };
}

/// # Safety
/// The arguments are those of `cuMemAllocManaged`, which has returned `code`.
pub(crate) unsafe fn managed_allocated(code: u32, place: *mut CUdeviceptr, bytes: usize, _: c_uint) {
    // SAFETY: the same contract.
    unsafe { made_at(code, place, bytes, MemoryKind::Managed) };
}

/// # Safety
/// `cuMemAllocAsync` or the like has returned `code` for these arguments.
pub(crate) unsafe fn allocated_async(code: u32, place: *mut CUdeviceptr, bytes: usize, stream: CUstream) {
    // While its stream is captured, there is memory at that address only when the graph runs.
    if code != 0 || !is_capturing(stream) {
        // SAFETY: the same contract.
        unsafe { made_at(code, place, bytes, MemoryKind::Device) };
    }
}

/// # Safety
/// `cuMemAllocHost_v2` or `cuMemHostAlloc` has returned `code` for these arguments.
pub(crate) unsafe fn host_allocated(code: u32, place: *mut *mut c_void, bytes: usize) {
    // SAFETY: the same contract.
    unsafe { made_at(code, place, bytes, MemoryKind::Pinned) };
}

/// # Safety
/// The arguments are those of `cuModuleGetGlobal_v2`, which has returned `code`.
pub(crate) unsafe fn variable_found(code: u32, place: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule) {
    // Who asks for one of both only is told that one.
    if code == 0 && !place.is_null() && !bytes.is_null() {
        // SAFETY: a call that went well has written both.
        let (address, bytes) = unsafe { (*place, *bytes) };
        made(address, bytes, MemoryKind::Variable, module as usize);
    }
}

/// Safe, but called like the others.
pub(crate) unsafe fn freed(code: u32, address: CUdeviceptr) {
    gone(code, address);
}

/// Safe, but called like the others.
pub(crate) unsafe fn host_freed(code: u32, address: *mut c_void) {
    gone(code, address as u64);
}

/// The variables of a module go with it.
pub(crate) fn module_gone(module: CUmodule) {
    with(|known| known.there.retain(|_, (_, of)| *of == NO_MODULE || *of != module as usize));
}

/// Some memory was made that is not listed, or may be from now on. Safe, but called like the others.
pub(crate) unsafe fn made_unlisted(code: u32) {
    if code == 0 {
        with(|known| known.unlisted = known.unlisted.or_else(last_symbol));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is listed of these addresses, which no other test has.
    fn listed(addresses: std::ops::Range<u64>) -> Vec<(u64, u64, MemoryKind)> {
        let there = memory().into_iter().filter(|memory| addresses.contains(&memory.address));
        there.map(|memory| (memory.address, memory.bytes, memory.kind)).collect()
    }

    #[test]
    fn memory_is_listed_from_its_making_to_its_end() {
        let (mut first, mut second, mut pitch) = (0x1000_u64, 0x2000_u64, 512_usize);
        let mut pinned = std::ptr::without_provenance_mut::<c_void>(0x3000);
        // SAFETY: each call went well, and its results stand where they are said to.
        unsafe {
            allocated(0, &raw mut second, 64);
            allocated_rows(0, &raw mut first, &raw mut pitch, 400, 3, 4);
            host_allocated(0, &raw mut pinned, 8);
            // It did not go well.
            allocated(2, &raw mut first, 1 << 40);
        }
        let rows = (0x1000, 1536, MemoryKind::Device);
        let (other, host) = ((0x2000, 64, MemoryKind::Device), (0x3000, 8, MemoryKind::Pinned));
        assert_eq!(listed(0x1000..0x4000), [other, rows, host], "oldest first");
        // SAFETY: these are safe.
        unsafe {
            freed(0, 0x2000);
            freed(400, 0x1000);
            host_freed(0, pinned);
        }
        assert_eq!(listed(0x1000..0x4000), [rows]);
    }

    #[test]
    fn variables_go_with_their_module() {
        let (mut place, mut bytes) = (0x9000_u64, 4_usize);
        let (module, other) =
            (std::ptr::without_provenance_mut(0x70), std::ptr::without_provenance_mut(0x80));
        // SAFETY: the call went well, and its results stand there; or one of them was not asked for.
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
