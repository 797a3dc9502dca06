//! Every function of the driver that two bindings declare, and those for OpenGL and EGL that the CUDA runtime
//! looks up in every program. `tests/table.rs` checks that none is missing, and the types. Each line defines
//! a C function of that name, which the linker finds before libcuda's: see `forward`. A driver that lacks one
//! returns `CUDA_ERROR_NOT_FOUND`.

#![expect(unsafe_code, reason = "C functions, exported under their C names and calling the driver's")]
#![expect(non_snake_case, reason = "the names are CUDA's")]
#![expect(unused_unsafe, reason = "watchers that follow no pointer are safe")]

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};
use std::ptr::null_mut;

use crate::calls::DriverCall::{Destroyed, Loaded, Recorded, SwitchedContext, Waited};
use crate::calls::Enqueued::{Copy, CopyOut, HostFunction, Memset};
use crate::calls::{add_enqueued, add_if_successful, stream_used};
use crate::forward::{check_found_table, forwarders, replace_found_function};
use crate::graphs::{
    destroy_executable, forget_clone, launch_graph, launch_graph_ptsz, list_executable,
    list_executable_with_params,
};
use crate::launches::{
    add_blocking_work, add_configured_kernel_launch, add_context_switch, add_kernel_launch, add_stream_wait,
    add_wait_or_poll,
};
use crate::library::Function;
use crate::memory::MemoryKind::{Device, Managed, Pinned};
use crate::memory::{
    add_allocation_at, add_async_allocation, add_pitched_allocation, add_variable, keep_unlisted_call,
    remove_allocation, remove_async_allocation,
};
use crate::modules::{copy_kernel_name, keep_kernel_name, list_module, unlist_module};
use crate::result::{answer_name, answer_text};
use crate::types::*;

/// Any pointer or handle, for arguments that gpubench does not read.
pub type Ptr = *mut c_void;
/// Any integer or enumeration of 32 bits, for arguments that gpubench does not read.
pub type Int = c_uint;
/// Any integer of 64 bits, such as a size, an address or a numeric handle, for arguments that gpubench does
/// not read.
pub type Long = u64;

/// Returns the C names and addresses of all forwarders, always in the same order.
pub(crate) fn forwarders() -> impl Iterator<Item = &'static (&'static str, Function)> {
    [FUNCTIONS, STREAM_FUNCTIONS, BLOCKING_FUNCTIONS].into_iter().flatten().copied().flatten()
}

