//! Benchmarks of launches without work, of several shapes. The correction in `docs/book/method.md` was chosen by their times.
//! These commands compare them with Nsight Compute:
//!
//! ```sh
//! cargo run --example overhead
//! peers/compare.py --peers ncu target/debug/examples/overhead all
//! ```

#![expect(unsafe_code, reason = "launches kernels")]

use std::error::Error;
use std::ptr;

use cust::error::CudaResult;
use cust::launch;
use cust::memory::DevicePointer;
use cust::module::Module;
use cust::stream::Stream;
use cust::sys::{self, CUfunction_attribute, CUresult};
use gpubench::gpu_bench;

/// The maximum shared memory of a block.
const MOST_SHARED: usize = 200 << 10;

fn load() -> CudaResult<Module> {
    Module::from_ptx(include_str!("launches.ptx"), &[])
}

/// `n` blocks of 256 threads.
#[gpu_bench(args(n = [1, 16, 132, 528, 1056, 2112, 8448, 33_792]), setup = |_n| load(), cold)]
fn blocks(module: &Module, n: u32, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernel takes nothing.
    unsafe { launch!(module.blocks<<<n, 256, 0, stream>>>()) }
}

/// 528 blocks of `n` threads.
#[gpu_bench(args(n = [32, 128, 256, 512, 1024]), setup = |_n| load(), cold)]
fn threads(module: &Module, n: u32, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernel takes nothing.
    unsafe { launch!(module.threads<<<528, n, 0, stream>>>()) }
}

/// 132 blocks, each with `bytes` of shared memory.
#[gpu_bench(args(bytes = [16 << 10, 48 << 10, 100 << 10, MOST_SHARED]), setup = |_bytes| load_shared(), cold)]
fn shared(module: &Module, bytes: usize, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernel takes nothing, and `load_shared` has allowed this size.
    unsafe { launch!(module.shared<<<132, 256, bytes as u32, stream>>>()) }
}

/// Loads the module, and allows its kernel `shared` more shared memory than the default.
fn load_shared() -> Result<Module, Box<dyn Error>> {
    let module = load()?;
    let function = module.get_function("shared")?.to_raw();
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: the function belongs to the module, which is loaded.
    match unsafe { sys::cuFuncSetAttribute(function, attribute, MOST_SHARED as i32) } {
        CUresult::CUDA_SUCCESS => Ok(module),
        code => Err(format!("{MOST_SHARED} bytes of shared memory for a block: {code:?}").into()),
    }
}

/// 132 blocks of threads with more than 100 registers.
#[gpu_bench(setup = load(), cold)]
fn registers(module: &Module, stream: &Stream) -> CudaResult<()> {
    let nowhere = DevicePointer::<f32>::from_raw(0);
    // SAFETY: the kernel takes these parameters, and accesses no memory if the number is 0.
    unsafe { launch!(module.registers<<<132, 256, 0, stream>>>(nowhere, 0_u32)) }
}

/// 132 blocks with 4 KiB of arguments.
#[gpu_bench(setup = load(), cold)]
fn arguments(module: &Module, stream: &Stream) -> Result<(), Box<dyn Error>> {
    let function = module.get_function("arguments")?.to_raw();
    let mut words = [0_u64; 508];
    let parameters = &mut [words.as_mut_ptr().cast()];
    let (stream, no) = (stream.as_inner(), ptr::null_mut());
    // SAFETY: the kernel takes these words by value, and the call copies them before it returns.
    let code = unsafe {
        sys::cuLaunchKernel(function, 132, 1, 1, 256, 1, 1, 0, stream, parameters.as_mut_ptr(), no)
    };
    if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(format!("{code:?}").into()) }
}

/// One warp that waits for `ns` nanoseconds by the GPU's clock.
#[gpu_bench(args(ns = [500, 1000, 2000, 5000, 10_000, 20_000, 100_000]), setup = |_ns| load(), cold)]
fn waits(module: &Module, ns: u64, stream: &Stream) -> CudaResult<()> {
    // SAFETY: the kernel takes a number.
    unsafe { launch!(module.waits<<<1, 32, 0, stream>>>(ns)) }
}

gpubench::main!();
