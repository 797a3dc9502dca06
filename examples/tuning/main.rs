//! Benchmarks of kernels in many variants, for `--tune`: a sum, a transpose, and matrix products in `f32` and on tensor cores.
//! `examples/tuning/compile` compiles the variants. `TUNING_KERNELS` names their folder, by default `target/tuning`.
//!
//! ```sh
//! cargo build --example tuning
//! examples/tuning/compile target/debug/examples/tuning target/tuning
//! target/debug/examples/tuning --tune --cache cold sum
//! ```

#![expect(unsafe_code, reason = "launches kernels")]

mod expected;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Mutex;
use std::{env, fs};

use cust::context::CurrentContext;
use cust::device::DeviceAttribute;
use cust::error::CudaResult;
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::Stream;
use cust::sys::{self, CUfunction_attribute, CUresult};
use gpubench::gpu_bench;
use gpubench_kernels::cuda::{Inputs, Random, Refusal, with_one_input};
use gpubench_kernels::inputs::{bf16, element};

use expected::{A, B, X, expect_product, expect_sum, expect_transposed};

/// The maximum dynamic shared memory of a block on an H200.
const MOST_SHARED: usize = 227 << 10;
/// The maximum static shared memory of a block.
const STATIC_SHARED: usize = 48 << 10;

/// A kernel compiled for some values, with its launch configuration.
struct Variant {
    module: &'static Module,
    grid: (u32, u32),
    threads: u32,
    /// Bytes of dynamic shared memory per block.
    shared: u32,
}

impl Variant {
    /// Loads the kernel compiled for these values.
    fn load(
        kernel: &str,
        values: &[(&str, usize)],
        grid: (usize, usize),
        threads: usize,
    ) -> Result<Self, Refusal> {
        let values: String = values.iter().map(|(name, value)| format!("-{name}{value}")).collect();
        let folder = env::var("TUNING_KERNELS").unwrap_or_else(|_| "target/tuning".to_owned());
        let module = loaded(format!("{folder}/{kernel}{values}.cubin"))?;
        Ok(Self { module, grid: (grid.0 as u32, grid.1 as u32), threads: threads as u32, shared: 0 })
    }

    /// Allows a block this many bytes of shared memory.
    fn with_shared(self, bytes: usize) -> Result<Self, Refusal> {
        let function = self.module.get_function("variant")?.to_raw();
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function belongs to the module, which is loaded.
        match unsafe { sys::cuFuncSetAttribute(function, attribute, bytes as i32) } {
            CUresult::CUDA_SUCCESS => Ok(Self { shared: bytes as u32, ..self }),
            _ => Err(format!("the driver refuses a block {bytes} bytes of shared memory").into()),
        }
    }
}

/// Loads a module once for each device and process, because a race sets up a variant hundreds of times.
fn loaded(path: String) -> Result<&'static Module, Refusal> {
    static MODULES: Mutex<BTreeMap<(i32, String), &Module>> = Mutex::new(BTreeMap::new());
    let mut modules = MODULES.lock().map_err(|_| "an earlier setup panicked")?;
    let device = CurrentContext::get_device()?.as_raw();
    match modules.entry((device, path)) {
        Entry::Occupied(known) => Ok(known.get()),
        Entry::Vacant(place) => {
            let path = &place.key().1;
            let image =
                fs::read(path).map_err(|error| format!("{path}: {error}: run examples/tuning/compile"))?;
            Ok(place.insert(Box::leak(Box::new(Module::from_cubin(&image, &[])?))))
        }
    }
}

/// Launches a variant on a stream, with these arguments.
macro_rules! launch_variant {
    ($variant:ident($($argument:expr),*) on $stream:ident) => {{
        let Variant { grid, threads, shared, .. } = *$variant;
        let kernel = $variant.module.get_function("variant")?;
        // SAFETY: `setup` made arrays of the size in the last number, and a launch configuration for them.
        unsafe { launch!(kernel<<<grid, threads, shared, $stream>>>($($argument),*)) }
    }};
}

