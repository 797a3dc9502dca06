//! Reads CUPTI's activity records from the buffers that it returns, on whichever thread it calls, and collects
//! them until a trace takes them.
//!
//! Records grow from version to version: those of kernels have 144 bytes in CUDA 11.0 and 248 in 13.5. All
//! versions begin alike, and only that beginning is read.

#![expect(unsafe_code, reason = "reads C's records")]

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{CStr, c_char, c_void};
use std::sync::Mutex;
use std::{mem, ptr};

use super::{CuptiError, functions::NO_MORE_RECORDS};
use crate::calls::lock;

/// A piece of GPU work that CUPTI recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The kind of work.
    pub kind: ActivityKind,
    /// The start of the work, in nanoseconds of CUPTI's clock; 0 if CUPTI does not know.
    pub begin: u64,
    /// The end of the work, in nanoseconds of CUPTI's clock.
    pub end: u64,
    /// CUPTI's number of the GPU.
    pub device: u32,
    /// CUPTI's number of the stream.
    pub stream: u32,
    /// The number of the driver call that enqueued the work. Later calls have higher numbers. All nodes of a
    /// graph have the number of the call that launched the graph.
    pub correlation: u32,
    /// The name of the kernel; `None` for other work.
    pub name: Option<String>,
}

/// A kind of GPU work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivityKind {
    /// A kernel.
    Kernel,
    /// A copy within one GPU, or between it and the host.
    Copy,
    /// A copy between GPUs.
    PeerCopy,
    /// A memset.
    Memset,
}

impl ActivityKind {
    /// All kinds of work that a trace records.
    pub(super) const ALL: [Self; 4] = [Self::Kernel, Self::Copy, Self::PeerCopy, Self::Memset];

    /// Returns CUPTI's number of this kind, a `CUpti_ActivityKind`. For kernels it is `CONCURRENT_KERNEL`,
    /// since `KERNEL` would serialise kernels.
    pub(super) fn cupti_kind(self) -> u32 {
        match self {
            Self::Copy => 1,
            Self::Memset => 2,
            Self::Kernel => 10,
            Self::PeerCopy => 22,
        }
    }

    /// Returns the layout of records of this kind.
    fn layout(self) -> RecordLayout {
        let (device, correlation, bytes) = match self {
            // `CUpti_ActivityKernel4` (CUDA 11.0) to `CUpti_ActivityKernel13` (13.5).
            Self::Kernel => (40, 92, NAME_OFFSET + 8),
            // `CUpti_ActivityMemcpy` to `CUpti_ActivityMemcpy7`, and `CUpti_ActivityMemset` to `CUpti_ActivityMemset5`.
            Self::Copy | Self::Memset => (32, 44, 48),
            // `CUpti_ActivityMemcpyPtoP` to `CUpti_ActivityMemcpyPtoP4`.
            Self::PeerCopy => (32, 60, 64),
        };
        RecordLayout { device, stream: device + 8, correlation, bytes }
    }
}

/// The layout of the beginning of a record, which all versions of CUPTI share: the offsets of three fields,
/// and in `bytes` the size of this beginning, all in bytes.
struct RecordLayout {
    device: usize,
    stream: usize,
    correlation: usize,
    bytes: usize,
}

/// The offset of the start time in records of all kinds, in bytes.
const START_OFFSET: usize = 16;
/// The offset of the end time in records of all kinds, in bytes.
const END_OFFSET: usize = 24;
/// The offset of the pointer to a kernel's name in records of kernels, in bytes.
const NAME_OFFSET: usize = 104;

/// The activities since the last call of [`take_activities`], and whether some record could not be read since
/// then.
static ACTIVITIES: Mutex<(Vec<Activity>, bool)> = Mutex::new((Vec::new(), false));

/// The size and alignment of a buffer for CUPTI, which requires 8 bytes of alignment.
const BUFFER_LAYOUT: Layout = match Layout::from_size_align(4 << 20, 64) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// Discards all activities that were read so far.
pub(super) fn clear() {
    *lock(&ACTIVITIES) = (Vec::new(), false);
}

/// Returns the activities that were read since the last call, and whether some record could not be read;
/// forgets both.
pub(super) fn take_activities() -> (Vec<Activity>, bool) {
    mem::take(&mut *lock(&ACTIVITIES))
}

/// Gives CUPTI a new buffer for any number of records. Without memory, gives a null buffer, which makes CUPTI
/// drop records.
///
/// # Safety
/// Each pointer is valid for a write, as CUPTI's are.
pub(super) unsafe extern "C" fn provide_buffer(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    // SAFETY: the layout's size is not zero, and the caller gives places for the answers. A null buffer has CUPTI drop records.
    unsafe {
        *buffer = alloc(BUFFER_LAYOUT);
        *size = if (*buffer).is_null() { 0 } else { BUFFER_LAYOUT.size() };
        *most = 0;
    }
}

/// Reads the records in a buffer that CUPTI returns into [`ACTIVITIES`], and frees the buffer.
///
/// # Safety
/// The buffer came from [`provide_buffer`], and its first `valid` bytes are records.
pub(super) unsafe extern "C" fn read_buffer(
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
        unsafe { read_records(buffer, valid) };
    }
    // SAFETY: `provide_buffer` allocated it with this layout, and nothing in it is needed any more: names were copied.
    unsafe { dealloc(buffer, BUFFER_LAYOUT) };
}

