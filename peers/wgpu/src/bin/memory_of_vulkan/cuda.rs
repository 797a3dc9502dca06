//! CUDA's driver, loaded by hand.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr::null_mut;

use libloading::Library;
use wgpu_peer::{Failure, median};

/// `fill`, `differ`, `read` and `copy` of a vector a thread.
const KERNELS: &str = include_str!("moves.ptx");
const WIDTH: u64 = 256;
/// `CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD`.
const OPAQUE_FD: u32 = 1;
/// `CUDA_EXTERNAL_MEMORY_DEDICATED`.
const DEDICATED: u32 = 1;
const WARM_UP: usize = 2;

type Handle = *mut c_void;

/// `CUDA_EXTERNAL_MEMORY_HANDLE_DESC`.
#[repr(C)]
struct Import {
    kind: u32,
    padding: u32,
    /// A union of two pointers and a descriptor.
    fd: [u64; 2],
    size: u64,
    flags: u32,
    reserved: [u32; 16],
}

/// `CUDA_EXTERNAL_MEMORY_BUFFER_DESC`.
#[repr(C)]
struct Mapping {
    offset: u64,
    size: u64,
    flags: u32,
    reserved: [u32; 16],
}

/// Memory that CUDA may use.
pub struct Memory {
    pub address: u64,
    /// The import, if CUDA did not allocate it.
    imported: Option<Handle>,
}

/// The first device, with the kernels.
pub struct Cuda {
    library: Library,
    module: Handle,
    events: [Handle; 2],
    result: u64,
}

/// Calls a function of the driver, which returns 0 or an error.
macro_rules! call {
    ($cuda:expr, $name:literal, ($($kind:ty),*), ($($value:expr),*)) => {{
        // SAFETY: the types are those of CUDA's header, and what they point to lives until the call returns.
        let code = unsafe {
            let function = $cuda.get::<unsafe extern "C" fn($($kind),*) -> c_int>(concat!($name, "\0").as_bytes())?;
            function($($value),*)
        };
        if code != 0 {
            return Err(format!("{}: error {code} of CUDA", $name).into());
        }
    }};
}

impl Cuda {
    pub fn open() -> Result<Self, Failure> {
        // SAFETY: the driver's library has no initialiser that asks for anything.
        let library = unsafe { Library::new("libcuda.so.1") }?;
        let (mut device, mut context, mut module) = (0, null_mut(), null_mut());
        call!(library, "cuInit", (c_uint), (0));
        call!(library, "cuDeviceGet", (*mut c_int, c_int), (&mut device, 0));
        call!(library, "cuDevicePrimaryCtxRetain", (*mut Handle, c_int), (&mut context, device));
        call!(library, "cuCtxSetCurrent", (Handle), (context));
        let kernels = CString::new(KERNELS)?;
        call!(
            library,
            "cuModuleLoadData",
            (*mut Handle, *const c_void),
            (&mut module, kernels.as_ptr().cast())
        );
        let mut events = [null_mut(); 2];
        for event in &mut events {
            call!(library, "cuEventCreate", (*mut Handle, c_uint), (event, 0));
        }
        let mut cuda = Self { library, module, events, result: 0 };
        cuda.result = cuda.allocate(16)?.address;
        Ok(cuda)
    }

    pub fn allocate(&self, size: u64) -> Result<Memory, Failure> {
        let mut address = 0;
        call!(self.library, "cuMemAlloc_v2", (*mut u64, usize), (&mut address, size as usize));
        Ok(Memory { address, imported: None })
    }

    /// Imports an allocation of `allocated` bytes, whose descriptor is CUDA's from now on, and maps `size` bytes of it.
    pub fn import(&self, fd: c_int, allocated: u64, size: u64, dedicated: bool) -> Result<Memory, Failure> {
        let (mut imported, mut address) = (null_mut(), 0);
        let flags = if dedicated { DEDICATED } else { 0 };
        let fd = [u64::from(fd as u32), 0];
        let import = Import { kind: OPAQUE_FD, padding: 0, fd, size: allocated, flags, reserved: [0; 16] };
        call!(self.library, "cuImportExternalMemory", (*mut Handle, *const Import), (&mut imported, &import));
        let mapping = Mapping { offset: 0, size, flags: 0, reserved: [0; 16] };
        call!(
            self.library,
            "cuExternalMemoryGetMappedBuffer",
            (*mut u64, Handle, *const Mapping),
            (&mut address, imported, &mapping)
        );
        Ok(Memory { address, imported: Some(imported) })
    }

    pub fn free(&self, memory: Memory) -> Result<(), Failure> {
        call!(self.library, "cuMemFree_v2", (u64), (memory.address));
        if let Some(imported) = memory.imported {
            call!(self.library, "cuDestroyExternalMemory", (Handle), (imported));
        }
        Ok(())
    }

    /// Fills `x` with differing values, and returns the medians of fill, of a fill with differing values, of read and of copy, in µs.
    pub fn times(&self, y: &Memory, x: &Memory, size: u64, launches: usize) -> Result<[f64; 4], Failure> {
        self.time("differ", [x.address, 0], size, 0)?;
        let mut medians = [0.0; 4];
        for (name, median) in ["fill", "differ", "read", "copy"].into_iter().zip(&mut medians) {
            *median = self.time(name, [y.address, x.address], size, launches)?;
        }
        Ok(medians)
    }

    fn time(&self, name: &str, arrays: [u64; 2], size: u64, launches: usize) -> Result<f64, Failure> {
        let name = CString::new(name)?;
        let mut function = null_mut();
        call!(
            self.library,
            "cuModuleGetFunction",
            (*mut Handle, Handle, *const std::ffi::c_char),
            (&mut function, self.module, name.as_ptr())
        );
        let [mut y, mut x] = arrays;
        let (mut result, mut vectors) = (self.result, u32::try_from(size / 16)?);
        let mut arguments: [Handle; 4] =
            [(&raw mut y).cast(), (&raw mut x).cast(), (&raw mut result).cast(), (&raw mut vectors).cast()];
        let blocks = c_uint::try_from((size / 16).div_ceil(WIDTH))?;
        let [begin, end] = self.events;
        let mut times = Vec::new();
        for _ in 0..WARM_UP + launches {
            call!(self.library, "cuEventRecord", (Handle, Handle), (begin, null_mut()));
            call!(
                self.library,
                "cuLaunchKernel",
                (
                    Handle,
                    c_uint,
                    c_uint,
                    c_uint,
                    c_uint,
                    c_uint,
                    c_uint,
                    c_uint,
                    Handle,
                    *mut Handle,
                    *mut Handle
                ),
                (
                    function,
                    blocks,
                    1,
                    1,
                    WIDTH as c_uint,
                    1,
                    1,
                    0,
                    null_mut(),
                    arguments.as_mut_ptr(),
                    null_mut()
                )
            );
            call!(self.library, "cuEventRecord", (Handle, Handle), (end, null_mut()));
            call!(self.library, "cuEventSynchronize", (Handle), (end));
            let mut ms = 0.0f32;
            call!(self.library, "cuEventElapsedTime", (*mut f32, Handle, Handle), (&mut ms, begin, end));
            times.push(f64::from(ms) * 1e3);
        }
        Ok(median(times.split_off(WARM_UP)))
    }
}