/// Creates the slots for the partial sums of blocks: `per_sm` blocks per multiprocessor, or fewer if threads would have no vector.
fn slots(n: usize, threads: usize, per_sm: usize) -> Result<DeviceBuffer<u64>, Refusal> {
    let count = CurrentContext::get_device()?.get_attribute(DeviceAttribute::MultiprocessorCount)?;
    let blocks = (per_sm * count.unsigned_abs() as usize).min(n.div_ceil(4 * threads));
    // The kernel's value of an empty slot.
    Ok(DeviceBuffer::from_slice(&vec![0x7ff4_0000_0000_0000; blocks])?)
}

/// total ← Σ x, in one launch.
#[gpu_bench(
    args(
        n = [1 << 18, 10 << 20, 1 << 28],
        threads = [128, 256, 512, 1024],
        batch = [1, 2, 4, 8, 16],
        per_sm = [1, 2, 4, 8],
    ),
    tune(threads, batch, per_sm),
    skip_if = threads * per_sm > 2048, "does not fit a multiprocessor",
    setup = |n, threads, batch, per_sm| {
        let slots = slots(n, threads, per_sm)?;
        let variant = Variant::load("sum", &[("threads", threads), ("batch", batch)], (slots.len(), 1), threads)?;
        let total = DeviceBuffer::from_slice(&[f64::NAN])?;
        Ok::<_, Refusal>((variant, slots, Inputs::on(stream)?.random(X, n)?, total))
    },
    reads = 4 * x.len(),
    flops = n,
    cold,
    check = expect_sum(total, x.len()),
)]
fn sum(
    variant: &Variant,
    slots: &mut DeviceBuffer<u64>,
    x: &DeviceBuffer<f32>,
    total: &mut DeviceBuffer<f64>,
    stream: &Stream,
) -> CudaResult<()> {
    let (x, n) = (x.as_device_ptr(), x.len() as u64);
    launch_variant!(variant(x, n, slots.as_device_ptr(), total.as_device_ptr()) on stream)
}

/// y ← the transpose of x, through tiles of `rows` × `columns`. Threads read and write vectors.
#[gpu_bench(
    args(
        n = [1 << 11, 1 << 13],
        rows = [32, 64, 128],
        columns = [32, 64, 128],
        vector = [1, 2, 4],
        threads = [128, 256, 512, 1024],
    ),
    tune(rows, columns, vector, threads),
    skip_if = 4 * rows * (columns + 1) > STATIC_SHARED || vector * threads > rows * columns, "does not fit",
    setup = |n, rows, columns, vector, threads| {
        let values = [("rows", rows), ("columns", columns), ("vector", vector), ("threads", threads)];
        with_one_input(Variant::load("transpose", &values, (n / columns, n / rows), threads)?, X, n * n, stream)
    },
    reads = 4 * x.len(),
    writes = 4 * y.len(),
    cold,
    check = expect_transposed(y, n),
)]
fn transpose(
    variant: &Variant,
    x: &DeviceBuffer<f32>,
    y: &mut DeviceBuffer<f32>,
    n: usize,
    stream: &Stream,
) -> CudaResult<()> {
    launch_variant!(variant(x.as_device_ptr(), y.as_device_ptr(), n as u64) on stream)
}

/// c ← a · b for `f32`. A thread computes `height` × `width` elements of a tile of `rows` × `columns`.
#[gpu_bench(
    args(
        n = [512, 1024, 1536, 2048, 3072, 4096],
        rows = [32, 64, 128],
        columns = [64, 128, 256],
        depth = [8, 16, 32],
        height = [4, 8],
        width = [4, 8],
    ),
    tune(rows, columns, depth, height, width),
    skip_if = !tiles_fit(rows, columns, depth, height * width), "does not fit a multiprocessor",
    setup = |n, rows, columns, depth, height, width| {
        let values =
            [("rows", rows), ("columns", columns), ("depth", depth), ("height", height), ("width", width)];
        let (grid, threads) = ((n / columns, n / rows), rows * columns / (height * width));
        with_two_inputs(Variant::load("matmul", &values, grid, threads)?, n, stream)
    },
    reads = 4 * (a.len() + b.len()),
    writes = 4 * c.len(),
    flops = 2 * n * n * n,
    cold,
    check = expect_product(c, n, |i| element(A, i), |i| element(B, i)),
)]
fn matmul(
    variant: &Variant,
    a: &DeviceBuffer<f32>,
    b: &DeviceBuffer<f32>,
    c: &mut DeviceBuffer<f32>,
    n: usize,
    stream: &Stream,
) -> CudaResult<()> {
    launch_variant!(variant(a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr(), n as u64) on stream)
}