forwarders! {
    FUNCTIONS []:
    cuGetErrorString(CUresult, *mut *const c_char) => answer_text;
    cuGetErrorName(CUresult, *mut *const c_char) => answer_name;
    cuInit cuCtxSetFlags (c_uint);
    cuDeviceGet(*mut CUdevice, c_int);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGetName(*mut c_char, c_int, CUdevice);
    cuDeviceGetUuid_v2(*mut CUuuid, CUdevice);
    cuDeviceTotalMem_v2(*mut usize, CUdevice);
    cuDeviceGetAttribute(*mut c_int, CUdevice_attribute, CUdevice);
    cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
    cuCtxCreate_v2(*mut CUcontext, c_uint, CUdevice) | add_if_successful(SwitchedContext);
    cuCtxDestroy_v2(CUcontext);
    cuCtxPushCurrent_v2 cuCtxSetCurrent (ctx: CUcontext) | add_context_switch(ctx);
    cuCtxPopCurrent_v2 cuCtxGetCurrent (*mut CUcontext);
    cuCtxGetDevice(*mut CUdevice);
    cuCtxSynchronize() | add_if_successful(Waited);
    cuCtxSetLimit(CUlimit usize);
    cuCtxGetLimit(*mut usize, CUlimit);
    cuCtxResetPersistingL2Cache cuProfilerStart cuProfilerStop ();
    cuModuleLoadData(*mut CUmodule, *const c_void) | list_module;
    cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, c_uint, Ptr, *mut *mut c_void) | list_module(module, image);
    cuModuleUnload(CUmodule) | unlist_module;
    cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char) | keep_kernel_name;
    cuModuleGetGlobal_v2(dptr: *mut CUdeviceptr, bytes: *mut usize, hmod: CUmodule, *const c_char) | add_variable(dptr, bytes, hmod);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(dptr: *mut CUdeviceptr, bytesize: usize) | add_allocation_at(dptr, bytesize, Device);
    cuMemAllocPitch_v2(dptr: *mut CUdeviceptr, pPitch: *mut usize, WidthInBytes: usize, Height: usize, c_uint) | add_pitched_allocation(dptr, pPitch, WidthInBytes, Height);
    cuMemFree_v2(CUdeviceptr) | remove_allocation;
    cuMemAllocHost_v2(pp: *mut *mut c_void, bytesize: usize) | add_allocation_at(pp, bytesize, Pinned);
    cuMemFreeHost(p: *mut c_void) | remove_allocation(p as u64);
    cuMemHostAlloc(pp: *mut *mut c_void, bytesize: usize, c_uint) | add_allocation_at(pp, bytesize, Pinned);
    cuMemAllocManaged(dptr: *mut CUdeviceptr, bytesize: usize, c_uint) | add_allocation_at(dptr, bytesize, Managed);
    cuPointerGetAttribute(*mut c_void, CUpointer_attribute, CUdeviceptr);
    cuStreamCreate(*mut CUstream, c_uint);
    cuStreamCreateWithPriority(*mut CUstream, c_uint, c_int);
    cuStreamDestroy_v2(hStream: CUstream) | add_if_successful(|_| Destroyed(hStream as u64));
    cuEventCreate(*mut CUevent, c_uint);
    cuEventQuery cuEventSynchronize (hEvent: CUevent) | add_wait_or_poll(hEvent.cast());
    cuEventDestroy_v2(CUevent);
    cuEventElapsedTime(pMilliseconds: *mut f32, hStart: CUevent, hEnd: CUevent);
    cuGraphMemcpyNodeGetParams(CUgraphNode, *mut CUDA_MEMCPY3D);
    cuGraphNodeGetType(CUgraphNode, *mut CUgraphNodeType);
    cuGraphChildGraphNodeGetGraph(CUgraphNode, *mut CUgraph);
    cuGraphGetNodes(CUgraph, *mut CUgraphNode, *mut usize);
    cuGraphInstantiateWithFlags(phGraphExec: *mut CUgraphExec, hGraph: CUgraph, flags: c_ulonglong) | list_executable(phGraphExec, hGraph, flags);
    cuGraphInstantiate_v2(phGraphExec: *mut CUgraphExec, hGraph: CUgraph, Ptr, Ptr, Long) | list_executable(phGraphExec, hGraph, 0);
    cuGraphLaunch(CUgraphExec CUstream) => launch_graph;
    cuGraphLaunch_ptsz(CUgraphExec CUstream) => launch_graph_ptsz;
    cuGraphExecDestroy(CUgraphExec) => destroy_executable;
    cuGraphDestroy(CUgraph);
    cuGetProcAddress(symbol: *const c_char, pfn: *mut *mut c_void, c_int, Long) | replace_found_function(symbol, pfn, forwarders());
    cuGetExportTable(*mut *const c_void, pExportTableId: *const CUuuid) | check_found_table(pExportTableId);
    cuGetProcAddress_v2(symbol: *const c_char, pfn: *mut *mut c_void, c_int, Long, Ptr) | replace_found_function(symbol, pfn, forwarders());
    cuKernelGetFunction(*mut CUfunction, CUkernel) | copy_kernel_name;
    cuLaunchHostFunc_v2(hStream: CUstream, Ptr, Ptr, c_uint) | add_enqueued(hStream, HostFunction);
    cuLibraryGetKernel(pKernel: *mut CUkernel, library: CUlibrary, name: *const c_char) | keep_kernel_name(pKernel.cast(), library.cast(), name);
    cuLibraryUnload(library: CUlibrary) | unlist_module(library.cast());
    cuMemcpy3DWithAttributesAsync(Ptr, c_ulonglong, hStream: CUstream) | add_enqueued(hStream, CopyOut(0));
    cuMemcpyWithAttributesAsync(CUdeviceptr, CUdeviceptr, size: usize, Ptr, hStream: CUstream) | add_enqueued(hStream, CopyOut(size as u64));

    // Functions that gpubench neither calls nor reads arguments of.
    cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset_v2 cuCtxSetCacheConfig cuCtxSetSharedMemConfig
    cuDeviceGraphMemTrim cuLogicalEndpointDestroy
        (Int);
    cuIpcCloseMemHandle cuMemRelease cuTexObjectDestroy cuSurfObjectDestroy (Long);
    cuDriverGetVersion cuCtxGetFlags cuCtxGetCacheConfig cuCtxGetSharedMemConfig cuCtxDetach cuLinkDestroy
    cuMemHostUnregister cuArrayDestroy cuMipmappedArrayDestroy cuMemPoolDestroy
    cuThreadExchangeStreamCaptureMode cuDestroyExternalMemory cuDestroyExternalSemaphore cuLaunch
    cuGraphDestroyNode cuTexRefCreate cuTexRefDestroy cuCtxDisablePeerAccess cuGraphicsUnregisterResource
    cuCoredumpDeregisterCompleteCallback cuCoredumpDeregisterStartCallback cuFuncLoad cuGreenCtxDestroy
    cuLogsUnregisterCallback cuModuleGetLoadingMode cuStreamEndCaptureToCig
        (Ptr);
    cuFlushGPUDirectRDMAWrites cuDevicePrimaryCtxSetFlags_v2 cuLogicalEndpointAddDevice
    cuLogicalEndpointIdRelease cuGLSetBufferObjectMapFlags
        (Int Int);
    cuDeviceSetMemPool cuDeviceUnregisterAsyncNotification cuLogicalEndpointCreate (Int Ptr);
    cuMulticastAddDevice(Long Int);
    cuMemAddressFree cuMemUnmap (Long Long);
    cuIpcOpenEventHandle(Ptr CUipcEventHandle);
    cuDeviceGetUuid cuDeviceGetMemPool cuDeviceGetDefaultMemPool cuDeviceGetProperties cuCtxGetExecAffinity
    cuCtxAttach cuFuncSetCacheConfig cuFuncSetSharedMemConfig cuFuncSetSharedSize cuParamSetSize cuGraphCreate
    cuUserObjectRetain cuUserObjectRelease cuTexRefSetFilterMode cuTexRefSetMipmapFilterMode
    cuTexRefSetMaxAnisotropy cuTexRefSetFlags cuCtxEnablePeerAccess cuGraphicsResourceSetMapFlags_v2
    cuDeviceGetCliqueCount cuDeviceGetFabricClusterUuid cuLogicalEndpointIdReserve cuLogsCurrent
        (Ptr Int);
    cuIpcGetMemHandle cuMemGetAllocationPropertiesFromHandle cuMemPoolTrimTo cuMemPoolExportPointer
    cuTexObjectGetResourceDesc cuTexObjectGetTextureDesc cuTexObjectGetResourceViewDesc
    cuSurfObjectGetResourceDesc
        (Ptr Long);
    cuCtxGetApiVersion cuCtxGetStreamPriorityRange cuMemHostGetFlags cuDeviceGetByPCIBusId cuIpcGetEventHandle
    cuArrayGetDescriptor_v2 cuArrayGetSparseProperties cuMipmappedArrayGetSparseProperties
    cuArray3DGetDescriptor_v2 cuMemRetainAllocationHandle cuMemPoolCreate cuImportExternalSemaphore
    cuFuncGetModule cuGraphKernelNodeGetParams cuGraphKernelNodeSetParams cuGraphMemcpyNodeSetParams
    cuGraphMemsetNodeGetParams cuGraphMemsetNodeSetParams cuGraphHostNodeGetParams cuGraphHostNodeSetParams
    cuGraphEventRecordNodeGetEvent cuGraphEventRecordNodeSetEvent
    cuGraphEventWaitNodeGetEvent cuGraphEventWaitNodeSetEvent cuGraphExternalSemaphoresSignalNodeGetParams
    cuGraphExternalSemaphoresSignalNodeSetParams cuGraphExternalSemaphoresWaitNodeGetParams
    cuGraphExternalSemaphoresWaitNodeSetParams cuGraphMemAllocNodeGetParams cuGraphMemFreeNodeGetParams
    cuGraphClone cuGraphKernelNodeCopyAttributes cuTexRefSetBorderColor cuTexRefGetAddress_v2 cuTexRefGetArray
    cuTexRefGetMipmappedArray cuTexRefGetFilterMode cuTexRefGetMipmapFilterMode cuTexRefGetMipmapLevelBias
    cuTexRefGetMaxAnisotropy cuTexRefGetBorderColor cuTexRefGetFlags cuSurfRefGetArray cuSurfObjectCreate
    cuGraphicsResourceGetMappedMipmappedArray cuCtxFromGreenCtx cuCtxGetDevice_v2 cuCtxGetId cuCtxRecordEvent
    cuCtxWaitEvent cuFuncGetName cuFuncGetParamCount cuFuncIsLoaded cuGraphBatchMemOpNodeGetParams
    cuGraphBatchMemOpNodeSetParams cuGraphExecGetFlags cuGraphExecGetId cuGraphGetId
    cuGraphKernelNodeGetParams_v2 cuGraphKernelNodeSetParams_v2 cuGraphNodeGetContainingGraph
    cuGraphNodeGetLocalId cuGraphNodeGetParams cuGraphNodeGetToolsId cuGraphNodeSetParams
    cuGraphNodeSetParams_v2 cuGreenCtxGetId cuGreenCtxRecordEvent cuGreenCtxWaitEvent cuKernelGetLibrary
    cuKernelGetName cuKernelGetParamCount cuLibraryGetKernelCount cuLibraryGetModule cuModuleGetFunctionCount
    cuStreamBeginCaptureToCig cuStreamGetGreenCtx cuTensorMapReplaceAddress
        (Ptr Ptr);
    cuTexRefSetMipmapLevelBias(Ptr f32);
    cuDeviceGetGraphMemAttribute cuDeviceSetGraphMemAttribute cuLogicalEndpointQuery (Int Int Ptr);
    cuDeviceGetDevResource(Int Ptr Int);
    cuDevicePrimaryCtxGetState cuCoredumpGetAttribute cuCoredumpGetAttributeGlobal cuCoredumpSetAttribute
    cuCoredumpSetAttributeGlobal
        (Int Ptr Ptr);
    cuDeviceGetNvSciSyncAttributes cuDeviceGetExecAffinitySupport cuDeviceGetPCIBusId cuFuncSetAttribute
    cuLaunchCooperativeKernelMultiDevice cuParamSeti cuLaunchGrid cuTexRefSetFormat cuTexRefSetAddressMode
    cuDeviceCanAccessPeer cuKernelSetCacheConfig cuLogicalEndpointExport
        (Ptr Int Int);
    cuPointerSetAttribute(Ptr Int Long);
    cuMemPoolSetAttribute cuMemPoolGetAttribute cuFuncGetAttribute cuParamSetTexRef
    cuGraphKernelNodeGetAttribute cuGraphKernelNodeSetAttribute cuLibraryEnumerateKernels cuMemSetMemPool
    cuModuleEnumerateFunctions
        (Ptr Int Ptr);
    cuParamSetf(Ptr Int f32);
    cuDeviceGetLuid cuDeviceComputeCapability cuMemHostGetDevicePointer_v2 cuArrayGetPlane
    cuMipmappedArrayGetLevel cuMemImportFromShareableHandle cuMemGetAllocationGranularity cuGraphDebugDotPrint
    cuGraphReleaseUserObject cuTexRefSetArray cuTexRefSetMipmappedArray cuTexRefGetAddressMode cuSurfRefSetArray
    cuProfilerInitialize cuArrayGetMemoryRequirements cuCtxGetDevResource cuDevResourceGenerateDesc
    cuDeviceGetCliqueInfo cuGreenCtxGetDevResource cuLogsDumpToFile cuMemGetDefaultMemPool
    cuMemGetMemPool cuMipmappedArrayGetMemoryRequirements cuMulticastGetGranularity cuStreamGetDevResource
        (Ptr Ptr Int);
    cuMemGetAddressRange_v2 cuMemGetAccess cuMemPoolSetAccess (Ptr Ptr Long);
    cuModuleGetTexRef cuModuleGetSurfRef cuMemPoolGetAccess cuExternalMemoryGetMappedBuffer
    cuExternalMemoryGetMappedMipmappedArray cuGraphNodeFindInClone cuGraphGetRootNodes
    cuGraphNodeGetDependencies cuGraphNodeGetDependentNodes cuTexRefGetFormat cuTexRefGetMipmapLevelClamp
    cuGraphicsResourceGetMappedPointer_v2 cuCoredumpRegisterCompleteCallback cuCoredumpRegisterStartCallback
    cuEventElapsedTime_v2 cuGraphNodeGetEnabled cuLibraryGetUnifiedFunction
    cuLogicalEndpointGetLimits cuLogsRegisterCallback cuOccupancyMaxActiveClusters
    cuOccupancyMaxPotentialClusterSize
        (Ptr Ptr Ptr);
    cuTexRefSetMipmapLevelClamp(Ptr f32 f32);
    cuLogicalEndpointUnbind(Int Int Long Long);
    cuKernelSetAttribute(Int Int Ptr Int);
    cuPointerGetAttributes(Int Ptr Ptr Long);
    cuLinkCreate_v2 cuDeviceRegisterAsyncNotification (Int Ptr Ptr Ptr);
    cuMulticastUnbind(Long Int Long Long);
    cuMemAdvise_v2(Long Long Int CUmemLocation);
    cuMemAdvise(Long Long Int Int);
    cuMemSetAccess(Long Long Ptr Long);
    cuDeviceGetTexture1DLinearMaxWidth cuFuncSetBlockShape cuDeviceGetP2PAttribute (Ptr Int Int Int);
    cuLaunchGridAsync(Ptr Int Int Ptr);
    cuParamSetv cuKernelGetAttribute (Ptr Int Ptr Int);
    cuMemExportToShareableHandle(Ptr Long Int Long);
    cuMemCreate(Ptr Long Ptr Long);
    cuFuncGetParamInfo cuKernelGetParamInfo (Ptr Long Ptr Ptr);
    cuGraphRetainUserObject cuOccupancyAvailableDynamicSMemPerBlock cuGraphicsSubResourceGetMappedArray
    cuDeviceGetHostAtomicCapabilities cuGreenCtxCreate cuGreenCtxStreamCreate
        (Ptr Ptr Int Int);
    cuMemPoolExportToShareableHandle cuMemPoolImportFromShareableHandle
    cuOccupancyMaxActiveBlocksPerMultiprocessor
        (Ptr Ptr Int Long);
    cuTexRefSetAddress_v2 cuTexRefSetAddress2D_v3 (Ptr Ptr Long Long);
    cuLogsDumpToMemory(Ptr Ptr Ptr Int);
    cuGraphAddEmptyNode cuGraphAddDependencies cuGraphRemoveDependencies (Ptr Ptr Ptr Long);
    cuGraphGetEdges cuTexObjectCreate cuGraphNodeGetDependencies_v2 cuGraphNodeGetDependentNodes_v2 cuLibraryGetGlobal
    cuLibraryGetManaged
        (Ptr Ptr Ptr Ptr);
    cuMulticastBindAddr(Long Long Long Long Long);
    cuMemGetLocationInfo(Long Long Long Long Ptr);
    cuStreamBeginRecaptureToGraph(Ptr Int Ptr Ptr Ptr);
    cuMemRangeGetAttribute(Ptr Long Int Long Long);
    cuMemGetHandleForAddressRange(Ptr Long Long Int Long);
    cuMemAddressReserve(Ptr Long Long Long Long);
    cuDeviceGetP2PAtomicCapabilities(Ptr Ptr Int Int Int);
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(Ptr Ptr Int Long Int);
    cuUserObjectCreate cuGraphConditionalHandleCreate (Ptr Ptr Ptr Int Int);
    cuGraphAddMemFreeNode(Ptr Ptr Ptr Long Long);
    cuGraphAddKernelNode cuGraphAddHostNode cuGraphAddChildGraphNode cuGraphAddEventRecordNode
    cuGraphAddEventWaitNode cuGraphAddExternalSemaphoresSignalNode cuGraphAddExternalSemaphoresWaitNode
    cuGraphAddBatchMemOpNode cuGraphAddKernelNode_v2 cuGraphAddNode
        (Ptr Ptr Ptr Long Ptr);
    cuGraphAddDependencies_v2 cuGraphRemoveDependencies_v2 (Ptr Ptr Ptr Ptr Long);
    cuGraphGetEdges_v2(Ptr Ptr Ptr Ptr Ptr);
    cuLogicalEndpointBindAddr(Int Int Long Ptr Long Long);
    cuMulticastBindAddr_v2(Long Int Long Long Long Long);
    cuMulticastBindMem(Long Long Long Long Long Long);
    cuLinkAddFile_v2(Ptr Int Ptr Int Ptr Ptr);
    cuDevSmResourceSplit(Ptr Int Ptr Ptr Int Ptr);
    cuMemRangeGetAttributes(Ptr Ptr Ptr Long Long Long);
    cuGraphAddMemcpyNode cuGraphAddMemsetNode (Ptr Ptr Ptr Long Ptr Ptr);
    cuDevSmResourceSplitByCount(Ptr Ptr Ptr Ptr Int Int);
    cuOccupancyMaxPotentialBlockSize(Ptr Ptr Ptr Ptr Long Int);
    cuGraphAddNode_v2 cuGraphAddNode_v3 (Ptr Ptr Ptr Ptr Long Ptr);
    cuLogicalEndpointBindMem(Int Int Long Long Long Long Long);
    cuMulticastBindMem_v2(Long Int Long Long Long Long Long);
    cuOccupancyMaxPotentialBlockSizeWithFlags(Ptr Ptr Ptr Ptr Long Int Int);
    cuLinkAddData_v2(Ptr Int Ptr Long Ptr Int Ptr Ptr);
    cuTensorMapEncodeTiled(Ptr Int Int Ptr Ptr Ptr Ptr Ptr Int Int Int Int);
    cuTensorMapEncodeIm2col(Ptr Int Int Ptr Ptr Ptr Ptr Ptr Int Int Ptr Int Int Int Int);
    cuTensorMapEncodeIm2colWide(Ptr Int Int Ptr Ptr Ptr Int Int Int Int Ptr Int Int Int Int Int);
    cuModuleLoad cuModuleLoadFatBinary (Ptr Ptr) | add_if_successful(Loaded);
    cuLinkComplete(Ptr Ptr Ptr) | add_if_successful(Loaded);
    cuLibraryLoadData cuLibraryLoadFromFile (Ptr Ptr Ptr Ptr Int Ptr Ptr Int) | add_if_successful(Loaded);
    cuCtxCreate_v4(Ptr Ptr Int Int) | add_if_successful(SwitchedContext);
    cuCtxCreate_v3(Ptr Ptr Int Int Int) | add_if_successful(SwitchedContext);
    cuArrayCreate_v2 cuArray3DCreate_v2 cuImportExternalMemory cuMulticastCreate
        (Ptr Ptr) | keep_unlisted_call();
    cuLogicalEndpointImport(Int Ptr Int) | keep_unlisted_call();
    cuIpcOpenMemHandle_v2(Ptr CUipcMemHandle Int) | keep_unlisted_call();
    cuMemHostRegister_v2(Ptr Long Int) | keep_unlisted_call();
    cuMipmappedArrayCreate(Ptr Ptr Int) | keep_unlisted_call();
    cuMemPoolImportPointer(Ptr Ptr Ptr) | keep_unlisted_call();
    cuGraphicsResourceGetMappedEglFrame(Ptr Ptr Int Int) | keep_unlisted_call();
    cuEGLStreamConsumerAcquireFrame(Ptr Ptr Ptr Int) | keep_unlisted_call();
    cuMemMap(Long Long Long Long Long) | keep_unlisted_call();
    cuGraphAddMemAllocNode(Ptr Ptr Ptr Long Ptr) | keep_unlisted_call();
    cuCtxSynchronize_v2(Ptr) | add_if_successful(Waited);
    cuGraphNodeSetEnabled(hGraphExec: CUgraphExec, Ptr, Int) | forget_clone(hGraphExec);
    cuGraphExecKernelNodeSetParams cuGraphExecHostNodeSetParams cuGraphExecChildGraphNodeSetParams
    cuGraphExecEventRecordNodeSetEvent cuGraphExecEventWaitNodeSetEvent
    cuGraphExecExternalSemaphoresSignalNodeSetParams cuGraphExecExternalSemaphoresWaitNodeSetParams
    cuGraphExecBatchMemOpNodeSetParams cuGraphExecKernelNodeSetParams_v2 cuGraphExecNodeSetParams cuGraphExecUpdate_v2
        (hGraphExec: CUgraphExec, Ptr, Ptr) | forget_clone(hGraphExec);
    cuGraphExecMemcpyNodeSetParams cuGraphExecMemsetNodeSetParams cuGraphExecUpdate
        (hGraphExec: CUgraphExec, Ptr, Ptr, Ptr) | forget_clone(hGraphExec);
}

