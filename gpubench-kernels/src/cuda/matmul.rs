//! Products of square matrices, from the plainest kernel to tensor cores. In: n × n matrices, row by row, and a stream; out:
//! one launch on it that does 2 n³ operations. The first is the sources' example of a kernel; the others make better use of
//! caches and registers. Unsafe lines launch kernels, and allow one its shared memory.

use cust::context::CurrentContext;
use cust::device::DeviceAttribute;
use cust::error::CudaResult;
use cust::function::{BlockSize, GridSize};
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::Stream;
use cust::sys::{self, CUfunction_attribute, CUresult};
use gpubench::gpu_bench;

use super::geometry::shape;
use super::inputs::{Refusal, with_two_inputs};
use super::modules::{launch_kernel, modules};
use super::product::{Rounding, expect_product};
use crate::inputs::{bf16, element};

const TENSOR: &str = include_str!("../../ptx/matmul_tensor.ptx");

// The seeds of the inputs.
const A: u64 = 3;
const B: u64 = 4;

/// The side of a block of the plain kernels, in threads.
const SIDE: u32 = 32;

modules! {
    /// The module of the kernels for `f32`, loaded.
    Matmul "matmul";
}

impl Matmul {
    /// The side of the tile of c that a block of [`registers`] computes.
    pub const TILE: usize = 128;
    const THREADS: u32 = 256;
}

/// The module of the kernel for tensor cores, loaded, and allowed the shared memory that it asks for.
#[derive(Debug)]
pub struct Tensor {
    module: Module,
}

impl Tensor {
    /// The rows of the tile of c that a block computes.
    pub const ROWS: usize = 128;
    /// The columns of that tile.
    pub const COLUMNS: usize = 256;
    const THREADS: u32 = 256;
    /// The shared memory of four steps of 32 in k, which are in flight, each with its part of both operands, of two bytes an
    /// element.
    const SHARED: u32 = 4 * 32 * (Self::ROWS + Self::COLUMNS) as u32 * 2;

    /// Loads the module into the current context, where the driver compiles it.
    ///
    /// # Errors
    /// There is no context, the GPU is older than compute capability 8.0, or the driver refuses the PTX.
    pub fn load() -> Result<Self, Refusal> {
        let major = CurrentContext::get_device()?.get_attribute(DeviceAttribute::ComputeCapabilityMajor)?;
        if major < 8 {
            return Err(
                format!("it takes compute capability 8.0 or newer, and this GPU has {major}.x").into()
            );
        }
        let module = Module::from_ptx(TENSOR, &[])?;
        let function = module.get_function("matmul_tensor")?.to_raw();
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is the module's, which lives.
        match unsafe { sys::cuFuncSetAttribute(function, attribute, Self::SHARED as i32) } {
            CUresult::CUDA_SUCCESS => Ok(Self { module }),
            _ => {
                Err(format!("a block takes {} bytes of shared memory, and is refused them", Self::SHARED)
                    .into())
            }
        }
    }
}

/// The length of the sides of three square matrices.
fn side(a: usize, b: usize, c: usize) -> usize {
    let n = c.isqrt();
    assert!(n * n == c && a == c && b == c, "a, b and c are square and of one size");
    n
}

/// The side of three square matrices, which tiles of this size must fill.
fn tiled_side(a: usize, b: usize, c: usize, tile: usize) -> usize {
    let n = side(a, b, c);
    assert!(n.is_multiple_of(tile), "n is a multiple of {tile}");
    n
}

/// Blocks of `SIDE` × `SIDE` threads, one an element.
fn plain(n: usize) -> (GridSize, BlockSize) {
    let blocks = n.div_ceil(SIDE as usize) as u32;
    shape((blocks, blocks), (SIDE, SIDE))
}

/// c ← a · b for `f32`, one thread an element: the kernel that the sources time. n may be any. One launch reads 8 n²
/// bytes, writes 4 n² bytes and does 2 n³ operations.
#[gpu_bench(
    args(n = [2048]),
    setup = |n| f32_inputs(n, stream),
    reads = 4 * (a.len() + b.len()),
    writes = 4 * c.len(),
    flops = 2 * n * n * n,
    cold,
    check = |_kernels, _a, _b, c, n| f32_product(c, n),
)]
pub fn naive(
    kernels: &Matmul,
    a: &DeviceBuffer<f32>,
    b: &DeviceBuffer<f32>,
    c: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    let n = side(a.len(), b.len(), c.len());
    launch_kernel!(
        kernels.matmul_naive(a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr(), n as u64),
        plain(n),
        stream
    )
}