/// Returns whether a block has a sensible number of threads, and enough shared memory for two tiles.
fn tiles_fit(rows: usize, columns: usize, depth: usize, each: usize) -> bool {
    let (threads, tile) = (rows * columns / each, 4 * depth * (rows + 4 + columns));
    (64..=1024).contains(&threads) && 2 * tile <= STATIC_SHARED
}

/// c ← a · b on tensor cores, with the bits of bf16 in a and b. A warp computes `warp_rows` × `warp_columns` elements of a tile of
/// `rows` × `columns`.
#[gpu_bench(
    args(
        n = [512, 1024, 1536, 2048, 3072, 4096],
        rows = [64, 128, 256],
        columns = [64, 128, 256],
        depth = [32, 64],
        stages = [2, 3, 4],
        warp_rows = [32, 64],
        warp_columns = [32, 64],
    ),
    tune(rows, columns, depth, stages, warp_rows, warp_columns),
    skip_if = !Warps { rows, columns, depth, stages, warp_rows, warp_columns }.fit(), "does not fit",
    setup = |n, rows, columns, depth, stages, warp_rows, warp_columns| {
        let warps = Warps { rows, columns, depth, stages, warp_rows, warp_columns };
        with_two_inputs(warps.load(n)?, n, stream)
    },
    reads = 2 * (a.len() + b.len()),
    writes = 4 * c.len(),
    flops = 2 * n * n * n,
    data_type = "bf16 tensor",
    cold,
    check = expect_product(c, n, |i| bf16(A, i), |i| bf16(B, i)),
)]
fn matmul_tensor(
    variant: &Variant,
    a: &DeviceBuffer<u16>,
    b: &DeviceBuffer<u16>,
    c: &mut DeviceBuffer<f32>,
    n: usize,
    stream: &Stream,
) -> CudaResult<()> {
    launch_variant!(variant(a.as_device_ptr(), b.as_device_ptr(), c.as_device_ptr(), n as u64) on stream)
}

/// The sizes of a variant of [`matmul_tensor`].
#[derive(Clone, Copy)]
struct Warps {
    rows: usize,
    columns: usize,
    depth: usize,
    stages: usize,
    warp_rows: usize,
    warp_columns: usize,
}

impl Warps {
    fn threads(self) -> usize {
        32 * (self.rows / self.warp_rows) * (self.columns / self.warp_columns)
    }

    /// Returns the bytes of all stages.
    fn shared(self) -> usize {
        2 * self.stages * self.depth * (self.rows + self.columns)
    }

    /// Returns whether each thread has a vector to load, and a multiprocessor enough registers and shared memory. Excludes warps of
    /// 32 × 32 elements, which load as much as they multiply.
    fn fit(self) -> bool {
        let Self { rows, columns, depth, .. } = self;
        let vectors = depth / 8 * rows.min(columns);
        (64..=1024).contains(&self.threads())
            && self.warp_rows + self.warp_columns > 64
            && self.threads() <= vectors
            && rows * columns <= 128 * 256
            && self.shared() <= MOST_SHARED
    }

    /// Loads the kernel for n × n matrices, and allows it its shared memory.
    fn load(self, n: usize) -> Result<Variant, Refusal> {
        let values = [
            ("rows", self.rows),
            ("columns", self.columns),
            ("depth", self.depth),
            ("stages", self.stages),
            ("warp_rows", self.warp_rows),
            ("warp_columns", self.warp_columns),
        ];
        let blocks = n / self.rows * (n / self.columns);
        Variant::load("matmul_tensor", &values, (blocks, 1), self.threads())?.with_shared(self.shared())
    }
}

/// A variant, two inputs and an output.
type WithTwoInputs<T> = (Variant, DeviceBuffer<T>, DeviceBuffer<T>, DeviceBuffer<f32>);

/// Adds two random n × n matrices and an output to a variant.
fn with_two_inputs<T: Random>(
    variant: Variant,
    n: usize,
    stream: &Stream,
) -> Result<WithTwoInputs<T>, Refusal> {
    let inputs = Inputs::on(stream)?;
    Ok((variant, inputs.random(A, n * n)?, inputs.random(B, n * n)?, inputs.unwritten(n * n)?))
}

gpubench::main!();
