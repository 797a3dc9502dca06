//! The types and constants of CUDA's header `cuda.h`, under its names. `tests/table.rs` compares sizes and
//! values with two bindings'.

#![expect(missing_docs, reason = "CUDA's header has the names, and its documentation")]
#![expect(non_camel_case_types, non_snake_case, reason = "the names are CUDA's")]

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

/// Defines types of handles: for `Handle to Structure`, the opaque structure `Structure` of the driver, and
/// `Handle` as a pointer to it.
macro_rules! handles {
    ($($handle:ident to $structure:ident,)*) => {
        $(
            #[repr(C)]
            pub struct $structure {
                _opaque: [u8; 0],
            }
            pub type $handle = *mut $structure;
        )*
    };
}

handles! {
    CUcontext to CUctx_st,
    CUevent to CUevent_st,
    CUfunction to CUfunc_st,
    CUgraph to CUgraph_st,
    CUgraphExec to CUgraphExec_st,
    CUgraphNode to CUgraphNode_st,
    CUkernel to CUkern_st,
    CUlibrary to CUlib_st,
    CUmodule to CUmod_st,
    CUstream to CUstream_st,
}

// Enumerations are unsigned ints, since a newer driver may return values that today's headers lack.
pub type CUdevice_attribute = c_uint;
pub type CUgraphNodeType = c_uint;
pub type CUlimit = c_uint;
pub type CUmemorytype = c_uint;
pub type CUpointer_attribute = c_uint;
pub type CUresult = c_uint;
pub type CUstreamCaptureMode = c_uint;
pub type CUstreamCaptureStatus = c_uint;

/// The driver's number of a device.
pub type CUdevice = c_int;
/// An address in a device's memory.
pub type CUdeviceptr = c_ulonglong;

/// A function of the caller, or null. Only the driver calls it, so the types of its arguments do not matter
/// here.
pub type CUhostFn = Option<unsafe extern "C" fn()>;

/// A handle by which other processes open memory, passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUipcMemHandle {
    pub reserved: [c_char; 64],
}

/// A handle by which other processes open an event, passed by value, with the layout of [`CUipcMemHandle`].
pub type CUipcEventHandle = CUipcMemHandle;

/// The location of memory, such as a device, passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUmemLocation {
    pub type_: c_uint,
    pub id: c_int,
}

/// The 16 bytes of a UUID.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CUuuid {
    pub bytes: [c_uchar; 16],
}

/// The configuration of a launch by `cuLaunchKernelEx`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUlaunchConfig {
    pub gridDimX: c_uint,
    pub gridDimY: c_uint,
    pub gridDimZ: c_uint,
    pub blockDimX: c_uint,
    pub blockDimY: c_uint,
    pub blockDimZ: c_uint,
    pub sharedMemBytes: c_uint,
    pub hStream: CUstream,
    pub attrs: *mut c_void,
    pub numAttrs: c_uint,
}

/// The parameters of a 3D copy.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUDA_MEMCPY3D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcZ: usize,
    pub srcLOD: usize,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: *mut c_void,
    pub reserved0: *mut c_void,
    pub srcPitch: usize,
    pub srcHeight: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstZ: usize,
    pub dstLOD: usize,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: *mut c_void,
    pub reserved1: *mut c_void,
    pub dstPitch: usize,
    pub dstHeight: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
    pub Depth: usize,
}

pub const CUDA_SUCCESS: CUresult = 0;
pub const CUDA_ERROR_INVALID_VALUE: CUresult = 1;
pub const CUDA_ERROR_OUT_OF_MEMORY: CUresult = 2;
pub const CUDA_ERROR_NO_DEVICE: CUresult = 100;
pub const CUDA_ERROR_NOT_FOUND: CUresult = 500;
pub const CUDA_ERROR_NOT_READY: CUresult = 600;
pub const CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: CUresult = 900;
pub const CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: CUresult = 901;
pub const CUDA_ERROR_STREAM_CAPTURE_ISOLATION: CUresult = 905;
pub const CUDA_ERROR_UNKNOWN: CUresult = 999;

pub const CU_STREAM_DEFAULT: c_uint = 0;
pub const CU_EVENT_DEFAULT: c_uint = 0;
pub const CU_EVENT_RECORD_EXTERNAL: c_uint = 1;
pub const CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: CUstreamCaptureMode = 1;
pub const CU_STREAM_CAPTURE_STATUS_NONE: CUstreamCaptureStatus = 0;
pub const CU_MEMORYTYPE_HOST: CUmemorytype = 1;
pub const CU_LIMIT_PERSISTING_L2_CACHE_SIZE: CUlimit = 6;

pub const CU_POINTER_ATTRIBUTE_MEMORY_TYPE: CUpointer_attribute = 2;
pub const CU_POINTER_ATTRIBUTE_DEVICE_POINTER: CUpointer_attribute = 3;
pub const CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: CUpointer_attribute = 9;

pub const CU_DEVICE_ATTRIBUTE_CLOCK_RATE: CUdevice_attribute = 13;
pub const CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: CUdevice_attribute = 16;
pub const CU_DEVICE_ATTRIBUTE_INTEGRATED: CUdevice_attribute = 18;
pub const CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: CUdevice_attribute = 36;
pub const CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: CUdevice_attribute = 37;
pub const CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: CUdevice_attribute = 38;
pub const CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: CUdevice_attribute = 39;
pub const CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: CUdevice_attribute = 75;
pub const CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: CUdevice_attribute = 76;
pub const CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: CUdevice_attribute = 81;
pub const CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: CUdevice_attribute = 82;
pub const CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES: CUdevice_attribute = 100;
