//! The functions of CUPTI that a trace needs, by their C types. In: the library; out: checked calls.
//!
//! The types are those of `cupti_activity.h`, `cupti_version.h` and `cupti_result.h`, the same from CUDA 11.0
//! to 13.5.

#![expect(unsafe_code, reason = "opens a shared library and calls into it")]

use std::ffi::{CStr, c_char, c_void};
use std::{path::Path, ptr};

use libloading::Library;

use super::CuptiError;
use crate::library::loader_message;

/// The type of `CUpti_BuffersCallbackRequestFunc`: CUPTI calls it for a buffer. Sets the buffer, its size,
/// and the maximum number of records in it.
pub(super) type RequestBuffer = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// The type of `CUpti_BuffersCallbackCompleteFunc`: CUPTI returns a buffer with it. Arguments: context,
/// stream, buffer, size of the buffer, and size of the records in it.
pub(super) type CompleteBuffer = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// `CUPTI_ERROR_MAX_LIMIT_REACHED`: the code of `cuptiActivityGetNextRecord` after the last record of a
/// buffer.
pub(super) const NO_MORE_RECORDS: u32 = 12;
/// `CUPTI_ACTIVITY_FLAG_FLUSH_FORCED`: also flush buffers that are not full.
const FLUSH_FORCED: u32 = 1;

/// The functions of an open CUPTI library.
pub(super) struct Functions {
    get_version: unsafe extern "C" fn(*mut u32) -> u32,
    register_callbacks: unsafe extern "C" fn(RequestBuffer, CompleteBuffer) -> u32,
    enable: unsafe extern "C" fn(u32) -> u32,
    disable: unsafe extern "C" fn(u32) -> u32,
    flush_all: unsafe extern "C" fn(u32) -> u32,
    get_next_record: unsafe extern "C" fn(*mut u8, usize, *mut *mut u8) -> u32,
    get_dropped: unsafe extern "C" fn(*mut c_void, u32, *mut usize) -> u32,
    get_result_string: unsafe extern "C" fn(u32, *mut *const c_char) -> u32,
    // Keeps the functions loaded.
    _library: Library,
}

impl Functions {
    /// Opens the library at `path`, and looks up all functions.
    pub(super) fn open(path: &Path) -> Result<Self, CuptiError> {
        // SAFETY: the library is CUPTI, or the user named it as such: its initialisers may run anywhere.
        let library = unsafe { Library::new(path) }.map_err(|error| CuptiError::NotOpened {
            library: path.to_owned(),
            reason: loader_message(&error),
        })?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the field has the C type of the function of this name.
                *unsafe { library.get($name) }
                    .map_err(|_| CuptiError::MissingSymbol { library: path.to_owned(), symbol: $name })?
            };
        }
        Ok(Self {
            get_version: function!("cuptiGetVersion"),
            register_callbacks: function!("cuptiActivityRegisterCallbacks"),
            enable: function!("cuptiActivityEnable"),
            disable: function!("cuptiActivityDisable"),
            flush_all: function!("cuptiActivityFlushAll"),
            get_next_record: function!("cuptiActivityGetNextRecord"),
            get_dropped: function!("cuptiActivityGetNumDroppedRecords"),
            get_result_string: function!("cuptiGetResultString"),
            _library: library,
        })
    }

    /// Returns the version of the library, as `cuptiGetVersion` numbers it.
    pub(super) fn version(&self) -> Result<u32, CuptiError> {
        let mut version = 0;
        // SAFETY: `version` is a place for a number.
        self.check("cuptiGetVersion", unsafe { (self.get_version)(&raw mut version) })?;
        Ok(version)
    }

    /// Makes CUPTI call `request` for new buffers, and `complete` with filled ones.
    pub(super) fn register(
        &self,
        request: RequestBuffer,
        complete: CompleteBuffer,
    ) -> Result<(), CuptiError> {
        // SAFETY: both functions have the types that CUPTI calls them by, and exist as long as the program.
        let code = unsafe { (self.register_callbacks)(request, complete) };
        self.check("cuptiActivityRegisterCallbacks", code)
    }

    /// Starts to record activities of this `CUpti_ActivityKind`.
    pub(super) fn enable(&self, kind: u32) -> Result<(), CuptiError> {
        // SAFETY: takes a number.
        self.check("cuptiActivityEnable", unsafe { (self.enable)(kind) })
    }

    /// Stops to record activities of this `CUpti_ActivityKind`.
    pub(super) fn disable(&self, kind: u32) -> Result<(), CuptiError> {
        // SAFETY: takes a number.
        self.check("cuptiActivityDisable", unsafe { (self.disable)(kind) })
    }

    /// Makes CUPTI hand out all buffers, also those that are not full.
    pub(super) fn flush(&self) -> Result<(), CuptiError> {
        // SAFETY: takes a number, and calls the registered functions.
        self.check("cuptiActivityFlushAll", unsafe { (self.flush_all)(FLUSH_FORCED) })
    }

    /// Returns the record after `record` in the first `size` bytes of `buffer`; the first record if `record`
    /// is null. The error is CUPTI's code, [`NO_MORE_RECORDS`] at the end.
    ///
    /// # Safety
    /// The buffer is one that CUPTI has just handed out with this size, and `record` is null or one in it.
    pub(super) unsafe fn next_record(
        &self,
        buffer: *mut u8,
        size: usize,
        mut record: *mut u8,
    ) -> Result<*mut u8, u32> {
        // SAFETY: the caller vouches for the buffer, and `record` is a place for a pointer.
        match unsafe { (self.get_next_record)(buffer, size, &raw mut record) } {
            0 => Ok(record),
            code => Err(code),
        }
    }

    /// Returns the number of records that CUPTI dropped since the last call.
    pub(super) fn take_dropped_count(&self) -> Result<usize, CuptiError> {
        let mut dropped = 0;
        // SAFETY: `dropped` is a place for a size. No context and stream 0 stand for those of the global buffers.
        let code = unsafe { (self.get_dropped)(ptr::null_mut(), 0, &raw mut dropped) };
        self.check("cuptiActivityGetNumDroppedRecords", code)?;
        Ok(dropped)
    }

    /// Converts the result `code` of `call`: an error with CUPTI's name for the code unless it is 0.
    fn check(&self, call: &'static str, code: u32) -> Result<(), CuptiError> {
        if code == 0 {
            return Ok(());
        }
        let mut text = ptr::null();
        // SAFETY: `text` is a place for a pointer to a text that is never freed.
        let known = unsafe { (self.get_result_string)(code, &raw mut text) } == 0 && !text.is_null();
        let name = if known {
            // SAFETY: CUPTI's text ends in a zero.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        } else {
            "no name".to_owned()
        };
        Err(CuptiError::Call { call, code, name })
    }
}
