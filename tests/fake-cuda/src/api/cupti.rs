//! The functions of CUPTI that the runtime calls, for the same GPUs: records of the work that they do while it traces, at the times at
//! which they do it. Suites name this library by `--cupti`. Records have the layout of CUDA 12.9's (`CUpti_ActivityKernel9`,
//! `CUpti_ActivityMemcpy6`, `CUpti_ActivityMemset4`), or what `GPUBENCH_FAKE_CUPTI` asks for.

#![expect(unsafe_code, reason = "fills buffers of C's callers, and calls their functions")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::call::Out;
use crate::config::{Config, CuptiFaults};

/// The codes that functions return.
type Code = u32;

const SUCCESS: Code = 0;
const INVALID_PARAMETER: Code = 1;
const INVALID_OPERATION: Code = 7;
const NO_MORE: Code = 12;

/// The kinds of records, and the sizes of theirs.
const COPY: u32 = 1;
const MEMSET: u32 = 2;
const KERNEL: u32 = 10;
const SIZES: [(u32, usize); 3] = [(COPY, 96), (MEMSET, 88), (KERNEL, 208)];
/// The places of a record's fields: those of kernels, and of all others.
const START: usize = 16;
const END: usize = 24;
const OF_KERNELS: [usize; 4] = [40, 48, 92, 104];
const OF_OTHERS: [usize; 4] = [32, 40, 44, 8];

type Request = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type Complete = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

static FAULTS: LazyLock<CuptiFaults> = LazyLock::new(|| Config::read().cupti);
/// True once this process has been traced.
static TRACED: AtomicBool = AtomicBool::new(false);

/// What is traced, and what was seen.
struct Trace {
    callbacks: Option<(Request, Complete)>,
    kinds: Vec<u32>,
    records: Vec<Record>,
    /// The kernels so far.
    kernels: usize,
    dropped: usize,
}

static TRACE: Mutex<Trace> =
    Mutex::new(Trace { callbacks: None, kinds: Vec::new(), records: Vec::new(), kernels: 0, dropped: 0 });

struct Record {
    kind: u32,
    span: [u64; 2],
    /// The device, the stream, and the number of the call.
    place: [u32; 3],
    what: What,
}

enum What {
    Kernel(&'static CStr),
    Bytes(u64),
}

/// Work that GPUs do.
pub(crate) enum Traced<'a> {
    Kernel(&'a str),
    Copy(u64),
    Memset(u64),
}

fn trace() -> MutexGuard<'static, Trace> {
    TRACE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time by which an event's reading is longer in a process that was traced, in nanoseconds.
pub(crate) fn slowdown() -> f64 {
    if TRACED.load(Ordering::Relaxed) { 400.0 } else { 0.0 }
}

/// The part by which a kernel takes longer while it is traced.
pub(crate) fn slows() -> f64 {
    let traces = FAULTS.slows > 0.0 && trace().kinds.contains(&KERNEL);
    if traces { FAULTS.slows } else { 0.0 }
}

/// Sees a piece of work, if its kind is traced.
pub(crate) fn see(work: &Traced<'_>, (begin, duration): (f64, f64), place: [u32; 3]) {
    let mut trace = trace();
    let (kind, what) = match work {
        Traced::Kernel(name) => (KERNEL, What::Kernel(kept(name))),
        Traced::Copy(bytes) => (COPY, What::Bytes(*bytes)),
        Traced::Memset(bytes) => (MEMSET, What::Bytes(*bytes)),
    };
    if !trace.kinds.contains(&kind) {
        return;
    }
    let ours = matches!(work, Traced::Kernel(name) if name.starts_with("gpubench_"));
    let mut span = [begin, begin + duration].map(|time| time as u64);
    if kind == KERNEL && !ours {
        trace.kernels += 1;
        span[1] += FAULTS.late;
        let is_third = trace.kernels == 3;
        match FAULTS.records.as_str() {
            "lost" if is_third => return,
            "zero" if is_third => span = [0, 0],
            "order" if is_third => span.reverse(),
            "twice" if is_third => {
                trace.records.push(Record { kind, span, place, what: What::Kernel(c"another") });
            }
            _ => {}
        }
    }
    trace.records.push(Record { kind, span, place, what });
}

/// A name that is never freed.
fn kept(name: &str) -> &'static CStr {
    static NAMES: Mutex<BTreeMap<String, &'static CStr>> = Mutex::new(BTreeMap::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let made = || &*Box::leak(CString::new(name).unwrap_or_default().into_boxed_c_str());
    names.entry(name.to_owned()).or_insert_with(made)
}

