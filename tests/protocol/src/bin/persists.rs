//! A launch whose benchmark asks the L2 to keep lines: behind a flush those would still be there.

#![expect(unsafe_code, reason = "sets a limit of the context")]

use cust::error::{CudaError, CudaResult};
use cust::launch;
use cust::module::Module;
use cust::stream::Stream;
use cust::sys::{self, CUlimit, CUresult};
use gpubench::gpu_bench;

const PTX: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }";

/// Allows so many bytes to be kept.
fn keep(bytes: usize) -> CudaResult<Module> {
    // SAFETY: sets a limit of the current context.
    match unsafe { sys::cuCtxSetLimit(CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE, bytes) } {
        CUresult::CUDA_SUCCESS => Module::from_ptx(PTX, &[]),
        _ => Err(CudaError::InvalidValue),
    }
}

#[gpu_bench(args(bytes = [0, 1 << 20]), setup = |bytes| keep(bytes), cold)]
fn persists(module: &Module, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernel takes nothing.
    unsafe { launch!(module.nothing<<<1, 32, 0, stream>>>()) }
}

gpubench::main!();
