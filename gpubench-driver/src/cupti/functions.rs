//! The functions of CUPTI that a trace needs, by their C types, and the reasons that they fail.
//!
//! The types are those of `cupti_activity.h`, `cupti_version.h` and `cupti_result.h`, the same from CUDA 11.0
//! to 13.5.

#![expect(unsafe_code, reason = "opens a shared library and calls into it")]

use std::ffi::{CStr, c_char, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;

use crate::cupti::MIN_VERSION;
use crate::library::loader_message;

/// The type of `CUpti_BuffersCallbackRequestFunc`, which CUPTI calls when it needs a buffer. The function
/// stores the buffer, its size in bytes, and the most records that CUPTI may write to it (0: as many as fit).
type RequestBuffer = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// The type of `CUpti_BuffersCallbackCompleteFunc`, by which CUPTI returns a buffer. Arguments: context,
/// stream, buffer, size of the buffer, and size of the records in it, both in bytes.
type CompleteBuffer = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// `CUPTI_ERROR_MAX_LIMIT_REACHED`: the code of `cuptiActivityGetNextRecord` after the last record of a
/// buffer.
pub(super) const NO_MORE_RECORDS: u32 = 12;
/// `CUPTI_ACTIVITY_FLAG_FLUSH_FORCED`: also flush buffers that are not full.
const FLUSH_FORCED: u32 = 1;

/// An open CUPTI library, and calls of its functions.
pub(super) struct Functions {
    pub library: PathBuf,
    opened: Library,
}

/// Calls the function of CUPTI with this name. Each argument is written after its C type. Evaluates to an
/// error if the result code is not 0; returns an error from the caller if the library lacks the function.
macro_rules! call {
    ($functions:expr, $symbol:literal, $($type:ty: $argument:expr),*) => {{
        let function: unsafe extern "C" fn($($type),*) -> u32 = $functions.find($symbol)?;
        // SAFETY: pointers are places for a result of their type, or the caller vouches for them.
        let code = unsafe { function($($argument),*) };
        $functions.check($symbol, code)
    }};
}

impl Functions {
    /// Opens the library at `path`. Does not check that it is CUPTI.
    pub(super) fn open(path: &Path) -> Result<Self, CuptiError> {
        let library = path.to_owned();
        // SAFETY: the library is CUPTI, or the user named it as such: its initialisers may run anywhere.
        match unsafe { Library::new(path) } {
            Ok(opened) => Ok(Self { library, opened }),
            Err(error) => Err(CuptiError::NotOpened { library, reason: loader_message(&error) }),
        }
    }

    /// Returns the function `symbol` as a pointer of the type `F`, which must be its C type.
    fn find<F: Copy>(&self, symbol: &'static str) -> Result<F, CuptiError> {
        // SAFETY: each caller in this file gives the type that CUPTI declares for the function.
        let found = unsafe { self.opened.get::<F>(symbol) };
        found
            .map(|function| *function)
            .map_err(|_| CuptiError::MissingSymbol { library: self.library.clone(), symbol })
    }

    /// Returns the version of the library, as `cuptiGetVersion` numbers it.
    pub(super) fn version(&self) -> Result<u32, CuptiError> {
        let mut version = 0;
        call!(self, "cuptiGetVersion", *mut u32: &raw mut version)?;
        Ok(version)
    }

    /// Makes CUPTI call `request` whenever it needs a buffer, and `complete` with each buffer that it
    /// returns.
    pub(super) fn register(
        &self,
        request: RequestBuffer,
        complete: CompleteBuffer,
    ) -> Result<(), CuptiError> {
        call!(self, "cuptiActivityRegisterCallbacks", RequestBuffer: request, CompleteBuffer: complete)
    }

    /// Starts to record activities of this `CUpti_ActivityKind`.
    pub(super) fn enable(&self, kind: u32) -> Result<(), CuptiError> {
        call!(self, "cuptiActivityEnable", u32: kind)
    }

    /// Stops to record activities of this `CUpti_ActivityKind`.
    pub(super) fn disable(&self, kind: u32) -> Result<(), CuptiError> {
        call!(self, "cuptiActivityDisable", u32: kind)
    }

    /// Makes CUPTI hand out all buffers, also those that are not full.
    pub(super) fn flush(&self) -> Result<(), CuptiError> {
        call!(self, "cuptiActivityFlushAll", u32: FLUSH_FORCED)
    }

    /// Returns the record after `record` in the first `size` bytes of `buffer`; the first record if `record`
    /// is null. After the last record, returns an error with the code [`NO_MORE_RECORDS`].
    ///
    /// # Safety
    /// CUPTI has just handed out `buffer` with this size, and `record` is null or a record in it.
    pub(super) unsafe fn next_record(
        &self,
        buffer: *mut u8,
        size: usize,
        mut record: *mut u8,
    ) -> Result<*mut u8, CuptiError> {
        let next = &raw mut record;
        call!(self, "cuptiActivityGetNextRecord", *mut u8: buffer, usize: size, *mut *mut u8: next)?;
        Ok(record)
    }

    /// Returns the number of records that CUPTI dropped since the previous call of this method.
    pub(super) fn take_dropped_count(&self) -> Result<usize, CuptiError> {
        let mut dropped = 0;
        // No context and stream 0 stand for those of the global buffers.
        let (context, place) = (ptr::null_mut(), &raw mut dropped);
        call!(self, "cuptiActivityGetNumDroppedRecords", *mut c_void: context, u32: 0, *mut usize: place)?;
        Ok(dropped)
    }

    /// Converts the result `code` of the function `call`: `Ok` for 0, and otherwise an error with CUPTI's
    /// name for the code.
    fn check(&self, call: &'static str, code: u32) -> Result<(), CuptiError> {
        if code == 0 {
            return Ok(());
        }
        let name_of: unsafe extern "C" fn(u32, *mut *const c_char) -> u32 =
            self.find("cuptiGetResultString")?;
        let mut text = ptr::null();
        // SAFETY: `text` is a place for a pointer to a text that is never freed.
        let known = unsafe { name_of(code, &raw mut text) } == 0 && !text.is_null();
        let name = if known {
            // SAFETY: CUPTI's text ends in a zero.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        } else {
            "no name".to_owned()
        };
        Err(CuptiError::Call { call, code, name })
    }
}

/// The reason that CUPTI traces nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CuptiError {
    /// No library was found in a CUDA toolkit, in Python packages or in the path of the loader.
    #[error(
        "libcupti was not found in a CUDA toolkit, in Python packages or in the loader's path: name it by GPUBENCH_CUPTI, or install it \
         (`pip install nvidia-cuda-cupti`)"
    )]
    NotFound,
    /// The library cannot be opened.
    #[error("{} cannot be opened ({reason}): name another by GPUBENCH_CUPTI", library.display())]
    NotOpened {
        /// The library.
        library: PathBuf,
        /// The message of the system's loader.
        reason: String,
    },
    /// The library is not CUPTI: it lacks a function.
    #[error("{} has no {symbol}, so it is not CUPTI: name another by GPUBENCH_CUPTI", library.display())]
    MissingSymbol {
        /// The library.
        library: PathBuf,
        /// The missing function.
        symbol: &'static str,
    },
    /// The library is too old for its records to be read.
    #[error("{} has version {version}, and {MIN_VERSION} is needed (CUDA 11.0): name another by GPUBENCH_CUPTI", library.display())]
    TooOld {
        /// The library.
        library: PathBuf,
        /// Its version.
        version: u32,
    },
    /// A call failed.
    #[error("{call} returned {code} ({name}){}", hint(*code))]
    Call {
        /// The C name of the function.
        call: &'static str,
        /// CUPTI's code.
        code: u32,
        /// CUPTI's name of the code.
        name: String,
    },
    /// CUPTI could not keep all records.
    #[error("CUPTI dropped {records} records")]
    Dropped {
        /// The number of dropped records.
        records: usize,
    },
    /// CUPTI handed out data that is no record.
    #[error("CUPTI handed out records that cannot be read")]
    Garbled,
}

/// Returns advice for an error code of CUPTI, to append to a message; an empty text if there is none.
fn hint(code: u32) -> &'static str {
    match code {
        35 => {
            ": the driver lets only administrators trace; NVIDIA's page ERR_NVGPUCTRPERM tells how to allow it"
        }
        38 | 39 => ": another tool traces this program; leave it out",
        40 | 33 => ": this virtual machine does not let its GPU be traced",
        14 | 36 => ": its version does not fit the driver; name another by GPUBENCH_CUPTI",
        _ => "",
    }
}
