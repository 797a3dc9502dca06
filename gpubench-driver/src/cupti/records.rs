//! CUPTI's activity records. In: buffers of them, from whichever thread CUPTI calls on; out: what each says, kept until it is taken.
//!
//! Records grow from version to version: those of kernels have 144 bytes in CUDA 11.0 and 248 in 13.5. All versions begin alike, and
//! only that beginning is read.

#![expect(unsafe_code, reason = "reads C's records")]

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{CStr, c_char, c_void};
use std::mem;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::functions::NO_MORE;

/// A piece of work of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// What it was.
    pub kind: ActivityKind,
    /// When it began, in nanoseconds by CUPTI's clock; 0 if CUPTI does not know.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
    /// The number of its GPU.
    pub device: u32,
    /// The number that CUPTI gives its stream.
    pub stream: u32,
    /// The number of the driver call that enqueued it: they ascend, and all nodes of a graph have that of its launch.
    pub correlation: u32,
    /// The name of a kernel.
    pub name: Option<String>,
    /// The bytes of a copy or a memset.
    pub bytes: Option<u64>,
}

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivityKind {
    /// A kernel.
    Kernel,
    /// A copy.
    Copy,
    /// A copy between GPUs.
    PeerCopy,
    /// A memset.
    Memset,
}

impl ActivityKind {
    pub(super) const ALL: [Self; 4] = [Self::Kernel, Self::Copy, Self::PeerCopy, Self::Memset];

    /// Returns its `CUpti_ActivityKind`. A kernel's is `CONCURRENT_KERNEL`: `KERNEL` would have kernels run one after the other.
    pub(super) fn number(self) -> u32 {
        match self {
            Self::Copy => 1,
            Self::Memset => 2,
            Self::Kernel => 10,
            Self::PeerCopy => 22,
        }
    }
}

/// The beginning of `CUpti_ActivityKernel4` (CUDA 11.0) to `CUpti_ActivityKernel13` (13.5), which is the same in all.
#[repr(C)]
struct KernelRecord {
    kind: u32,
    _cache: u8,
    _shared: u8,
    _registers: u16,
    _partitioned: [u32; 2],
    start: u64,
    end: u64,
    _completed: u64,
    device: u32,
    _context: u32,
    stream: u32,
    _grid: [i32; 3],
    _block: [i32; 3],
    _shared_sizes: [i32; 2],
    _local: [u32; 2],
    correlation: u32,
    _grid_id: i64,
    name: *const c_char,
}

/// The beginning of `CUpti_ActivityMemcpy` to `CUpti_ActivityMemcpy7` and of `CUpti_ActivityMemset` to `CUpti_ActivityMemset5`, which
/// have the same fields at the same places.
#[repr(C)]
struct TransferRecord {
    kind: u32,
    _what: u32,
    bytes: u64,
    start: u64,
    end: u64,
    device: u32,
    _context: u32,
    stream: u32,
    correlation: u32,
}

/// The beginning of `CUpti_ActivityMemcpyPtoP` to `CUpti_ActivityMemcpyPtoP4`.
#[repr(C)]
struct PeerRecord {
    kind: u32,
    _what: u32,
    bytes: u64,
    start: u64,
    end: u64,
    device: u32,
    _context: u32,
    stream: u32,
    _devices_and_contexts: [u32; 4],
    correlation: u32,
}

/// The records so far, and true if some could not be read.
static RECORDS: Mutex<(Vec<Activity>, bool)> = Mutex::new((Vec::new(), false));

/// A buffer that CUPTI fills. It must be aligned to 8 bytes.
const BUFFER: Layout = match Layout::from_size_align(4 << 20, 64) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

fn records() -> MutexGuard<'static, (Vec<Activity>, bool)> {
    RECORDS.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn clear() {
    *records() = (Vec::new(), false);
}

/// Takes the records so far. Also returns true if some could not be read.
pub(super) fn take() -> (Vec<Activity>, bool) {
    mem::take(&mut *records())
}

/// Gives CUPTI a buffer for any number of records.
///
/// # Safety
/// CUPTI calls it with places for its answers.
pub(super) unsafe extern "C" fn request(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    // SAFETY: the layout's size is not zero, and the caller gives places for the answers. A null buffer has CUPTI drop records.
    unsafe {
        *buffer = alloc(BUFFER);
        *size = if (*buffer).is_null() { 0 } else { BUFFER.size() };
        *most = 0;
    }
}

/// Reads the records in a buffer that CUPTI hands out, and frees it.
///
/// # Safety
/// The buffer came from [`request`], and its first `valid` bytes are records.
pub(super) unsafe extern "C" fn complete(
    _context: *mut c_void,
    _stream: u32,
    buffer: *mut u8,
    _size: usize,
    valid: usize,
) {
    if buffer.is_null() {
        return;
    }
    if valid > 0 {
        // SAFETY: passed on.
        unsafe { read(buffer, valid) };
    }
    // SAFETY: `request` allocated it with this layout, and nothing in it is needed any more: names were copied.
    unsafe { dealloc(buffer, BUFFER) };
}

