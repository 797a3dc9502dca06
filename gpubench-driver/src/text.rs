//! Names and texts of result codes: the driver's; else those of this crate's list; else a sentence with the number. The two C functions
//! for them answer even without a driver. The list has the codes that bindings know: those of CUDA 11.

#![expect(unsafe_code, reason = "reads and writes C strings")]

use std::ffi::{CStr, CString, c_char};
use std::{borrow::Cow, sync::LazyLock};

use crate::library;
use crate::library::unrecorded;
use crate::types::{CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NO_DEVICE, CUDA_SUCCESS, CUresult};

/// A driver function that returns a string for a code, an int in C.
type GetString = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;

/// Returns the name of a result code, such as `CUDA_ERROR_NO_DEVICE`: the driver's, if it knows the code.
#[must_use]
pub fn error_name(code: u32) -> Cow<'static, str> {
    name_of(code).map_or_else(|| number(code), CStr::to_string_lossy)
}

/// Returns the meaning of a result code in words: the driver's, if it knows the code.
#[must_use]
pub fn error_text(code: u32) -> Cow<'static, str> {
    text_of(code).map_or_else(|| number(code), CStr::to_string_lossy)
}

/// Describes an unknown code by its number.
fn number(code: u32) -> Cow<'static, str> {
    let who = if library::is_open() { "unknown to this driver" } else { "unknown without a driver" };
    format!("error {code} ({who})").into()
}

fn name_of(code: u32) -> Option<&'static CStr> {
    ask(unrecorded!(cuGetErrorName(u32, *mut *const c_char)), code)
        .or_else(|| known(code).map(|known| known.name))
}

fn text_of(code: u32) -> Option<&'static CStr> {
    /// Replaces "no CUDA-capable device is detected" when there is no driver to look for one.
    static NO_DRIVER: LazyLock<Option<CString>> = LazyLock::new(|| {
        let error = library::not_open()?;
        CString::new(format!("no CUDA device ({})", error.short())).ok()
    });
    ask(unrecorded!(cuGetErrorString(u32, *mut *const c_char)), code).or_else(|| match known(code)? {
        KnownCode { text, .. } if code == CUDA_ERROR_NO_DEVICE => Some(NO_DRIVER.as_deref().unwrap_or(text)),
        KnownCode { text, .. } => Some(text),
    })
}

/// Returns the driver's string for a code; `None` without a driver, or if the driver does not know the code.
fn ask(function: Option<GetString>, code: u32) -> Option<&'static CStr> {
    let mut string = std::ptr::null();
    // SAFETY: `string` is a place for the string. The driver accepts any number and reports an unknown one.
    let result = unsafe { function?(code, &raw mut string) };
    // SAFETY: on success the string is one of the driver's constants, and the driver is never closed.
    (result == 0 && !string.is_null()).then(|| unsafe { CStr::from_ptr(string) })
}

/// Answers `cuGetErrorName`.
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn answer_name(error: CUresult, out: *mut *const c_char) -> CUresult {
    // SAFETY: the caller's promise about `out`.
    unsafe { answer(name_of(error), out) }
}

/// Answers `cuGetErrorString`. It must not fail: cust's `Display` of an error would fail with it, and
/// `to_string` would panic.
///
/// # Safety
/// `out` is null or may be written.
pub(crate) unsafe fn answer_text(error: CUresult, out: *mut *const c_char) -> CUresult {
    // SAFETY: the caller's promise about `out`.
    unsafe { answer(text_of(error), out) }
}

/// Writes the string, or "unknown error" if there is none.
///
/// # Safety
/// `out` is null or may be written.
unsafe fn answer(string: Option<&'static CStr>, out: *mut *const c_char) -> CUresult {
    if out.is_null() {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: not null, so it may be written, as the caller promises.
    unsafe { *out = string.unwrap_or(c"unknown error").as_ptr() };
    CUDA_SUCCESS
}

/// A code: its name and text as C strings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownCode {
    pub(crate) name: &'static CStr,
    pub(crate) text: &'static CStr,
}

