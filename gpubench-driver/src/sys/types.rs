//! The C types of the driver's functions, as CUDA's header `cuda.h` has them. Out: types for `table`, for this crate's own
//! calls and for others that call the driver. Structures that only pass through are opaque. An enumeration is the integer
//! that it is in C: a newer driver may return values that no list here has. `tests/table.rs` compares sizes and numbers with
//! two bindings'.

#![expect(missing_docs, reason = "CUDA's header has the names, and its documentation")]
#![expect(non_camel_case_types, non_snake_case, reason = "the names are CUDA's")]

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

/// Pointers to things that the driver keeps: `Type to Structure`.
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

/// Structures and unions that only pass through.
macro_rules! opaque {
    ($($structure:ident,)*) => {
        $(
            #[repr(C)]
            pub struct $structure {
                _opaque: [u8; 0],
            }
        )*
    };
}

/// Enumerations, all of which are as wide as an unsigned int.
macro_rules! enumerations {
    ($($enumeration:ident,)*) => {
        $(pub type $enumeration = c_uint;)*
    };
}

handles! {
    CUarray to CUarray_st,
    CUasyncCallbackHandle to CUasyncCallbackEntry_st,
    CUcontext to CUctx_st,
    CUcoredumpCallbackHandle to CUcoredumpCallbackEntry_st,
    CUdevResourceDesc to CUdevResourceDesc_st,
    CUevent to CUevent_st,
    CUexternalMemory to CUextMemory_st,
    CUexternalSemaphore to CUextSemaphore_st,
    CUfunction to CUfunc_st,
    CUgraph to CUgraph_st,
    CUgraphExec to CUgraphExec_st,
    CUgraphNode to CUgraphNode_st,
    CUgraphicsResource to CUgraphicsResource_st,
    CUgreenCtx to CUgreenCtx_st,
    CUkernel to CUkern_st,
    CUlibrary to CUlib_st,
    CUlinkState to CUlinkState_st,
    CUlogsCallbackHandle to CUlogsCallbackEntry_st,
    CUmemoryPool to CUmemPoolHandle_st,
    CUmipmappedArray to CUmipmappedArray_st,
    CUmodule to CUmod_st,
    CUstream to CUstream_st,
    CUsurfref to CUsurfref_st,
    CUtexref to CUtexref_st,
    CUuserObject to CUuserObject_st,
}

enumerations! {
    CUaddress_mode,
    CUarray_format,
    CUatomicOperation,
    CUcoredumpSettings,
    CUdevResourceType,
    CUdevice_P2PAttribute,
    CUdevice_attribute,
    CUdriverProcAddressQueryResult,
    CUexecAffinityType,
    CUfilter_mode,
    CUflushGPUDirectRDMAWritesScope,
    CUflushGPUDirectRDMAWritesTarget,
    CUfunc_cache,
    CUfunctionLoadingState,
    CUfunction_attribute,
    CUgraphExecUpdateResult,
    CUgraphMem_attribute,
    CUgraphNodeType,
    CUjitInputType,
    CUjit_option,
    CUkernelNodeAttrID,
    CUlibraryOption,
    CUlimit,
    CUlogicalEndpointIpcHandleType,
    CUmemAccess_flags,
    CUmemAllocationGranularity_flags,
    CUmemAllocationHandleType,
    CUmemAllocationType,
    CUmemPool_attribute,
    CUmemRangeHandleType,
    CUmem_advise,
    CUmem_range_attribute,
    CUmoduleLoadingMode,
    CUmulticastGranularity_flags,
    CUoutput_mode,
    CUpointer_attribute,
    CUresult,
    CUsharedconfig,
    CUstreamAttrID,
    CUstreamCaptureMode,
    CUstreamCaptureStatus,
    CUtensorMapDataType,
    CUtensorMapFloatOOBfill,
    CUtensorMapIm2ColWideMode,
    CUtensorMapInterleave,
    CUtensorMapL2promotion,
    CUtensorMapSwizzle,
}

opaque! {
    CUDA_ARRAY3D_DESCRIPTOR,
    CUDA_ARRAY_DESCRIPTOR,
    CUDA_ARRAY_MEMORY_REQUIREMENTS,
    CUDA_ARRAY_SPARSE_PROPERTIES,
    CUDA_BATCH_MEM_OP_NODE_PARAMS,
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC,
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC,
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC,
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC,
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
    CUDA_EXT_SEM_SIGNAL_NODE_PARAMS,
    CUDA_EXT_SEM_WAIT_NODE_PARAMS,
    CUDA_GRAPH_INSTANTIATE_PARAMS,
    CUDA_HOST_NODE_PARAMS,
    CUDA_KERNEL_NODE_PARAMS,
    CUDA_LAUNCH_PARAMS,
    CUDA_MEMCPY2D,
    CUDA_MEMCPY3D_BATCH_OP,
    CUDA_MEMCPY3D_PEER,
    CUDA_MEMSET_NODE_PARAMS,
    CUDA_MEM_ALLOC_NODE_PARAMS,
    CUDA_RESOURCE_DESC,
    CUDA_RESOURCE_VIEW_DESC,
    CUDA_TEXTURE_DESC,
    CU_DEV_SM_RESOURCE_GROUP_PARAMS,
    CUarrayMapInfo,
    CUcliqueInfo,
    CUctxCreateParams,
    CUdevResource,
    CUdevprop,
    CUexecAffinityParam,
    CUgraphEdgeData,
    CUgraphExecUpdateResultInfo,
    CUgraphNodeParams,
    CUkernelNodeAttrValue,
    CUlogicalEndpointProp,
    CUmemAccessDesc,
    CUmemAllocationProp,
    CUmemDecompressParams,
    CUmemPoolProps,
    CUmemPoolPtrExportData,
    CUmemcpyAttributes,
    CUmulticastObjectProp,
    CUstreamAttrValue,
    CUstreamBatchMemOpParams,
    CUstreamCigCaptureParams,
    CUtensorMap,
    CUlaunchAttribute,
}

pub type CUdevice = c_int;
pub type CUdeviceptr = c_ulonglong;
pub type CUgraphConditionalHandle = cuuint64_t;
pub type CUlogIterator = c_uint;
pub type CUlogicalEndpointId = cuuint32_t;
pub type CUmemGenericAllocationHandle = c_ulonglong;
pub type CUsurfObject = c_ulonglong;
pub type CUtexObject = c_ulonglong;
pub type cuuint32_t = u32;
pub type cuuint64_t = u64;

/// A function of the caller's, or null. Its own arguments are not named here: the driver calls it.
type Callback = Option<unsafe extern "C" fn()>;

pub type CUasyncCallback = Callback;
pub type CUcoredumpStatusCallback = Callback;
pub type CUgraphRecaptureCallback = Callback;
pub type CUhostFn = Callback;
pub type CUlogsCallback = Callback;
pub type CUoccupancyB2DSize = Callback;
pub type CUstreamCallback = Callback;

/// Passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUipcMemHandle {
    pub reserved: [c_char; 64],
}

/// Passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUipcEventHandle {
    pub reserved: [c_char; 64],
}

/// Passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CUmemLocation {
    pub type_: c_uint,
    pub id: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CUuuid {
    pub bytes: [c_uchar; 16],
}

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
    pub attrs: *mut CUlaunchAttribute,
    pub numAttrs: c_uint,
}

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
    pub srcArray: CUarray,
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
    pub dstArray: CUarray,
    pub reserved1: *mut c_void,
    pub dstPitch: usize,
    pub dstHeight: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
    pub Depth: usize,
}

pub type CUmemorytype = c_uint;