/// Reads the records in the first `valid` bytes of a buffer.
///
/// # Safety
/// They are records of CUPTI.
unsafe fn read(buffer: *mut u8, valid: usize) {
    let Ok(cupti) = super::load() else { return };
    let mut record = ptr::null_mut();
    let mut kept = records();
    loop {
        // SAFETY: the buffer and its size are CUPTI's own, and the record is the one before.
        record = match unsafe { cupti.functions.next_record(buffer, valid, record) } {
            Ok(record) => record,
            Err(NO_MORE) => return,
            Err(_) => {
                kept.1 = true;
                return;
            }
        };
        let left = (buffer as usize + valid).saturating_sub(record as usize);
        // SAFETY: the record is in the buffer, and `left` bytes are behind its beginning.
        match unsafe { activity(record, left) } {
            Ok(activity) => kept.0.extend(activity),
            Err(TooShort) => {
                kept.1 = true;
                return;
            }
        }
    }
}

/// A record ends behind its buffer.
struct TooShort;

/// Reads a record, if it is of a kind that was enabled.
///
/// # Safety
/// `record` points at `left` bytes that begin with a record of CUPTI.
unsafe fn activity(record: *const u8, left: usize) -> Result<Option<Activity>, TooShort> {
    let fits = |size: usize| if left < size { Err(TooShort) } else { Ok(()) };
    fits(size_of::<u32>())?;
    // SAFETY: each record begins with its kind; fields are read without trust in their alignment.
    let number = unsafe { record.cast::<u32>().read_unaligned() };
    let Some(kind) = ActivityKind::ALL.into_iter().find(|kind| kind.number() == number) else {
        return Ok(None);
    };
    Ok(Some(match kind {
        ActivityKind::Kernel => {
            fits(size_of::<KernelRecord>())?;
            // SAFETY: a record of this kind begins with these fields, and they are all there.
            let kernel = unsafe { record.cast::<KernelRecord>().read_unaligned() };
            // SAFETY: a name that is not null ends in a zero, and lives as long as its module at least, whose kernel has just run.
            let name = (!kernel.name.is_null()).then(|| unsafe { CStr::from_ptr(kernel.name) });
            Activity {
                kind,
                begin: kernel.start,
                end: kernel.end,
                device: kernel.device,
                stream: kernel.stream,
                correlation: kernel.correlation,
                name: name.map(|name| name.to_string_lossy().into_owned()),
                bytes: None,
            }
        }
        ActivityKind::Copy | ActivityKind::Memset => {
            fits(size_of::<TransferRecord>())?;
            // SAFETY: as above.
            let transfer = unsafe { record.cast::<TransferRecord>().read_unaligned() };
            let TransferRecord { bytes, start, end, device, stream, correlation, .. } = transfer;
            transferred(kind, (bytes, start, end), (device, stream, correlation))
        }
        ActivityKind::PeerCopy => {
            fits(size_of::<PeerRecord>())?;
            // SAFETY: as above.
            let copy = unsafe { record.cast::<PeerRecord>().read_unaligned() };
            let PeerRecord { bytes, start, end, device, stream, correlation, .. } = copy;
            transferred(kind, (bytes, start, end), (device, stream, correlation))
        }
    }))
}

fn transferred(
    kind: ActivityKind,
    (bytes, begin, end): (u64, u64, u64),
    (device, stream, correlation): (u32, u32, u32),
) -> Activity {
    Activity { kind, begin, end, device, stream, correlation, name: None, bytes: Some(bytes) }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// As a C compiler lays out `CUpti_ActivityKernel4` to `CUpti_ActivityKernel13` of the headers of CUDA 12.9 and 13.5.
    #[test]
    fn kernels_begin_as_in_the_headers() {
        let offsets = [
            offset_of!(KernelRecord, kind),
            offset_of!(KernelRecord, start),
            offset_of!(KernelRecord, end),
            offset_of!(KernelRecord, device),
            offset_of!(KernelRecord, stream),
            offset_of!(KernelRecord, correlation),
            offset_of!(KernelRecord, name),
        ];
        assert_eq!(offsets, [0, 16, 24, 40, 48, 92, 104]);
        // The shortest record has 144 bytes.
        assert_eq!((size_of::<KernelRecord>(), align_of::<KernelRecord>()), (112, 8));
    }

    /// `CUpti_ActivityMemcpy` (64 bytes) to `CUpti_ActivityMemcpy7`, `CUpti_ActivityMemset` (64) to `CUpti_ActivityMemset5`.
    #[test]
    fn transfers_begin_as_in_the_headers() {
        let offsets = [
            offset_of!(TransferRecord, kind),
            offset_of!(TransferRecord, bytes),
            offset_of!(TransferRecord, start),
            offset_of!(TransferRecord, end),
            offset_of!(TransferRecord, device),
            offset_of!(TransferRecord, stream),
            offset_of!(TransferRecord, correlation),
        ];
        assert_eq!(offsets, [0, 8, 16, 24, 32, 40, 44]);
        assert_eq!((size_of::<TransferRecord>(), align_of::<TransferRecord>()), (48, 8));
    }

    /// `CUpti_ActivityMemcpyPtoP` (72 bytes) to `CUpti_ActivityMemcpyPtoP4`.
    #[test]
    fn copies_between_gpus_begin_as_in_the_headers() {
        let offsets = [
            offset_of!(PeerRecord, kind),
            offset_of!(PeerRecord, bytes),
            offset_of!(PeerRecord, start),
            offset_of!(PeerRecord, end),
            offset_of!(PeerRecord, device),
            offset_of!(PeerRecord, stream),
            offset_of!(PeerRecord, correlation),
        ];
        assert_eq!(offsets, [0, 8, 16, 24, 32, 40, 60]);
        assert_eq!((size_of::<PeerRecord>(), align_of::<PeerRecord>()), (64, 8));
    }
}
