//! Launches by a library that opens the driver itself, as the CUDA runtime does, and not by what the program is linked with.

#![expect(unsafe_code, reason = "opens the driver and calls its functions")]

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use cust::stream::Stream;
use cust::sys::{CUdeviceptr, CUfunction, CUmodule, CUresult, CUstream};
use gpubench::gpu_bench;
use libloading::{Error, Library};

const PTX: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .entry lasts(.param .u64 nanoseconds, .param .u64 start, .param .u64 bytes) { ret; }
.visible .entry fill(.param .f32 a, .param .u64 y, .param .u64 n) { ret; }";

const N: usize = 1 << 12;

type Launch = unsafe extern "C" fn(
    CUfunction,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    u32,
    CUstream,
    *mut *mut c_void,
    *mut *mut c_void,
) -> CUresult;

/// The objects of such a library after its setup: two kernels, a buffer of zeros and a stream of its own.
struct Binding {
    launch: Launch,
    lasts: CUfunction,
    fill: CUfunction,
    y: CUdeviceptr,
    beside: CUstream,
    // What it launches by must stay open.
    _cuda: Library,
}

impl Binding {
    fn open() -> Result<Self, Error> {
        let (mut module, mut y, mut beside): (CUmodule, _, _) = (null_mut(), 0, null_mut());
        // SAFETY: the functions of these names have these types; what they write has a place.
        unsafe {
            let cuda = Library::new("libcuda.so")?;
            let load = *cuda
                .get::<unsafe extern "C" fn(*mut CUmodule, *const c_void) -> CUresult>("cuModuleLoadData")?;
            done(load(&raw mut module, PTX.as_ptr().cast()));
            let allocate =
                *cuda.get::<unsafe extern "C" fn(*mut CUdeviceptr, usize) -> CUresult>("cuMemAlloc_v2")?;
            done(allocate(&raw mut y, 4 * N));
            let set =
                *cuda.get::<unsafe extern "C" fn(CUdeviceptr, u32, usize) -> CUresult>("cuMemsetD32_v2")?;
            done(set(y, 0, N));
            let create =
                *cuda.get::<unsafe extern "C" fn(*mut CUstream, u32) -> CUresult>("cuStreamCreate")?;
            done(create(&raw mut beside, 1));
            let (lasts, fill) = (kernel(&cuda, module, c"lasts")?, kernel(&cuda, module, c"fill")?);
            let launch = *cuda.get::<Launch>("cuLaunchKernel")?;
            Ok(Self { launch, lasts, fill, y, beside, _cuda: cuda })
        }
    }

    /// Writes 1 to all of the buffer.
    fn fills(&self, stream: CUstream) {
        self.enqueue(self.fill, [u64::from(1_f32.to_bits()), self.y, N as u64], stream);
    }

    /// Reads all of the buffer, in 40 µs.
    fn reads(&self, stream: CUstream) {
        self.enqueue(self.lasts, [40_000, self.y, 4 * N as u64], stream);
    }

    fn enqueue(&self, kernel: CUfunction, mut arguments: [u64; 3], stream: CUstream) {
        let mut places = arguments.each_mut().map(|argument| (&raw mut *argument).cast());
        // SAFETY: both kernels take three arguments of at most 8 bytes, and touch what the buffer has.
        done(unsafe {
            (self.launch)(kernel, 4, 1, 1, 256, 1, 1, 0, stream, places.as_mut_ptr(), null_mut())
        });
    }
}

/// # Safety
/// The module is loaded.
unsafe fn kernel(cuda: &Library, module: CUmodule, name: &CStr) -> Result<CUfunction, Error> {
    type GetFunction = unsafe extern "C" fn(*mut CUfunction, CUmodule, *const c_char) -> CUresult;
    let mut found = null_mut();
    // SAFETY: the function of this name has this type; the module is loaded, and the handle has a place.
    unsafe { done(cuda.get::<GetFunction>("cuModuleGetFunction")?(&raw mut found, module, name.as_ptr())) };
    Ok(found)
}

fn done(result: CUresult) {
    assert_eq!(result, CUresult::CUDA_SUCCESS);
}

#[gpu_bench(setup = Binding::open(), writes = 4 * N)]
fn writes(binding: &Binding, stream: &Stream) {
    binding.fills(stream.as_inner());
}

#[gpu_bench(setup = Binding::open(), writes = 4 * N)]
fn writes_nothing(binding: &Binding, stream: &Stream) {
    binding.reads(stream.as_inner());
}

#[gpu_bench(setup = Binding::open())]
fn goes_on_beside(binding: &Binding, stream: &Stream) {
    binding.fills(stream.as_inner());
    binding.reads(binding.beside);
}

gpubench::main!();