/// Reads the records in the first `valid` bytes of a buffer into [`ACTIVITIES`]. At a record that cannot be
/// read, stops and stores in [`ACTIVITIES`] that there was one.
///
/// # Safety
/// The first `valid` bytes of the buffer are records of CUPTI.
unsafe fn read_records(buffer: *mut u8, valid: usize) {
    let Ok(cupti) = super::load() else { return };
    let mut record = ptr::null_mut();
    let mut kept = lock(&ACTIVITIES);
    loop {
        // SAFETY: the buffer and its size are CUPTI's own, and the record is the one before.
        record = match unsafe { cupti.functions.next_record(buffer, valid, record) } {
            Ok(record) => record,
            Err(CuptiError::Call { code: NO_MORE_RECORDS, .. }) => return,
            Err(_) => break,
        };
        let left = (buffer as usize + valid).saturating_sub(record as usize);
        // SAFETY: the record is in the buffer, and `left` bytes are behind its beginning.
        match unsafe { read_activity(record, left) } {
            Ok(activity) => kept.0.extend(activity),
            Err(TruncatedRecord) => break,
        }
    }
    kept.1 = true;
}

/// The error that a record extends beyond its buffer.
struct TruncatedRecord;

/// Reads a record. Returns `None` for a record of a kind that traces do not enable, and an error for a record
/// that extends beyond its buffer.
///
/// # Safety
/// `record` points at `left` bytes that begin with a record of CUPTI.
unsafe fn read_activity(record: *const u8, left: usize) -> Result<Option<Activity>, TruncatedRecord> {
    // The longest beginning of a record, without trust in its alignment.
    let mut words = [0_u32; (NAME_OFFSET + 8) / size_of::<u32>()];
    let copied = left.min(size_of_val(&words));
    // SAFETY: as many bytes are there, and in `words`.
    unsafe { ptr::copy_nonoverlapping(record, words.as_mut_ptr().cast(), copied) };
    let word = |offset: usize| words[offset / size_of::<u32>()];
    let long = |offset| u64::from(word(offset)) | u64::from(word(offset + 4)) << 32;
    let kind = ActivityKind::ALL.into_iter().find(|kind| kind.cupti_kind() == words[0]);
    let layout = kind.map(ActivityKind::layout);
    if left < layout.as_ref().map_or(size_of::<u32>(), |layout| layout.bytes) {
        return Err(TruncatedRecord);
    }
    let Some((kind, layout)) = kind.zip(layout) else { return Ok(None) };
    let is_kernel = kind == ActivityKind::Kernel;
    let name = ptr::with_exposed_provenance::<c_char>(if is_kernel { long(NAME_OFFSET) as usize } else { 0 });
    // SAFETY: a name that is not null ends in a zero, and lives as long as its module at least, whose kernel has just run.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned());
    Ok(Some(Activity {
        kind,
        begin: long(START_OFFSET),
        end: long(END_OFFSET),
        device: word(layout.device),
        stream: word(layout.stream),
        correlation: word(layout.correlation),
        name,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a record whose words are their own offsets, but for its kind and the pointer to a name.
    fn read_records(kind: ActivityKind, left: usize) -> Option<Activity> {
        let mut record: Vec<u32> = (0..36).map(|index| 4 * index).collect();
        record[0] = kind.cupti_kind();
        let name = c"name".as_ptr().expose_provenance() as u64;
        record[26..28].copy_from_slice(&[name as u32, (name >> 32) as u32]);
        // SAFETY: these are as many bytes and more, and the name is one.
        unsafe { read_activity(record.as_ptr().cast(), left) }.ok().flatten()
    }

    fn long(offset: u64) -> u64 {
        offset | (offset + 4) << 32
    }

    /// As a C compiler lays out `CUpti_ActivityKernel4` to `CUpti_ActivityKernel13` of the headers of CUDA
    /// 12.9 and 13.5. The shortest has 144 bytes.
    #[test]
    fn kernels_begin_as_in_the_headers() {
        let expected = Activity {
            kind: ActivityKind::Kernel,
            begin: long(16),
            end: long(24),
            device: 40,
            stream: 48,
            correlation: 92,
            name: Some("name".to_owned()),
        };
        assert_eq!(read_records(ActivityKind::Kernel, 112), Some(expected));
        assert_eq!(read_records(ActivityKind::Kernel, 111), None);
    }

    /// `CUpti_ActivityMemcpy` (64 bytes) to `CUpti_ActivityMemcpy7`, `CUpti_ActivityMemset` (64) to
    /// `CUpti_ActivityMemset5`, and `CUpti_ActivityMemcpyPtoP` (72 bytes) to `CUpti_ActivityMemcpyPtoP4`.
    #[test]
    fn transfers_begin_as_in_the_headers() {
        for (kind, correlation, bytes) in
            [(ActivityKind::Copy, 44, 48), (ActivityKind::Memset, 44, 48), (ActivityKind::PeerCopy, 60, 64)]
        {
            let expected = Activity {
                kind,
                begin: long(16),
                end: long(24),
                device: 32,
                stream: 40,
                correlation,
                name: None,
            };
            assert_eq!(read_records(kind, bytes), Some(expected));
            assert_eq!(read_records(kind, bytes - 1), None);
        }
    }
}
