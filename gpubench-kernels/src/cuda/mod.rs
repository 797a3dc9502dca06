//! Kernels for an NVIDIA GPU. Each file has one module of PTX, the struct that owns it, and launch functions: in go buffers
//! on the device and a stream, out comes work enqueued there. The CUDA C++ lies in `cuda/`, what it compiles to in `ptx/`.
//!
//! `n` is the number of elements of each array. The listed values are arrays of 64 KiB, 1, 16, 40 and 256 MiB and 1 GiB:
//! from what any L2 holds to several times the largest.

mod check;
mod elementwise;
mod geometry;
mod inputs;
mod reduction;

pub use elementwise::{Elementwise, copy, empty, fill, rmw, saxpy, vector_add};
pub use geometry::{Geometry, Grid};
pub use reduction::{Reduction, sum};

/// Sizes of one array in bytes.
const SIZES: [usize; 6] = [64 << 10, 1 << 20, 16 << 20, 40 << 20, 256 << 20, 1 << 30];
/// Values of `n` for arrays of `f32`.
const F32: [usize; 6] = elements(size_of::<f32>());
/// Values of `n` for arrays of `f64`.
const F64: [usize; 6] = elements(size_of::<f64>());

// The seeds of the inputs.
const X: u64 = 1;
const Y: u64 = 2;

/// How many elements of this size each of [`SIZES`] holds.
const fn elements(size: usize) -> [usize; 6] {
    let mut numbers = SIZES;
    let mut index = 0;
    while index < numbers.len() {
        numbers[index] /= size;
        index += 1;
    }
    numbers
}
