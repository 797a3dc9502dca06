//! The result codes of cust_raw's enum. In: a code as the driver returned it. Out: its variant, name and
//! text, for use when there is no driver to ask. The enum is matched without a wildcard: the compiler finds a
//! gap.

use std::ffi::CStr;

use cust_raw::CUresult;

/// A code of the enum: its variant, and its name and text as C strings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownCode {
    pub(crate) result: CUresult,
    pub(crate) name: &'static CStr,
    pub(crate) text: &'static CStr,
}

/// One line a code: its variant and its text.
macro_rules! codes {
    ($($name:ident $text:literal;)*) => {
        /// Returns the entry of cust_raw's enum for a code.
        pub(crate) fn known(code: u32) -> Option<KnownCode> {
            $(const $name: u32 = CUresult::$name as u32;)*
            match code {
                $($name => Some(KnownCode {
                    result: CUresult::$name,
                    name: const { c_string(concat!(stringify!($name), "\0")) },
                    text: $text,
                }),)*
                _ => None,
            }
        }

        // Never called. It compiles only if the lines below name every variant.
        const _: fn(CUresult) = |result| match result { $(CUresult::$name => (),)* };
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
    CUDA_SUCCESS c"no error";
    CUDA_ERROR_INVALID_VALUE c"invalid argument";
    CUDA_ERROR_OUT_OF_MEMORY c"out of memory";
    CUDA_ERROR_NOT_INITIALIZED c"initialization error";
    CUDA_ERROR_DEINITIALIZED c"driver shutting down";
    CUDA_ERROR_PROFILER_DISABLED c"profiler disabled while using external profiling tool";
    CUDA_ERROR_PROFILER_NOT_INITIALIZED c"profiler not initialized";
    CUDA_ERROR_PROFILER_ALREADY_STARTED c"profiler already started";
    CUDA_ERROR_PROFILER_ALREADY_STOPPED c"profiler already stopped";
    CUDA_ERROR_STUB_LIBRARY c"the library is a stub without a driver";
    CUDA_ERROR_NO_DEVICE c"no CUDA-capable device is detected";
    CUDA_ERROR_INVALID_DEVICE c"invalid device ordinal";
    CUDA_ERROR_DEVICE_NOT_LICENSED c"device does not have a valid licence";
    CUDA_ERROR_INVALID_IMAGE c"device kernel image is invalid";
    CUDA_ERROR_INVALID_CONTEXT c"invalid device context";
    CUDA_ERROR_CONTEXT_ALREADY_CURRENT c"context already current";
    CUDA_ERROR_MAP_FAILED c"mapping of buffer object failed";
    CUDA_ERROR_UNMAP_FAILED c"unmapping of buffer object failed";
    CUDA_ERROR_ARRAY_IS_MAPPED c"array is mapped";
    CUDA_ERROR_ALREADY_MAPPED c"resource already mapped";
    CUDA_ERROR_NO_BINARY_FOR_GPU c"no kernel image is available for execution on the device";
    CUDA_ERROR_ALREADY_ACQUIRED c"resource already acquired";
    CUDA_ERROR_NOT_MAPPED c"resource not mapped";
    CUDA_ERROR_NOT_MAPPED_AS_ARRAY c"resource not mapped as array";
    CUDA_ERROR_NOT_MAPPED_AS_POINTER c"resource not mapped as pointer";
    CUDA_ERROR_ECC_UNCORRECTABLE c"uncorrectable ECC error encountered";
    CUDA_ERROR_UNSUPPORTED_LIMIT c"limit is not supported on this architecture";
    CUDA_ERROR_CONTEXT_ALREADY_IN_USE c"context is in use by another thread";
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED c"peer access is not supported between these two devices";
    CUDA_ERROR_INVALID_PTX c"a PTX JIT compilation failed";
    CUDA_ERROR_INVALID_GRAPHICS_CONTEXT c"invalid OpenGL or DirectX context";
    CUDA_ERROR_NVLINK_UNCORRECTABLE c"uncorrectable NVLink error detected during the execution";
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND c"PTX JIT compiler library not found";
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION c"the PTX was made by a newer toolchain than this driver supports";
    CUDA_ERROR_JIT_COMPILATION_DISABLED c"PTX JIT compilation was disabled";
    CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY c"the execution affinity is not supported";
    CUDA_ERROR_INVALID_SOURCE c"device kernel source is invalid";
    CUDA_ERROR_FILE_NOT_FOUND c"file not found";
    CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND c"shared object symbol not found";
    CUDA_ERROR_SHARED_OBJECT_INIT_FAILED c"shared object initialization failed";
    CUDA_ERROR_OPERATING_SYSTEM c"operating system call failed";
    CUDA_ERROR_INVALID_HANDLE c"invalid resource handle";
    CUDA_ERROR_ILLEGAL_STATE c"the operation cannot be performed in the present state";
    CUDA_ERROR_NOT_FOUND c"named symbol not found";
    CUDA_ERROR_NOT_READY c"device not ready";
    CUDA_ERROR_ILLEGAL_ADDRESS c"an illegal memory access was encountered";
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES c"too many resources requested for launch";
    CUDA_ERROR_LAUNCH_TIMEOUT c"the launch timed out and was terminated";
    CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING c"launch uses incompatible texturing mode";
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED c"peer access is already enabled";
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED c"peer access has not been enabled";
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE c"the primary context is already active";
    CUDA_ERROR_CONTEXT_IS_DESTROYED c"context is destroyed";
    CUDA_ERROR_ASSERT c"device-side assert triggered";
    CUDA_ERROR_TOO_MANY_PEERS c"peer mapping resources exhausted";
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED c"part or all of the requested memory range is already mapped";
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED c"pointer does not correspond to a registered memory region";
    CUDA_ERROR_HARDWARE_STACK_ERROR c"hardware stack error";
    CUDA_ERROR_ILLEGAL_INSTRUCTION c"an illegal instruction was encountered";
    CUDA_ERROR_MISALIGNED_ADDRESS c"misaligned address";
    CUDA_ERROR_INVALID_ADDRESS_SPACE c"operation not supported on this address space";
    CUDA_ERROR_INVALID_PC c"invalid program counter";
    CUDA_ERROR_LAUNCH_FAILED c"unspecified launch failure";
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE c"too many blocks in cooperative launch";
    CUDA_ERROR_NOT_PERMITTED c"operation not permitted";
    CUDA_ERROR_NOT_SUPPORTED c"operation not supported";
    CUDA_ERROR_SYSTEM_NOT_READY c"system not yet initialized";
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH c"the versions of the display driver and libcuda do not match";
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE c"forward compatibility is not supported on this hardware";
    CUDA_ERROR_MPS_CONNECTION_FAILED c"MPS client failed to connect to the control daemon or the server";
    CUDA_ERROR_MPS_RPC_FAILURE c"the remote procedure call between the MPS server and client failed";
    CUDA_ERROR_MPS_SERVER_NOT_READY c"the MPS server is not ready to accept clients";
    CUDA_ERROR_MPS_MAX_CLIENTS_REACHED c"all MPS clients are in use";
    CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED c"all MPS device connections are in use";
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED c"operation not permitted when stream is capturing";
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED c"operation failed due to a previous error during capture";
    CUDA_ERROR_STREAM_CAPTURE_MERGE c"operation would merge separate captures";
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED c"capture was not ended in the same stream as it began";
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED c"capturing stream has unjoined work";
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION c"dependency created on uncaptured work in another stream";
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT c"dependency of the legacy stream on a capturing stream";
    CUDA_ERROR_CAPTURED_EVENT c"operation not permitted on an event last recorded in a capturing stream";
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD c"attempt to end a thread-local capture from another thread";
    CUDA_ERROR_TIMEOUT c"wait operation timed out";
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE c"the graph update violates its constraints";
    CUDA_ERROR_EXTERNAL_DEVICE c"an asynchronous error occurred outside of CUDA";
    CUDA_ERROR_UNKNOWN c"unknown error";
}
