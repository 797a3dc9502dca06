//! Products of square matrices, from the plainest kernel to tensor cores. The first is the sources' example
//! of a kernel; the others make better use of caches and registers. Unsafe lines launch kernels, and allow
//! one its shared memory.

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

/// The tile of c that a block computes on tensor cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tile {
    kernel: &'static str,
    rows: usize,
    columns: usize,
    threads: u32,
    /// The bytes of shared memory of a block: so many steps, each with its part of both operands, of two bytes an element.
    shared: u32,
    /// The blocks that a multiprocessor of an H200 holds.
    resident: usize,
}

impl Tile {
    const LARGE: Self = Self::new("matmul_tensor", (128, 256), 256, Self::shared((128, 256), (32, 4)), 1);
    const MEDIUM: Self =
        Self::new("matmul_tensor_medium", (128, 128), 128, Self::shared((128, 128), (64, 3)), 2);
    const SMALL: Self = Self::new("matmul_tensor_small", (64, 64), 64, Self::shared((64, 64), (64, 4)), 3);
    const ALL: [Self; 3] = [Self::LARGE, Self::MEDIUM, Self::SMALL];

    const fn new(
        kernel: &'static str,
        (rows, columns): (usize, usize),
        threads: u32,
        shared: u32,
        resident: usize,
    ) -> Self {
        Self { kernel, rows, columns, threads, shared, resident }
    }

    const fn shared((rows, columns): (usize, usize), (depth, steps): (usize, usize)) -> u32 {
        (steps * depth * (rows + columns) * 2) as u32
    }

    const fn blocks(self, n: usize) -> usize {
        (n / self.rows) * (n / self.columns)
    }

    /// Returns the best tile for n × n matrices, as races on an H200 have it: the largest that keeps its multiprocessors busy. A large
    /// one must fill four fifths of its waves of blocks, a medium one a whole wave.
    fn of(n: usize, multiprocessors: usize) -> Self {
        let fits = |tile: Self| n.is_multiple_of(tile.rows) && n.is_multiple_of(tile.columns);
        let [large, medium] = [Self::LARGE, Self::MEDIUM].map(|tile| tile.blocks(n));
        let room = large.div_ceil(multiprocessors) * multiprocessors;
        if fits(Self::LARGE) && 5 * large >= 4 * room {
            Self::LARGE
        } else if fits(Self::MEDIUM) && medium >= Self::MEDIUM.resident * multiprocessors {
            Self::MEDIUM
        } else {
            Self::SMALL
        }
    }
}

/// The module of the kernels for tensor cores, loaded, and allowed the shared memory that they ask for.
#[derive(Debug)]
pub struct Tensor {
    module: Module,
    multiprocessors: usize,
}

impl Tensor {
    /// The side of the smallest tile of c that a block computes.
    pub const TILE: usize = Tile::SMALL.rows;

    /// Loads the module into the current context, where the driver compiles it.
    ///
    /// # Errors
    /// There is no context, the GPU is older than compute capability 8.0, or the driver refuses the PTX.
    pub fn load() -> Result<Self, Refusal> {
        let device = CurrentContext::get_device()?;
        let major = device.get_attribute(DeviceAttribute::ComputeCapabilityMajor)?;
        if major < 8 {
            return Err(
                format!("it takes compute capability 8.0 or newer, and this GPU has {major}.x").into()
            );
        }
        let multiprocessors = device.get_attribute(DeviceAttribute::MultiprocessorCount)?;
        let module = Module::from_ptx(TENSOR, &[])?;
        for Tile { kernel, shared, .. } in Tile::ALL {
            let function = module.get_function(kernel)?.to_raw();
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function is the module's, which lives.
            match unsafe { sys::cuFuncSetAttribute(function, attribute, shared as i32) } {
                CUresult::CUDA_SUCCESS => {}
                _ => {
                    return Err(format!(
                        "a block takes {shared} bytes of shared memory, and is refused them"
                    )
                    .into());
                }
            }
        }
        Ok(Self { module, multiprocessors: multiprocessors.unsigned_abs().max(1) as usize })
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
/// [`Tensor::TILE`]. One launch reads 4 n² bytes, writes 4 n² bytes and does 2 n³ operations.
#[gpu_bench(
    args(n = [1024, 4096]),
    setup = |n| bf16_inputs(n, stream),
    reads = 2 * (a.len() + b.len()),
    writes = 4 * c.len(),
    flops = 2 * n * n * n,
    data_type = "bf16 tensor",
    cold,
    check = |_kernels, _a, _b, c, n| expect_product(c, ("bf16", n), |i| bf16(A, i), |i| bf16(B, i), Rounding::CutOff),
)]
pub fn tensor(
    kernels: &Tensor,
    a: &DeviceBuffer<u16>,
    b: &DeviceBuffer<u16>,
    c: &mut DeviceBuffer<f32>,
    stream: &Stream,
) -> CudaResult<()> {
    let n = tiled_side(a.len(), b.len(), c.len(), Tensor::TILE);
    let tile = Tile::of(n, kernels.multiprocessors);
    let grid = shape(tile.blocks(n) as u32, tile.threads);
    // `load` has allowed the kernels that much shared memory.
    match tile {
        Tile::LARGE => launch_kernel!(
            kernels.matmul_tensor(a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr(), n as u64),
            grid,
            stream,
            tile.shared
        ),
        Tile::MEDIUM => launch_kernel!(
            kernels.matmul_tensor_medium(a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr(), n as u64),
            grid,
            stream,
            tile.shared
        ),
        _ => launch_kernel!(
            kernels.matmul_tensor_small(a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr(), n as u64),
            grid,
            stream,
            tile.shared
        ),
    }
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
    expect_product(c, ("f32", n), |i| element(A, i), |i| element(B, i), Rounding::Nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Races on an H200, with 132 multiprocessors, name the small one up to n = 1536, the medium one for 3072, and the large one for
    /// 2048 and 4096.
    #[test]
    fn tiles_are_those_that_races_name() {
        for n in [64, 512, 1024, 1536] {
            assert_eq!(Tile::of(n, 132), Tile::SMALL, "{n}");
        }
        assert_eq!(Tile::of(3072, 132), Tile::MEDIUM);
        for n in [2048, 4096, 8192] {
            assert_eq!(Tile::of(n, 132), Tile::LARGE, "{n}");
        }
        // What is no multiple of a tile's sides cannot be divided into them.
        assert_eq!((Tile::of(4096 + 128, 132), Tile::of(4096 + 64, 132)), (Tile::MEDIUM, Tile::SMALL));
        assert_eq!(Tile::of(256, 1), Tile::LARGE);
    }
}