forwarders! {
    STREAM_FUNCTIONS ["_ptsz"]:
    cuMemcpyAsync(CUdeviceptr, CUdeviceptr, ByteCount: usize, hStream: CUstream) | add_enqueued(hStream, CopyOut(ByteCount as u64));
    cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, ByteCount: usize, hStream: CUstream) | add_enqueued(hStream, Copy(ByteCount as u64));
    cuMemcpyHtoDAsync_v2(CUdeviceptr, *const c_void, ByteCount: usize, hStream: CUstream) | add_enqueued(hStream, Copy(ByteCount as u64));
    cuMemcpyDtoHAsync_v2(Ptr, CUdeviceptr, ByteCount: usize, hStream: CUstream) | add_enqueued(hStream, CopyOut(ByteCount as u64));
    cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, ByteCount: usize, hStream: CUstream) | add_enqueued(hStream, Copy(ByteCount as u64));
    cuMemcpyHtoAAsync_v2(Ptr, usize, Ptr, ByteCount: usize, hStream: CUstream) | add_enqueued(hStream, CopyOut(ByteCount as u64));
    cuMemcpyAtoHAsync_v2(Ptr, Ptr, usize, ByteCount: usize, hStream: CUstream) | add_enqueued(hStream, CopyOut(ByteCount as u64));
    cuMemcpy2DAsync_v2 cuMemcpy3DPeerAsync cuMemcpy3DAsync_v2 (Ptr, hStream: CUstream) | add_enqueued(hStream, CopyOut(0));
    cuMemsetD8Async(CUdeviceptr, c_uchar, N: usize, hStream: CUstream) | add_enqueued(hStream, Memset(N as u64));
    cuMemsetD16Async(CUdeviceptr, c_ushort, N: usize, hStream: CUstream) | add_enqueued(hStream, Memset((2 * N) as u64));
    cuMemsetD32Async(CUdeviceptr, c_uint, N: usize, hStream: CUstream) | add_enqueued(hStream, Memset((4 * N) as u64));
    cuMemsetD2D8Async(CUdeviceptr, usize, c_uchar, Width: usize, Height: usize, hStream: CUstream) | add_enqueued(hStream, Memset((Width * Height) as u64));
    cuMemsetD2D16Async(CUdeviceptr, usize, c_ushort, Width: usize, Height: usize, hStream: CUstream) | add_enqueued(hStream, Memset((2 * Width * Height) as u64));
    cuMemsetD2D32Async(CUdeviceptr, usize, c_uint, Width: usize, Height: usize, hStream: CUstream) | add_enqueued(hStream, Memset((4 * Width * Height) as u64));
    cuMemFreeAsync(dptr: CUdeviceptr, hStream: CUstream) | remove_async_allocation(dptr, hStream);
    cuMemAllocAsync(*mut CUdeviceptr, usize, CUstream) | add_async_allocation;
    cuMemAllocFromPoolAsync(dptr: *mut CUdeviceptr, bytesize: usize, Ptr, hStream: CUstream) | add_async_allocation(dptr, bytesize, hStream);
    cuStreamWaitEvent(hStream: CUstream, hEvent: CUevent, c_uint) | add_stream_wait(hStream, hEvent);
    cuStreamAddCallback(hStream: CUstream, Ptr, Ptr, c_uint) | add_enqueued(hStream, HostFunction);
    cuStreamBeginCapture_v2(CUstream CUstreamCaptureMode);
    cuStreamEndCapture(CUstream, *mut CUgraph);
    cuStreamIsCapturing(CUstream, *mut CUstreamCaptureStatus);
    cuStreamGetCaptureInfo_v2(CUstream, *mut CUstreamCaptureStatus, Ptr, *mut CUgraph, *mut *const CUgraphNode, *mut usize);
    cuStreamQuery cuStreamSynchronize (hStream: CUstream) | add_wait_or_poll(hStream.cast());
    cuEventRecord(hEvent: CUevent, hStream: CUstream) | add_if_successful(|_| Recorded { event: hEvent as u64, stream: stream_used(hStream) as u64 });
    cuEventRecordWithFlags(hEvent: CUevent, hStream: CUstream, c_uint) | add_if_successful(|_| Recorded { event: hEvent as u64, stream: stream_used(hStream) as u64 });
    cuLaunchKernel(f: CUfunction, gridDimX: c_uint, gridDimY: c_uint, gridDimZ: c_uint, blockDimX: c_uint, blockDimY: c_uint, blockDimZ: c_uint, sharedMemBytes: c_uint, hStream: CUstream, *mut *mut c_void, *mut *mut c_void) | add_kernel_launch(f, [gridDimX, gridDimY, gridDimZ], [blockDimX, blockDimY, blockDimZ], sharedMemBytes, hStream);
    cuLaunchCooperativeKernel(f: CUfunction, gridDimX: c_uint, gridDimY: c_uint, gridDimZ: c_uint, blockDimX: c_uint, blockDimY: c_uint, blockDimZ: c_uint, sharedMemBytes: c_uint, hStream: CUstream, *mut *mut c_void) | add_kernel_launch(f, [gridDimX, gridDimY, gridDimZ], [blockDimX, blockDimY, blockDimZ], sharedMemBytes, hStream);
    cuLaunchHostFunc(hStream: CUstream, CUhostFn, *mut c_void) | add_enqueued(hStream, HostFunction);
    cuGraphUpload(CUgraphExec CUstream);
    cuLaunchKernelEx(config: *const CUlaunchConfig, f: CUfunction, Ptr, Ptr) | add_configured_kernel_launch(config, f);
    cuMemBatchDecompressAsync(Ptr, usize, c_uint, Ptr, stream: CUstream) | add_enqueued(stream, CopyOut(0));
    cuMemcpy3DBatchAsync(usize, Ptr, Ptr, c_ulonglong, hStream: CUstream) | add_enqueued(hStream, CopyOut(0));
    cuMemcpy3DBatchAsync_v2(usize, Ptr, c_ulonglong, hStream: CUstream) | add_enqueued(hStream, CopyOut(0));
    cuMemcpyBatchAsync(Ptr, Ptr, Ptr, usize, Ptr, Ptr, usize, Ptr, hStream: CUstream) | add_enqueued(hStream, CopyOut(0));
    cuMemcpyBatchAsync_v2(Ptr, Ptr, Ptr, usize, Ptr, Ptr, usize, hStream: CUstream) | add_enqueued(hStream, CopyOut(0));

    // Functions that gpubench neither calls nor reads arguments of.
    cuStreamGetPriority cuStreamGetFlags cuStreamGetCtx cuStreamCopyAttributes cuStreamGetDevice cuStreamGetId
        (Ptr Ptr);
    cuGraphicsUnmapResources(Int Ptr Ptr);
    cuStreamGetAttribute cuStreamSetAttribute (Ptr Int Ptr);
    cuStreamGetCaptureInfo cuStreamGetCtx_v2 (Ptr Ptr Ptr);
    cuMemPrefetchAsync(Long Long Int Ptr);
    cuStreamBatchMemOp cuStreamBatchMemOp_v2 (hStream: CUstream, Int, Ptr, Int) | add_stream_wait(hStream, null_mut());
    cuStreamWaitValue32 cuStreamWaitValue32_v2 (hStream: CUstream, Long, Int, Int) | add_stream_wait(hStream, null_mut());
    cuStreamWriteValue32 cuStreamWriteValue32_v2 (Ptr Long Int Int);
    cuStreamWaitValue64 cuStreamWaitValue64_v2 (hStream: CUstream, Long, Long, Int) | add_stream_wait(hStream, null_mut());
    cuStreamAttachMemAsync cuStreamWriteValue64 cuStreamWriteValue64_v2 (Ptr Long Long Int);
    cuWaitExternalSemaphoresAsync(Ptr, Ptr, Int, hStream: CUstream) | add_stream_wait(hStream, null_mut());
    cuSignalExternalSemaphoresAsync(Ptr Ptr Int Ptr);
    cuStreamUpdateCaptureDependencies(Ptr Ptr Long Int);
    cuMemPrefetchAsync_v2(Long Long CUmemLocation Int Ptr);
    cuMemDiscardBatchAsync(Ptr Ptr Long Long Ptr);
    cuStreamUpdateCaptureDependencies_v2(Ptr Ptr Ptr Long Int);
    cuStreamBeginCaptureToGraph(Ptr Ptr Ptr Ptr Long Int);
    cuStreamGetCaptureInfo_v3(Ptr Ptr Ptr Ptr Ptr Ptr Ptr);
    cuMemDiscardAndPrefetchBatchAsync cuMemPrefetchBatchAsync (Ptr Ptr Long Ptr Ptr Long Long Ptr);
    cuGraphicsMapResources(Int Ptr Ptr) | keep_unlisted_call();
    cuGraphInstantiateWithParams(*mut CUgraphExec, CUgraph, Ptr) | list_executable_with_params;
    cuMemMapArrayAsync(Ptr Int Ptr) | keep_unlisted_call();
    cuGLMapBufferObjectAsync_v2(Ptr Ptr Int Ptr) | keep_unlisted_call();
}

