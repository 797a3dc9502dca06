//! Launches of kernels that others have published, as they document them, with nothing but the attribute added.

#![allow(unsafe_code)]

use std::sync::Arc;

use cudarc::cublaslt::result::CublasError;
use cudarc::cublaslt::{CudaBlasLT, Matmul, MatmulConfig};
use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use gpubench::gpu_bench;
use half::bf16;

type Inputs = (CudaFunction, CudaSlice<f32>, CudaSlice<f32>);

fn candle(kernel: &str, n: usize, stream: &Arc<CudaStream>) -> Result<Inputs, DriverError> {
    let module = stream.context().load_module(Ptx::from_src(candle_kernels::UNARY.ptx()))?;
    let x: Vec<f32> = (0..n).map(element).collect();
    Ok((module.load_function(kernel)?, stream.clone_htod(&x)?, stream.clone_htod(&vec![f32::NAN; n])?))
}

fn element(index: usize) -> f32 {
    (index % 2039) as f32 / 1024.0 - 1.0
}

/// A kernel of candle that maps each element, with the grid that candle launches it with.
fn unary(kernel: &CudaFunction, x: &CudaSlice<f32>, y: &mut CudaSlice<f32>, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    let (n, dimensions, contiguous) = (x.len(), 0_usize, 0_u64);
    let mut launch = stream.launch_builder(kernel);
    launch.arg(&n).arg(&dimensions).arg(&contiguous).arg(x).arg(y);
    // SAFETY: the kernel takes these five; without strides it reads and writes n elements.
    unsafe { launch.launch(LaunchConfig::for_num_elems(n as u32)) }.map(drop)
}

fn near(y: &CudaSlice<f32>, expected: impl Fn(f32) -> f32) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    for (index, y) in y.stream().clone_dtoh(y)?.into_iter().enumerate() {
        let expected = expected(element(index));
        // A NaN is near nothing.
        if !((y - expected).abs() <= 1e-5) {
            return Err(format!("element {index} is {y} and not {expected}").into());
        }
    }
    Ok(())
}

/// candle's `relu`
#[gpu_bench(
    args(n = [1 << 16, 1 << 20, 1 << 24, 1 << 28]),
    setup = candle("urelu_f32", n, stream),
    reads = 4 * n,
    writes = 4 * n,
    cold,
    check = |_kernel, _x, y, _n| near(y, |x| x.max(0.0)),
)]
pub fn relu(kernel: &CudaFunction, x: &CudaSlice<f32>, y: &mut CudaSlice<f32>, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    unary(kernel, x, y, stream)
}

/// candle's `gelu` (by tanh)
#[gpu_bench(
    args(n = [1 << 16, 1 << 20, 1 << 24, 1 << 28]),
    setup = candle("ugelu_f32", n, stream),
    reads = 4 * n,
    writes = 4 * n,
    cold,
    check = |_kernel, _x, y, _n| near(y, |x| {
        0.5 * x * (1.0 + (std::f32::consts::FRAC_2_SQRT_PI * std::f32::consts::FRAC_1_SQRT_2 * (x + 0.044715 * x * x * x)).tanh())
    }),
)]
pub fn gelu(kernel: &CudaFunction, x: &CudaSlice<f32>, y: &mut CudaSlice<f32>, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
    unary(kernel, x, y, stream)
}

type Matrices<T> = (CudaBlasLT, CudaSlice<T>, CudaSlice<T>, CudaSlice<T>);

fn matrices<T: Of>(n: usize, stream: &Arc<CudaStream>) -> Result<Matrices<T>, CublasError> {
    let matrix = |value: fn(usize) -> f32| {
        let elements: Vec<T> = (0..n * n).map(|index| T::of(value(index))).collect();
        stream.clone_htod(&elements).expect("there is memory for a matrix")
    };
    // Small integers: their products are exact.
    Ok((CudaBlasLT::new(stream.clone())?, matrix(|i| (i % 3) as f32), matrix(|i| (i % 2) as f32), matrix(|_| -1.0)))
}

/// An element of a matrix.
pub trait Of: cudarc::driver::DeviceRepr + Copy {
    /// Returns the element of this value.
    fn of(value: f32) -> Self;
    /// Returns its value.
    fn value(self) -> f32;
}

impl Of for bf16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn value(self) -> f32 {
        self.to_f32()
    }
}

impl Of for f32 {
    fn of(value: f32) -> Self {
        value
    }

    fn value(self) -> f32 {
        self
    }
}

fn product<T>(blas: &CudaBlasLT, a: &CudaSlice<T>, b: &CudaSlice<T>, c: &mut CudaSlice<T>, n: usize) -> Result<(), CublasError>
where
    CudaBlasLT: Matmul<T>,
{
    let (size, row) = (n as u64, n as i64);
    let config = MatmulConfig {
        transa: false, transb: false, transc: false, m: size, n: size, k: size, alpha: 1.0, beta: 0.0,
        lda: row, ldb: row, ldc: row, stride_a: None, stride_b: None, stride_c: None, stride_bias: None, batch_size: None,
    };
    // SAFETY: the matrices have n × n elements each.
    unsafe { blas.matmul(config, a, b, c, None, None) }
}

/// Checks a hundred elements: column by column, c = a b.
fn is_product<T: Of>(c: &CudaSlice<T>, n: usize) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let c = c.stream().clone_dtoh(c)?;
    for place in (0..100).map(|step| step * 7919 % (n * n)) {
        let (row, column) = (place % n, place / n);
        let exact: f32 = (0..n).map(|k| ((k * n + row) % 3 * ((column * n + k) % 2)) as f32).sum();
        let expected = T::of(exact).value();
        if c[place].value() != expected {
            return Err(format!("element {row}, {column} is {} and not {expected}", c[place].value()).into());
        }
    }
    Ok(())
}

/// A product of square matrices of bf16 by cuBLASLt.
#[gpu_bench(
    args(n = [512, 1024, 2048, 4096, 8192]),
    setup = matrices::<bf16>(n, stream),
    reads = 4 * n * n,
    writes = 2 * n * n,
    flops = 2 * n * n * n,
    data_type = "bf16 tensor",
    cold,
    check = |_blas, _a, _b, c, n| is_product(c, n),
)]
pub fn gemm_bf16(blas: &CudaBlasLT, a: &CudaSlice<bf16>, b: &CudaSlice<bf16>, c: &mut CudaSlice<bf16>, n: usize, stream: &Arc<CudaStream>) -> Result<(), CublasError> {
    // cuBLASLt was made with this stream.
    _ = stream;
    product(blas, a, b, c, n)
}

/// A product of square matrices of f32 by cuBLASLt, which cudarc asks to compute in tf32. (With `precision` left out, which means
/// f32, its rows are invalid: six times as fast as the GPU can do in f32.)
#[gpu_bench(
    args(n = [1024, 4096]),
    setup = matrices::<f32>(n, stream),
    reads = 8 * n * n,
    writes = 4 * n * n,
    flops = 2 * n * n * n,
    data_type = "tf32 tensor",
    cold,
    check = |_blas, _a, _b, c, n| is_product(c, n),
)]
pub fn gemm_f32(blas: &CudaBlasLT, a: &CudaSlice<f32>, b: &CudaSlice<f32>, c: &mut CudaSlice<f32>, n: usize, stream: &Arc<CudaStream>) -> Result<(), CublasError> {
    _ = stream;
    product(blas, a, b, c, n)
}
