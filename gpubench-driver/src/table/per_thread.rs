//! The variants of functions for which the NULL stream is the calling thread's own, by name: a program that is compiled
//! with per-thread default streams calls these. In: nothing. Out: the forwarder of each (see `forward`).

#![expect(unsafe_code, reason = "C functions, exported under their C names and calling the driver's")]
#![expect(missing_docs, non_snake_case, reason = "the names are CUDA's, and so is the documentation")]
#![expect(clippy::missing_safety_doc, reason = "the contracts are CUDA's")]

use std::ffi::{c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};

use crate::forward::forwarders;
use crate::launches::per_thread;
use crate::sys::types::*;

forwarders! {
    cuEventRecordWithFlags_ptsz(hEvent: CUevent, hStream: CUstream, flags: c_uint);
    cuEventRecord_ptsz(hEvent: CUevent, hStream: CUstream);
    cuGraphInstantiateWithParams_ptsz(phGraphExec: *mut CUgraphExec, hGraph: CUgraph, instantiateParams: *mut CUDA_GRAPH_INSTANTIATE_PARAMS);
    cuGraphLaunch_ptsz(hGraphExec: CUgraphExec, hStream: CUstream) | crate::launches::graph_launched => (per_thread(hStream));
    cuGraphUpload_ptsz(hGraphExec: CUgraphExec, hStream: CUstream);
    cuGraphicsMapResources_ptsz(count: c_uint, resources: *mut CUgraphicsResource, hStream: CUstream) | crate::memory::made_unlisted => ();
    cuGraphicsUnmapResources_ptsz(count: c_uint, resources: *mut CUgraphicsResource, hStream: CUstream);
    cuLaunchCooperativeKernel_ptsz(f: CUfunction, gridDimX: c_uint, gridDimY: c_uint, gridDimZ: c_uint, blockDimX: c_uint, blockDimY: c_uint, blockDimZ: c_uint, sharedMemBytes: c_uint, hStream: CUstream, kernelParams: *mut *mut c_void) | crate::launches::kernel_launched => (f, [gridDimX, gridDimY, gridDimZ], [blockDimX, blockDimY, blockDimZ], sharedMemBytes, per_thread(hStream));
    cuLaunchHostFunc_ptsz(hStream: CUstream, fn_: CUhostFn, userData: *mut c_void) | crate::launches::called_back => (per_thread(hStream));
    cuLaunchKernelEx_ptsz(config: *const CUlaunchConfig, f: CUfunction, kernelParams: *mut *mut c_void, extra: *mut *mut c_void) | crate::launches::kernel_launched_by_per_thread => (config, f);
    cuLaunchKernel_ptsz(f: CUfunction, gridDimX: c_uint, gridDimY: c_uint, gridDimZ: c_uint, blockDimX: c_uint, blockDimY: c_uint, blockDimZ: c_uint, sharedMemBytes: c_uint, hStream: CUstream, kernelParams: *mut *mut c_void, extra: *mut *mut c_void) | crate::launches::kernel_launched => (f, [gridDimX, gridDimY, gridDimZ], [blockDimX, blockDimY, blockDimZ], sharedMemBytes, per_thread(hStream));
    cuMemAllocAsync_ptsz(dptr: *mut CUdeviceptr, bytesize: usize, hStream: CUstream) | crate::memory::allocated_async => (dptr, bytesize, per_thread(hStream));
    cuMemAllocFromPoolAsync_ptsz(dptr: *mut CUdeviceptr, bytesize: usize, pool: CUmemoryPool, hStream: CUstream) | crate::memory::allocated_async => (dptr, bytesize, per_thread(hStream));
    cuMemBatchDecompressAsync_ptsz(paramsArray: *mut CUmemDecompressParams, count: usize, flags: c_uint, errorIndex: *mut usize, stream: CUstream) | crate::launches::copied_out => (per_thread(stream), 0);
    cuMemDiscardAndPrefetchBatchAsync_ptsz(dptrs: *mut CUdeviceptr, sizes: *mut usize, count: usize, prefetchLocs: *mut CUmemLocation, prefetchLocIdxs: *mut usize, numPrefetchLocs: usize, flags: c_ulonglong, hStream: CUstream);
    cuMemDiscardBatchAsync_ptsz(dptrs: *mut CUdeviceptr, sizes: *mut usize, count: usize, flags: c_ulonglong, hStream: CUstream);
    cuMemFreeAsync_ptsz(dptr: CUdeviceptr, hStream: CUstream) | crate::memory::freed_in_order => (dptr, per_thread(hStream));
    cuMemMapArrayAsync_ptsz(mapInfoList: *mut CUarrayMapInfo, count: c_uint, hStream: CUstream) | crate::memory::made_unlisted => ();
    cuMemPrefetchAsync_ptsz(devPtr: CUdeviceptr, count: usize, dstDevice: CUdevice, hStream: CUstream);
    cuMemPrefetchAsync_v2_ptsz(devPtr: CUdeviceptr, count: usize, location: CUmemLocation, flags: c_uint, hStream: CUstream);
    cuMemPrefetchBatchAsync_ptsz(dptrs: *mut CUdeviceptr, sizes: *mut usize, count: usize, prefetchLocs: *mut CUmemLocation, prefetchLocIdxs: *mut usize, numPrefetchLocs: usize, flags: c_ulonglong, hStream: CUstream);
    cuMemcpy2DAsync_v2_ptsz(pCopy: *const CUDA_MEMCPY2D, hStream: CUstream) | crate::launches::copied_out => (per_thread(hStream), 0);
    cuMemcpy2DUnaligned_v2_ptds(pCopy: *const CUDA_MEMCPY2D) | crate::launches::copied_out_now_per_thread => ();
    cuMemcpy2D_v2_ptds(pCopy: *const CUDA_MEMCPY2D) | crate::launches::copied_out_now_per_thread => ();
    cuMemcpy3DAsync_v2_ptsz(pCopy: *const CUDA_MEMCPY3D, hStream: CUstream) | crate::launches::copied_out => (per_thread(hStream), 0);
    cuMemcpy3DBatchAsync_ptsz(numOps: usize, opList: *mut CUDA_MEMCPY3D_BATCH_OP, failIdx: *mut usize, flags: c_ulonglong, hStream: CUstream) | crate::launches::copied_out => (per_thread(hStream), 0);
    cuMemcpy3DBatchAsync_v2_ptsz(numOps: usize, opList: *mut CUDA_MEMCPY3D_BATCH_OP, flags: c_ulonglong, hStream: CUstream) | crate::launches::copied_out => (per_thread(hStream), 0);
    cuMemcpy3DPeerAsync_ptsz(pCopy: *const CUDA_MEMCPY3D_PEER, hStream: CUstream) | crate::launches::copied_out => (per_thread(hStream), 0);
    cuMemcpy3DPeer_ptds(pCopy: *const CUDA_MEMCPY3D_PEER) | crate::launches::copied_out_now_per_thread => ();
    cuMemcpy3D_v2_ptds(pCopy: *const CUDA_MEMCPY3D) | crate::launches::copied_out_now_per_thread => ();
    cuMemcpyAsync_ptsz(dst: CUdeviceptr, src: CUdeviceptr, ByteCount: usize, hStream: CUstream) | crate::launches::copied_out => (per_thread(hStream), ByteCount);
    cuMemcpyAtoA_v2_ptds(dstArray: CUarray, dstOffset: usize, srcArray: CUarray, srcOffset: usize, ByteCount: usize) | crate::launches::copied_out_now_per_thread => ();
    cuMemcpyAtoD_v2_ptds(dstDevice: CUdeviceptr, srcArray: CUarray, srcOffset: usize, ByteCount: usize) | crate::launches::copied_now_per_thread => ();
    cuMemcpyAtoHAsync_v2_ptsz(dstHost: *mut c_void, srcArray: CUarray, srcOffset: usize, ByteCount: usize, hStream: CUstream) | crate::launches::copied_out => (per_thread(hStream), ByteCount);
    cuMemcpyAtoH_v2_ptds(dstHost: *mut c_void, srcArray: CUarray, srcOffset: usize, ByteCount: usize) | crate::launches::copied_out_now_per_thread => ();
    cuMemcpyBatchAsync_ptsz(dsts: *mut CUdeviceptr, srcs: *mut CUdeviceptr, sizes: *mut usize, count: usize, attrs: *mut CUmemcpyAttributes, attrsIdxs: *mut usize, numAttrs: usize, failIdx: *mut usize, hStream: CUstream) | crate::launches::copied_out => (per_thread(hStream), 0);
    cuMemcpyBatchAsync_v2_ptsz(dsts: *mut CUdeviceptr, srcs: *mut CUdeviceptr, sizes: *mut usize, count: usize, attrs: *mut CUmemcpyAttributes, attrsIdxs: *mut usize, numAttrs: usize, hStream: CUstream) | crate::launches::copied_out => (per_thread(hStream), 0);
    cuMemcpyDtoA_v2_ptds(dstArray: CUarray, dstOffset: usize, srcDevice: CUdeviceptr, ByteCount: usize) | crate::launches::copied_out_now_per_thread => ();
    cuMemcpyDtoDAsync_v2_ptsz(dstDevice: CUdeviceptr, srcDevice: CUdeviceptr, ByteCount: usize, hStream: CUstream) | crate::launches::copied => (per_thread(hStream), ByteCount);
    cuMemcpyDtoD_v2_ptds(dstDevice: CUdeviceptr, srcDevice: CUdeviceptr, ByteCount: usize) | crate::launches::copied_now_per_thread => ();
    cuMemcpyDtoHAsync_v2_ptsz(dstHost: *mut c_void, srcDevice: CUdeviceptr, ByteCount: usize, hStream: CUstream) | crate::launches::copied_out => (per_thread(hStream), ByteCount);
    cuMemcpyDtoH_v2_ptds(dstHost: *mut c_void, srcDevice: CUdeviceptr, ByteCount: usize) | crate::launches::copied_out_now_per_thread => ();
    cuMemcpyHtoAAsync_v2_ptsz(dstArray: CUarray, dstOffset: usize, srcHost: *const c_void, ByteCount: usize, hStream: CUstream) | crate::launches::copied_out => (per_thread(hStream), ByteCount);
    cuMemcpyHtoA_v2_ptds(dstArray: CUarray, dstOffset: usize, srcHost: *const c_void, ByteCount: usize) | crate::launches::copied_out_now_per_thread => ();
    cuMemcpyHtoDAsync_v2_ptsz(dstDevice: CUdeviceptr, srcHost: *const c_void, ByteCount: usize, hStream: CUstream) | crate::launches::copied => (per_thread(hStream), ByteCount);
    cuMemcpyHtoD_v2_ptds(dstDevice: CUdeviceptr, srcHost: *const c_void, ByteCount: usize) | crate::launches::copied_now_per_thread => ();
    cuMemcpyPeerAsync_ptsz(dstDevice: CUdeviceptr, dstContext: CUcontext, srcDevice: CUdeviceptr, srcContext: CUcontext, ByteCount: usize, hStream: CUstream) | crate::launches::copied => (per_thread(hStream), ByteCount);
    cuMemcpyPeer_ptds(dstDevice: CUdeviceptr, dstContext: CUcontext, srcDevice: CUdeviceptr, srcContext: CUcontext, ByteCount: usize) | crate::launches::copied_now_per_thread => ();
    cuMemcpy_ptds(dst: CUdeviceptr, src: CUdeviceptr, ByteCount: usize) | crate::launches::copied_now_per_thread => ();
    cuMemsetD16Async_ptsz(dstDevice: CUdeviceptr, us: c_ushort, N: usize, hStream: CUstream) | crate::launches::set => (per_thread(hStream), 2 * N);
    cuMemsetD16_v2_ptds(dstDevice: CUdeviceptr, us: c_ushort, N: usize) | crate::launches::set_by_default_per_thread => (2 * N);
    cuMemsetD2D16Async_ptsz(dstDevice: CUdeviceptr, dstPitch: usize, us: c_ushort, Width: usize, Height: usize, hStream: CUstream) | crate::launches::set => (per_thread(hStream), 2 * Width * Height);
    cuMemsetD2D16_v2_ptds(dstDevice: CUdeviceptr, dstPitch: usize, us: c_ushort, Width: usize, Height: usize) | crate::launches::set_by_default_per_thread => (2 * Width * Height);
    cuMemsetD2D32Async_ptsz(dstDevice: CUdeviceptr, dstPitch: usize, ui: c_uint, Width: usize, Height: usize, hStream: CUstream) | crate::launches::set => (per_thread(hStream), 4 * Width * Height);
    cuMemsetD2D32_v2_ptds(dstDevice: CUdeviceptr, dstPitch: usize, ui: c_uint, Width: usize, Height: usize) | crate::launches::set_by_default_per_thread => (4 * Width * Height);
    cuMemsetD2D8Async_ptsz(dstDevice: CUdeviceptr, dstPitch: usize, uc: c_uchar, Width: usize, Height: usize, hStream: CUstream) | crate::launches::set => (per_thread(hStream), Width * Height);
    cuMemsetD2D8_v2_ptds(dstDevice: CUdeviceptr, dstPitch: usize, uc: c_uchar, Width: usize, Height: usize) | crate::launches::set_by_default_per_thread => (Width * Height);
    cuMemsetD32Async_ptsz(dstDevice: CUdeviceptr, ui: c_uint, N: usize, hStream: CUstream) | crate::launches::set => (per_thread(hStream), 4 * N);
    cuMemsetD32_v2_ptds(dstDevice: CUdeviceptr, ui: c_uint, N: usize) | crate::launches::set_by_default_per_thread => (4 * N);
    cuMemsetD8Async_ptsz(dstDevice: CUdeviceptr, uc: c_uchar, N: usize, hStream: CUstream) | crate::launches::set => (per_thread(hStream), N);
    cuMemsetD8_v2_ptds(dstDevice: CUdeviceptr, uc: c_uchar, N: usize) | crate::launches::set_by_default_per_thread => (N);
    cuSignalExternalSemaphoresAsync_ptsz(extSemArray: *const CUexternalSemaphore, paramsArray: *const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, numExtSems: c_uint, stream: CUstream);
    cuStreamAddCallback_ptsz(hStream: CUstream, callback: CUstreamCallback, userData: *mut c_void, flags: c_uint) | crate::launches::called_back => (per_thread(hStream));
    cuStreamAttachMemAsync_ptsz(hStream: CUstream, dptr: CUdeviceptr, length: usize, flags: c_uint);
    cuStreamBatchMemOp_ptsz(stream: CUstream, count: c_uint, paramArray: *mut CUstreamBatchMemOpParams, flags: c_uint);
    cuStreamBatchMemOp_v2_ptsz(stream: CUstream, count: c_uint, paramArray: *mut CUstreamBatchMemOpParams, flags: c_uint);
    cuStreamBeginCaptureToGraph_ptsz(hStream: CUstream, hGraph: CUgraph, dependencies: *const CUgraphNode, dependencyData: *const CUgraphEdgeData, numDependencies: usize, mode: CUstreamCaptureMode);
    cuStreamBeginCapture_v2_ptsz(hStream: CUstream, mode: CUstreamCaptureMode);
    cuStreamCopyAttributes_ptsz(dst: CUstream, src: CUstream);
    cuStreamEndCapture_ptsz(hStream: CUstream, phGraph: *mut CUgraph);
    cuStreamGetAttribute_ptsz(hStream: CUstream, attr: CUstreamAttrID, value_out: *mut CUstreamAttrValue);
    cuStreamGetCaptureInfo_ptsz(hStream: CUstream, captureStatus_out: *mut CUstreamCaptureStatus, id_out: *mut cuuint64_t);
    cuStreamGetCaptureInfo_v2_ptsz(hStream: CUstream, captureStatus_out: *mut CUstreamCaptureStatus, id_out: *mut cuuint64_t, graph_out: *mut CUgraph, dependencies_out: *mut *const CUgraphNode, numDependencies_out: *mut usize);
    cuStreamGetCaptureInfo_v3_ptsz(hStream: CUstream, captureStatus_out: *mut CUstreamCaptureStatus, id_out: *mut cuuint64_t, graph_out: *mut CUgraph, dependencies_out: *mut *const CUgraphNode, edgeData_out: *mut *const CUgraphEdgeData, numDependencies_out: *mut usize);
    cuStreamGetCtx_ptsz(hStream: CUstream, pctx: *mut CUcontext);
    cuStreamGetCtx_v2_ptsz(hStream: CUstream, pCtx: *mut CUcontext, pGreenCtx: *mut CUgreenCtx);
    cuStreamGetDevice_ptsz(hStream: CUstream, device: *mut CUdevice);
    cuStreamGetFlags_ptsz(hStream: CUstream, flags: *mut c_uint);
    cuStreamGetId_ptsz(hStream: CUstream, streamId: *mut c_ulonglong);
    cuStreamGetPriority_ptsz(hStream: CUstream, priority: *mut c_int);
    cuStreamIsCapturing_ptsz(hStream: CUstream, captureStatus: *mut CUstreamCaptureStatus);
    cuStreamQuery_ptsz(hStream: CUstream) | crate::launches::waited_for_stream => (per_thread(hStream));
    cuStreamSetAttribute_ptsz(hStream: CUstream, attr: CUstreamAttrID, value: *const CUstreamAttrValue);
    cuStreamSynchronize_ptsz(hStream: CUstream) | crate::launches::waited_for_stream => (per_thread(hStream));
    cuStreamUpdateCaptureDependencies_ptsz(hStream: CUstream, dependencies: *mut CUgraphNode, numDependencies: usize, flags: c_uint);
    cuStreamUpdateCaptureDependencies_v2_ptsz(hStream: CUstream, dependencies: *mut CUgraphNode, dependencyData: *const CUgraphEdgeData, numDependencies: usize, flags: c_uint);
    cuStreamWaitEvent_ptsz(hStream: CUstream, hEvent: CUevent, Flags: c_uint);
    cuStreamWaitValue32_ptsz(stream: CUstream, addr: CUdeviceptr, value: cuuint32_t, flags: c_uint);
    cuStreamWaitValue32_v2_ptsz(stream: CUstream, addr: CUdeviceptr, value: cuuint32_t, flags: c_uint);
    cuStreamWaitValue64_ptsz(stream: CUstream, addr: CUdeviceptr, value: cuuint64_t, flags: c_uint);
    cuStreamWaitValue64_v2_ptsz(stream: CUstream, addr: CUdeviceptr, value: cuuint64_t, flags: c_uint);
    cuStreamWriteValue32_ptsz(stream: CUstream, addr: CUdeviceptr, value: cuuint32_t, flags: c_uint);
    cuStreamWriteValue32_v2_ptsz(stream: CUstream, addr: CUdeviceptr, value: cuuint32_t, flags: c_uint);
    cuStreamWriteValue64_ptsz(stream: CUstream, addr: CUdeviceptr, value: cuuint64_t, flags: c_uint);
    cuStreamWriteValue64_v2_ptsz(stream: CUstream, addr: CUdeviceptr, value: cuuint64_t, flags: c_uint);
    cuWaitExternalSemaphoresAsync_ptsz(extSemArray: *const CUexternalSemaphore, paramsArray: *const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, numExtSems: c_uint, stream: CUstream);
}
