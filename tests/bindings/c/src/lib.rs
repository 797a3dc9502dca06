//! Kernels that C launches, on a raw stream.

#![expect(unsafe_code, reason = "calls C")]

use std::ffi::{CString, c_char, c_int};

use gpubench::cuda::RawStream;
use gpubench::gpu_bench;

/// The kernels of gpubench's own suite, so that both can be compared.
const PTX: &str = include_str!("../../../../gpubench-kernels/ptx/elementwise.ptx");

/// Inputs that C keeps: `struct saxpy`.
#[repr(C)]
#[derive(Debug)]
pub struct Saxpy {
    module: *mut u8,
    kernel: *mut u8,
    x: u64,
    y: u64,
    n: usize,
}

unsafe extern "C" {
    fn saxpy_new(it: *mut Saxpy, ptx: *const c_char, x: *const f32, y: *const f32, n: usize) -> c_int;
    fn saxpy_launch(it: *const Saxpy, a: f32, stream: *mut u8) -> c_int;
    fn saxpy_read(it: *const Saxpy, y: *mut f32) -> c_int;
    fn saxpy_free(it: *mut Saxpy);
}

impl Saxpy {
    /// Makes inputs of `n` elements.
    ///
    /// # Errors
    /// Returns the driver's code.
    pub fn new(n: usize) -> Result<Self, String> {
        let (x, y): (Vec<f32>, Vec<f32>) = (0..n).map(|index| (element(index), 1.0)).unzip();
        let ptx = CString::new(PTX).map_err(|error| error.to_string())?;
        let mut inputs = Self { module: std::ptr::null_mut(), kernel: std::ptr::null_mut(), x: 0, y: 0, n };
        // SAFETY: there is a place for what is made, and x and y have n elements.
        called(unsafe { saxpy_new(&raw mut inputs, ptx.as_ptr(), x.as_ptr(), y.as_ptr(), n) })?;
        Ok(inputs)
    }

    /// Returns y.
    ///
    /// # Errors
    /// Returns the driver's code.
    pub fn read(&self) -> Result<Vec<f32>, String> {
        let mut y = vec![0.0; self.n];
        // SAFETY: there is a place for n elements.
        called(unsafe { saxpy_read(self, y.as_mut_ptr()) })?;
        Ok(y)
    }
}

impl Drop for Saxpy {
    fn drop(&mut self) {
        // SAFETY: nothing else frees it.
        unsafe { saxpy_free(self) };
    }
}

fn element(index: usize) -> f32 {
    (index % 1021) as f32
}

fn called(code: c_int) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(format!("the driver returned {code}")) }
}

/// y ← a·x + y
///
/// # Errors
/// Returns the driver's code.
#[gpu_bench(
    args(n = [1 << 14, 1 << 18, 1 << 22, 10 << 20, 1 << 26]),
    setup = |n| Ok((Saxpy::new(n)?, 2.5)),
    reads = 8 * n,
    writes = 4 * n,
    flops = 2 * n,
    cold,
    accumulates,
    check = |inputs, a, _n| {
        let found = inputs.read()?;
        let wrong = found.iter().enumerate().find(|(index, y)| **y != a * element(*index) + 1.0);
        wrong.map_or(Ok(()), |(index, y)| Err(format!("element {index} is {y}").into()))
    },
)]
pub fn saxpy(inputs: &mut Saxpy, a: f32, stream: &RawStream) -> Result<(), String> {
    // SAFETY: the inputs are complete, and the stream is of the context in which they were made.
    called(unsafe { saxpy_launch(inputs, a, stream.stream().cast()) })
}