/// c ← a · b for `f32`, one thread an element, with tiles of the operands in shared memory. n may be any. One launch
/// reads 8 n² bytes, writes 4 n² bytes and does 2 n³ operations.
#[gpu_bench(
    args(n = [2048]),
    setup = |n| f32_inputs(n, stream),
    reads = 4 * (a.len() + b.len()),
    writes = 4 * c.len(),
    flops = 2 * n * n * n,
    cold,
    check = |_kernels, _a, _b, c, n| f32_product(c, n),
)]
pub fn shared(
    kernels: &Matmul,
    a: &DeviceBuffer<f32>,
    b: &DeviceBuffer<f32>,
    c: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    let n = side(a.len(), b.len(), c.len());
    launch_kernel!(
        kernels.matmul_shared(a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr(), n as u64),
        plain(n),
        stream
    )
}

/// c ← a · b for `f32`, 64 elements a thread, with operands used from registers. n is a multiple of [`Matmul::TILE`]. One
/// launch reads 8 n² bytes, writes 4 n² bytes and does 2 n³ operations.
#[gpu_bench(
    args(n = [1024, 4096]),
    setup = |n| f32_inputs(n, stream),
    reads = 4 * (a.len() + b.len()),
    writes = 4 * c.len(),
    flops = 2 * n * n * n,
    cold,
    check = |_kernels, _a, _b, c, n| f32_product(c, n),
)]
pub fn registers(
    kernels: &Matmul,
    a: &DeviceBuffer<f32>,
    b: &DeviceBuffer<f32>,
    c: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    let n = tiled_side(a.len(), b.len(), c.len(), Matmul::TILE);
    let blocks = (n / Matmul::TILE) as u32;
    launch_kernel!(
        kernels.matmul_registers(a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr(), n as u64),
        shape((blocks, blocks), Matmul::THREADS),
        stream
    )
}

/// c ← a · b on tensor cores: a and b in bf16, given as their bits, sums and c in `f32`. n is a multiple of
/// [`Tensor::COLUMNS`]. One launch reads 4 n² bytes, writes 4 n² bytes and does 2 n³ operations.
#[gpu_bench(
    args(n = [1024, 4096]),
    setup = |n| bf16_inputs(n, stream),
    reads = 2 * (a.len() + b.len()),
    writes = 4 * c.len(),
    flops = 2 * n * n * n,
    precision = "bf16 tensor",
    cold,
    check = |_kernels, _a, _b, c, n| expect_product(c, n, |i| bf16(A, i), |i| bf16(B, i), Rounding::CutOff),
)]
pub fn tensor(
    kernels: &Tensor,
    a: &DeviceBuffer<u16>,
    b: &DeviceBuffer<u16>,
    c: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    let n = tiled_side(a.len(), b.len(), c.len(), Tensor::COLUMNS);
    let blocks = ((n / Tensor::ROWS) * (n / Tensor::COLUMNS)) as u32;
    // `load` has allowed the kernel that much shared memory.
    launch_kernel!(
        kernels.matmul_tensor(a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr(), n as u64),
        shape(blocks, Tensor::THREADS),
        stream,
        Tensor::SHARED
    )
}

/// The arguments of a launch for `f32`, from the kernels to c.
pub type F32Inputs = (Matmul, DeviceBuffer<f32>, DeviceBuffer<f32>, DeviceBuffer<f32>);

/// Random n × n matrices a and b, and a c to be overwritten.
///
/// # Errors
/// The kernels cannot be loaded, or there is not enough memory on the device.
pub fn f32_inputs(n: usize, stream: &Stream) -> Result<F32Inputs, Refusal> {
    with_two_inputs(Matmul::load()?, [A, B], n * n, stream)
}

/// The arguments of a launch for bf16, from the kernel to c.
pub type Bf16Inputs = (Tensor, DeviceBuffer<u16>, DeviceBuffer<u16>, DeviceBuffer<f32>);

/// Random n × n matrices a and b in bf16, and a c to be overwritten.
///
/// # Errors
/// The kernel cannot be loaded, or there is not enough memory on the device.
pub fn bf16_inputs(n: usize, stream: &Stream) -> Result<Bf16Inputs, Refusal> {
    with_two_inputs(Tensor::load()?, [A, B], n * n, stream)
}

/// Checks that `c` is the product of the inputs for `f32`.
fn f32_product(c: &DeviceBuffer<f32>, n: usize) -> Result<(), Refusal> {
    expect_product(c, n, |i| element(A, i), |i| element(B, i), Rounding::Nearest)
}