// SAFETY: no other object of a program under test defines this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiGetVersion(version: Out<u32>) -> Code {
    if version.set(FAULTS.version).is_ok() { SUCCESS } else { INVALID_PARAMETER }
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiGetResultString(code: Code, text: Out<*const c_char>) -> Code {
    let name = match code {
        7 => c"CUPTI_ERROR_INVALID_OPERATION",
        35 => c"CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
        39 => c"CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
        _ => return INVALID_PARAMETER,
    };
    if text.set(name.as_ptr()).is_ok() { SUCCESS } else { INVALID_PARAMETER }
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiActivityRegisterCallbacks(request: Request, complete: Complete) -> Code {
    trace().callbacks = Some((request, complete));
    SUCCESS
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiActivityEnable(kind: u32) -> Code {
    if FAULTS.refuses != SUCCESS {
        return FAULTS.refuses;
    }
    TRACED.store(true, Ordering::Relaxed);
    trace().kinds.push(kind);
    SUCCESS
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiActivityDisable(kind: u32) -> Code {
    trace().kinds.retain(|other| *other != kind);
    SUCCESS
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiActivityFlushAll(_flag: u32) -> Code {
    if FAULTS.records == "dies" {
        std::process::abort();
    }
    let (callbacks, records) = {
        let mut trace = trace();
        (trace.callbacks, std::mem::take(&mut trace.records))
    };
    let Some((request, complete)) = callbacks else { return INVALID_OPERATION };
    let mut left = &records[..];
    while !left.is_empty() {
        let (mut buffer, mut size, mut most) = (ptr::null_mut(), 0, 0);
        // SAFETY: the registered function sets these.
        unsafe { request(&raw mut buffer, &raw mut size, &raw mut most) };
        let mut filled = 0;
        while let Some((record, others)) = left.split_first()
            && filled + size_of(record.kind) <= size
        {
            // SAFETY: the buffer has room for the record behind those before.
            unsafe { write(record, buffer.add(filled)) };
            filled += size_of(record.kind);
            left = others;
        }
        if filled == 0 {
            trace().dropped += left.len();
            left = &[];
        }
        if FAULTS.records == "garbled" && filled > 0 {
            // SAFETY: a record begins with its kind.
            unsafe { buffer.cast::<u32>().write(999) };
        }
        // SAFETY: the registered function takes back its buffer.
        unsafe { complete(ptr::null_mut(), 0, buffer, size, filled) };
    }
    SUCCESS
}

fn size_of(kind: u32) -> usize {
    SIZES.iter().find(|(other, _)| *other == kind).map_or(0, |(_, size)| *size)
}

/// Writes a record.
///
/// # Safety
/// There is room for it.
unsafe fn write(record: &Record, to: *mut u8) {
    let [device, stream, call, last] = if record.kind == KERNEL { OF_KERNELS } else { OF_OTHERS };
    // SAFETY: all of these places lie in a record of its kind, whose size is a multiple of eight.
    unsafe {
        to.write_bytes(0, size_of(record.kind));
        to.cast::<u32>().write(record.kind);
        to.add(START).cast::<u64>().write(record.span[0]);
        to.add(END).cast::<u64>().write(record.span[1]);
        for (place, value) in [device, stream, call].into_iter().zip(record.place) {
            to.add(place).cast::<u32>().write(value);
        }
        match &record.what {
            What::Kernel(name) => to.add(last).cast::<*const c_char>().write(name.as_ptr()),
            What::Bytes(bytes) => to.add(last).cast::<u64>().write(*bytes),
        }
    }
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiActivityGetNextRecord(buffer: *mut u8, valid: usize, record: *mut *mut u8) -> Code {
    // SAFETY: the caller gives a place with null or the record before.
    let before = unsafe { record.read() };
    let next = match before.is_null() {
        true => buffer,
        // SAFETY: the record before begins with its kind and ends within the buffer, or at its end.
        false => unsafe { before.add(size_of(before.cast::<u32>().read())) },
    };
    let at = next as usize - buffer as usize;
    if at >= valid {
        return NO_MORE;
    }
    // SAFETY: there is a record, of which at least the kind can be read.
    if size_of(unsafe { next.cast::<u32>().read() }) == 0 {
        return 21;
    }
    // SAFETY: a place for the answer.
    unsafe { record.write(next) };
    SUCCESS
}

// SAFETY: as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuptiActivityGetNumDroppedRecords(
    _context: *mut c_void,
    _stream: u32,
    dropped: Out<usize>,
) -> Code {
    let count = std::mem::take(&mut trace().dropped) + FAULTS.dropped;
    if dropped.set(count).is_ok() { SUCCESS } else { INVALID_PARAMETER }
}