/// One line a code: its number, name and text.
macro_rules! codes {
    ($($number:literal $name:ident $text:literal;)*) => {
        /// Returns the entry of a code.
        pub(crate) fn known(code: u32) -> Option<KnownCode> {
            match code {
                $($number => Some(KnownCode { name: const { c_string(concat!(stringify!($name), "\0")) }, text: $text }),)*
                _ => None,
            }
        }
    };
}

/// A literal that ends in NUL as a C string.
const fn c_string(literal: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(literal.as_bytes()) {
        Ok(string) => string,
        Err(_) => panic!("one NUL, at the end"),
    }
}

codes! {
    0 CUDA_SUCCESS c"no error";
    1 CUDA_ERROR_INVALID_VALUE c"invalid argument";
    2 CUDA_ERROR_OUT_OF_MEMORY c"out of memory";
    3 CUDA_ERROR_NOT_INITIALIZED c"initialization error";
    4 CUDA_ERROR_DEINITIALIZED c"driver shutting down";
    5 CUDA_ERROR_PROFILER_DISABLED c"profiler disabled while using external profiling tool";
    6 CUDA_ERROR_PROFILER_NOT_INITIALIZED c"profiler not initialized";
    7 CUDA_ERROR_PROFILER_ALREADY_STARTED c"profiler already started";
    8 CUDA_ERROR_PROFILER_ALREADY_STOPPED c"profiler already stopped";
    34 CUDA_ERROR_STUB_LIBRARY c"the library is a stub without a driver";
    100 CUDA_ERROR_NO_DEVICE c"no CUDA-capable device is detected";
    101 CUDA_ERROR_INVALID_DEVICE c"invalid device ordinal";
    102 CUDA_ERROR_DEVICE_NOT_LICENSED c"device does not have a valid licence";
    200 CUDA_ERROR_INVALID_IMAGE c"device kernel image is invalid";
    201 CUDA_ERROR_INVALID_CONTEXT c"invalid device context";
    202 CUDA_ERROR_CONTEXT_ALREADY_CURRENT c"context already current";
    205 CUDA_ERROR_MAP_FAILED c"mapping of buffer object failed";
    206 CUDA_ERROR_UNMAP_FAILED c"unmapping of buffer object failed";
    207 CUDA_ERROR_ARRAY_IS_MAPPED c"array is mapped";
    208 CUDA_ERROR_ALREADY_MAPPED c"resource already mapped";
    209 CUDA_ERROR_NO_BINARY_FOR_GPU c"no kernel image is available for execution on the device";
    210 CUDA_ERROR_ALREADY_ACQUIRED c"resource already acquired";
    211 CUDA_ERROR_NOT_MAPPED c"resource not mapped";
    212 CUDA_ERROR_NOT_MAPPED_AS_ARRAY c"resource not mapped as array";
    213 CUDA_ERROR_NOT_MAPPED_AS_POINTER c"resource not mapped as pointer";
    214 CUDA_ERROR_ECC_UNCORRECTABLE c"uncorrectable ECC error encountered";
    215 CUDA_ERROR_UNSUPPORTED_LIMIT c"limit is not supported on this architecture";
    216 CUDA_ERROR_CONTEXT_ALREADY_IN_USE c"context is in use by another thread";
    217 CUDA_ERROR_PEER_ACCESS_UNSUPPORTED c"peer access is not supported between these two devices";
    218 CUDA_ERROR_INVALID_PTX c"a PTX JIT compilation failed";
    219 CUDA_ERROR_INVALID_GRAPHICS_CONTEXT c"invalid OpenGL or DirectX context";
    220 CUDA_ERROR_NVLINK_UNCORRECTABLE c"uncorrectable NVLink error detected during the execution";
    221 CUDA_ERROR_JIT_COMPILER_NOT_FOUND c"PTX JIT compiler library not found";
    222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION c"the PTX was made by a newer toolchain than this driver supports";
    223 CUDA_ERROR_JIT_COMPILATION_DISABLED c"PTX JIT compilation was disabled";
    224 CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY c"the execution affinity is not supported";
    300 CUDA_ERROR_INVALID_SOURCE c"device kernel source is invalid";
    301 CUDA_ERROR_FILE_NOT_FOUND c"file not found";
    302 CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND c"shared object symbol not found";
    303 CUDA_ERROR_SHARED_OBJECT_INIT_FAILED c"shared object initialization failed";
    304 CUDA_ERROR_OPERATING_SYSTEM c"operating system call failed";
    400 CUDA_ERROR_INVALID_HANDLE c"invalid resource handle";
    401 CUDA_ERROR_ILLEGAL_STATE c"the operation cannot be performed in the present state";
    500 CUDA_ERROR_NOT_FOUND c"named symbol not found";
    600 CUDA_ERROR_NOT_READY c"device not ready";
    700 CUDA_ERROR_ILLEGAL_ADDRESS c"an illegal memory access was encountered";
    701 CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES c"too many resources requested for launch";
    702 CUDA_ERROR_LAUNCH_TIMEOUT c"the launch timed out and was terminated";
    703 CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING c"launch uses incompatible texturing mode";
    704 CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED c"peer access is already enabled";
    705 CUDA_ERROR_PEER_ACCESS_NOT_ENABLED c"peer access has not been enabled";
    708 CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE c"the primary context is already active";
    709 CUDA_ERROR_CONTEXT_IS_DESTROYED c"context is destroyed";
    710 CUDA_ERROR_ASSERT c"device-side assert triggered";
    711 CUDA_ERROR_TOO_MANY_PEERS c"peer mapping resources exhausted";
    712 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED c"part or all of the requested memory range is already mapped";
    713 CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED c"pointer does not correspond to a registered memory region";
    714 CUDA_ERROR_HARDWARE_STACK_ERROR c"hardware stack error";
    715 CUDA_ERROR_ILLEGAL_INSTRUCTION c"an illegal instruction was encountered";
    716 CUDA_ERROR_MISALIGNED_ADDRESS c"misaligned address";
    717 CUDA_ERROR_INVALID_ADDRESS_SPACE c"operation not supported on this address space";
    718 CUDA_ERROR_INVALID_PC c"invalid program counter";
    719 CUDA_ERROR_LAUNCH_FAILED c"unspecified launch failure";
    720 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE c"too many blocks in cooperative launch";
    800 CUDA_ERROR_NOT_PERMITTED c"operation not permitted";
    801 CUDA_ERROR_NOT_SUPPORTED c"operation not supported";
    802 CUDA_ERROR_SYSTEM_NOT_READY c"system not yet initialized";
    803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH c"the versions of the display driver and libcuda do not match";
    804 CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE c"forward compatibility is not supported on this hardware";
    805 CUDA_ERROR_MPS_CONNECTION_FAILED c"MPS client failed to connect to the control daemon or the server";
    806 CUDA_ERROR_MPS_RPC_FAILURE c"the remote procedure call between the MPS server and client failed";
    807 CUDA_ERROR_MPS_SERVER_NOT_READY c"the MPS server is not ready to accept clients";
    808 CUDA_ERROR_MPS_MAX_CLIENTS_REACHED c"all MPS clients are in use";
    809 CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED c"all MPS device connections are in use";
    900 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED c"operation not permitted when stream is capturing";
    901 CUDA_ERROR_STREAM_CAPTURE_INVALIDATED c"operation failed due to a previous error during capture";
    902 CUDA_ERROR_STREAM_CAPTURE_MERGE c"operation would merge separate captures";
    903 CUDA_ERROR_STREAM_CAPTURE_UNMATCHED c"capture was not ended in the same stream as it began";
    904 CUDA_ERROR_STREAM_CAPTURE_UNJOINED c"capturing stream has unjoined work";
    905 CUDA_ERROR_STREAM_CAPTURE_ISOLATION c"dependency created on uncaptured work in another stream";
    906 CUDA_ERROR_STREAM_CAPTURE_IMPLICIT c"dependency of the legacy stream on a capturing stream";
    907 CUDA_ERROR_CAPTURED_EVENT c"operation not permitted on an event last recorded in a capturing stream";
    908 CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD c"attempt to end a thread-local capture from another thread";
    909 CUDA_ERROR_TIMEOUT c"wait operation timed out";
    910 CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE c"the graph update violates its constraints";
    911 CUDA_ERROR_EXTERNAL_DEVICE c"an asynchronous error occurred outside of CUDA";
    999 CUDA_ERROR_UNKNOWN c"unknown error";
}
