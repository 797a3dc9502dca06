//! The functions that share memory with OpenGL and EGL and that neither binding declares, by name. The CUDA runtime looks
//! them up in every program. In: nothing. Out: the forwarder of each (see `forward`).

#![expect(unsafe_code, reason = "C functions, exported under their C names and calling the driver's")]
#![expect(missing_docs, non_snake_case, reason = "the names are CUDA's, and so is the documentation")]
#![expect(clippy::missing_safety_doc, reason = "the contracts are CUDA's")]

use std::ffi::{c_uint, c_void};

use crate::forward::forwarders;
use crate::sys::types::*;

forwarders! {
    FUNCTIONS:
    cuEGLStreamConsumerAcquireFrame(conn: *mut *mut c_void, pCudaResource: *mut CUgraphicsResource, pStream: *mut CUstream, timeout: c_uint) | crate::memory::made_unlisted => ();
    cuGLSetBufferObjectMapFlags(buffer: c_uint, Flags: c_uint);
    cuGraphicsResourceGetMappedEglFrame(eglFrame: *mut c_void, resource: CUgraphicsResource, index: c_uint, mipLevel: c_uint) | crate::memory::made_unlisted => ();
}

forwarders! {
    ON_STREAMS "_ptsz":
    cuGLMapBufferObjectAsync_v2(dptr: *mut CUdeviceptr, size: *mut usize, buffer: c_uint, hStream: CUstream) | crate::memory::made_unlisted => ();
}

forwarders! {
    BLOCKING "_ptds":
    cuGLMapBufferObject_v2(dptr: *mut CUdeviceptr, size: *mut usize, buffer: c_uint) | crate::memory::made_unlisted => ();
}