forwarders! {
    BLOCKING_FUNCTIONS ["_ptds"]:
    cuMemcpyHtoD_v2(CUdeviceptr, *const c_void, usize) | add_blocking_work(Copy(0));
    cuMemcpyDtoH_v2(*mut c_void, CUdeviceptr, usize) | add_blocking_work(CopyOut(0));
    cuMemsetD8_v2(CUdeviceptr, c_uchar, N: usize) | add_enqueued(null_mut(), Memset(N as u64));
    cuMemsetD16_v2(CUdeviceptr, c_ushort, N: usize) | add_enqueued(null_mut(), Memset((2 * N) as u64));
    cuMemsetD32_v2(CUdeviceptr, c_uint, N: usize) | add_enqueued(null_mut(), Memset((4 * N) as u64));
    cuMemsetD2D8_v2(CUdeviceptr, usize, c_uchar, Width: usize, Height: usize) | add_enqueued(null_mut(), Memset((Width * Height) as u64));
    cuMemsetD2D16_v2(CUdeviceptr, usize, c_ushort, Width: usize, Height: usize) | add_enqueued(null_mut(), Memset((2 * Width * Height) as u64));
    cuMemsetD2D32_v2(CUdeviceptr, usize, c_uint, Width: usize, Height: usize) | add_enqueued(null_mut(), Memset((4 * Width * Height) as u64));

    // Functions that gpubench neither calls nor reads arguments of.
    cuMemcpy cuMemcpyDtoD_v2 (Long Long Long) | add_blocking_work(Copy(0));
    cuMemcpyAtoD_v2(Long Ptr Long Long) | add_blocking_work(Copy(0));
    cuMemcpyPeer(Long Ptr Long Ptr Long) | add_blocking_work(Copy(0));
    cuMemcpy2D_v2 cuMemcpy2DUnaligned_v2 cuMemcpy3D_v2 cuMemcpy3DPeer (Ptr) | add_blocking_work(CopyOut(0));
    cuMemcpyDtoA_v2(Ptr Long Long Long) | add_blocking_work(CopyOut(0));
    cuMemcpyHtoA_v2(Ptr Long Ptr Long) | add_blocking_work(CopyOut(0));
    cuMemcpyAtoH_v2(Ptr Ptr Long Long) | add_blocking_work(CopyOut(0));
    cuMemcpyAtoA_v2(Ptr Long Ptr Long Long) | add_blocking_work(CopyOut(0));
    cuGLMapBufferObject_v2(Ptr Ptr Int) | keep_unlisted_call();
}
